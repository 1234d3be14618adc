"""A run's folder and its manifest: what was to be run, written first; more samples may be asked for later."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from evalkit.errors import InputError, IntegrityError
from evalkit.project import from_here, from_root
from evalkit.suite.disk import half_written, write_whole
from evalkit.suite.model import Manifest, Suite
from evalkit.suite.texts import ByText, Texts, shared
from evalkit.suite.writer import LOCK_NAME, sole_writer

__all__ = ["MANIFEST_NAME", "manifest_digest", "read_manifest", "replace_manifest", "start_run", "suite_json"]

MANIFEST_NAME = "run.json"
_EMPTY = {"cases": b'\n  "cases": []', "measures": b'\n  "measures": {}'}
"""How what is of very many cases begins in the manifest's JSON, and ends where it is empty."""
_SOME_CASES = 1_000


def suite_json(suite: Suite) -> dict[str, Any]:
    """A suite as the JSON that `suite.config` reads."""
    body = asdict(suite)
    body["policies"] = [{"select": one["select"], **one["policy"]} for one in body["policies"]]
    return {key: value for key, value in orjson.loads(orjson.dumps(body)).items() if value is not None}


def start_run(folder: Path, manifest: Manifest) -> None:
    """Makes the run's folder with its manifest; an empty one will do, such as a kill at this moment leaves.

    Raises:
        InputError: there is a run, or the folder holds something else, or can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with sole_writer(folder):
            there = sorted({*os.listdir(folder)} - {LOCK_NAME, half_written(MANIFEST_NAME)})
            if MANIFEST_NAME in there:
                cure = "pass --resume, or another name"
                raise InputError("there is a run of this name already", str(folder), cure)
            if there:
                raise InputError(f"the folder holds other things ({there[0]})", str(folder), "pass a new folder")
            replace_manifest(folder, manifest)
    except OSError as error:
        raise InputError(f"the run's folder can't be made: {error.strerror}", str(folder), "pass --out") from None


def replace_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes a run's manifest anew, at once; its paths are told from the project's folder."""
    write_whole(folder / MANIFEST_NAME, _parts(_with_paths(manifest, from_root)), durable=True)


def _with_paths(manifest: Manifest, told: Callable[[str], str]) -> Manifest:
    suite = dict(manifest.suite)
    if suite.get("baseline"):
        suite["baseline"] = told(str(suite["baseline"]))
    file, baseline, history = map(told, (manifest.file, manifest.baseline, manifest.history))
    return replace(manifest, suite=suite, file=file, baseline=baseline, history=history)


def _parts(manifest: Manifest) -> Iterator[bytes]:
    """The manifest as JSON, some of its cases at a time: they may be very many."""
    text = orjson.dumps(replace(manifest, cases=(), measures={}), option=orjson.OPT_INDENT_2)
    many = {"cases": _parted(manifest.cases, list), "measures": _parted(manifest.measures.items(), dict)}
    for name, parts in many.items():
        before, empty, text = text.partition(_EMPTY[name])  # the first line that begins so: no text holds a line's end
        yield before + empty[:-1]
        yield from parts
        yield empty[-1:]
    yield text


def _parted(things: Iterable[Any], kind: type[list[Any] | dict[str, Any]]) -> Iterator[bytes]:
    """What stands between the brackets."""
    rest, end = iter(things), b""
    while some := kind(islice(rest, _SOME_CASES)):
        yield (b"," if end else b"") + orjson.dumps(some, option=orjson.OPT_INDENT_2)[1:-2].replace(b"\n", b"\n  ")
        end = b"\n  "
    yield end


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run; its paths are told from the current folder, whichever of the project's it is.

    Raises:
        InputError: no run is there.
        IntegrityError: the manifest is broken.
    """
    path = folder / MANIFEST_NAME
    try:
        body = orjson.loads(path.read_bytes())
        cases = tuple((str(i), int(v), str(d), str(s)) for i, v, d, s in body["cases"])
        measures = _measures(body["measures"])
        lists = {
            "layers": tuple(body["layers"]),
            "raised": tuple(body["raised"]),
            "continued": tuple(body.get("continued", ())),  # not told by runs from before it was
        }
        return _with_paths(Manifest(**{**body, "cases": cases, "measures": measures, **lists}), from_here)
    except (FileNotFoundError, NotADirectoryError):
        raise _no_run(folder) from None
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise IntegrityError(f"the manifest is broken: {error}", str(path), "run the suite again") from None


def manifest_digest(folder: Path) -> str:
    """SHA-256 of a run's manifest, in hexadecimal: what its tables carry, so that those of another run are told.

    Raises:
        InputError: no run is there.
    """
    try:
        with open(folder / MANIFEST_NAME, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        raise _no_run(folder) from None


def _no_run(folder: Path) -> InputError:
    return InputError("there is no run", str(folder), "pass a folder under reports/")


def _measures(body: Mapping[str, Any]) -> Mapping[str, tuple[int, int]]:
    return ByText(Texts(map(str, body)), shared((int(passed), int(n)) for passed, n in body.values()))
