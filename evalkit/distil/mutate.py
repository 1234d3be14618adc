"""Changed copies of a healthy run: harmful ones that checks must catch, harmless ones that they must let pass.

Mutation testing (DeMillo, Lipton, Sayward 1978) applied to an agent's run: each mutant differs by one small fault of a
kind that agents make. What is derived from a changed call goes with it: a call with another argument did not have the
recorded result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any

from evalkit.canonical import Json
from evalkit.check.alike import is_free_text
from evalkit.check.grounding import is_identifier
from evalkit.check.view import agent_calls
from evalkit.check.writes import effects_of, same_call, sets_again
from evalkit.trace.flow import flow
from evalkit.trace.model import Step, Trace

__all__ = ["Variant", "harmful", "harmless"]

_MAX_LEAVES = 40
_OTHER_TEXT = "zq unrelated words replace the whole of it here"
_LAST_DIGIT = re.compile(r"\d(?=\D*$)")


@dataclass(frozen=True, slots=True)
class Variant:
    """A changed run.

    Attributes:
        kind: what kind of change, such as ``repeat``; for counting.
        sentence: what the agent did otherwise, in words.
        trace: the run.
    """

    kind: str
    sentence: str
    trace: Trace


def harmful(healthy: Trace, incident: Trace | None = None) -> Iterator[Variant]:
    """Runs that differ from a healthy one by one fault.

    A change of the world left out, done twice, done with another argument (each leaf), or done before the look-up whose
    identifiers it was given; an approval left out; a change of unknown outcome done again; the run ended early; another
    value in the structured answer; and, where an incident is given, each of its own changes done as well.
    """
    writes = effects_of(healthy)
    for step in writes:
        yield Variant("drop", f"{step.name} is not called", _without(healthy, step.seq))
        if not _may_repeat(step):
            yield Variant("repeat", f"{step.name} is called twice", _with(healthy, step.seq, _again(step)))
        needed = _first_needed(healthy, step)
        if needed is not None:
            yield Variant(
                "order", f"{step.name} comes before the look-up that it needs", _earlier(healthy, step, needed)
            )
        for pointer, changed in _changed_leaves(step.input):
            mutant = replace(step, input=changed, output=None)
            yield Variant("argument", f"{step.name} is given another {pointer}", _swapped(healthy, mutant))
    for approval in healthy.of_kind("approval"):
        yield Variant("approval", f"{approval.name} is not asked for", _without(healthy, approval.seq))
    for step in agent_calls(healthy):
        if _unknown(step):
            yield Variant("unknown", f"{step.name} is tried again while its outcome is unknown",
                          _with(healthy, step.seq, _again(step)))  # fmt: skip
    for step in writes:
        yield Variant("stop", f"the run ends before {step.name}", _until(healthy, step.seq))
    for pointer, changed in _changed_leaves(healthy.output) if isinstance(healthy.output, dict | list) else ():
        yield Variant("output", f"the answer has another {pointer}", _answering(healthy, changed))
    for step in effects_of(incident) if incident is not None else ():
        if not any(same_call(step, done) for done in writes):
            yield Variant("add", f"{step.name} is called as in the incident", _added(healthy, step))


def harmless(healthy: Trace) -> Iterator[Variant]:
    """Runs that differ from a healthy one in nothing that matters.

    Neighbouring look-ups in another order, a look-up done twice, an agent that thinks aloud, other words in prose
    arguments, arguments in another order, whole numbers written as fractions.
    """
    reads = [step for step in agent_calls(healthy) if step.effect == "read" and step.error is None]
    for first, second in pairwise(reads):
        if first.name != second.name or first.input != second.input:
            yield Variant("reorder", f"{second.name} comes before {first.name}", _exchanged(healthy, first, second))
    for step in reads:
        yield Variant("extra read", f"{step.name} is called twice", _with(healthy, step.seq, _again(step)))
    if healthy.steps:
        first = healthy.steps[0]
        thought = replace(first, kind="model", name="chat", input={"messages": []}, effect=None, error=None,
                          output={"role": "assistant", "content": "Let me look into this."}, attributes={})  # fmt: skip
        yield Variant("remark", "the agent thinks aloud at the start", _with(healthy, first.seq, thought))
    for step in effects_of(healthy):
        if sets_again(step, step):
            yield Variant("set again", f"{step.name} is called twice", _with(healthy, step.seq, _again(step)))
        turned = _reversed_keys(step.input)
        yield Variant("key order", f"{step.name} has its arguments in another order",
                      _swapped(healthy, replace(step, input=turned)))  # fmt: skip
        floated = _floats(step.input)
        if floated != step.input or repr(floated) != repr(step.input):
            yield Variant("number form", f"{step.name} is given its whole numbers as fractions",
                          _swapped(healthy, replace(step, input=floated)))  # fmt: skip
        worded = _reworded(step.input)
        if worded != step.input:
            yield Variant("wording", f"{step.name} is given the same in other words",
                          _swapped(healthy, replace(step, input=worded)))  # fmt: skip


def _again(step: Step) -> Step:
    call_id = step.attributes.get("tool_call_id")
    return replace(step, attributes={**step.attributes, "tool_call_id": f"{call_id}-again"}) if call_id else step


def _unknown(step: Step) -> bool:
    return step.effect == "write" and step.error is not None and "timeout" in step.error.type.lower()


def _may_repeat(step: Step) -> bool:
    """Whether doing a call again changes nothing: it sets what it set, or has an idempotency key."""
    keyed = isinstance(step.input, dict) and any("idempotency" in key.lower() for key in step.input)
    return keyed or sets_again(step, step)


def _first_needed(trace: Trace, write: Step) -> Step | None:
    """The first look-up that alone held an identifier of a write before it."""
    sources = [found for found in flow(trace).by_step.get(write.seq, ()) if found.origin in ("tool", "retrieval")]
    sole = {
        at
        for at in {found.seq for found in sources}
        if any(
            found.seq == at
            and is_identifier(found.value)
            and sum(other.pointer == found.pointer for other in sources) == 1
            for found in sources
        )
    }
    return next((step for step in trace.steps if step.seq in sole), None)


def _earlier(trace: Trace, write: Step, needed: Step) -> Trace:
    steps = [step for step in trace.steps if step.seq != write.seq]
    at = next(at for at, step in enumerate(steps) if step.seq == needed.seq)
    return _numbered(trace, [*steps[:at], write, *steps[at:]])


def _changed_leaves(value: Json) -> Iterator[tuple[str, Json]]:
    """Copies of a value, each with one leaf changed, and the pointer of that leaf."""
    return islice(_each_leaf(value, ""), _MAX_LEAVES)


def _each_leaf(value: Json, pointer: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        for key, item in value.items():
            for found, changed in _each_leaf(item, f"{pointer}/{key}"):
                yield found, {**value, key: changed}
    elif isinstance(value, list):
        for at, item in enumerate(value):
            for found, changed in _each_leaf(item, f"{pointer}/{at}"):
                yield found, [*value[:at], changed, *value[at + 1 :]]
    elif value is not None:
        yield pointer, _other(value)


def _other(leaf: Json) -> Json:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int | float):
        return leaf + 1
    text = str(leaf)
    if is_free_text(text):
        return _OTHER_TEXT
    changed = _LAST_DIGIT.sub(lambda found: str((int(found[0]) + 1) % 10), text)
    return changed if changed != text else f"{text}x"


def _reversed_keys(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _reversed_keys(value[key]) for key in reversed(value)}
    return [_reversed_keys(item) for item in value] if isinstance(value, list) else value


def _floats(value: Json) -> Json:
    return _mapped(value, lambda leaf: float(leaf) if isinstance(leaf, int) and abs(leaf) < 2**53 else leaf)


def _reworded(value: Json) -> Json:
    return _mapped(value, lambda leaf: f"Well, {str(leaf).rstrip('.')}, please." if is_free_text(leaf) else leaf)


def _mapped(value: Json, change: Callable[[Any], Json]) -> Json:
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    return value if isinstance(value, bool) or value is None else change(value)


def _without(trace: Trace, seq: int) -> Trace:
    return _numbered(trace, [step for step in trace.steps if step.seq != seq])


def _with(trace: Trace, after: int, extra: Step) -> Trace:
    return _numbered(
        trace, [each for step in trace.steps for each in ((step, extra) if step.seq == after else (step,))]
    )


def _swapped(trace: Trace, mutant: Step) -> Trace:
    return replace(trace, steps=tuple(mutant if step.seq == mutant.seq else step for step in trace.steps))


def _exchanged(trace: Trace, first: Step, second: Step) -> Trace:
    other = {first.seq: second, second.seq: first}
    return _numbered(trace, [other.get(step.seq, step) for step in trace.steps])


def _until(trace: Trace, seq: int) -> Trace:
    return replace(_numbered(trace, [step for step in trace.steps if step.seq < seq]), output=None)


def _answering(trace: Trace, output: Json) -> Trace:
    return replace(trace, output=output)


def _added(trace: Trace, step: Step) -> Trace:
    after = max((done.seq for done in effects_of(trace)), default=trace.steps[0].seq if trace.steps else 0)
    return _with(trace, after, replace(step, parent=None))


def _numbered(trace: Trace, steps: Sequence[Step]) -> Trace:
    """The steps in their new order; a parent that is gone is nobody's."""
    numbers = {step.seq: at for at, step in reversed([*enumerate(steps)])}
    return replace(
        trace,
        steps=tuple(
            replace(step, seq=at, parent=None if step.parent is None else numbers.get(step.parent))
            for at, step in enumerate(steps)
        ),
    )
