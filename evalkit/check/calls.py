"""Which tools the agent calls, how often, with what, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalkit.check.model import Finding, Judge
from evalkit.check.params import known_only, number, object_of, text
from evalkit.check.view import agent_calls, contains, shown
from evalkit.errors import InputError
from evalkit.trace.model import Step, Trace

__all__ = ["CALLED", "NOT_CALLED", "ORDER"]


class Called:
    """The agent calls a tool: ``name``, optionally ``arguments`` (a subset) and the count, ``min`` (1) to ``max``."""

    name = "called"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        least, most = params.get("min", 1), params.get("max")
        if most is None:
            often = "" if least == 1 else f" at least {_times(least)}"
        elif least == most:
            often = f" exactly {_times(least)}"
        else:
            often = f" {least} to {_times(most)}"
        return f"The agent calls {_call(params)}{often}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Counts the calls that match."""
        known_only(params, self.name, "name", "arguments", "min", "max")
        matches, call = _matcher(params, self.name), _call(params)
        least = number(params, "min", self.name, 1) or 0
        most = number(params, "max", self.name)
        if most is None and least == 0:
            raise InputError("min 0 without max states nothing", f"check {self.name}", 'write "min": 1, or "max"')
        if most is not None and most < least:
            raise InputError(f"max {most} is below min {least}", f"check {self.name}", "correct one of them")
        wanted = f"at least {_times(least)}"
        if most is not None:
            wanted = f"exactly {_times(least)}" if least == most else f"{least} to {_times(most)}"

        def judge(trace: Trace) -> Finding:
            steps = tuple(step.seq for step in agent_calls(trace) if matches(step))
            count = len(steps)
            if least <= count and (most is None or count <= most):
                return Finding(True, f"{call} was called {_times(count)}", steps)
            return Finding(False, f"{call} was called {_times(count)}, wanted {wanted}", steps)

        return judge


class NotCalled:
    """The agent never calls a tool: ``name``, optionally only with ``arguments`` (a subset)."""

    name = "not_called"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return f"The agent never calls {_call(params)}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Looks for a call that matches; a call that failed was still made."""
        known_only(params, self.name, "name", "arguments")
        matches, call = _matcher(params, self.name), _call(params)

        def judge(trace: Trace) -> Finding:
            steps = tuple(step.seq for step in agent_calls(trace) if matches(step))
            if not steps:
                return Finding(True, f"{call} was not called")
            return Finding(False, f"{call} was called {_times(len(steps))}, wanted never", steps)

        return judge


class Order:
    """Before its first call of ``then`` (a tool's name) the agent has called ``first``."""

    name = "order"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return f"The agent calls {params.get('first')} before {params.get('then')}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Compares the first calls of both; a trace without ``then`` keeps the order."""
        known_only(params, self.name, "first", "then")
        first, then = text(params, "first", self.name), text(params, "then", self.name)
        if first == then:
            raise InputError(f"first and then are both {then}", f"check {self.name}", "name two tools")

        def judge(trace: Trace) -> Finding:
            seen: int | None = None
            for step in agent_calls(trace):
                if step.name == first and step.error is None:
                    seen = step.seq
                elif step.name == then and seen is None:
                    return Finding(False, f"{then} was called at step {step.seq}, and {first} not before", (step.seq,))
                elif step.name == then:
                    return Finding(True, f"{first} came before {then}", (seen or 0, step.seq))
            return Finding(True, f"{then} was not called")

        return judge


def _matcher(params: Mapping[str, Any], type_name: str) -> Callable[[Step], bool]:
    name = text(params, "name", type_name)
    wanted = object_of(params, "arguments", type_name)
    if not wanted:
        return lambda step: step.name == name
    return lambda step: step.name == name and contains(step.input, wanted)


def _call(params: Mapping[str, Any]) -> str:
    arguments = params.get("arguments")
    return f"{params.get('name')}" + (f" with {shown(arguments)}" if arguments else "")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


CALLED = Called()
NOT_CALLED = NotCalled()
ORDER = Order()
