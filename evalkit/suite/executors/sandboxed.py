"""Items in sandboxes: each in a fresh fork that the kernel confines, in its own copy of the project.

What comes back is bytes from a process that may be hostile: it is checked to be this item's samples before it is kept.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path

from evalkit.errors import ConfigError, EvalkitError, ReplayRefused
from evalkit.forks import can_fork, signals_held
from evalkit.playback.endpoint.calls import LiveModel
from evalkit.playback.endpoint.relayed import RelayedCaller
from evalkit.playback.kept import trace_digest
from evalkit.playback.overdue import LOOK_S, Patience, shared_mark
from evalkit.playback.sandbox.model import Ended, Policy
from evalkit.playback.sandbox.relay import Relay, start_relay
from evalkit.playback.sandbox.run import Running, default_policy, start_sandboxed
from evalkit.playback.sandbox.staging import enter_copy, stage
from evalkit.project import project_here
from evalkit.suite.executors.protocol import Job, Round, Rounds
from evalkit.suite.executors.raised import error_from, error_text
from evalkit.suite.journal import decode_batch, encode_batch
from evalkit.suite.plan import Item
from evalkit.suite.work import LEDGER, Worker

__all__ = ["sandboxed"]

_SPARE_S = 30.0
_DONE, _RAISED = b"d", b"e"


@dataclass(frozen=True, slots=True)
class _Busy:
    """One item at work.

    Attributes:
        until: when it should be done, but for the time that it waits for the model.
        patience: with the replay that is under way.
    """

    item: Item
    folder: Path
    running: Running
    until: float
    relay: Relay | None
    patience: Patience

    def due(self) -> float:
        """When it is given up."""
        return self.until + (0.0 if self.relay is None else self.relay.busy_s())

    def end(self) -> Ended:
        """Waits for what comes of it, as long as it may take, and ends its processes."""
        try:
            return self.running.end(max(0.0, self.due() - time.monotonic()))
        finally:
            if self.relay is not None:
                self.relay.end()
            shutil.rmtree(self.folder, ignore_errors=True)

    def end_now(self) -> None:
        """Ends its processes, whatever would have come of it."""
        replace(self, until=float("-inf")).end()


@dataclass(frozen=True, slots=True)
class _Site:
    """What every sandbox of a run is made from."""

    worker: Worker
    project: Path
    staged: Path
    unsafe: bool
    model: Callable[[], LiveModel] | None


@contextmanager
def sandboxed(job: Job) -> Iterator[Rounds]:
    """Does the items, `job.workers` at once.

    Raises:
        ConfigError: this process has threads.
        ReplayRefused: Landlock or seccomp does not hold here.
    """
    if not can_fork():
        raise ConfigError("a sandbox needs Linux and a process without threads", "sandbox", "use the command line")
    ledger = job.suite.get(LEDGER)
    worker = Worker({key: value for key, value in job.suite.items() if key != LEDGER})  # no sandbox sees its file
    model = worker.live_model(None if ledger is None else Path(ledger))
    worker.warm()
    site = _Site(worker, project_here(), job.scratch / "project", bool(job.suite.get("unsafe_replay")), model)
    stage(site.project, site.staged, set(job.libraries))
    yield lambda work: _do(work, job, site)


def _do(work: Round, job: Job, site: _Site) -> None:
    waiting, busy = deque(work.items), dict[int, _Busy]()
    try:
        while waiting or busy:
            if waiting and job.over():
                waiting.clear()
                continue
            while waiting and len(busy) < job.workers:
                with signals_held():
                    begun = _begin(site, waiting.popleft(), job.scratch)
                    busy[begun.running.pipe] = begun
            ready = [fd for fd in wait(list(busy), LOOK_S) if isinstance(fd, int)]
            for pipe in ready or [pipe for pipe, one in busy.items() if one.due() <= time.monotonic()]:
                _finish(busy.pop(pipe), work, job)
            for pipe in [pipe for pipe, one in busy.items() if one.patience.is_over()]:
                _give_up(busy.pop(pipe), work)
    finally:
        for one in busy.values():
            one.end_now()


def _begin(site: _Site, item: Item, scratch: Path) -> _Busy:
    worker, model = site.worker, site.model
    folder = Path(tempfile.mkdtemp(prefix="sandbox-", dir=scratch))
    shutil.copytree(site.staged, folder, dirs_exist_ok=True)
    base = default_policy(unsafe=site.unsafe, keep=worker.keep_env)
    policy: Policy = replace(base, readable=(*base.readable, *(Path(one.path).absolute() for one in item.portions)))
    at_home = replace(item, portions=tuple(replace(one, path=str(Path(one.path).absolute())) for one in item.portions))

    mark = shared_mark()
    relay = None if model is None else start_relay(model)
    base_url = "" if worker.base_url is None else worker.base_url

    def work(_: bytes) -> bytes:
        enter_copy(site.project, folder)
        caller = None if relay is None else RelayedCaller(relay.socket, base_url)
        try:
            return _DONE + worker.do(at_home, caller, mark=mark)
        except EvalkitError as error:
            return _RAISED + error_text(error)

    timeout_s = worker.timeout_s(item) + _SPARE_S
    keep = [] if relay is None else [relay.socket.fileno()]
    running = start_sandboxed(work, b"", policy=policy, folder=folder, keep=keep)
    if relay is not None:
        relay.socket.close()
    return _Busy(item, folder, running, time.monotonic() + timeout_s, relay, Patience(mark))


def _give_up(one: _Busy, work: Round) -> None:
    """Ends a replay that goes on though its time is over."""
    one.end_now()
    work.late(one.item, one.patience.mark.place)


def _finish(one: _Busy, work: Round, job: Job) -> None:
    ended = one.end()
    if ended.status == "refused":
        raise ReplayRefused(ended.reason, "sandbox")
    batch = ended.value[1:]
    if ended.status == "done" and ended.value[:1] == _RAISED:
        raise error_from(batch)
    if ended.status == "done" and _is_of(batch, one.item, cut_short=job.over()):
        work.done([batch])
    else:
        work.died(one.item, ended.reason)


def _is_of(batch: bytes, item: Item, *, cut_short: bool) -> bool:
    """Whether a journal line holds the item's samples and nothing else; a forged one could decide other cases.

    Args:
        cut_short: whether some may be absent, because the budget is spent.
    """
    wanted = {(portion.case_id, portion.version, index) for portion in item.portions for index in portion.samples}
    try:
        samples, traces = decode_batch(batch)
        as_it_would_be = encode_batch(samples, traces)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    found = [(one.case_id, one.case_version, one.index) for one in samples]
    if batch != as_it_would_be or len(found) != len(set(found)):
        return False
    if any(trace_digest(one.trace.encode()) != one.digest for one in traces):
        return False
    return set(found) <= wanted if cut_short else set(found) == wanted
