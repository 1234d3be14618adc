"""Whether a healthy run is about other records than the incident: another order, another customer.

What it changed and told is then right for those, and demanded of the incident's agent it would blame every mended one.
What an agent was asked about tells: a value that a user brought up in one run and not in the other, that its calls were
given, where the other's calls were given such a value of its own. A wrong record that the incident took by itself is
none of these, nor is what the user chose of what a tool had offered, or the same thing asked for in other words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from evalkit.canonical import Json, exact_text
from evalkit.trace.flow import leaves
from evalkit.trace.model import USER_MESSAGE, Trace

__all__ = ["Asked", "asked_instead", "other_records"]

_Place: TypeAlias = tuple[str, str]
"""A tool, and the JSON pointer of an argument."""
_SHORT = 60


def other_records(incident: Asked, run: Asked) -> str:
    """What the run was asked about in place of the incident's, in words; empty for the same, or where nothing tells."""
    for (name, pointer), other, own in _instead(incident, run):
        theirs, ours = min(other), min(own)
        values = f": {theirs}, not {ours}" if max(len(theirs), len(ours)) <= _SHORT else ""  # no half of a surrogate
        return f"{name} {pointer}{values}"
    return ""


def asked_instead(incident: Asked, run: Asked) -> dict[str, Json]:
    """The incident's values in place of the run's, told by their text; of a place that had several of either, none."""
    found: defaultdict[str, dict[str, Json]] = defaultdict(dict)
    for place, other, own in _instead(incident, run):
        found[min(other)][min(own)] = incident.given[place][min(own)]
        if len(other) > 1 or len(own) > 1:
            found[min(other)][""] = None
    return {value: next(iter(own.values())) for value, own in found.items() if len(own) == 1}


def _instead(ours: Asked, theirs: Asked) -> Iterator[tuple[_Place, set[str], set[str]]]:
    """Where the user of either brought up values of their own: the place, the run's, the incident's."""
    if ours.text == theirs.text:
        return
    of_incident, of_run = (set().union(*one.given.values()) for one in (ours, theirs))
    for place, values in theirs.given.items():
        other = {value for value in values if theirs.brought_up(value) and not ours.says(value)}
        own = {value for value in ours.given.get(place, ()) if ours.brought_up(value) and not theirs.says(value)}
        if own and other and not (other & of_incident or own & of_run):
            yield place, other, own


class Asked:
    """What a run was asked, and what its calls were given.

    Attributes:
        text: all that the user said, the input first.
        given: by tool and place, the values by their text.
    """

    def __init__(self, trace: Trace) -> None:
        self._turns = [(_text(trace.input), 0)]
        self._results: list[str] = []
        self._brought: dict[str, bool] = {}
        given: defaultdict[_Place, dict[str, Json]] = defaultdict(dict)
        for step in trace.steps:
            if step.name == USER_MESSAGE and isinstance(step.output, dict):
                self._turns.append((_text(step.output.get("content")), len(self._results)))
            elif step.kind == "tool":
                self._results.append(_text(step.output))
                for pointer, leaf in leaves(step.input):
                    if isinstance(leaf, str | int | float) and not isinstance(leaf, bool) and str(leaf).strip():
                        given[step.name, pointer][str(leaf)] = leaf
        self.given: Mapping[_Place, Mapping[str, Json]] = given
        self.text = "\n".join(text for text, _ in self._turns)

    def says(self, value: str) -> bool:
        """Whether the user said it."""
        return _stands_in(value, self.text)

    def brought_up(self, value: str) -> bool:
        """Whether the user said it before any tool did."""
        if value not in self._brought:
            before = next((results for text, results in self._turns if _stands_in(value, text)), None)
            told = before is not None and any(_stands_in(value, text) for text in self._results[:before])
            self._brought[value] = before is not None and not told
        return self._brought[value]


def _text(value: Json) -> str:
    """In lower case."""
    return (value if isinstance(value, str) else "" if value is None else exact_text(value).decode()).lower()


def _stands_in(value: str, text: str) -> bool:
    """Whether it stands in a lower-case text as a whole, and not inside of a word or number."""
    value = value.lower()
    return value in text and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
