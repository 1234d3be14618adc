"""`evalkit ingest`: load -> configure -> sanitize -> propose -> verify -> slice -> write.

Sanitizing comes before anything is derived, so that what is proposed, verified and written is one and the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalkit.app.environment import now_utc
from evalkit.app.keys import make_sanitizer
from evalkit.app.settings import Settings
from evalkit.canonical import Json, digest, exact_text
from evalkit.case.header import header_json
from evalkit.case.look import look_over
from evalkit.case.model import FIXTURE_OF, Case, Dropped, LifeEvent, check_case_id
from evalkit.case.rows import steps_to_columns
from evalkit.case.store import case_versions, write_case
from evalkit.case.view import render_view, write_view
from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, CheckResult
from evalkit.distil.propose import propose
from evalkit.distil.signature import signature
from evalkit.distil.slice import Slice, prune, slice_trace
from evalkit.distil.strength import strength
from evalkit.errors import CaseRefused, InputError
from evalkit.sanitize.model import SanitizedTrace
from evalkit.sanitize.verify import verify_strings
from evalkit.suite.select import list_cases
from evalkit.trace.evidence import evidence
from evalkit.trace.model import Step, Trace
from evalkit.trace.modes import closed_modes
from evalkit.trace.read import load_traces

__all__ = ["Ingested", "configured", "ingest_trace", "load_one", "make_case"]


@dataclass(frozen=True, slots=True)
class Ingested:
    """What an ingest came to.

    Attributes:
        case: as written, or as it would be (dry run).
        path: the case file; None in a dry run, or where writing was not agreed to.
        failing: the checks' results on the incident.
    """

    case: Case
    path: Path | None
    failing: tuple[CheckResult, ...]


def load_one(source: str, *, format: str | None = None, trace_id: str | None = None) -> Trace:
    """The one trace of a source, or the one with an id.

    Raises:
        InputError: there are none or several.
    """
    found = [trace for trace in load_traces(source, format=format) if trace_id in (None, trace.id)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(
            "no trace" + (f" with id {trace_id!r}" if trace_id else ""), source, f"evalkit inspect {source}"
        )
    ids = ", ".join(trace.id for trace in found[:8])
    raise InputError(f"{len(found)} traces, one wanted: {ids}", source, "pass --trace ID")


def ingest_trace(
    trace: Trace,
    settings: Settings,
    *,
    expect: Json = None,
    passing: Sequence[Trace] = (),
    at: int | None = None,
    case_id: str | None = None,
    title: str = "",
    keep_all: bool = False,
    tags: Sequence[str] = (),
    target: str = "",
    owner: str = "",
    link: str = "",
    dry_run: bool = False,
    source: str = "",
    agree: Callable[[Case], bool] = lambda _: True,
) -> Ingested:
    """Makes a case of an incident and writes it.

    Args:
        source: where the trace comes from; it and the tags decide which of the project's sanitization rules hold.
        agree: is asked, when the case is ready, whether to write it.

    Raises:
        CaseRefused: no gating check fails on the incident, or the incident is a case already.
        SanitizationFailed: something personal would have been written.
    """
    sanitizer = make_sanitizer(settings, source, tags)
    incident, *healthy = sanitizer.sanitize([configured(one, settings) for one in (trace, *passing)])
    made, results = make_case(
        incident,
        expect=None if expect is None else sanitizer.value(expect),
        passing=healthy,
        at=at,
        keep_all=keep_all,
        case_id=case_id,
        title=str(sanitizer.value(title)),
    )
    made = replace(
        made,
        tags=tuple(sanitizer.text(tag) for tag in tags),
        target=target or settings.target,
        owner=owner or settings.owner,
        link=sanitizer.text(link),
    )
    _refuse_known(made, settings.cases)
    harvested = sanitizer.harvested
    verify_strings(_written(made) if dry_run else (made.id, render_view(made)), harvested, f"case {made.id}")
    if dry_run or not agree(made):
        return Ingested(made, None, results)
    path = write_case(made, settings.cases, look=lambda fresh: look_over(fresh, harvested))
    write_view(made, settings.cases)
    return Ingested(made, path, results)


def make_case(
    incident: SanitizedTrace,
    *,
    expect: Json = None,
    passing: Sequence[SanitizedTrace] = (),
    at: int | None = None,
    keep_all: bool = False,
    case_id: str | None = None,
    title: str = "",
) -> tuple[Case, tuple[CheckResult, ...]]:
    """The first version of a case from sanitized traces, with its checks' results on the incident.

    Raises:
        CaseRefused: no gating check fails on the incident.
    """
    trace = incident.trace
    healthy = [one.trace for one in passing]
    checks = propose(trace, expect=expect, passing=healthy)
    results = judge_checks(checks, trace)
    failing = tuple(result for result in results if result.gating and not result.passed)
    if not failing:
        raise CaseRefused(_why_refused(checks, healthy), f"trace {trace.id}", _cure_refused(expect, healthy))
    sliced = _sliced(trace, checks, _failure_points(failing, trace, at), keep_all)
    pruned = prune(trace, sliced)
    pruned = replace(pruned, steps=(*pruned.steps, *_strangers(trace, healthy)))
    name = signature(trace, failing)
    found = evidence(trace)
    strong = strength(checks, healthy, trace)
    case = Case(
        id=check_case_id(case_id) if case_id else _slug(name, trace),
        version=1,
        title=title or _title(name, trace),
        trace=SanitizedTrace.admitted(replace(pruned, gaps=found.gaps), incident.record),
        kept=sliced.kept,
        dropped=tuple(Dropped(seq, trace.step(seq).kind, trace.step(seq).name, why) for seq, why in sliced.dropped),
        checks=tuple(checks),
        life=(LifeEvent("proposed", "evalkit ingest", "made from an incident", now_utc()),),
        source={"trace_id": trace.id, "dialect": trace.dialect, "passing": [one.id for one in healthy]},
        signature=name,
        evidence=found.score,
        closed=closed_modes(trace),
        strength={} if strong is None else strong.as_json(),
    )
    return case, failing


def _written(case: Case) -> Iterator[str]:
    """Every text that the case's files will hold."""
    columns = steps_to_columns(case.trace.trace.steps, case.kept)
    yield exact_text(header_json(case, "")).decode()
    yield from (value for column in columns.values() for value in column if isinstance(value, str))
    yield render_view(case)


