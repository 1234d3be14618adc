"""The journal of a run: one fsynced line a finished item, so that a killed run loses only what was under way.

Line: ``{"samples": [...], "traces": {digest: trace}}``. Only the controller writes it. A torn last line is ignored; a
broken line elsewhere is an integrity error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from evalkit.canonical import parse_exact
from evalkit.errors import IntegrityError
from evalkit.suite.model import Sample, SampleCheck

__all__ = ["JOURNAL_NAME", "Journal", "encode_batch", "read_journal", "sample_from_json"]

JOURNAL_NAME = "journal.jsonl"


class Journal:
    """Appends batches; each is on the disk before `append` returns."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL_NAME
        _cut_torn_line(self._path)
        self._file = open(self._path, "ab")  # noqa: SIM115  # held open for the run, closed by `close`

    def append(self, batch: bytes) -> None:
        """Adds one line (without its newline).

        Raises:
            OSError: the disk is full or gone; the run stops and can be resumed.
        """
        self._file.write(batch + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def encode_batch(samples: list[Sample], traces: Mapping[str, bytes]) -> bytes:
    """A batch as a journal line."""
    fragments = {digest: orjson.Fragment(text) for digest, text in traces.items()}
    return orjson.dumps({"samples": samples, "traces": fragments})


def read_journal(folder: Path) -> Iterator[tuple[list[Sample], dict[str, Any]]]:
    """The batches of a run, each with its kept traces by digest (parsed JSON).

    Raises:
        IntegrityError: a line that is not the last is broken.
    """
    path = folder / JOURNAL_NAME
    if not path.exists():
        return
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                body = parse_exact(line)
                yield [sample_from_json(sample) for sample in body["samples"]], body["traces"]
            except (ValueError, KeyError, TypeError) as error:
                raise IntegrityError(
                    f"the journal is broken: {error}", f"{path}:{number}", "start the run again without --resume"
                ) from None


def sample_from_json(body: dict[str, Any]) -> Sample:
    """The sample of its JSON form; TypeError for an unknown or missing field."""
    checks = tuple(
        SampleCheck(check["check"], check["gating"], check["passed"], check["reason"], tuple(check["steps"]))
        for check in body["checks"]
    )
    return Sample(**{**body, "checks": checks, "misses": tuple(body["misses"])})


def _cut_torn_line(path: Path) -> None:
    """Cuts what a kill left half written, so that the next line starts on a line of its own."""
    if not path.exists():
        return
    with open(path, "rb+") as file:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            file.truncate(whole)
