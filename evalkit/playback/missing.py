"""What becomes of a call that the case holds no answer for: the answerer that follows the rules.

Only tools and retrievals can be answered otherwise: a decision of a policy or a person, or a frozen model's answer, is
never made up. However a miss is answered, the replay is distorted from there on: it counts as missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalkit.capture.definition import DEFINITION
from evalkit.capture.seam import Answer, Call, Real
from evalkit.playback.fixtures import Frozen, ReplayHalt
from evalkit.playback.miss_rules import MissRule, rule_for, why_write
from evalkit.playback.model import Miss
from evalkit.playback.stub import stub_by, stub_like
from evalkit.trace.model import Effect, Step, StepError

__all__ = ["MISS", "Missing"]

MISS = "miss"
"""The attribute of a step that holds how its miss was answered."""

_READS: tuple[Effect, ...] = ("read", "pure")


class Missing:
    """Answers what the frozen answerer has no answer for, by rules; wraps it for one replay.

    Args:
        frozen: notes each miss; a rule's way with it is noted there, too.
        rules: the first whose pattern matches holds; none of them is ``fail``.
        steps: the case's, for the shapes of stubs and for effects.
    """

    def __init__(self, frozen: Frozen, rules: Sequence[MissRule], steps: Sequence[Step]) -> None:
        self._frozen = frozen
        self._rules = rules
        self._steps = steps

    def answer(self, call: Call) -> Answer | Real | None:
        """The recorded answer, or what the rule for the call's tool gives.

        Raises:
            ReplayHalt: the replay ends at this miss.
        """
        try:
            return self._frozen.answer(call)
        except ReplayHalt:
            miss = self._frozen.misses[-1]
            rule = rule_for(self._rules, call.name) if call.kind in ("tool", "retrieval") and not miss.why else None
            if rule is None or rule.policy == "fail":
                raise
            answer, why = self._handled(rule, call, miss)
            if answer is None:
                self._frozen.misses[-1] = replace(miss, refused=why)
                raise ReplayHalt(self._frozen.misses[-1].sentence()) from None
            self._frozen.misses[-1] = replace(miss, answered_by=rule.policy)
            return answer

    def _handled(self, rule: MissRule, call: Call, miss: Miss) -> tuple[Answer | Real | None, str]:
        """The answer; or None and why there is none."""
        told = {MISS: {**rule.json(), "number": miss.number, "nearest": miss.nearest}}
        if rule.policy == "error":
            words = f"{call.name} has no data for these arguments"
            return Answer(error=StepError("RuntimeError", words, "builtins"), substituted=True, attributes=told), ""
        recorded = [step for step in self._steps if step.kind == call.kind and step.name == call.name]
        if rule.policy == "live":
            why = _why_not_live(call, recorded)
            return (None, why) if why else (Real(told), "")
        if rule.given:
            return Answer(rule.value, substituted=True, attributes=told), ""
        answered = [step for step in recorded if step.error is None and step.output is not None]
        nearest = next((step for step in answered if step.seq == miss.nearest), None) or next(iter(answered), None)
        if nearest is not None:
            return Answer(stub_like(nearest.output), substituted=True, attributes=told), ""
        schema = _result_schema([*(step.attributes for step in recorded), call.attributes])
        if schema is not None:
            return Answer(stub_by(schema), substituted=True, attributes=told), ""
        return None, "no stub: no result of it is recorded and no schema of one declared"


def _why_not_live(call: Call, recorded: Sequence[Step]) -> str:
    """Why a tool is not run; empty for one that somebody says only reads."""
    if call.kind == "retrieval":
        return ""
    said = [(step.effect, step.effect_source) for step in recorded if step.effect_source in ("configured", "declared")]
    if call.effect is not None:
        said.append((call.effect, "declared"))
    if any(effect not in _READS for effect, _ in said):
        return why_write(call.name, guessed=False)
    return "" if said else f"not live: nobody says that {call.name} only reads; declare its effect"


def _result_schema(attributes: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The JSON Schema of a tool's results where its definition declares one."""
    for each in attributes:
        definition = each.get(DEFINITION)
        if isinstance(definition, Mapping):
            for key in ("output_schema", "outputSchema", "returns"):
                if isinstance(definition.get(key), Mapping):
                    found: Mapping[str, Any] = definition[key]
                    return found
    return None
