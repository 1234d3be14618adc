"""`evalkit replay`: one case, replayed in its frozen world, with its checks' results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.app.keys import output_sanitizer
from evalkit.app.replay_log import log_replay
from evalkit.app.replay_plan import Plan, plan_replay
from evalkit.app.settings import Settings
from evalkit.errors import InputError
from evalkit.playback.model import Replay
from evalkit.playback.replay import prepare
from evalkit.playback.targets.loop import AgentLoop
from evalkit.playback.targets.protocol import TARGETS, Target
from evalkit.trace.diff import Comparison, compare
from evalkit.trace.file import encode_trace

__all__ = ["check_free", "compared", "replay_case", "run_plan", "write_traces"]

MANIFEST = "replay"
"""The attribute of a replay's trace that holds its manifest."""


def replay_case(
    reference: str,
    settings: Settings,
    *,
    strict: bool = False,
    repeat: int = 1,
    seed: int = 0,
    timeout_s: float = 60.0,
    max_turns: int = 20,
    **wanted: Any,
) -> list[Replay]:
    """Replays a case `repeat` times.

    Args:
        max_turns: model calls of one fork at most.
        wanted: target, mode, base_url and the other arguments of `plan_replay`.

    Raises:
        what `plan_replay` raises.
    """
    plan = plan_replay(reference, settings, seed=seed, repeat=repeat, **wanted)
    return run_plan(plan, settings, strict=strict, timeout_s=timeout_s, max_turns=max_turns)


def run_plan(
    plan: Plan, settings: Settings, *, strict: bool = False, timeout_s: float = 60.0, max_turns: int = 20
) -> list[Replay]:
    """The replays that were planned; each one's trace holds the manifest, with the number of its sample."""
    case, manifest = plan.case, plan.manifest
    seed, repeat = manifest["seed"], manifest["repeat"]
    assert isinstance(seed, int)
    assert isinstance(repeat, int)
    prepared = prepare(
        case,
        mode=plan.mode,
        endpoint=plan.endpoint,
        strict=strict,
        seed=seed,
        timeout_s=timeout_s,
        sanitizer=lambda: output_sanitizer(settings),
        overrides=plan.overrides,
        faults=plan.faults,
        from_step=plan.from_step,
        what_if=plan.what_if,
        options=plan.options,
    )
    target = _target(plan, max_turns)
    log_replay(plan, settings)
    with prepared.entered() as day:
        return [_stamped(day.replay(target, sample), manifest, sample) for sample in range(repeat)]


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


def _target(plan: Plan, max_turns: int) -> Target:
    if plan.from_step is None:
        return TARGETS.get("python")(plan.target)
    assert plan.endpoint is not None, "a fork was planned with an endpoint"
    key = os.environ.get("OPENAI_API_KEY", "")
    return AgentLoop(plan.case.trace.trace, plan.from_step, plan.endpoint, key=key, max_turns=max_turns)


def _stamped(replay: Replay, manifest: dict[str, Any], sample: int) -> Replay:
    attributes = {**replay.trace.attributes, MANIFEST: {**manifest, "sample": sample}}
    return replace(replay, trace=replace(replay.trace, attributes=attributes))
