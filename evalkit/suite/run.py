"""CASES x N -> SAMPLES: one execution of a suite, journaled, resumable, written at once when it is whole."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from evalkit.errors import InputError, IntegrityError
from evalkit.playback.endpoint.ledger import LEDGER_NAME, Ledger
from evalkit.suite.executors.protocol import EXECUTORS, Task
from evalkit.suite.journal import JOURNAL_NAME, Journal, encode_batch, read_journal, tally_of
from evalkit.suite.model import Manifest, Sample, Suite
from evalkit.suite.plan import Item, plan_items, split_item
from evalkit.suite.results import write_results
from evalkit.suite.select import CaseRef
from evalkit.suite.work import LEDGER, SANITIZING, WORLD

__all__ = ["MANIFEST_NAME", "Progress", "execute", "read_manifest", "start_run", "suite_json"]

MANIFEST_NAME = "run.json"
LOCK_NAME = ".writing.lock"


@dataclass(slots=True)
class Progress:
    """Where a run stands, in samples."""

    total: int
    passed: int = 0
    failed: int = 0
    missed: int = 0
    errored: int = 0
    cost_usd: float = 0.0

    @property
    def done(self) -> int:
        """Samples finished."""
        return self.passed + self.failed + self.missed + self.errored

    def count(self, tally: Mapping[str, float]) -> None:
        """Adds a batch's tally (see `journal.encode_batch`)."""
        for name, value in tally.items():
            setattr(self, name, getattr(self, name) + value)


def suite_json(suite: Suite) -> dict[str, Any]:
    """A suite as the JSON that `suite.config` reads."""
    body = asdict(suite)
    return {key: value for key, value in orjson.loads(orjson.dumps(body)).items() if value is not None}


def start_run(folder: Path, manifest: Manifest) -> None:
    """Makes the run's folder with its manifest.

    Raises:
        InputError: the folder exists.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InputError("there is a run of this name already", str(folder), "pass --resume, or another name") from None
    _write_at_once(folder / MANIFEST_NAME, orjson.dumps(manifest, option=orjson.OPT_INDENT_2))


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run.

    Raises:
        InputError: no run is there.
        IntegrityError: the manifest is broken.
    """
    path = folder / MANIFEST_NAME
    try:
        body = orjson.loads(path.read_bytes())
        cases = tuple((str(i), int(v), str(d), str(s)) for i, v, d, s in body["cases"])
        return Manifest(**{**body, "cases": cases, "layers": tuple(body["layers"])})
    except FileNotFoundError:
        raise InputError("there is no run", str(folder), "pass a folder under reports/") from None
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise IntegrityError(f"the manifest is broken: {error}", str(path), "run the suite again") from None


def execute(
    folder: Path,
    manifest: Manifest,
    suite: Suite,
    cases: list[CaseRef],
    *,
    executor: str,
    workers: int,
    on_progress: Callable[[Progress], None],
    sanitizing: Mapping[str, Any] | None = None,
    world: Mapping[str, Any] | None = None,
) -> str:
    """Does what the journal does not hold yet, then writes samples and traces.

    A run whose budget is spent stops: the samples that it came to are written, and its journal stays, which says that
    it is not whole. The reason is given back; it is empty for a whole run.

    Args:
        folder: the run's; holds the manifest.
        executor: name in the registry.
        on_progress: is called after each finished item.
        sanitizing: policy and key file of the sanitizer that outputs go through; see `suite.work.SANITIZING`.
        world: the project's choices about the frozen world; see `suite.work.WORLD`.

    Raises:
        EvalkitError: what a worker raised on purpose.
        KeyboardInterrupt: stopped; the journal holds what was done.
    """
    progress = Progress(total=len(cases) * suite.samples)
    plan: dict[str, Any] = {**suite_json(suite), SANITIZING: sanitizing, WORLD: world}
    with _sole_writer(folder):
        done = _journaled(folder, progress)
        items = plan_items(cases, suite.samples, workers, done)
        ledger = _account(folder, suite)
        if ledger is not None:
            plan[LEDGER] = str((folder / LEDGER_NAME).absolute())
        journal = Journal(folder)
        try:
            _do(items, journal, plan, executor, workers, progress, on_progress, ledger)
        finally:
            journal.close()
        write_results(folder)
        if ledger is not None and progress.done < progress.total:
            return ledger.stopped()
        (folder / JOURNAL_NAME).unlink()
        return ""


def _account(folder: Path, suite: Suite) -> Ledger | None:
    """The run's account, where something is spent or limited; an exact run without limits needs none."""
    if not suite.live and not suite.budget.json() and not (folder / LEDGER_NAME).exists():
        return None
    return Ledger.opened(folder / LEDGER_NAME, suite.budget, 1 if suite.model is None else suite.model.concurrency)


def _journaled(folder: Path, progress: Progress) -> set[tuple[str, int]]:
    done: set[tuple[str, int]] = set()
    for samples in read_journal(folder):
        done.update((sample.case_id, sample.index) for sample in samples)
        progress.count(tally_of(encode_batch(samples, [])))
    return done


def _do(
    items: list[Item],
    journal: Journal,
    suite: dict[str, Any],
    executor: str,
    workers: int,
    progress: Progress,
    on_progress: Callable[[Progress], None],
    ledger: Ledger | None,
) -> None:
    dead: list[Item] = []
    last = time.monotonic()

    def worked() -> None:
        nonlocal last
        if ledger is not None:
            now = time.monotonic()
            ledger.worked(now - last)
            last = now

    def done(_item: Item, batch: bytes) -> None:
        tally = tally_of(batch)
        if len(tally) > 1:  # more than the cost: some samples
            journal.append(batch)
        worked()
        progress.count(tally)
        on_progress(progress)

    def over() -> bool:
        return ledger is not None and bool(ledger.stopped())

    while items and not over():
        with _scratch() as scratch:
            EXECUTORS.get(executor)(Task(suite, items, workers, scratch, done, dead.append, over))
        worked()
        items = []
        for item in dead:
            if item.size > 1:
                items += split_item(item, len(items))
            else:
                done(item, encode_batch([_died(item)], []))
        dead.clear()


def _died(item: Item) -> Sample:
    portion = item.portions[0]
    return Sample(
        case_id=portion.case_id,
        case_version=portion.version,
        index=portion.samples[0],
        outcome="errored",
        reason="the worker's process died during this replay",
    )


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="evalkit-run-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _sole_writer(folder: Path) -> Iterator[None]:
    """Keeps a second process from writing the same run; the system lets go of the lock when this one dies.

    A record lock: unlike `flock`'s it is not shared with forked workers, which may outlive a killed controller.
    """
    try:
        import fcntl
    except ImportError:  # Windows: no such lock
        yield
        return
    path = folder / LOCK_NAME
    with open(path, "wb") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another process is writing this run", str(folder), "wait for it, or stop it") from None
        yield
        path.unlink()


def _write_at_once(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.writing")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
