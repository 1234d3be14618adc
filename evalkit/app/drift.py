"""`evalkit drift`: do a case's read tools still answer as they were recorded?

The one command that calls tools for real: those that are named, that somebody says only read, and with recorded
arguments that are no pseudonyms. Who asked for it and why is logged before anything is called.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from evalkit.app.environment import acting, now_utc
from evalkit.app.keys import output_sanitizer
from evalkit.app.live_tools import LiveTool, OtherArguments, live_tools, named_tool
from evalkit.app.nights import suite_file
from evalkit.app.settings import Settings
from evalkit.canonical import Json, canonical
from evalkit.case.model import Case
from evalkit.case.store import find_case, read_case
from evalkit.distil.drift import Drift, drift_of
from evalkit.errors import InputError
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.suite.config import load_suite
from evalkit.suite.select import select_cases
from evalkit.trace.model import Step
from evalkit.vault.audit import append_audit

__all__ = ["Drifted", "DriftStatus", "find_drift"]

DriftStatus: TypeAlias = Literal["same", "values", "shape", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Drifted:
    """One recorded call, and what the tool answers now.

    Attributes:
        arguments: as recorded.
        status: ``failed``: the tool raised; ``skipped``: it was not called, see `reason`.
        shape, values: where the answer differs, in words, sanitized.
    """

    case_id: str
    tool: str
    arguments: Json
    status: DriftStatus
    reason: str = ""
    shape: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Call:
    case: Case
    step: Step

    @property
    def arguments(self) -> dict[str, Json]:
        return self.step.input if isinstance(self.step.input, dict) else {}

    @property
    def key(self) -> tuple[str, bytes]:
        return self.step.name, canonical(self.step.input)


def find_drift(
    reference: str,
    settings: Settings,
    *,
    tools: Sequence[str],
    actor: str,
    reason: str,
    target: str = "",
    limit: int = 100,
    timeout_s: float = 30.0,
) -> list[Drifted]:
    """Calls the named tools with the arguments that cases recorded, and compares the answers.

    Args:
        reference: a case, or a suite's file: all its cases.
        tools: names; ``name=module:function`` where the target does not mark it with `evalkit.tool`.
        target: whose tools they are; without it the suite's, the project's, or each case's own.
        limit: different calls at most; those beyond are skipped, and said to be.
        timeout_s: of one call.

    Raises:
        ConfigError: a tool is unknown, or nobody says that it only reads.
        InputError: no such case, or actor or reason is missing.
    """
    who = acting(actor, settings)
    if not reason.strip() or not who:
        raise InputError("the reason or the actor is empty", reference, "pass --reason and --actor")
    cases, own = _cases(reference, settings)
    wanted = dict(named_tool(tool) for tool in tools)
    calls = list(_calls(cases, wanted))
    chosen = target or own or settings.target
    with ExitStack() as stack:
        targets = [chosen] if chosen else [case.target for case in cases]
        live = live_tools(wanted, targets, settings, stack, timeout_s)
        for name, tool in live.items():
            tool.must_only_read(settings.effect_of(name), [call.step for call in calls if call.step.name == name])
        sanitizer = output_sanitizer(settings)
        facts: dict[str, Json] = {"tools": [*sorted(wanted)], "cases": [case.id for case in cases]}
        append_audit(settings.reports, "drift", actor=who, reason=sanitizer.text(reason), at=now_utc(), facts=facts)
        return _found(calls, live, sanitizer, limit, timeout_s)


def _found(
    calls: Sequence[_Call], live: Mapping[str, LiveTool], sanitizer: Sanitizer, limit: int, timeout_s: float
) -> list[Drifted]:
    """Makes the calls, equal ones once."""
    answers: dict[tuple[str, bytes], tuple[Json, BaseException | None]] = {}
    found = []
    for call in calls:
        skipped = _why_skipped(call) or (
            "" if call.key in answers or len(answers) < limit else f"beyond --limit {limit}"
        )
        if skipped:
            found.append(Drifted(call.case.id, call.step.name, call.step.input, "skipped", skipped))
            continue
        if call.key not in answers:
            with redirect_stdout(sys.stderr):
                answers[call.key] = live[call.step.name].answer(call.arguments, timeout_s)
        answer, raised = answers[call.key]
        if raised is None:
            answer = live[call.step.name].in_form_of(answer, call.step.output)
        one = _compared(call, answer, raised)
        found.append(
            replace(
                one,
                reason=sanitizer.text(one.reason),
                shape=tuple(map(sanitizer.text, one.shape)),
                values=tuple(map(sanitizer.text, one.values)),
            )
        )
    return found


def _cases(reference: str, settings: Settings) -> tuple[list[Case], str]:
    """Of a case, or of a suite, by its file or its name, with its target; a case of that name goes first."""
    path = suite_file(reference, settings)
    if reference.endswith(".toml") or (path.exists() and not (settings.cases / reference).exists()):
        suite = load_suite(path, model=settings.model)
        return [read_case(case.path) for case in select_cases(settings.cases, suite.select)], suite.target
    return [read_case(find_case(reference, settings.cases))], ""


def _calls(cases: Sequence[Case], wanted: Container[str]) -> Iterator[_Call]:
    """The recorded calls of these tools, in each case the first of equal ones: what the run had not changed yet."""
    for case in cases:
        seen = set()
        for step in case.trace.trace.steps:
            call = _Call(case, step)
            if step.kind == "tool" and step.name in wanted and call.key not in seen:
                seen.add(call.key)
                yield call


def _why_skipped(call: _Call) -> str:
    """Why a recorded call can't be made again; empty where it can."""
    if not isinstance(call.step.input, dict):
        return "its arguments are no object"
    place = f"tool {call.step.name}.input"
    if any(path == place or path.startswith(f"{place}.") for path in call.case.trace.record.paths):
        return "its arguments hold pseudonyms: the real ones are not in the case"
    return ""


def _compared(call: _Call, answer: Json, raised: BaseException | None) -> Drifted:
    step = call.step
    one = Drifted(call.case.id, step.name, step.input, "same")
    if isinstance(raised, OtherArguments):
        return replace(one, status="shape", shape=(f"takes other arguments: {raised}",))
    if raised is not None:
        kind = type(raised).__name__
        if step.error is not None and step.error.type == kind:
            return one
        then = "answered" if step.error is None else f"raised {step.error.type}"
        return replace(one, status="failed", reason=f"{then} then, raises {kind} now: {raised}")
    if step.error is not None:
        return replace(one, status="shape", shape=(f"raised {step.error.type} then, answers now",))
    drift: Drift = drift_of(step.output, answer, f"tool {step.name}.output", call.case.trace.record.paths)
    status: DriftStatus = "shape" if drift.shape else "values" if drift.values else "same"
    return replace(one, status=status, shape=drift.shape, values=drift.values)
