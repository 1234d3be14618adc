"""Checks from healthy runs of the same task: what holds on each of them and not on the incident.

The strongest statement comes first: what the agent did to the world. The weaker ones (how the run ended, what the
user was told, which tools were used) are tiers: a tier gates only when no stronger one tells the runs apart, because
healthy runs differ from each other in it too. What is stated in values is mined from runs about the same records alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from evalkit.canonical import Json, canonical
from evalkit.check.grounding import ungrounded
from evalkit.check.model import Check
from evalkit.check.view import agent_calls
from evalkit.check.writes import effects_of, ends_in_a_call, failed_writes, result_digest
from evalkit.distil.analogy import effects_by_analogy
from evalkit.distil.answers import numbers_answered
from evalkit.trace.effect import is_handover
from evalkit.trace.model import Step, Trace

__all__ = ["BY_ANALOGY", "by_analogy", "contrast_tiers"]

BY_ANALOGY = "contrast:analogy"
_RULE = "contrast"
_LOOP_FACTOR = 3


def contrast_tiers(
    incident: Trace, passing: Sequence[Trace], same: Sequence[Trace]
) -> Iterator[tuple[list[Check], Sequence[Trace]]]:
    """Candidates, strongest tier first, each with the runs that it must hold on; each still has to be judged.

    Args:
        same: those of the healthy runs that are about the incident's records.
    """
    yield [_effects(incident, same)] if same else [], same
    yield _told(same) if same else [], same
    yield _ending(passing), passing
    yield _writes_used(incident, passing), passing
    yield _handed_over(incident, passing), passing
    yield _reads_used(incident, passing), passing
    yield _size(passing), passing


def by_analogy(incident: Trace, others: Sequence[Trace]) -> Iterator[Check]:
    """What was due by the example of runs about other records, where they agree; for a person to look at."""
    every = (effects_by_analogy(incident, run) for run in others)
    found = {_in_no_order(effects): effects for effects in every if effects is not None}
    if len(found) == 1:
        evidence = tuple(step.seq for step in effects_of(incident))
        params: dict[str, Json] = {"effects": [*found.popitem()[1]]}
        yield Check("effects_equal", params, gating=False, rule=BY_ANALOGY, evidence=evidence, confidence=0.5)


def _in_no_order(effects: Sequence[Json]) -> bytes:
    return b" ".join(sorted(canonical(one) for one in effects))


def _effects(incident: Trace, passing: Sequence[Trace]) -> Check:
    lists: dict[bytes, list[Json]] = {}
    for run in passing:
        effects = [_effect(step) for step in effects_of(run)]
        lists.setdefault(_in_no_order(effects), effects)
    first, *others = lists.values()
    params: dict[str, Json] = {"effects": first}
    if others:
        params["or"] = [*others]
    named = {str(one["name"]) for effects in lists.values() for one in effects if isinstance(one, dict)}
    if not any(ends_in_a_call(run) for run in passing):
        params["answered"] = True
    if all(step.name in named for run in passing for step in failed_writes(run)):
        params["tried"] = True
    if not any(ungrounded(run) for run in passing):
        params["grounded"] = True
    evidence = tuple(step.seq for step in effects_of(incident))
    return Check("effects_equal", params, rule=f"{_RULE}:effects", evidence=evidence, confidence=0.9)


def _effect(step: Step) -> Json:
    body: dict[str, Json] = {"name": step.name, "arguments": step.input}
    result = result_digest(step)
    return {**body, "result": result} if result else body


def _told(passing: Sequence[Trace]) -> list[Check]:
    first, *others = [numbers_answered(run) for run in passing]
    shared = [number for number in first if all(number in each for each in others)]
    confidence = 0.6 if not others else 0.8
    return [
        Check("tells", {"values": [_plain(number)]}, rule=f"{_RULE}:told", confidence=confidence) for number in shared
    ]


def _ending(passing: Sequence[Trace]) -> list[Check]:
    """How every healthy run ended: an incident may have done the same and not come so far."""
    ends = {_end(run.steps[-1]) for run in passing if run.steps}
    if len(ends) != 1:
        return []
    kind, name = ends.pop()
    params: dict[str, Json] = {"kind": kind, "name": name} if name else {"kind": kind}
    return [Check("ends_with", params, rule=f"{_RULE}:ending", confidence=0.6)]


def _end(step: Step) -> tuple[str, str]:
    return step.kind, step.name if step.kind == "other" else ""


def _writes_used(incident: Trace, passing: Sequence[Trace]) -> list[Check]:
    return _used(incident, passing, lambda step: step.effect == "write" and not is_handover(step.name), 0.6)


def _handed_over(incident: Trace, passing: Sequence[Trace]) -> list[Check]:
    return _used(incident, passing, lambda step: is_handover(step.name), 0.4)


def _reads_used(incident: Trace, passing: Sequence[Trace]) -> list[Check]:
    return _used(incident, passing, lambda step: step.effect == "read", 0.3)


def _used(incident: Trace, passing: Sequence[Trace], counts: Callable[[Step], bool], confidence: float) -> list[Check]:
    """Tools that only the incident used, and tools that every healthy run used and the incident did not."""
    used = {step.name: step.seq for step in reversed(list(agent_calls(incident))) if step.name and counts(step)}
    healthy = [{step.name for step in agent_calls(run) if step.name and counts(step)} for run in passing]
    strange = sorted(used.keys() - set().union(*healthy))
    lacking = sorted(set.intersection(*healthy) - used.keys())
    forbidden, needed = f"{_RULE}:only_incident", f"{_RULE}:all_healthy"
    return [
        Check("not_called", {"name": name}, rule=forbidden, evidence=(used[name],), confidence=confidence)
        for name in strange
    ] + [Check("called", {"name": name}, rule=needed, confidence=confidence) for name in lacking]


def _size(passing: Sequence[Trace]) -> list[Check]:
    """A limit that every healthy run keeps by far, where the incident went round in circles."""
    most = max(sum(1 for _ in agent_calls(run)) for run in passing)
    limit = _LOOP_FACTOR * max(most, 2)
    return [Check("step_limit", {"max_tool_calls": limit}, rule=f"{_RULE}:size", confidence=0.5)]


def _plain(number: float) -> Json:
    return int(number) if number.is_integer() else number
