"""The journal of a run: one fsynced line a finished item, so that a killed run loses only what was under way.

Line: ``{"tally": {...}, "seen": [...], "samples": [...], "traces": [{"digest", "case_id", "trace"}]}``; `trace` is the
JSON text of `playback.kept`, `seen` tells of each sample what `suite.seen` needs. Only the controller writes it. A torn
last line is ignored; a broken line elsewhere is an integrity error.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evalkit.errors import IntegrityError
from evalkit.suite.model import Sample
from evalkit.suite.seen import seen_json

__all__ = ["JOURNAL_NAME", "Head", "Journal", "KeptTrace", "encode_batch", "head_of", "read_heads"]

JOURNAL_NAME = "journal.jsonl"


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


def encode_batch(samples: Sequence[Sample], traces: Sequence[KeptTrace]) -> bytes:
    """A batch as a journal line."""
    counts: dict[str, float] = dict(Counter(sample.outcome for sample in samples))
    counts["cost_usd"] = sum(sample.cost_usd for sample in samples)
    return orjson.dumps({"tally": counts, "seen": seen_json(samples), "samples": samples, "traces": traces})


@dataclass(frozen=True, slots=True)
class Head:
    """A journal line's beginning: all that the controller needs to know of a batch.

    Attributes:
        tally: samples by outcome, and ``cost_usd``.
        seen: see `suite.seen.seen_json`.
    """

    tally: Mapping[str, float]
    seen: Sequence[Sequence[Any]]


_AFTER_HEAD = b',"samples":['


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
                yield Head(body["tally"], body["seen"])
            except (ValueError, KeyError, TypeError) as error:
                raise IntegrityError(
                    f"the journal is broken: {error}", f"{path}:{number}", "start the run again without --resume"
                ) from None


def _cut_torn_line(path: Path) -> None:
    """Cuts what a kill left half written, so that the next line starts on a line of its own."""
    if not path.exists():
        return
    with open(path, "rb+") as file:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            file.truncate(whole)
