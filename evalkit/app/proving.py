"""Replays that prove something about a case: that its failure is still in it, that something healthy passes it.

They run in the case's frozen world with the guards of `evalkit replay`, and what the agent calls is sanitized as there:
a value that stands in its code is answered by what was recorded under its surrogate. What it prints goes to stderr,
since stdout may be somebody's data.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

from evalkit.app.keys import output_sanitizer
from evalkit.app.settings import Settings
from evalkit.case.model import Case
from evalkit.distil.signature import signature
from evalkit.errors import ConfigError, EvalkitError
from evalkit.playback.model import Replay
from evalkit.playback.modes import Mode
from evalkit.playback.replay import prepare
from evalkit.playback.targets.make import make_target
from evalkit.playback.targets.protocol import unfit_for

__all__ = ["failure_reproduces", "proving_replays"]


def proving_replays(
    case: Case,
    target: str,
    settings: Settings,
    *,
    count: int = 1,
    mode: Mode = "exact",
    base_url: str | None = None,
) -> list[Replay]:
    """Replays of a target, `count` times.

    Raises:
        ConfigError: there is no such target, or a live mode has no endpoint.
    """
    if mode != "exact" and base_url is None:
        raise ConfigError(f"mode {mode} needs an endpoint", f"case {case.id}", "pass --base-url http://...")
    prepared = prepare(
        case, mode=mode, endpoint=base_url, options=settings.world, sanitizer=lambda: output_sanitizer(settings)
    )
    runnable = make_target(target, prepared.endpoint)
    with redirect_stdout(sys.stderr), prepared.entered(runnable) as day:
        return [day.replay(runnable, sample) for sample in range(count)]


def failure_reproduces(case: Case, target: str, settings: Settings) -> str:
    """Why an exact replay of a case does not fail as its incident did, in words; empty when it does.

    A target that can't be run is a reason, too: a case can be made where the agent is not installed.
    """
    try:
        (replay,) = proving_replays(case, target, settings)
    except EvalkitError as error:
        return error.what
    if replay.status == "passed":
        return "the replay did not fail (agent mended already?)"
    if replay.misses:
        miss = replay.misses[0]
        unfit = unfit_for(make_target(target), case.incident.input)
        lacked = f"the replay asked for what the trace lacks: call {miss.number}, {miss.kind} {miss.name}"
        return f"{lacked}; {unfit}" if unfit else lacked
    if replay.status != "failed":
        return "the replay tried to leave its frozen world"
    failing = [result for result in replay.results if result.gating and not result.passed]
    named = signature(replay.trace, failing)
    if named == case.signature:
        return ""
    if not failing:
        error_type = replay.trace.error.type if replay.trace.error else "an error"
        return f"the replay ended with {error_type}, and every gating check holds"
    return f"the replay failed otherwise: {named}"
