"""`evalkit replay`: one case, replayed in its frozen world, with its checks' results."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit.app.keys import output_sanitizer
from evalkit.app.replay_log import log_replay
from evalkit.app.replay_plan import Plan
from evalkit.app.replay_sandbox import replay_confined
from evalkit.app.settings import Settings
from evalkit.capture.caller import Caller
from evalkit.errors import InputError
from evalkit.playback.clock import load_time_machine
from evalkit.playback.endpoint.calls import LiveModel, check_headers
from evalkit.playback.endpoint.client import client_library
from evalkit.playback.endpoint.local import account, local_caller
from evalkit.playback.model import Replay
from evalkit.playback.outputs import Outputs
from evalkit.playback.replay import PreparedCase
from evalkit.playback.targets.loop import AgentLoop
from evalkit.playback.targets.make import make_target
from evalkit.playback.targets.protocol import AnyTarget
from evalkit.suite.account import NOTHING_SPENT, Account
from evalkit.trace.diff import Comparison, compare
from evalkit.trace.file import encode_trace

__all__ = ["Replayed", "check_free", "compared", "run_plan", "write_traces"]

MANIFEST = "replay"
"""The attribute of a replay's trace that holds its manifest."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """Replays that were done, and what they spent together.

    Attributes:
        account: `stopped` says why there are fewer than were asked for.
    """

    replays: list[Replay]
    account: Account = NOTHING_SPENT


def run_plan(
    plan: Plan,
    settings: Settings,
    *,
    strict: bool = False,
    timeout_s: float = 60.0,
    max_turns: int = 20,
    unsafe: bool = False,
    target: AnyTarget | None = None,
) -> Replayed:
    """The replays that were planned; each one's trace holds the manifest, with the number of its sample.

    Args:
        unsafe: where a sandbox is planned, also where layers are missing.
        target: None for the one that the plan names.

    Raises:
        ReplayRefused: Landlock or seccomp does not hold here.
        InputError: the sandboxed agent's process died.
        IntegrityError: the replay asks a live model, and can't be logged.
    """
    with account(plan.asked, plan.budget) as ledger:
        sanitizer = output_sanitizer(settings)
        runs = target or _target(plan, max_turns)
        log_replay(plan, settings)
        outputs = Outputs(plan.case, lambda: sanitizer)
        ready = replace(plan.ready, outputs=outputs, strict=strict, timeout_s=timeout_s)
        work = functools.partial(_replays, ready, runs, plan.repeat)
        manifest = plan.manifest
        if ready.sandbox:
            model = None
            if plan.asked is not None:
                check_headers(plan.asked, os.environ)
                client_library()
                model = functools.partial(LiveModel, plan.asked, ledger, plan.prices)
            load_time_machine()  # here: a confined process may not be able to read all that it needs
            replays, layers = replay_confined(
                functools.partial(work, lambda: ""), ready, model=model,
                without=settings.cases, timeout_s=timeout_s * plan.repeat, unsafe=unsafe,
            )  # fmt: skip
            manifest = {**manifest, "layers": layers}
        else:
            with ExitStack() as stack:
                asked = plan.asked
                caller = None if asked is None else stack.enter_context(local_caller(asked, ledger, plan.prices))
                replays = work(ledger.stopped, caller)
        spent, limits = ledger.told()
        stopped = ledger.stopped() if len(replays) < plan.repeat else ""
    done = [_stamped(replay, manifest, sample) for sample, replay in enumerate(replays)]
    return Replayed(done, Account(spent, limits, stopped) if plan.asked is not None or limits else NOTHING_SPENT)


def _replays(
    ready: PreparedCase, target: AnyTarget, repeat: int, stopped: Callable[[], str], caller: Caller | None
) -> list[Replay]:
    """The replays, one after the other, until the budget is spent."""
    replays: list[Replay] = []
    with replace(ready, caller=caller).entered(target) as day:
        for sample in range(repeat):
            if stopped():
                break
            replay = day.replay(target, sample)
            if replay.stopped:
                break
            replays.append(replay)
    return replays


def compared(plan: Plan, replay: Replay) -> Comparison:
    """The incident, left, and a replay of it, right."""
    return compare(plan.case.incident, replay.trace)


def check_free(path: Path) -> None:
    """Refuses to write over a file.

    Raises:
        InputError: something is there.
    """
    if path.exists():
        raise InputError("there is a file already, and replays overwrite nothing", str(path), "choose another --out")


def write_traces(replays: Sequence[Replay], path: Path) -> None:
    """Writes the replays' traces as one native file: they can be inspected, judged and ingested like any others.

    Raises:
        InputError: the file exists, or can't be made.
    """
    check_free(path)
    try:
        with open(path, "xb") as file:
            for replay in replays:
                file.writelines(encode_trace(replay.trace))
    except OSError as error:
        raise InputError(f"can't be written: {error.strerror}", str(path), "choose another --out") from None


def _target(plan: Plan, max_turns: int) -> AnyTarget:
    ready = plan.ready
    if ready.from_step is None:
        return make_target(plan.target, ready.endpoint)
    assert ready.endpoint is not None, "a fork was planned with an endpoint"
    return AgentLoop(plan.case.trace.trace, ready.from_step, ready.endpoint, max_turns=max_turns)


def _stamped(replay: Replay, manifest: dict[str, Any], sample: int) -> Replay:
    attributes = {**replay.trace.attributes, MANIFEST: {**manifest, "sample": sample}}
    return replace(replay, kept=replace(replay.kept, trace=replace(replay.trace, attributes=attributes)))
