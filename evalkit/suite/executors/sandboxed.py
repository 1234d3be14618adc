"""Items in sandboxes: each in a fresh fork that the kernel confines, in its own copy of the project.

What comes back is bytes from a process that may be hostile: it is checked to be this item's samples before it is kept.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import deque
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path

import orjson

from evalkit import errors
from evalkit.errors import ConfigError, EvalkitError, ReplayRefused
from evalkit.playback.sandbox.model import Ended, Policy
from evalkit.playback.sandbox.run import Running, default_policy, start_sandboxed
from evalkit.playback.sandbox.staging import enter_copy, stage
from evalkit.suite.executors.forked import can_fork
from evalkit.suite.executors.protocol import Task
from evalkit.suite.plan import Item
from evalkit.suite.work import Worker

__all__ = ["run_in_sandboxes"]

_SPARE_S = 30.0
_DONE, _RAISED = b"d", b"e"


@dataclass(frozen=True, slots=True)
class _Busy:
    """One item at work."""

    item: Item
    folder: Path
    running: Running
    until: float


def run_in_sandboxes(task: Task) -> None:
    """Does the items, `task.workers` at once.

    Raises:
        ConfigError: the suite needs a live model, which no sandbox reaches yet, or this process has threads.
        ReplayRefused: Landlock or seccomp does not hold here.
    """
    if task.suite.get("mode", "exact") != "exact":
        raise ConfigError("a sandbox has no network yet, so no live model", "sandbox", 'mode = "exact", or no sandbox')
    if not can_fork():
        raise ConfigError("a sandbox needs Linux and a process without threads", "sandbox", "use the command line")
    worker = Worker(task.suite)
    worker.warm()
    project, staged = Path.cwd(), task.scratch / "project"
    without = {Path(portion.path).parent.parent for item in task.items for portion in item.portions}  # all cases
    stage(project, staged, without)
    waiting, busy = deque(task.items), dict[int, _Busy]()
    try:
        while waiting or busy:
            while waiting and len(busy) < task.workers:
                begun = _begin(worker, waiting.popleft(), project, staged, task)
                busy[begun.running.pipe] = begun
            soonest = min(one.until for one in busy.values())
            ready = [fd for fd in wait(list(busy), max(0.0, soonest - time.monotonic())) if isinstance(fd, int)]
            for pipe in ready or [pipe for pipe, one in busy.items() if one.until <= time.monotonic()]:
                _finish(busy.pop(pipe), task)
    finally:
        for one in busy.values():
            one.running.end(0)
            shutil.rmtree(one.folder, ignore_errors=True)


def _begin(worker: Worker, item: Item, project: Path, staged: Path, task: Task) -> _Busy:
    folder = Path(tempfile.mkdtemp(prefix="evalkit-sandbox-"))
    shutil.copytree(staged, folder, dirs_exist_ok=True)
    base = default_policy(unsafe=bool(task.suite.get("unsafe_replay")))
    policy: Policy = replace(base, readable=(*base.readable, *(Path(one.path).absolute() for one in item.portions)))
    at_home = replace(item, portions=tuple(replace(one, path=str(Path(one.path).absolute())) for one in item.portions))

    def work(_: bytes) -> bytes:
        enter_copy(project, folder)
        try:
            return _DONE + worker.do(at_home)
        except EvalkitError as error:
            return _RAISED + orjson.dumps([type(error).__name__, error.what, error.where, error.cure])

    timeout_s = float(task.suite.get("timeout_s", 60.0)) * item.size + _SPARE_S
    return _Busy(item, folder, start_sandboxed(work, b"", policy=policy, folder=folder), time.monotonic() + timeout_s)


def _finish(one: _Busy, task: Task) -> None:
    ended = one.running.end(max(0.0, one.until - time.monotonic()))
    shutil.rmtree(one.folder, ignore_errors=True)
    if ended.status == "refused":
        raise ReplayRefused(ended.reason, "sandbox")
    batch = ended.value[1:]
    if ended.status == "done" and ended.value[:1] == _RAISED:
        raise _raised(ended)
    if ended.status == "done" and _is_of(batch, one.item):
        task.done(one.item, batch)
    else:
        task.died(one.item)


def _is_of(batch: bytes, item: Item) -> bool:
    """Whether a journal line holds the item's samples and nothing else; a forged one could decide other cases."""
    wanted = {(portion.case_id, portion.version, index) for portion in item.portions for index in portion.samples}
    try:
        body = orjson.loads(batch)
        found = [(one["case_id"], one["case_version"], one["index"]) for one in body["samples"]]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return False
    return b"\n" not in batch and len(found) == len(wanted) and set(found) == wanted


def _raised(ended: Ended) -> EvalkitError:
    kind, what, where, cure = map(str, orjson.loads(ended.value[1:]))
    found = getattr(errors, kind, EvalkitError)
    if not (isinstance(found, type) and issubclass(found, EvalkitError)):
        found = EvalkitError
    return found(what, where, cure)
