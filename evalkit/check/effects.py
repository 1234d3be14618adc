"""What the agent did to the world, against what it should have done: successful write calls, in any order.

Two calls are the same effect when their tool and canonical arguments are equal. Four harmless differences are
allowed: free text (five words or more) is compared loosely; an item of a list may repeat, or leave out, fields of a
record that a tool has shown under the same identifying field; a call with other arguments that had the expected
``result`` did the same; and a call that only sets what is set already (`writes.effects_of`) counts once. Tools that
hand over to a person are left out unless ``handovers`` is true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.canonical import Json, canonical
from evalkit.check.alike import Records, alike
from evalkit.check.grounding import ungrounded
from evalkit.check.model import Finding, Judge
from evalkit.check.params import flag, known_only, object_of, texts
from evalkit.check.view import shown
from evalkit.check.writes import effects_of, ends_in_a_call, failed_writes, result_digest
from evalkit.errors import InputError
from evalkit.trace.flow import answer_step, leaves
from evalkit.trace.model import Step, Trace
from evalkit.trace.paths import trace_without, without

__all__ = ["EFFECTS_EQUAL"]

_TYPE = "effects_equal"
_FLAGS = ("handovers", "answered", "tried", "grounded")
_MAX_DIFFERING = 4
_SENTENCE_WIDTH = 400


class EffectsEqual:
    """The successful write calls are exactly ``effects``, or one of the lists in ``or``.

    ``effects`` is a list of ``{"name", "arguments", "result"?}``, the result as `writes.result_digest`; ``free_text``
    is ``loose`` (default), ``exact`` or ``ignored``. A run that stopped before its end fails: what it would still have
    done is not known. With ``answered`` it must also not end in the middle of a call (a hand-over may be the end); with
    ``tried`` a call that failed, of a tool that no expected effect names, is one change too many: only luck undid it;
    with ``grounded`` every identifier in the changes was seen before it was used (`check.grounding`). ``volatile`` has
    the argument paths, by tool, that are not looked at (`trace.paths`).
    """

    name = _TYPE

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        lists = [params.get("effects") or [], *(params.get("or") or [])]
        said = " or ".join(_said(each) for each in lists)
        more = ", and it answers when that is done" if params.get("answered") else ""
        return f"What the agent changes is exactly: {said}{more}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Compares multisets by canonical text first; only a difference is looked at closely."""
        known_only(
            params, self.name, "effects", "or", "free_text", "handovers", "answered", "tried", "grounded", "volatile"
        )
        volatile = _volatile(params)
        choices = [_Expected(effects, volatile) for effects in [params.get("effects"), *_alternatives(params)]]
        free_text = params.get("free_text", "loose")
        if free_text not in ("loose", "exact", "ignored"):
            raise InputError(f"free_text is {free_text!r}", f"check {_TYPE}", "use loose, exact or ignored")
        handovers, answered, tried, grounded = (flag(params, name, _TYPE) for name in _FLAGS)
        names = {effect.name for each in choices for effect in each.effects}

        def judge(trace: Trace) -> Finding:
            trace = trace_without(trace, volatile)
            stopped = _stopped(trace)
            if stopped:
                last = tuple(step.seq for step in trace.steps[-1:])
                return Finding(False, f"wanted a run that came to its end, got {stopped}", last)
            if answered and ends_in_a_call(trace):
                last = tuple(step.seq for step in trace.steps[-1:])
                return Finding(False, "wanted an answer at the end, the run stops in the middle of a call", last)
            for step in failed_writes(trace) if tried else ():
                if step.name not in names:
                    return Finding(False, f"got {step.name}({shown(step.input)}), which only failed", (step.seq,))
            done = effects_of(trace, handovers=handovers)
            found = [_difference(expected, done, trace, free_text) for expected in choices]
            nearest = min(found, key=lambda finding: (not finding.passed, len(finding.reason)))
            invented = ungrounded(trace) if grounded and nearest.passed else []
            if invented:
                step, pointer, value = invented[0]
                return Finding(False, f"{step.name} was given {pointer} = {value} before anything held it", (step.seq,))
            return nearest

        return judge


@dataclass(frozen=True, slots=True)
class _Effect:
    """One expected effect; `text` is canonical, `result` a digest or empty."""

    name: str
    arguments: Json
    text: bytes
    result: str

    def happened_in(self, step: Step, records: Records, free_text: str) -> bool:
        if step.name != self.name:
            return False
        return alike(self.arguments, step.input, records, free_text) or (
            bool(self.result) and self.result == result_digest(step)
        )


