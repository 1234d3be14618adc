"""The journal of a run: one fsynced line a finished item, so that a killed run loses only what was under way.

Line: ``{"cost_usd": 0.0, "seen": [...], "alike": [...], "traces": [{"digest", "case_id", "trace"}]}``; `trace` is the
JSON text of `playback.kept`, `seen` tells of each sample what `suite.seen` needs. The samples stand in `alike`: those
in a row that differ in index and time alone, as equal replays do, are one entry, with a list for either. Only the
controller writes it. A torn last line is ignored; a broken line elsewhere is an integrity error.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import orjson

from evalkit.errors import IntegrityError
from evalkit.suite.disk import disk_fault
from evalkit.suite.model import Sample, SampleCheck, Served
from evalkit.suite.seen import seen_json

__all__ = [
    "JOURNAL_NAME",
    "OWN",
    "Head",
    "Journal",
    "KeptTrace",
    "decode_batch",
    "encode_batch",
    "head_of",
    "read_heads",
]

JOURNAL_NAME = "journal.jsonl"
_LOOK_BYTES = 1 << 20
OWN = ("index", "duration_s")
"""What samples that are alike do not share."""
_SHARED = tuple(one.name for one in fields(Sample) if one.name not in (*OWN, "order"))
_shared, _own = operator.attrgetter(*_SHARED), operator.attrgetter(*OWN)


@dataclass(frozen=True, slots=True)
class KeptTrace:
    """One replay whose steps are kept.

    Attributes:
        digest: what samples name it by.
        trace: its JSON text.
    """

    digest: str
    case_id: str
    trace: str


class Journal:
    """Appends batches; each is on the disk before `append` returns."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL_NAME
        _cut_torn_line(self._path)
        self._file: int | None = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._size = os.fstat(self._file).st_size

    def append(self, *batches: bytes) -> None:
        """Adds lines (without their newlines), all of them by one writing.

        Raises:
            DiskFault: the disk is full or gone; what was appended before is whole, and the run can be resumed.
        """
        data = b"".join(line for batch in batches for line in (batch, b"\n"))
        assert self._file is not None
        try:
            _write(self._file, data)
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise disk_fault(error, self._path) from None
        self._size += len(data)

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def encode_batch(samples: Sequence[Sample], traces: Sequence[KeptTrace]) -> bytes:
    """A batch as a journal line."""
    cost = sum(sample.cost_usd for sample in samples)
    alike = [*_alike(samples)]
    return orjson.dumps({"cost_usd": cost, "seen": seen_json(samples), "alike": alike, "traces": traces})


def _alike(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    for shared, some in itertools.groupby(samples, _shared):
        own = zip(*map(_own, some), strict=True)
        yield {**dict(zip(_SHARED, shared, strict=True)), **dict(zip(OWN, own, strict=True))}


def decode_batch(line: bytes) -> tuple[list[Sample], list[KeptTrace]]:
    """The samples and kept replays of a journal line."""
    body = orjson.loads(line)
    return [one for some in body["alike"] for one in _samples(some)], [KeptTrace(**one) for one in body["traces"]]


def _samples(body: dict[str, Any]) -> Iterator[Sample]:
    checks = tuple(SampleCheck(**{**one, "steps": tuple(one["steps"])}) for one in body["checks"])
    served = None if body["served"] is None else Served.from_json(body["served"])
    shared = {**body, "checks": checks, "misses": tuple(body["misses"]), "served": served}
    for own in zip(*(body[name] for name in OWN), strict=True):
        yield Sample(**{**shared, **dict(zip(OWN, own, strict=True))})


@dataclass(frozen=True, slots=True)
class Head:
    """A journal line's beginning: all that the controller needs to know of a batch.

    Attributes:
        seen: see `suite.seen.seen_json`.
    """

    cost_usd: float
    seen: Sequence[Sequence[Any]]


_AFTER_HEAD = b',"alike":['


def head_of(batch: bytes) -> Head:
    """A line's head, without reading the rest; a quoted text can't hold what ends it."""
    return Head(**orjson.loads(batch[: batch.index(_AFTER_HEAD)] + b"}"))


def read_heads(folder: Path) -> Iterator[Head]:
    """The heads of a run's journal, its lines read whole.

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
                body = orjson.loads(line)
                if "samples" in body:
                    raise IntegrityError(
                        "an earlier evalkit began this run",
                        str(path),
                        "finish it with that one, or run the suite again",
                    )
                yield Head(body["cost_usd"], body["seen"])
            except (ValueError, KeyError, TypeError) as error:
                raise IntegrityError(
                    f"the journal is broken: {error}", f"{path}:{number}", "start the run again without --resume"
                ) from None


def _write(file: int, data: bytes) -> None:
    """All of it: the system may take less at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _cut_torn_line(path: Path) -> None:
    """Cuts what a kill left half written, so that the next line starts on a line of its own."""
    if not path.exists():
        return
    with open(path, "rb+") as file:
        end = file.seek(0, os.SEEK_END)
        at, whole = end, 0
        while at > 0 and not whole:  # from the end: a journal may be larger than the memory
            start = max(0, at - _LOOK_BYTES)
            file.seek(start)
            found = file.read(at - start).rfind(b"\n")
            at, whole = start, start + found + 1 if found >= 0 else 0
        if whole != end:
            file.truncate(whole)
