"""A suite's history: ``suites/<suite>.history.jsonl``, one line a whole run, called a night; small enough to commit.

A line is ``{"run_id", "started_at", "suite", "policy", "commit", "dirty", "models", "fingerprints", "outcome",
"passed", "n", "missed", "errored", "cost_usd", "duration_s", "cases"}``. `cases` maps a case's id to ``[passed, n]``;
where samples were lost, or the verdict is not PASS, to ``[passed, n, missed, errored, verdict]``. `estimates`, where
there are any, maps a case's id to ``[rate, variance]``: see `verdict.model.Estimate`.

Lines are only ever appended, and their order does not matter: a reader sorts by time, takes of a run's lines the one
with the most samples (a run can be given more), and passes over the marks that git leaves in a file with a conflict, so
that two branches' nights are simply all there. A torn last line is ignored, and cut before the next one is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from evalkit.errors import InputError
from evalkit.suite.texts import ByText, Texts

__all__ = ["Night", "append_night", "history_path", "read_history"]

_GIT_MARKS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")
_ATTRIBUTES = "*.history.jsonl merge=union"
_PASS = "PASS"
_SOME_CASES = 1_000


@dataclass(frozen=True, slots=True)
class Night:
    """What one whole run of a suite came to.

    Attributes:
        run_id: the run's.
        started_at: UTC, ISO 8601 with seconds.
        passed, n: over all cases: samples that passed, and samples that enter the rate.
        cost_usd: of the live model's calls, by the project's price table.
        cases: case id to (passed, n).
        missed, errored: samples that say nothing about the agent.
        lost: case id to (missed, errored), of cases that lost samples.
        verdicts: case id to its verdict, of cases whose verdict is not PASS.
        outcome: the release decision.
        suite: digest of the suite as it was run; another one, and nights are hard to compare.
        policy: the suite's policy in words.
        commit: of the project, empty without git; `dirty` where files differed from it.
        models: names that the live model's answers gave.
        fingerprints: what the provider calls its configurations.
        duration_s: seconds of all samples together; several workers need less.
        estimates: case id to its rate and the variance of that, where the share of samples that passed is biased.
    """

    run_id: str
    started_at: str
    passed: int
    n: int
    cost_usd: float
    cases: Mapping[str, tuple[int, int]]
    missed: int = 0
    errored: int = 0
    lost: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)
    outcome: str = ""
    suite: str = ""
    policy: str = ""
    commit: str = ""
    dirty: bool = False
    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    duration_s: float = 0.0
    estimates: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        """All samples, those that were lost too."""
        return self.n + self.missed + self.errored


def history_path(suite_path: Path) -> Path:
    """Where a suite's history stands: beside it."""
    return suite_path.with_name(f"{suite_path.stem}.history.jsonl")


def read_history(path: Path) -> tuple[Night, ...]:
    """The nights in a file, oldest first, each run once, with the most samples; none where there is no file.

    Raises:
        InputError: a line that is not the last is none of a history, or the file can't be read.
    """
    nights: dict[str, Night] = {}
    try:
        with open(path, "rb") as file:
            for night in _nights(file, path):
                known = nights.get(night.run_id)
                if known is None or known.samples < night.samples:
                    nights[night.run_id] = night
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InputError(f"the history can't be read: {error}", str(path), "pass the path of a suite") from None
    return tuple(sorted(nights.values(), key=lambda night: night.started_at))  # of one second: as they ended


def _nights(file: Iterable[bytes], path: Path) -> Iterator[Night]:
    """The nights as they stand in a file, one line after the other: each may be of very many cases."""
    ids = Texts()
    for number, line in enumerate(file, 1):
        if not line.strip() or line.startswith(_GIT_MARKS):
            continue
        try:
            night = _night(orjson.loads(line), ids)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            if not line.endswith(b"\n"):  # torn: the newline is written last
                continue
            raise InputError(
                f"not a line of a history: {error!r}", f"{path}:{number}", "delete this line, or git checkout the file"
            ) from None
        ids = night.cases.texts if isinstance(night.cases, ByText) else ids
        yield night


