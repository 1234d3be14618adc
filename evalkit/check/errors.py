"""Tool errors, and whether the agent got over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.check.model import Finding, Judge
from evalkit.check.outage import is_outage
from evalkit.check.params import flag, known_only, texts
from evalkit.check.view import agent_calls, shown
from evalkit.trace.model import Step, Trace

__all__ = ["NO_TOOL_ERROR", "ignored_errors"]


class NoToolError:
    """No tool call's error is left standing: a later success of the same tool makes up for it.

    ``names`` limits it to some tools, ``outages`` (false) to errors of the infrastructure (`check.outage`): any other
    error is an answer, and an agent may be right to leave it. ``strict`` (false) allows no error at all.
    """

    name = "no_tool_error"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        of = f" of {' or '.join(params['names'])}" if params.get("names") else ""
        if params.get("outages"):
            return f"No outage in a tool call{of} is ignored: the call succeeds later."
        if params.get("strict"):
            return f"No tool call{of} ends in an error."
        return f"No error of a tool call{of} is ignored: the call succeeds later."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Looks at each failed call and what came after it."""
        known_only(params, self.name, "names", "strict", "outages")
        outages = flag(params, "outages", self.name)
        names = frozenset(texts(params, "names", self.name))
        strict = flag(params, "strict", self.name)

        def judge(trace: Trace) -> Finding:
            failed = [step for step in agent_calls(trace) if step.error] if strict else ignored_errors(trace)
            found = [step for step in failed if not names or step.name in names]
            found = [step for step in found if not outages or (step.error is not None and is_outage(step.error))]
            if not found:
                return Finding(True, "no tool error was left standing")
            said = "; ".join(f"{step.name}: {_said(step)}" for step in found[:3])
            return Finding(False, f"wanted no error left standing, got {said}", tuple(step.seq for step in found))

        return judge


def ignored_errors(trace: Trace) -> list[Step]:
    """The failed calls of the agent after which the same tool never succeeded."""
    found: list[Step] = []
    mended: set[str] = set()
    for step in reversed(list(agent_calls(trace))):
        if step.error is None:
            mended.add(step.name)
        elif step.name not in mended:
            found.append(step)
    return found[::-1]


def _said(step: Step) -> str:
    return shown(f"{step.error.type} {step.error.message}".strip()) if step.error else ""


NO_TOOL_ERROR = NoToolError()
