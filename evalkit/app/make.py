"""The first version of a case from sanitized traces: propose -> slice -> verify."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from evalkit.app.environment import now_utc
from evalkit.canonical import Json, digest, exact_text
from evalkit.case.model import FIXTURE_OF, Case, Dropped, LifeEvent, check_case_id
from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, CheckResult
from evalkit.distil.analogy import about_others
from evalkit.distil.contrast import BY_ANALOGY
from evalkit.distil.fingerprint import fingerprint
from evalkit.distil.propose import propose
from evalkit.distil.signature import signature
from evalkit.distil.slice import Slice, prune, slice_trace
from evalkit.distil.strength import strength
from evalkit.distil.volatile import ignoring, volatile_paths
from evalkit.distil.widen import Widened, once_a_world, widen
from evalkit.errors import CaseRefused, InputError
from evalkit.sanitize.model import SanitizedTrace
from evalkit.trace.evidence import evidence, find_lacks
from evalkit.trace.model import Step, Trace
from evalkit.trace.modes import closed_modes
from evalkit.trace.paths import trace_without, united, without

__all__ = ["make_case"]


def make_case(
    incident: SanitizedTrace,
    *,
    print_of: str,
    expect: Json = None,
    passing: Sequence[SanitizedTrace] = (),
    at: int | None = None,
    keep_all: bool = False,
    case_id: str | None = None,
    title: str = "",
    target: str = "",
    reproduces: Callable[[Case], str] | None = None,
    left_out: bool = False,
    volatile: Mapping[str, Sequence[str]] | None = None,
    learn: bool = True,
) -> tuple[Case, tuple[CheckResult, ...]]:
    """The first version of a case from sanitized traces, with its checks' results on the incident.

    Args:
        print_of: the incident's fingerprint.
        reproduces: replays a pruned case; says why it did not fail as the incident did, empty when it did.
        left_out: somebody said that pruning is not to be verified.
        volatile: argument paths, by tool, that matching leaves out.
        learn: whether further ones are learnt from the runs.

    Raises:
        CaseRefused: no gating check fails on the incident.
    """
    trace = incident.trace
    healthy = [one.trace for one in passing]
    learnt = volatile_paths([trace, *healthy]) if learn else []
    paths = functools.reduce(united, ({one.name: (one.path,)} for one in learnt), united(volatile or {}, {}))
    bare, *bare_healthy = [trace_without(run, paths) for run in (trace, *healthy)]
    others: dict[str, Json] = {run.id: words for run in healthy if (words := about_others(trace, run))}
    checks = ignoring(propose(bare, expect=expect, passing=bare_healthy), paths)
    results = judge_checks(checks, trace)
    failing = tuple(result for result in results if result.gating and not result.passed)
    if not failing:
        same = next((run.id for run in healthy if print_of and fingerprint(run) == print_of), "")
        why = f"the healthy run {same} did the very same" if same else _why_refused(checks, expect, healthy)
        if healthy and len(others) == len(healthy):
            why = f"{why}, which is about other records ({others[healthy[0].id]})"
        raise CaseRefused(why, f"trace {trace.id}", _cure_refused(expect, healthy, checks))
    whole = _whole(incident, checks, bare_healthy, signature(trace, failing))
    told: list[Json] = [one.sentence() for one in learnt]
    found: dict[str, Json] = {"volatile": told, "other_records": others}
    source = {**whole.source, **{name: value for name, value in found.items() if value}}
    whole = replace(whole, fingerprint=print_of, volatile=paths, source=source)
    whole = replace(whole, title=title or _title(whole.signature, trace), target=target)
    whole = replace(whole, id=check_case_id(case_id) if case_id else _slug(whole.signature, trace))
    further = _strangers(trace, [run for run in healthy if run.id not in others], paths)

    def still_fails(sliced: Slice) -> str:
        left = judge_checks(checks, prune(trace, sliced))
        return "" if any(not one.passed for one in left if one.gating) else "the checks pass on the pruned trace"

    def fails_again(sliced: Slice) -> str:
        return reproduces(_pruned(whole, sliced, further)) if reproduces else ""

    judged = widen(trace, slice_trace(trace, _failure_points(failing, trace, at), keep_all=keep_all), still_fails)
    replayed = once_a_world(trace, fails_again)
    verified = widen(trace, judged.slice, lambda ring: still_fails(ring) or replayed(ring))
    verified = replace(verified, times=judged.times + verified.times)
    pruning = _pruning(verified, target, reproduces is not None, left_out)
    return replace(_pruned(whole, verified.slice, further), pruning=pruning), failing


def _whole(incident: SanitizedTrace, checks: Sequence[Check], healthy: Sequence[Trace], name: str) -> Case:
    """The case with nothing pruned yet, and no id of its own."""
    trace = incident.trace
    lacks = find_lacks(trace)
    found = evidence(trace, lacks)
    strong = strength(checks, healthy, trace)
    return Case(
        id="incident",
        version=1,
        title="",
        trace=SanitizedTrace.admitted(replace(trace, gaps=found.gaps), incident.record),
        kept=tuple(step.seq for step in trace.steps),
        checks=tuple(checks),
        life=(LifeEvent("proposed", "evalkit ingest", "made from an incident", now_utc()),),
        source={"trace_id": trace.id, "dialect": trace.dialect, "passing": [one.id for one in healthy]},
        signature=name,
        evidence=found.score,
        closed=closed_modes(trace, lacks),
        strength={} if strong is None else strong.as_json(),
    )


def _pruned(whole: Case, sliced: Slice, further: Sequence[Step]) -> Case:
    """The case with what a slice keeps, and further fixtures."""
    trace = whole.trace.trace
    pruned = prune(trace, sliced)
    left = replace(pruned, steps=(*pruned.steps, *further))
    return replace(
        whole,
        trace=SanitizedTrace.admitted(left, whole.trace.record),
        kept=sliced.kept,
        dropped=tuple(Dropped(seq, trace.step(seq).kind, trace.step(seq).name, why) for seq, why in sliced.dropped),
    )


def _pruning(verified: Widened, target: str, was_run: bool, left_out: bool) -> dict[str, Json]:
    """Whether a replay proved the pruning; for the case's header."""
    if left_out:
        return {"verified": False, "why": "left out (--no-verify)"}
    if not was_run:
        return {"verified": False, "why": "no target"}
    if verified.why:
        return {"verified": False, "why": verified.why}
    return {"verified": True, "how": f"replay of {target}", "widened": verified.times}