class _Expected:
    """One list of expected effects."""

    __slots__ = ("effects", "keys")

    def __init__(self, effects: Any, volatile: Mapping[str, tuple[str, ...]]) -> None:
        if not isinstance(effects, list):
            raise InputError("effects is no list", f"check {_TYPE}", '[{"name": "...", "arguments": {}}]')
        self.effects = [_effect(one, volatile) for one in effects]
        self.keys = sorted([(one.name, one.text) for one in self.effects])


def _effect(body: Any, volatile: Mapping[str, tuple[str, ...]]) -> _Effect:
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        raise InputError("an effect has no name", f"check {_TYPE}", '[{"name": "...", "arguments": {}}]')
    arguments: Json = body.get("arguments", {})  # of some tools a text or a list
    for path in volatile.get(body["name"], ()):
        arguments = without(arguments, path)
    return _Effect(body["name"], arguments, canonical(arguments), str(body.get("result", "")))


def _volatile(params: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    named = object_of(params, "volatile", _TYPE)
    return {name: texts(named, name, _TYPE) for name in named}


def _alternatives(params: Mapping[str, Any]) -> list[Any]:
    found = params.get("or", [])
    if not isinstance(found, list):
        raise InputError("or is no list of lists of effects", f"check {_TYPE}", '"or": [[...]]')
    return found


def _stopped(trace: Trace) -> str:
    if trace.error is not None:
        return trace.error.type
    return "" if trace.status == "completed" else trace.status


def _as_expected(steps: Sequence[int]) -> str:
    return "the one change is as expected" if len(steps) == 1 else f"all {len(steps)} changes are as expected"


def _difference(expected: _Expected, done: Sequence[Step], trace: Trace, free_text: str) -> Finding:
    keyed = [((step.name, _key(step)), step) for step in done]
    steps = tuple(step.seq for step in done)
    if sorted([key for key, _ in keyed]) == expected.keys:
        return Finding(True, _as_expected(steps) if steps else "nothing was changed", steps)
    missing, extra = _unmatched(expected, keyed)
    records = Records(trace)
    unexpected: list[Step] = []
    for step in extra:
        found = next((one for one in missing if one.happened_in(step, records, free_text)), None)
        if found is None:
            unexpected.append(step)
        else:
            missing.remove(found)
    if not missing and not unexpected:
        return Finding(True, f"{_as_expected(steps)}, in other words", steps)
    shows = {step.seq for step in unexpected} | (set(answer_step(trace)) if missing else set())
    return Finding(False, _reason(missing, unexpected), tuple(sorted(shows)))


def _reason(missing: Sequence[_Effect], unexpected: Sequence[Step]) -> str:
    """What differs; a missing and an unexpected call of one tool are told as one call with other arguments."""
    left = list(unexpected)
    parts: list[str] = []
    for effect in missing:
        step = next((step for step in left if step.name == effect.name), None)
        if step is None:
            parts.append(f"expected {effect.name}({shown(effect.arguments)}), it did not happen")
        else:
            left.remove(step)
            parts.append(f"{effect.name} with other arguments: {_differing(effect.arguments, step.input)}")
    return "; ".join(parts + [f"got {step.name}({shown(step.input)}), it was not expected" for step in left])


def _differing(expected: Json, actual: Json) -> str:
    wanted, got = dict(leaves(expected)), dict(leaves(actual))
    pointers = [at for at in {**wanted, **got} if at not in wanted or at not in got or wanted[at] != got[at]]
    told = [f"{at or '/'} expected {_leaf(wanted, at)}, got {_leaf(got, at)}" for at in pointers[:_MAX_DIFFERING]]
    more = len(pointers) - len(told)
    return ", ".join(told) + (f" and {more} more" if more else "")


def _leaf(values: Mapping[str, Json], pointer: str) -> str:
    return shown(values[pointer]) if pointer in values else "nothing"


def _unmatched(
    expected: _Expected, keyed: Sequence[tuple[tuple[str, bytes], Step]]
) -> tuple[list[_Effect], list[Step]]:
    """What is left on both sides once equal calls are paired."""
    left = Counter(expected.keys)
    extra: list[Step] = []
    for key, step in keyed:
        if left[key] > 0:
            left[key] -= 1
        else:
            extra.append(step)
    missing: list[_Effect] = []
    for effect in expected.effects:
        if left[effect.name, effect.text] > 0:
            left[effect.name, effect.text] -= 1
            missing.append(effect)
    return missing, extra


def _key(step: Step) -> bytes:
    try:
        return canonical(step.input)
    except InputError:  # what is no JSON equals nothing that a case expects
        return b""


def _said(effects: Sequence[Mapping[str, Any]]) -> str:
    return (
        ", ".join(f"{one.get('name')}({shown(one.get('arguments', {}), _SENTENCE_WIDTH)})" for one in effects)
        or "nothing"
    )


EFFECTS_EQUAL = EffectsEqual()
