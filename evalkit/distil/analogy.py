"""What a healthy run of another record would have changed, had it been about the incident's.

Each value of its changes is followed to where it came from: what the user brought up becomes what the incident's user
brought up there, and what a look-up answered becomes what the incident's own look-up, with the arguments brought over
alike, answered at the same place. What came from nowhere is the agent's own and stays. Where a value could be several,
or the incident lacks the look-up, there is no analogy: this is a proposal for a person, and no guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evalkit.canonical import Json, canonical
from evalkit.check.writes import effects_of
from evalkit.distil.other_records import Asked, asked_instead, other_records
from evalkit.trace.flow import leaves
from evalkit.trace.model import Step, Trace

__all__ = ["about_others", "effects_by_analogy"]


def about_others(incident: Trace, run: Trace) -> str:
    """That what a healthy run changed is of other records than the incident's, in words; empty where it is not.

    A user who says another date or session is about the same order still: what was changed is the same, brought over or
    not.
    """
    words = other_records(incident, run)
    if not words:
        return ""
    own = [canonical(step.input) for step in effects_of(run)]
    brought = effects_by_analogy(incident, run) or []
    return "" if own and own == [canonical(one["arguments"]) for one in brought if isinstance(one, dict)] else words


def effects_by_analogy(incident: Trace, run: Trace) -> list[Json] | None:
    """The changes that were due in the incident, as `effects_equal` takes them; None where nothing tells."""
    try:
        brought = _Brought(incident, run)
        return [{"name": step.name, "arguments": brought.over(step.input, step.seq)} for step in effects_of(run)]
    except _NoAnalogyError:
        return None


_TELLING = 3
"""Characters of a value below which it may stand in an answer by accident."""


class _NoAnalogyError(Exception):
    """A value has no counterpart in the incident, or several."""


class _Brought:
    """Brings values of a run over to the incident."""

    def __init__(self, incident: Trace, run: Trace) -> None:
        self._instead: Mapping[str, Json] = asked_instead(incident, run)
        self._ours, self._theirs = Asked(incident), Asked(run)
        self._steps = [(step, dict(leaves(step.output))) for step in _answered(incident)]
        self._answers = [(step, dict(leaves(step.output))) for step in _answered(run)]
        self._counterparts: dict[int, Mapping[str, Json] | None] = {}

    def over(self, value: Json, before: int) -> Json:
        """A value that a step used, as the incident would have had it.

        Args:
            before: number of that step.

        Raises:
            _NoAnalogyError: nothing tells.
        """
        if isinstance(value, dict):
            return {key: self.over(item, before) for key, item in value.items()}
        if isinstance(value, list):
            return [self.over(item, before) for item in value]
        if value is None or isinstance(value, bool) or value == "":
            return value
        if str(value) in self._instead:
            return self._instead[str(value)]
        stood, found = self._looked_up(value, before)
        if not stood and not (self._theirs.brought_up(str(value)) and not self._ours.says(str(value))):
            return value
        if len({canonical(one) for one in found}) != 1 or (found[0] != value and len(str(value)) < _TELLING):
            raise _NoAnalogyError
        return found[0]

    def _looked_up(self, value: Json, before: int) -> tuple[bool, list[Json]]:
        """Whether the value stood in an answer, and what stands in the incident in its places, where that has them."""
        stood, found = False, []
        for step, answer in self._answers:
            places = [pointer for pointer, leaf in answer.items() if leaf == value and type(leaf) is type(value)]
            if step.seq >= before or not places:
                continue
            stood = True
            if step.seq not in self._counterparts:
                self._counterparts[step.seq] = self._counterpart(step)
            same = self._counterparts[step.seq] or {}
            found += [same[pointer] for pointer in places if pointer in same]
        return stood, found

    def _counterpart(self, step: Step) -> Mapping[str, Json] | None:
        """The leaves of what the incident's own call of this kind was answered; None where there was none."""
        try:
            wanted = canonical(self.over(step.input, step.seq))
        except _NoAnalogyError:
            return None
        return next((answer for own, answer in reversed(self._steps) if _is_call(own, step.name, wanted)), None)


def _is_call(step: Step, name: str, arguments: bytes) -> bool:
    return step.name == name and canonical(step.input) == arguments


def _answered(trace: Trace) -> Iterator[Step]:
    return (step for step in trace.steps if step.kind in ("tool", "retrieval") and step.error is None)