def _failure_points(failing: Iterable[CheckResult], trace: Trace, at: int | None) -> list[int]:
    if at is not None:
        if not any(step.seq == at for step in trace.steps):
            raise InputError(f"there is no step {at}", f"trace {trace.id}", "evalkit inspect shows the steps")
        return [at]
    return sorted({seq for result in failing for seq in result.steps})


def _strangers(trace: Trace, healthy: Sequence[Trace], volatile: Mapping[str, Sequence[str]]) -> list[Step]:
    """Answers that only a healthy run was given, as further fixtures: a mended agent may ask what this one did not.

    Args:
        healthy: those about the incident's records; another order's answers would be wrong here.
    """
    known = {_asked(step, volatile) for step in trace.steps if step.is_dependency} if healthy else set()
    number = max((step.seq for step in trace.steps), default=-1)
    found: list[Step] = []
    for run in healthy:
        for step in run.steps:
            if step.kind == "tool" and _asked(step, volatile) not in known:
                known.add(_asked(step, volatile))
                number += 1
                attributes = {**step.attributes, FIXTURE_OF: run.id}
                found.append(replace(step, seq=number, parent=None, attributes=attributes))
    return found


def _asked(step: Step, volatile: Mapping[str, Sequence[str]]) -> str:
    given = step.input
    for path in volatile.get(step.name, ()):
        given = without(given, path)
    return digest([step.kind, step.name, given])


def _why_refused(checks: Sequence[Check], expect: Json, healthy: Sequence[Trace]) -> str:
    if expect is not None:
        return "all that was expected holds on the incident, so that no check would fail on it"
    if checks and healthy:
        return "no check tells the incident from the healthy run"
    return "nothing in the trace breaks a rule that evalkit knows, so no check would fail on it"


def _cure_refused(expect: Json, healthy: Sequence[Trace], checks: Sequence[Check]) -> str:
    due = next((check.params for check in checks if check.rule == BY_ANALOGY), None)
    if due is not None:
        stated = exact_text(dict(due)).decode()
        return f"if the same was due for the incident's records, write it to a file for --expect: {stated}"
    if expect is None and not healthy:
        return "say what should have happened: --expect expected.json, or --passing healthy.trace"
    return (
        "give a healthy run of the same task and records (--passing), or state with --expect what else should have "
        "come out or been done"
    )


def _slug(name: str, trace: Trace) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-") or "incident"
    return f"{words}-{digest([trace.id, trace.input, trace.output])[:6]}"


def _title(name: str, trace: Trace) -> str:
    kind, _, detail = name.partition(":")
    words = kind.replace("_", " ").lower()
    return f"{trace.name or 'agent'}: {words}{f' ({detail})' if detail else ''}"[:160]
