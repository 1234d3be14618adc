"""Small builders for tests: traces, sanitized traces, cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalkit.case.model import Case, LifeEvent, State
from evalkit.check.model import Check
from evalkit.sanitize.model import SanitizationRecord, SanitizedTrace
from evalkit.trace.model import USER_MESSAGE, Step, StepError, Trace

__all__ = ["BOUGHT_AT", "a_case", "a_trace", "model_step", "sanitized", "tool_step", "user_step"]

BOUGHT_AT = 1_790_000_000.0


def tool_step(seq: int, name: str, arguments: Any = None, output: Any = None, **rest: Any) -> Step:
    """A tool call; effect ``read`` unless told otherwise."""
    rest.setdefault("effect", "read")
    error = rest.pop("error", None)
    return Step(
        seq,
        "tool",
        name,
        {} if arguments is None else arguments,
        output,
        StepError("ValueError", error, "builtins") if isinstance(error, str) else error,
        effect_source="declared",
        started_at=BOUGHT_AT + seq,
        ended_at=BOUGHT_AT + seq + 0.5,
        **rest,
    )


def model_step(seq: int, text: str | None = None, *calls: tuple[str, Any]) -> Step:
    """A model's answer."""
    asked: list[Any] = [
        {"id": f"c{seq}{at}", "name": name, "arguments": given} for at, (name, given) in enumerate(calls)
    ]
    return Step(seq, "model", "chat", {"messages": []}, {"role": "assistant", "content": text, "tool_calls": asked})


def user_step(seq: int, text: str) -> Step:
    """A user's turn."""
    return Step(seq, "other", USER_MESSAGE, output={"role": "user", "content": text})


def a_trace(*steps: Step, **fields: Any) -> Trace:
    """A trace of some steps."""
    fields.setdefault("input", {"order": 7})
    fields.setdefault("started_at", BOUGHT_AT)
    return Trace(fields.pop("id", "run-1"), fields.pop("name", "agent"), "evalkit", tuple(steps), **fields)


def sanitized(trace: Trace) -> SanitizedTrace:
    """A trace that holds nothing personal, admitted as a case file's would be."""
    return SanitizedTrace.admitted(trace, SanitizationRecord("1", "0" * 64, "0" * 16, "1" * 64, "2" * 64))


def a_case(
    trace: Trace | None = None, *, checks: Sequence[Check] = (), state: State = "proposed", **fields: Any
) -> Case:
    """A first version of a case."""
    trace = trace or a_trace(
        tool_step(0, "lookup", {"order": 7}, {"amount": 5.0, "name": "x"}),
        tool_step(1, "refund", {"order": 7}, {"ok": True}, effect="write"),
        tool_step(2, "refund", {"order": 7}, {"ok": True}, effect="write"),
        output={"done": True},
    )
    fields.setdefault("id", "refund-twice")
    fields.setdefault("title", "the refund was paid twice")
    return Case(
        version=1,
        trace=sanitized(trace),
        kept=tuple(step.seq for step in trace.steps),
        checks=tuple(checks) or (Check("repeated_effect", {"names": ["refund"]}),),
        life=(LifeEvent(state, "tester", "made for a test", "2026-11-29T00:00:00Z"),),
        **fields,
    )
