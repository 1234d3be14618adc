"""How much the agent may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.check.model import Finding, Judge
from evalkit.check.params import known_only, number
from evalkit.check.view import agent_calls
from evalkit.errors import InputError
from evalkit.trace.model import Trace

__all__ = ["STEP_LIMIT"]


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


STEP_LIMIT = StepLimit()
