"""The Python side of the commands: the same steps, with plain values in and out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.app import ab as comparing
from evalkit.app import run as running
from evalkit.app.ab_arms import parse_arm
from evalkit.app.ab_model import ABRun
from evalkit.app.ingest import ingest_trace
from evalkit.app.keys import output_sanitizer
from evalkit.app.replay_mode import settled_mode
from evalkit.app.replay_plan import endpoint_of
from evalkit.app.run_model import Run
from evalkit.app.settings import Settings
from evalkit.app.settings_read import settings_here
from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.check.judge import judge_checks
from evalkit.check.model import CheckResult
from evalkit.playback.endpoint.budget import NO_LIMITS
from evalkit.playback.endpoint.local import account, local_caller
from evalkit.playback.faults import Fault
from evalkit.playback.miss_rules import parse_rule
from evalkit.playback.model import Replay
from evalkit.playback.modes import Mode
from evalkit.playback.overrides import NO_OVERRIDES, Overrides
from evalkit.playback.replay import prepare
from evalkit.playback.targets.loop import AgentLoop
from evalkit.playback.targets.make import make_target
from evalkit.playback.targets.protocol import AnyTarget
from evalkit.playback.what_if import parse_what_if
from evalkit.trace.model import Trace

__all__ = ["ab", "ingest", "judge", "replay", "run_suite"]


def ingest(
    trace: Trace,
    *,
    expect: Json = None,
    passing: Sequence[Trace] = (),
    at: int | None = None,
    case_id: str | None = None,
    new: bool = False,
    settings: Settings | None = None,
) -> Case:
    """Makes a case of an incident and writes it to the project's case folder.

    Args:
        expect: what should have happened (see `distil.propose`).
        passing: healthy runs of the same task.
        at: the step where it went wrong, when the checks don't say.
        new: it is a case of its own, however much it is like one that there is.
        settings: the project's; those of the current folder by default.

    Raises:
        CaseRefused: no check fails on the incident, or it is, or looks like, a case that there is already.
    """
    made = ingest_trace(trace, settings or _here(), expect=expect, passing=passing, at=at, case_id=case_id, new=new)
    return made.case


def judge(case: Case, trace: Trace) -> list[CheckResult]:
    """A case's checks on a trace of the case's sanitized world: a replay's is; raw ones are for `evalkit judge`."""
    return judge_checks(case.checks, trace)


def replay(
    case: Case,
    target: str | Callable[..., Any] = "",
    *,
    mode: Mode = "exact",
    base_url: str | None = None,
    strict: bool = False,
    sample: int = 0,
    timeout_s: float = 60.0,
    overrides: Overrides = NO_OVERRIDES,
    faults: Sequence[Fault] = (),
    from_step: int | None = None,
    max_turns: int = 20,
    on_miss: Sequence[str] = (),
    what_if: Sequence[str] = (),
    settings: Settings | None = None,
) -> Replay:
    """One replay of a case. What the agent says and calls is sanitized as in a recording.

    Args:
        target: a function, or what names a target (see `playback.targets.reference`); the case's own by default. A fork
            runs none.
        base_url: the endpoint that a live model may be reached at.
        overrides: what a live model is asked otherwise than by the agent.
        faults: what goes wrong on purpose, in mode ``simulation``.
        from_step: the model step that mode ``fork`` goes on from.
        max_turns: model calls of a fork at most.
        on_miss: rules for calls that the case holds no answer for, as ``search_*=error`` (`--on-miss`).
        what_if: counterfactuals, in mode ``simulation``, as `playback.what_if` reads them: ``confirm=refused``.
        settings: the project's, for its sanitizer; those of the current folder by default.

    Raises:
        ConfigError: there is no such target, arguments don't go together, or the settings can't be used.
        ReplayRefused: the incident lacks what the mode needs.
    """
    supposed = [parse_what_if(text) for text in what_if]
    settled_mode(
        mode,
        base_url=base_url,
        overrides=overrides,
        faults=(*faults, *supposed),
        from_step=from_step,
        where=f"case {case.id}",
    )
    project = settings or _here()
    prepared = prepare(
        case,
        mode=mode,
        endpoint=base_url,
        strict=strict,
        timeout_s=timeout_s,
        overrides=overrides,
        faults=faults,
        from_step=from_step,
        on_miss=(*map(parse_rule, on_miss), *project.on_miss),
        what_if=supposed,
        options=project.world,
        sanitizer=lambda: output_sanitizer(project),
    )
    runnable: AnyTarget
    if from_step is not None and base_url is not None:
        runnable = AgentLoop(case.trace.trace, from_step, base_url, max_turns=max_turns)
    else:
        runnable = make_target(target or case.target, prepared.endpoint)
    with ExitStack() as stack:
        if base_url is not None and mode != "exact":
            asked = endpoint_of(base_url, project)
            opened = local_caller(asked, stack.enter_context(account(asked, NO_LIMITS)), project.prices)
            prepared = replace(prepared, caller=stack.enter_context(opened))
        return prepared.replay(runnable, sample)


def run_suite(suite: str | Path, *, settings: Settings | None = None, **options: Any) -> Run:
    """Runs a suite; options are those of `app.run.run_suite` (workers, overrides, baseline, folder ...)."""
    return running.run_suite(suite, settings or _here(), **options)


def ab(
    suite: str | Path,
    a: Mapping[str, Any] | None = None,
    b: Mapping[str, Any] | None = None,
    *,
    settings: Settings | None = None,
    **options: Any,
) -> ABRun:
    """Compares two arms of a suite, in turns: `ab("suites/s.toml", {"prompt": "old.txt"}, {"prompt": "new.txt"})`.

    Args:
        a: what arm a has otherwise than the suite, by the command's keys; nothing for the suite as it stands.
        b: the same of arm b.
        options: those of `app.ab.ab_suite` (samples, blocks, primary, alpha, budget, workers, folder ...).

    Raises:
        ConfigError: an arm or the suite can't be used.
        Interrupted: stopped; `evalkit ab --resume` goes on.
    """
    arms = [
        parse_arm([f"{key}={value}" for key, value in (arm or {}).items()], name) for arm, name in ((a, "a"), (b, "b"))
    ]
    return comparing.ab_suite(suite, settings or _here(), *arms, **options)


def _here() -> Settings:
    return settings_here(os.environ)