def configured(trace: Trace, settings: Settings) -> Trace:
    """The trace with the project's word on its tools' effects."""
    return replace(trace, steps=tuple(_with_effect(step, settings) for step in trace.steps))


def _with_effect(step: Step, settings: Settings) -> Step:
    effect = settings.effect_of(step.name) if step.kind == "tool" else None
    return step if effect is None else replace(step, effect=effect, effect_source="configured")


def _failure_points(failing: Iterable[CheckResult], trace: Trace, at: int | None) -> list[int]:
    if at is not None:
        if not any(step.seq == at for step in trace.steps):
            raise InputError(f"there is no step {at}", f"trace {trace.id}", "evalkit inspect shows the steps")
        return [at]
    return sorted({seq for result in failing for seq in result.steps})


def _sliced(trace: Trace, checks: Sequence[Check], failures: Sequence[int], keep_all: bool) -> Slice:
    """The path to the failure; the whole trace where the checks would no longer fail on what is left."""
    sliced = slice_trace(trace, failures, keep_all=keep_all)
    left = judge_checks(checks, prune(trace, sliced))
    if any(result.gating and not result.passed for result in left):
        return sliced
    return slice_trace(trace, failures, keep_all=True)


def _strangers(trace: Trace, healthy: Sequence[Trace]) -> list[Step]:
    """Answers that only a healthy run was given, as further fixtures: a mended agent may ask what this one did not."""
    known = {_asked(step) for step in trace.steps if step.is_dependency}
    number = max((step.seq for step in trace.steps), default=-1)
    found: list[Step] = []
    for run in healthy:
        for step in run.steps:
            if step.kind == "tool" and _asked(step) not in known:
                known.add(_asked(step))
                number += 1
                attributes = {**step.attributes, FIXTURE_OF: run.id}
                found.append(replace(step, seq=number, parent=None, attributes=attributes))
    return found


def _asked(step: Step) -> str:
    return digest([step.kind, step.name, step.input])


def _refuse_known(case: Case, root: Path) -> None:
    for known in list_cases(root):
        if known.raw_hash == case.trace.record.raw_hash:
            raise CaseRefused(
                f"this incident is case {known.id} already (version {known.version})",
                f"trace {case.source['trace_id']}",
                f"evalkit show {known.id}; evalkit edit {known.id} makes a new version",
            )
    if case_versions(root / case.id):
        raise InputError(f"there is a case {case.id!r} of another incident", str(root), "pass --id")


def _why_refused(checks: Sequence[Check], healthy: Sequence[Trace]) -> str:
    if checks and healthy:
        return "no check tells the incident from the healthy run"
    return "nothing in the trace breaks a rule that evalkit knows, so no check would fail on it"


def _cure_refused(expect: Json, healthy: Sequence[Trace]) -> str:
    if expect is None and not healthy:
        return "say what should have happened: --expect expected.json, or --passing healthy.trace"
    return "give another healthy run, or state the expected output and effects with --expect"


def _slug(name: str, trace: Trace) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-") or "incident"
    return f"{words}-{digest([trace.id, trace.input, trace.output])[:6]}"


def _title(name: str, trace: Trace) -> str:
    kind, _, detail = name.partition(":")
    words = kind.replace("_", " ").lower()
    return f"{trace.name or 'agent'}: {words}{f' ({detail})' if detail else ''}"[:160]
