"""What a healthy run of another record would have changed, had it been about the incident's.

Each value of its changes is followed to where it came from: what the user brought up becomes what the incident's user
brought up there, and what a look-up answered becomes what the incident's own look-up, with the arguments brought over
alike, answered at the same place. What came from nowhere is the agent's own and stays. Where a value could be several,
or the incident lacks the look-up, there is no analogy: this is a proposal for a person, and no guess.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from evalkit.canonical import Json, canonical
from evalkit.check.writes import effects_of
from evalkit.distil.other_records import Asked, asked_instead, other_records
from evalkit.errors import InputError
from evalkit.trace.flow import leaves
from evalkit.trace.model import Step, Trace

__all__ = ["about_others", "effects_by_analogy"]


def about_others(incident: Trace, run: Trace) -> str:
    """That what a healthy run changed is of other records than the incident's, in words; empty where it is not.

    A user who says another date or session is about the same order still: what was changed is the same, brought over or
    not.
    """
    ours, theirs = Asked(incident), Asked(run)
    words = other_records(ours, theirs)
    if not words:
        return ""
    brought = _brought_over(incident, ours, run, theirs)
    own: list[Json] = [{"name": step.name, "arguments": step.input} for step in effects_of(run)]
    return "" if brought and canonical(brought) == canonical(own) else words


def effects_by_analogy(incident: Trace, run: Trace) -> list[Json] | None:
    """The changes that were due in the incident, as `effects_equal` takes them; None where nothing tells."""
    return _brought_over(incident, Asked(incident), run, Asked(run))


def _brought_over(incident: Trace, ours: Asked, run: Trace, theirs: Asked) -> list[Json] | None:
    try:
        brought = _Brought(incident, ours, run, theirs)
        return [{"name": step.name, "arguments": brought.over(step.input, step.seq)} for step in effects_of(run)]
    except (_NoAnalogyError, InputError):  # what is no JSON is nobody's counterpart
        return None


_PLACES = 200
"""Where a value is looked for at most."""
_TELLING = 3
"""Characters of a value below which it may stand in an answer by accident."""


class _NoAnalogyError(Exception):
    """A value has no counterpart in the incident, or several."""


class _Brought:
    """Brings values of a run over to the incident."""

    def __init__(self, incident: Trace, ours: Asked, run: Trace, theirs: Asked) -> None:
        self._ours, self._theirs = ours, theirs
        self._instead: Mapping[str, Json] = asked_instead(ours, theirs)
        self._stands: defaultdict[tuple[str, Json], list[tuple[int, str]]] = defaultdict(list)
        """Where values stand in the run's answers: step and place, in order."""
        self._counterparts: dict[int, Mapping[str, Json]] = {}
        """What the incident's own call of the kind was answered, for each step of the run that it has one for."""
        own = {_call(step.name, step.input): step for step in _answered(incident)}
        for step in _answered(run):  # each is brought over with what came before it
            try:
                same = own.get(_call(step.name, self.over(step.input, step.seq)))
            except _NoAnalogyError:
                same = None
            if same is not None:
                self._counterparts[step.seq] = dict(leaves(same.output))
            for pointer, leaf in leaves(step.output):
                self._stands[type(leaf).__name__, leaf].append((step.seq, pointer))

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
        for seq, pointer in self._stands.get((type(value).__name__, value), ())[:_PLACES]:
            if seq >= before:
                break
            stood = True
            same = self._counterparts.get(seq, {})
            if pointer in same:
                found.append(same[pointer])
        return stood, found


def _call(name: str, arguments: Json) -> tuple[str, bytes]:
    return name, canonical(arguments)


def _answered(trace: Trace) -> Iterator[Step]:
    return (step for step in trace.steps if step.kind in ("tool", "retrieval") and step.error is None)
