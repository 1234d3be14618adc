"""Ids that an agent draws anew in each run, and the recorded ones that they stand for.

A call matches whatever its volatile arguments hold (`Case.volatile`). What they held in the recording and what they
hold now is one id under two names: from then on the recorded answers are given with the agent's own id, calls that hold
it find the recorded ones, and the replay's trace tells it by its recorded name, so that the checks know it. A pair is
one to one: an agent that uses two ids where the recording has one, or one for two, is seen to do so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import is_whole
from evalkit.trace.model import Step, Trace

__all__ = ["Ids"]

_IN_TEXT = 8
"""Characters from which on an id is also found inside of a text."""
_LEAST = 4
_LEAST_NUMBER = 10_000


class Ids:
    """The pairs that one replay has shown so far."""

    def __init__(self) -> None:
        self._recorded: dict[Any, Any] = {}
        self._actual: dict[Any, Any] = {}
        self._patterns: dict[int, re.Pattern[str] | None] = {}

    def __bool__(self) -> bool:
        return bool(self._recorded)

    def learn(self, recorded: Json, actual: Json) -> None:
        """Notes that `actual` stands for `recorded`, where both are ids and neither stands for anything yet."""
        if recorded == actual or not _is_id(recorded) or not _is_id(actual):
            return
        if actual not in self._recorded and recorded not in self._actual:
            self._recorded[actual], self._actual[recorded] = recorded, actual
            self._patterns.clear()

    def to_recorded(self, value: Json) -> Json:
        """A value of the agent's, with the recorded ids."""
        return self._renamed(value, self._recorded) if self._recorded else value

    def to_actual(self, value: Json) -> Json:
        """A recorded value, with the agent's ids."""
        return self._renamed(value, self._actual) if self._actual else value

    def told_by_recorded(self, trace: Trace) -> Trace:
        """A replay's trace with the recorded ids."""
        if not self._recorded:
            return trace
        steps = tuple(self._step(step) for step in trace.steps)
        error = trace.error
        if error is not None:
            error = replace(error, message=str(self.to_recorded(error.message)))
        return replace(trace, steps=steps, output=self.to_recorded(trace.output), error=error)

    def _step(self, step: Step) -> Step:
        error = step.error
        if error is not None:
            error = replace(error, message=str(self.to_recorded(error.message)))
        attributes: Any = self.to_recorded(dict(step.attributes))
        given, gave = self.to_recorded(step.input), self.to_recorded(step.output)
        return replace(step, input=given, output=gave, error=error, attributes=attributes)

    def _renamed(self, value: Json, names: Mapping[Any, Any]) -> Json:
        if isinstance(value, dict):
            return {key: self._renamed(item, names) for key, item in value.items()}
        if isinstance(value, list):
            return [self._renamed(item, names) for item in value]
        if isinstance(value, bool) or not isinstance(value, str | int):
            return value
        if value in names:
            found: Json = names[value]
            return found
        pattern = self._pattern(names) if isinstance(value, str) and len(value) > _IN_TEXT else None
        return value if pattern is None else pattern.sub(lambda match: str(names[match[0]]), str(value))

    def _pattern(self, names: Mapping[Any, Any]) -> re.Pattern[str] | None:
        """What finds the ids in a text."""
        if id(names) not in self._patterns:
            known = sorted((name for name in names if isinstance(name, str) and len(name) >= _IN_TEXT), key=len)
            text = "|".join(re.escape(name) for name in reversed(known))
            self._patterns[id(names)] = re.compile(text) if text else None
        return self._patterns[id(names)]


def _is_id(value: Json) -> bool:
    if isinstance(value, str):
        return len(value) >= _LEAST
    return is_whole(value) and abs(value) >= _LEAST_NUMBER
