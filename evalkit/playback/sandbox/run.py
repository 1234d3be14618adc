"""`run_sandboxed`: a function in a forked process that the kernel confines, its result as bytes."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from evalkit.errors import ReplayRefused
from evalkit.forks import die_with_parent, forking
from evalkit.playback.sandbox.confine import confine
from evalkit.playback.sandbox.model import Ended, Layers, Policy
from evalkit.playback.sandbox.readable import packages, system_files

__all__ = ["Running", "default_policy", "probe_layers", "run_sandboxed", "start_sandboxed", "workspace"]

_MOST = 1 << 30
"""Bytes that a result may have."""

_STATUS_OF = {b"d": "done", b"r": "raised", b"x": "refused"}


def default_policy(*, unsafe: bool = False, keep: Iterable[str] | None = None) -> Policy:
    """What any Python agent needs: the system's libraries and the installed packages, for reading.

    Args:
        keep: patterns of environment variables that stay, as a project lists them.
    """
    return Policy(readable=(*system_files(), *packages()), keep=tuple(keep or ()), unsafe=unsafe)


@contextmanager
def workspace() -> Iterator[Path]:
    """A temporary folder for one sandbox; removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="evalkit-sandbox-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_sandboxed(
    function: Callable[[bytes], bytes],
    payload: bytes,
    *,
    policy: Policy | None = None,
    folder: Path | None = None,
    timeout_s: float = 60.0,
    before: Callable[[], Any] | None = None,
) -> Ended:
    """Calls ``function(payload)`` in a confined fork of this process.

    Only bytes come back: unpickling what a hostile process sends would run its code here.

    Args:
        policy: `default_policy` when None.
        folder: the only writable place; a temporary one when None.
        before: is called in the fork before it is confined (the tests change the user there).
    """
    with contextlib.ExitStack() as stack:
        where = folder or stack.enter_context(workspace())
        running = start_sandboxed(function, payload, policy=policy or default_policy(), folder=where, before=before)
        return running.end(timeout_s)


class Running:
    """A sandbox at work.

    Attributes:
        pipe: can be read when a result is on its way, or the process is gone; for `select` and its kin.
    """

    def __init__(self, child: int, pipe: int) -> None:
        self._child = child
        self.pipe = pipe

    def ready(self, timeout_s: float) -> bool:
        """Whether a result is on its way, or the process gone; waits so long at most."""
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))

    def end(self, timeout_s: float) -> Ended:
        """Waits for the result, at most so long, and ends the process."""
        try:
            data = _read(self.pipe, time.monotonic() + timeout_s)
        finally:
            os.close(self.pipe)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGKILL)
            _, code = os.waitpid(self._child, 0)
        return Ended("late", reason=f"not done after {timeout_s:g} s") if data is None else _ended(data, code)


def start_sandboxed(
    function: Callable[[bytes], bytes],
    payload: bytes,
    *,
    policy: Policy,
    folder: Path,
    before: Callable[[], Any] | None = None,
    keep: Iterable[int] = (),
) -> Running:
    """Begins what `run_sandboxed` does, so that several can work at once.

    Args:
        keep: descriptors that stay open in the sandbox.
    """
    ours, theirs = os.pipe()
    parent = os.getpid()
    _say_all()  # else the fork would say it once more
    with forking():
        child = os.fork()
    if child == 0:
        _child(function, payload, policy, folder, theirs, before, keep, parent)
    os.close(theirs)
    return Running(child, ours)


def probe_layers() -> Layers:
    """The layers that hold on this machine, found by applying them in a fork."""
    try:
        ended = run_sandboxed(lambda _: b"", b"", policy=replace(default_policy(), unsafe=True))
    except (OSError, AttributeError) as error:  # no fork: Windows
        return Layers(missing={"fork": str(error)})
    return ended.layers


def _child(
    function: Callable[[bytes], bytes],
    payload: bytes,
    policy: Policy,
    folder: Path,
    pipe: int,
    before: Callable[[], Any] | None,
    keep: Iterable[int],
    parent: int,
) -> None:
    """The fork's whole life; never returns."""
    layers = Layers()
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if before is not None:
            before()
        die_with_parent(parent)
        layers = confine(policy, folder, [pipe, *keep])
        value = function(payload)
        _say_all()
        _send(pipe, b"d", layers, value)
    except ReplayRefused as refused:
        _send(pipe, b"x", layers, str(refused).encode())
    except BaseException as error:  # noqa: BLE001 - the fork must not run the parent's code on its way out
        with contextlib.suppress(BaseException):
            _say_all()
            _send(pipe, b"r", layers, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
    finally:
        os._exit(0)


def _say_all() -> None:
    """Writes what was printed: the process ends without a chance to."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # an agent may have closed them, or put something else in their place
            stream.flush()


def _send(pipe: int, kind: bytes, layers: Layers, value: bytes) -> None:
    head = orjson.dumps(layers)
    left = memoryview(kind + len(head).to_bytes(4, "big") + head + value + b"\n")
    while left:
        left = left[os.write(pipe, left) :]


def _read(pipe: int, until: float) -> bytes | None:
    """All that comes until the other end closes; None when it is late or too much."""
    parts: list[bytes] = []
    size = 0
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while size <= _MOST:
        if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            return None
        part = os.read(pipe, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
    return None


def _ended(data: bytes, code: int) -> Ended:
    """What the child said; nothing whole means that it died."""
    status = _STATUS_OF.get(data[:1])
    size = int.from_bytes(data[1:5], "big")
    if status is None or len(data) < 6 + size or data[-1:] != b"\n":
        return Ended("died", reason=f"the process ended by itself ({_cause(code)})")
    try:
        layers = Layers(**orjson.loads(data[5 : 5 + size]))
    except (orjson.JSONDecodeError, TypeError):
        return Ended("died", reason="the process sent no result that can be read")
    value = data[5 + size : -1]
    if status == "done":
        return Ended("done", value, layers=layers)
    return Ended("refused" if status == "refused" else "raised", reason=value.decode("utf-8", "replace"), layers=layers)


def _cause(code: int) -> str:
    if os.WIFSIGNALED(code):
        return signal.Signals(os.WTERMSIG(code)).name
    return f"exit code {os.waitstatus_to_exitcode(code)}"
