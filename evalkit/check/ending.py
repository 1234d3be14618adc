"""How a run ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.check.model import Finding, Judge
from evalkit.check.params import known_only, text
from evalkit.check.view import shown
from evalkit.errors import InputError
from evalkit.trace.model import KINDS, Trace

__all__ = ["COMPLETED", "ENDS_WITH"]


class Completed:
    """The run comes to its end without an error. No parameters."""

    name = "completed"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return "The run comes to its end without an error."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Looks at the trace's status and error."""
        known_only(params, self.name)

        def judge(trace: Trace) -> Finding:
            if trace.error is None and trace.status == "completed":
                return Finding(True, "the run completed")
            error = trace.error
            why = shown(f"{error.type} {error.message}".strip()) if error else trace.status
            steps = [step.seq for step in trace.steps if step.error is not None] or [s.seq for s in trace.steps[-1:]]
            return Finding(False, f"wanted a completed run, got {why}", tuple(steps[-1:]))

        return judge


class EndsWith:
    """The last step is of ``kind``, and called ``name`` where that is given."""

    name = "ends_with"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return f"The last step of the run is {_what(params.get('kind'), params.get('name'))}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Looks at the last step."""
        known_only(params, self.name, "kind", "name")
        kind = text(params, "kind", self.name)
        name = text(params, "name", self.name) if "name" in params else None
        if kind not in KINDS:
            raise InputError(f"kind is {kind!r}", f"check {self.name}", f"use one of: {', '.join(sorted(KINDS))}")

        def judge(trace: Trace) -> Finding:
            if not trace.steps:
                return Finding(False, f"expected {_what(kind, name)} at the end, got no step")
            last = trace.steps[-1]
            if last.kind == kind and name in (None, last.name):
                return Finding(True, f"the run ends with {_what(kind, name)}", (last.seq,))
            got = _what(last.kind, last.name)
            return Finding(False, f"expected {_what(kind, name)} at the end, got {got}", (last.seq,))

        return judge


def _what(kind: object, name: object) -> str:
    return f"{kind} {name}" if name else f"{kind}"


COMPLETED = Completed()
ENDS_WITH = EndsWith()
