"""`evalkit replay --sandbox`: the planned replays in one fork that the kernel confines."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from evalkit.canonical import Json
from evalkit.capture.caller import Caller
from evalkit.errors import ConfigError, InputError, ReplayRefused
from evalkit.forks import can_fork
from evalkit.playback.endpoint.calls import LiveModel
from evalkit.playback.endpoint.relayed import RelayedCaller
from evalkit.playback.model import Replay
from evalkit.playback.portable import replays_from_bytes, replays_to_bytes
from evalkit.playback.replay import PreparedCase
from evalkit.playback.sandbox.model import Ended
from evalkit.playback.sandbox.relay import Relay, start_relay
from evalkit.playback.sandbox.run import Running, default_policy, start_sandboxed
from evalkit.playback.sandbox.staging import enter_copy, stage
from evalkit.project import project_here

__all__ = ["replay_confined"]

_SPARE_S = 30.0


def replay_confined(
    work: Callable[[Caller | None], list[Replay]],
    ready: PreparedCase,
    *,
    model: Callable[[], LiveModel] | None,
    without: Path,
    timeout_s: float,
    unsafe: bool,
) -> tuple[list[Replay], list[Json]]:
    """What `work` gives in a sandbox, in a copy of the current folder; and the layers that held.

    Args:
        work: the replays of `ready`, given who asks the live model.
        model: makes what asks it, outside of the sandbox; None for a frozen one.
        without: a folder that is not copied (the cases).
        timeout_s: for all replays, beside the time that they wait for the model.

    Raises:
        ConfigError: this process has threads, or is not on Linux.
        ReplayRefused: Landlock or seccomp does not hold, and it is not `unsafe`.
        InputError: the agent's process died, took too long, or gave something else.
    """
    if not can_fork():
        raise ConfigError("a sandbox needs Linux and a process without threads", "sandbox", "use the command line")
    project = project_here()
    folder = Path(tempfile.mkdtemp(prefix="evalkit-sandbox-"))
    relay: Relay | None = None
    try:
        stage(project, folder, [without])
        relay = None if model is None else start_relay(model)
        channel, base_url = None if relay is None else relay.socket, ready.endpoint

        def inside(_: bytes) -> bytes:
            enter_copy(project, folder)
            caller = None if channel is None or base_url is None else RelayedCaller(channel, base_url)
            return replays_to_bytes(work(caller))

        keep = [] if channel is None else [channel.fileno()]
        policy = default_policy(unsafe=unsafe, keep=ready.options.keep_env)
        running = start_sandboxed(inside, b"", policy=policy, folder=folder, keep=keep)
        if channel is not None:
            channel.close()
        ended = _awaited(running, relay, time.monotonic() + timeout_s + _SPARE_S)
    finally:
        if relay is not None:
            relay.end()
        shutil.rmtree(folder, ignore_errors=True)
    if ended.status == "refused":
        raise ReplayRefused(ended.reason, "sandbox")
    if ended.status != "done":
        raise InputError(
            f"the sandboxed replay gave nothing: {ended.reason}", f"case {ready.case.id}", "see docs/sandbox.md"
        )
    return replays_from_bytes(ended.value, ready.case), list(ended.layers.told(live=model is not None))


def _awaited(running: Running, relay: Relay | None, until: float) -> Ended:
    """What comes of it, as long as it may take."""
    while not running.ready(0.5) and time.monotonic() < until + (0.0 if relay is None else relay.busy_s()):
        pass
    return running.end(max(0.0, until + (0.0 if relay is None else relay.busy_s()) - time.monotonic()))
