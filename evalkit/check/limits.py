"""How much the agent may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalkit.check.model import Finding, Judge
from evalkit.check.params import known_only, number
from evalkit.check.view import agent_calls
from evalkit.errors import InputError
from evalkit.trace.model import Trace

__all__ = ["STEP_LIMIT", "USAGE_LIMIT"]


class StepLimit:
    """The run takes at most ``max_steps`` steps, or at most ``max_tool_calls`` calls of the agent, or both."""

    name = "step_limit"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        limits = [(params.get("max_steps"), "steps"), (params.get("max_tool_calls"), "tool calls")]
        return f"The run takes at most {' and '.join(f'{most} {what}' for most, what in limits if most is not None)}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Counts; a failure shows the first step beyond the limit."""
        known_only(params, self.name, "max_steps", "max_tool_calls")
        max_steps = number(params, "max_steps", self.name)
        max_calls = number(params, "max_tool_calls", self.name)
        if max_steps is None and max_calls is None:
            raise InputError("there is no limit", f"check {self.name}", 'write "max_steps": 20')

        def judge(trace: Trace) -> Finding:
            steps = [step.seq for step in trace.steps]
            calls = [step.seq for step in agent_calls(trace)]
            for most, found, what in ((max_steps, steps, "steps"), (max_calls, calls, "tool calls")):
                if most is not None and len(found) > most:
                    return Finding(False, f"expected at most {most} {what}, got {len(found)}", (found[most],))
            return Finding(True, f"the run took {len(steps)} steps and {len(calls)} tool calls")

        return judge


class UsageLimit:
    """The run uses at most ``max_tokens`` (of input and output together), ``max_cost_usd``, or ``max_seconds``.

    What a trace does not state can't break a limit: a run whose model steps name no tokens, no cost or no times keeps
    it, and the reason says that it is not known.
    """

    name = "usage_limit"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        told = [f"{params[name]} {unit}" for name, unit, _ in _USAGE if params.get(name) is not None]
        return f"The run uses at most {' and '.join(told)}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Adds up what the steps state."""
        known_only(params, self.name, *(name for name, _, _ in _USAGE))
        limits = [(_limit(params, name), unit, used) for name, unit, used in _USAGE if params.get(name) is not None]
        if not limits:
            raise InputError("there is no limit", f"check {self.name}", 'write "max_cost_usd": 0.5')

        def judge(trace: Trace) -> Finding:
            told: list[str] = []
            for most, unit, used in limits:
                found = used(trace)
                if found is not None and found > most:
                    last = tuple(step.seq for step in trace.steps[-1:])
                    return Finding(False, f"expected at most {most:g} {unit}, got {found:g}", last)
                told.append(f"{unit} not known" if found is None else f"{found:g} {unit}")
            return Finding(True, f"the run used {', '.join(told)}")

        return judge


def _tokens(trace: Trace) -> float | None:
    used = [step.usage for step in trace.of_kind("model") if step.usage is not None]
    known = [count for usage in used for count in (usage.input_tokens, usage.output_tokens) if count is not None]
    return float(sum(known)) if known else None


def _cost(trace: Trace) -> float | None:
    known = [step.usage.cost_usd for step in trace.steps if step.usage and step.usage.cost_usd is not None]
    return sum(known) if known else None


def _seconds(trace: Trace) -> float | None:
    starts = [trace.started_at, *(step.started_at for step in trace.steps)]
    ends = [trace.ended_at, *(step.ended_at for step in trace.steps)]
    first = min((at for at in starts if at is not None), default=None)
    last = max((at for at in ends if at is not None), default=None)
    return None if first is None or last is None else last - first


_USAGE: tuple[tuple[str, str, Callable[[Trace], float | None]], ...] = (
    ("max_tokens", "tokens", _tokens),
    ("max_cost_usd", "US dollars", _cost),
    ("max_seconds", "seconds", _seconds),
)


def _limit(params: Mapping[str, Any], name: str) -> float:
    value = params[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise InputError(f"{name} is {value!r}", f"check {UsageLimit.name}", f'write "{name}": 10')
    return float(value)


STEP_LIMIT = StepLimit()
USAGE_LIMIT = UsageLimit()