def append_night(path: Path, night: Night) -> bool:
    """Adds a night; false where the file holds that run with as many samples. The line is on the disk at the return.

    The first night of a folder makes a ``.gitattributes`` there, so that git joins two branches' lines by itself.

    Raises:
        InputError: the file is no history.
        OSError: the disk is full, or the folder can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file, _alone(file):
        # of this file, not of the path: closing another one would let go of the lock
        known = [earlier.samples for earlier in _nights(file, path) if earlier.run_id == night.run_id]
        if max(known, default=-1) >= night.samples:
            return False
        _end_last_line(file)
        file.seek(0, os.SEEK_END)
        file.writelines(_line(night))
        file.flush()
        os.fsync(file.fileno())
    attributes = path.with_name(".gitattributes")
    if not attributes.exists():
        attributes.write_text(f"{_ATTRIBUTES}\n", "utf-8")
    return True


def _line(night: Night) -> Iterator[bytes]:
    """A night's line, some of its cases at a time."""
    head = orjson.dumps(
        {
            "run_id": night.run_id,
            "started_at": night.started_at,
            "suite": night.suite,
            "policy": night.policy,
            "commit": night.commit,
            "dirty": night.dirty,
            "models": night.models,
            "fingerprints": night.fingerprints,
            "outcome": night.outcome,
            "passed": night.passed,
            "n": night.n,
            "missed": night.missed,
            "errored": night.errored,
            "cost_usd": round(night.cost_usd, 9),
            "duration_s": round(night.duration_s, 3),
        }
    )
    yield head[:-1] + b',"cases":{'
    cases, separator = iter(night.cases.items()), b""
    while some := {case_id: _case(night, case_id, counts) for case_id, counts in islice(cases, _SOME_CASES)}:
        yield separator + orjson.dumps(some)[1:-1]
        separator = b","
    yield (b'},"estimates":' + orjson.dumps(night.estimates) if night.estimates else b"}") + b"}\n"


def _case(night: Night, case_id: str, counts: tuple[int, int]) -> Sequence[Any]:
    verdict, lost = night.verdicts.get(case_id, _PASS), night.lost.get(case_id, (0, 0))
    return counts if verdict == _PASS and lost == (0, 0) else [*counts, *lost, verdict]


def _night(body: dict[str, Any], known_ids: Texts) -> Night:
    """A night as its line has it.

    Args:
        known_ids: of the night before, which mostly had the same cases.
    """
    ids, cases = Texts(body["cases"]), list[tuple[int, int]]()
    alike: dict[tuple[int, int], tuple[int, int]] = {}
    lost: dict[str, tuple[int, int]] = {}
    verdicts: dict[str, str] = {}
    for case_id, (passed, n, *more) in body["cases"].items():
        counts = _counts(passed, n)
        cases.append(alike.setdefault(counts, counts))
        if more:
            missed, errored, verdict = more
            if missed or errored:
                lost[case_id] = int(missed), int(errored)
            if verdict != _PASS:
                verdicts[case_id] = str(verdict)
    passed, n = _counts(body["passed"], body["n"])
    return Night(
        run_id=str(body["run_id"]),
        started_at=str(body["started_at"]),
        passed=passed,
        n=n,
        cost_usd=float(body["cost_usd"]),
        cases=ByText(known_ids if known_ids.same(ids) else ids, cases),
        missed=int(body["missed"]),
        errored=int(body["errored"]),
        lost=lost,
        verdicts=verdicts,
        outcome=str(body["outcome"]),
        suite=str(body["suite"]),
        policy=str(body["policy"]),
        commit=str(body["commit"]),
        dirty=bool(body["dirty"]),
        models=tuple(map(str, body["models"])),
        fingerprints=tuple(map(str, body["fingerprints"])),
        duration_s=float(body["duration_s"]),
        estimates={case_id: _estimate(*one) for case_id, one in body.get("estimates", {}).items()},
    )


def _counts(passed: Any, n: Any) -> tuple[int, int]:
    if not 0 <= int(passed) <= int(n):
        raise ValueError(f"{passed} of {n} passed")
    return int(passed), int(n)


def _estimate(rate: Any, variance: Any) -> tuple[float, float | None]:
    if not 0 <= float(rate) <= 1:
        raise ValueError(f"a rate of {rate}")
    return float(rate), None if variance is None else float(variance)


def _end_last_line(file: BinaryIO) -> None:
    """Cuts what a kill left half written; ends a line that an editor left open."""
    file.seek(0)
    whole, last = 0, b""
    for last in file:
        whole += len(last) if last.endswith(b"\n") else 0
    if not last or last.endswith(b"\n"):
        return
    try:
        _night(orjson.loads(last), Texts())
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        file.truncate(whole)
    else:
        file.seek(0, os.SEEK_END)
        file.write(b"\n")


@contextmanager
def _alone(file: BinaryIO) -> Iterator[None]:
    """Two runs that end at once append one after the other."""
    try:
        import fcntl
    except ImportError:  # Windows: no such lock
        yield
        return
    fcntl.lockf(file, fcntl.LOCK_EX)
    yield  # closing the file lets go of it
