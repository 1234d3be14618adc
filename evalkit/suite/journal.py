"""The journal of a run: one fsynced line a finished item, so that a killed run loses only what was under way.

Line: ``{"tally": {...}, "samples": [...], "traces": [{"digest", "case_id", "trace"}]}``; `trace` is the JSON text of
`playback.kept`. Only the controller writes it. A torn last line is ignored; a broken line elsewhere is an integrity
error.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evalkit.errors import IntegrityError
from evalkit.suite.model import Sample, SampleCheck, Served

__all__ = [
    "JOURNAL_NAME",
    "Journal",
    "KeptTrace",
    "encode_batch",
    "read_journal",
    "sample_from_json",
    "served_from_json",
    "tally_of",
]

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
    return orjson.dumps({"tally": counts, "samples": samples, "traces": traces})


def tally_of(batch: bytes) -> dict[str, float]:
    """A line's counts by outcome, and its cost, without reading the rest of the line."""
    start = len(b'{"tally":')
    counts: dict[str, float] = orjson.loads(batch[start : batch.index(b"}") + 1])
    return counts


def read_journal(folder: Path) -> Iterator[list[Sample]]:
    """The samples of each batch of a run.

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
                yield [sample_from_json(sample) for sample in orjson.loads(line)["samples"]]
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
    served = served_from_json(body["served"])
    return Sample(**{**body, "checks": checks, "misses": tuple(body["misses"]), "served": served})


def served_from_json(body: dict[str, Any] | None) -> Served | None:
    """What `Sample.served` was; TypeError for an unknown field."""
    if body is None:
        return None
    lists = {name: tuple(value) for name, value in body.items() if name != "cached_tokens"}
    return Served(**lists, cached_tokens=body["cached_tokens"])


def _cut_torn_line(path: Path) -> None:
    """Cuts what a kill left half written, so that the next line starts on a line of its own."""
    if not path.exists():
        return
    with open(path, "rb+") as file:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            file.truncate(whole)
