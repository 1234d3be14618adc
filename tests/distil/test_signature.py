"""The same incident has the same signature."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.distil.fingerprint import fingerprint
from evalkit.distil.signature import signature
from evalkit.trace.model import Step, StepError, Trace
from evalkit.trace.read import load_traces
from tests.build import a_trace, tool_step
from tests.strategies import traces


def twice(order: str, *, reads: int = 1) -> Trace:
    """A refund made twice after some reads."""
    steps = [tool_step(at, "find", {}, {"id": order}) for at in range(reads)]
    writes = [tool_step(reads + at, "refund", {"id": order}, effect="write") for at in range(2)]
    return a_trace(*steps, *writes, output={"severity": "P1", "team": {"name": "x"}})


def signed(trace: Trace, *checks: Check) -> str:
    """The signature of a trace by some checks."""
    return signature(trace, judge_checks(checks, trace))


@pytest.mark.parametrize(
    ("type_name", "params", "wanted"),
    [
        ("repeated_effect", {}, "SIDE_EFFECT_REPEATED:refund"),
        ("not_called", {"name": "refund"}, "SIDE_EFFECT_FORBIDDEN:refund"),
        ("not_called", {"name": "find"}, "MODEL_DECISION_FORBIDDEN_CALL:find"),
        ("called", {"name": "mail"}, "MODEL_DECISION_MISSING_CALL:mail"),
        ("effects_equal", {"effects": []}, "SIDE_EFFECT_UNEXPECTED:refund"),
        (
            "output_fields",
            {"fields": {"severity": "P0", "team": {"name": "y"}}},
            "DATA_OUTPUT_WRONG:severity+team/name",
        ),
        ("tells", {"values": [5]}, "MODEL_DECISION_TOLD_WRONG"),
        ("step_limit", {"max_steps": 1}, "MODEL_DECISION_TOO_MANY_STEPS"),
    ],
)
def test_the_type_and_the_tools_make_the_name(type_name: str, params: dict[str, Any], wanted: str) -> None:
    """Nothing of the run's values is in it."""
    assert signed(twice("W1"), Check(type_name, params)) == wanted


def test_a_missing_effect_is_told_from_a_wrong_one() -> None:
    """What should have happened names it, when nothing else did."""
    check = Check("effects_equal", {"effects": [{"name": "refund", "arguments": {}}]})
    assert signed(a_trace(tool_step(0, "find")), check) == "SIDE_EFFECT_MISSING:refund"


def test_other_values_and_more_reads_are_the_same_incident() -> None:
    """The signature recognises the pattern, not the customer."""
    check = Check("repeated_effect")
    assert signed(twice("W1"), check) == signed(twice("W2", reads=3), check)


def test_the_gravest_failure_names_it() -> None:
    """What was done before what was said; gating before observed."""
    said, done = Check("tells", {"values": [5]}), Check("repeated_effect")
    assert signed(twice("W1"), said, done) == "SIDE_EFFECT_REPEATED:refund"
    observed = Check("repeated_effect", gating=False)
    assert signed(twice("W1"), said, observed) == "MODEL_DECISION_TOLD_WRONG"


def test_a_combined_check_is_named_by_its_failing_part() -> None:
    """`all_of` is no pattern of its own."""
    parts: list[Any] = [{"type": "completed"}, {"type": "tells", "params": {"values": [5]}}]
    assert signed(twice("W1"), Check("all_of", {"checks": parts})) == "MODEL_DECISION_TOLD_WRONG"


def test_a_run_that_failed_is_named_by_its_error() -> None:
    """And one without a failed check is unknown."""
    failed = a_trace(status="failed", error=StepError("TimeoutError"))
    assert signed(failed, Check("completed")) == "INFRASTRUCTURE_RUN_FAILED:TimeoutError"
    assert signed(twice("W1"), Check("completed")) == "UNKNOWN"


def model(seq: int, system: str = "Help.", said: str = "", **rest: Any) -> Step:
    """A model answer to a system prompt."""
    messages: Any = [{"role": "system", "content": system}]
    output: Any = {"role": "assistant", "content": said}
    return Step(seq, "model", "chat", {"messages": messages}, output, **rest)


def write(seq: int, name: str = "refund", *, at: float | None = None, **arguments: Any) -> Step:
    """A change of the world, which takes two seconds from `at` where that is given."""
    step = tool_step(seq, name, arguments or {"id": "W100"}, {"ok": True}, effect="write")
    return step if at is None else replace(step, started_at=at, ended_at=at + 2)


def ruled(kind: Any, output: Any, tool: str = "refund") -> Trace:
    """A refund after a policy or an approval that decided about a tool."""
    return a_trace(Step(0, kind, "rule", {"tool": tool, "arguments": {"id": "W100"}}, output), write(1))


def searched(found: Any, answer: str, **rest: Any) -> Trace:
    """An answer after a search."""
    return a_trace(Step(0, "retrieval", "docs", {"query": "x"}, found, **rest), model(1, said=answer), output=answer)


FORBIDDEN = Check("not_called", {"name": "refund"})
EXACTLY = Check("effects_equal", {"effects": [{"name": "refund", "arguments": {"id": "W100", "sum": 7}}]})
SAYS_42 = Check("tells", {"values": [42]})
STATE = [Step(0, "state", "order", None, {"sum": 55}), Step(1, "state", "order", None, {"sum": 77})]


@pytest.mark.parametrize(
    ("trace", "check", "wanted"),
    [
        (ruled("policy", {"decision": "deny"}), FORBIDDEN, "AUTHORITY_CALL_NOT_ALLOWED:refund"),
        (ruled("policy", {"triggered": True}), FORBIDDEN, "AUTHORITY_CALL_NOT_ALLOWED:refund"),
        (ruled("policy", {"decision": "allow"}), FORBIDDEN, "POLICY_LET_THROUGH:refund"),
        (ruled("policy", {"decision": "deny"}, tool="mail"), FORBIDDEN, "SIDE_EFFECT_FORBIDDEN:refund"),
        (ruled("policy", "who knows"), FORBIDDEN, "SIDE_EFFECT_FORBIDDEN:refund"),
        (ruled("approval", {"decision": "reject"}), FORBIDDEN, "APPROVAL_DENIED:refund"),
        (ruled("approval", {"approved": False}), FORBIDDEN, "APPROVAL_DENIED:refund"),
        (a_trace(Step(0, "approval", "boss", {"action": {"tool": "refund"}}, {"granted": False}), write(1)),
         FORBIDDEN, "APPROVAL_DENIED:refund"),
        (ruled("approval", {"approved": True}), FORBIDDEN, "SIDE_EFFECT_FORBIDDEN:refund"),
        (a_trace(Step(0, "policy", "input_guard", None, {"triggered": True}), status="failed",
                 error=StepError("Tripwire")), Check("completed"), "POLICY_STOPPED_RUN:input_guard"),
        (a_trace(write(0, id="W100", sum=1, at=5), write(1, id="W100", sum=2, at=6)), EXACTLY,
         "CONCURRENCY_CONFLICTING_WRITES:refund"),
        (a_trace(write(0, id="W100", sum=1, at=5), write(1, id="W100", sum=2, at=8)), EXACTLY,
         "SIDE_EFFECT_UNEXPECTED:refund"),
        (a_trace(write(0, id="W100", sum=1, at=5), write(1, id="W200", sum=2, at=6)), EXACTLY,
         "SIDE_EFFECT_UNEXPECTED:refund"),
        (a_trace(*STATE, write(2, sum=55)), EXACTLY, "STATE_STALE:refund"),
        (a_trace(*STATE, write(2, sum=77)), EXACTLY, "SIDE_EFFECT_UNEXPECTED:refund"),
        (a_trace(Step(0, "state", "store", error=StepError("Locked")), write(1, sum=1)), EXACTLY, "STATE_FAILED:store"),
        (searched([], "I believe so."), SAYS_42, "RETRIEVAL_EMPTY:docs"),
        (searched({"documents": []}, "I believe so."), SAYS_42, "RETRIEVAL_EMPTY:docs"),
        (searched(None, "Sorry.", error=StepError("Timeout")), SAYS_42, "RETRIEVAL_FAILED:docs"),
        (searched([{"text": "It is 42."}], "It is 43."), SAYS_42, "RETRIEVAL_UNGROUNDED_ANSWER:docs"),
        (searched([{"text": "It is 42, not 43."}], "It is 43."), SAYS_42, "MODEL_DECISION_TOLD_WRONG"),
        (a_trace(model(0, "You serve {{customer_name}}."), write(1)), FORBIDDEN, "PROMPT_NOT_FILLED"),
        (a_trace(model(0, error=StepError("BadRequest", "maximum context length is 8192")), status="failed",
                 error=StepError("BadRequest", "context_length_exceeded")), Check("completed"), "PROMPT_TOO_LONG"),
        (a_trace(tool_step(0, "find", error="no")), Check("no_tool_error"), "TOOL_ERROR_IGNORED:find"),
    ],
)  # fmt: skip
def test_a_nearer_cause_names_it(trace: Trace, check: Check, wanted: str) -> None:
    """Who allowed a call, what it was based on, what was found; where the trace does not say, the check's own name."""
    assert signed(trace, check) == wanted


def test_a_later_decision_replaces_an_earlier_one() -> None:
    """A policy that refused, and then an approval that granted."""
    asked: Any = {"tool": "refund"}
    refused, granted = Step(0, "policy", "limit", asked, "deny"), Step(1, "approval", "boss", asked, "approved")
    assert signed(a_trace(refused, granted, write(2)), FORBIDDEN) == "SIDE_EFFECT_FORBIDDEN:refund"
    assert signed(a_trace(replace(granted, seq=0), replace(refused, seq=1), write(2)), FORBIDDEN).startswith(
        "AUTHORITY"
    )


orders = st.from_regex(r"[A-Z]{1,2}[0-9]{4,6}", fullmatch=True)
FAILURES: dict[str, list[Check]] = {
    "repeated": [Check("repeated_effect")],
    "forbidden": [FORBIDDEN],
    "told": [SAYS_42, Check("step_limit", {"max_steps": 1})],
}


@st.composite
def retold(draw: st.DrawFn) -> Trace:
    """One incident: two look-ups in any order, a refund made twice; the rest is the day's and the customer's."""
    order, amount, start = draw(orders), draw(st.integers(1, 10**6)), draw(st.floats(0, 2e9))
    reads = draw(st.permutations([("find", {"id": order}, {"sum": amount}), ("user", {"of": order}, {"vip": True})]))
    calls = [
        *((*read, "read") for read in reads),
        *[("refund", {"id": order, "sum": amount}, {"ok": True}, "write")] * 2,
    ]
    as_text = draw(st.booleans())
    steps = [
        tool_step(at, name, given, json.dumps(output) if as_text else output, effect=effect)
        for at, (name, given, output, effect) in enumerate(calls, 1)
    ]
    if draw(st.booleans()):  # an exporter without times, with its own ids
        steps = [replace(step, started_at=None, ended_at=None, attributes={"span_id": str(step.seq)}) for step in steps]
    if draw(st.booleans()):  # one that draws the agent around its calls
        steps = [replace(step, parent=0) for step in steps]
    return a_trace(Step(0, "agent", draw(st.sampled_from(["root", "graph"]))), *steps, id=draw(orders),
                   input={"order": order}, output=f"{amount} are on their way.", started_at=start)  # fmt: skip


@pytest.mark.parametrize("checks", FAILURES.values(), ids=FAILURES)
@settings(deadline=None)
@given(one=retold(), other=retold())
def test_the_same_incident_has_the_same_signature(checks: list[Check], one: Trace, other: Trace) -> None:
    """Other ids, amounts, dates, order of independent calls, another recorder's form."""
    assume("42" not in f"{one.output} {other.output}")
    assert signed(one, *checks) == signed(other, *checks)


def test_the_same_run_in_two_formats_has_the_same_signature(tmp_path: Path) -> None:
    """A list of chat messages, and a native trace."""
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"id": "W100"}'}}
    again = {**call, "id": "c2"}
    log = [
        {"role": "user", "content": "Refund W100"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"ok": true}'},
        {"role": "assistant", "content": None, "tool_calls": [again]},
        {"role": "tool", "tool_call_id": "c2", "content": '{"ok": true}'},
        {"role": "assistant", "content": "Done."},
    ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(log), "utf-8")
    (read,) = load_traces(path)
    native = a_trace(write(0, id="W100"), write(1, id="W100"), output="Done.")
    check = Check("repeated_effect")
    assert signed(read, check) == signed(native, check) == "SIDE_EFFECT_REPEATED:refund"
    assert fingerprint(read) == fingerprint(native)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # a busy machine is no fault
@given(traces())
def test_any_trace_can_be_named(trace: Trace) -> None:
    """Whatever a hostile trace holds, naming its failure raises nothing."""
    checks = [FORBIDDEN, SAYS_42, EXACTLY, Check("completed"), Check("step_limit", {"max_steps": 1})]
    for result in judge_checks(checks, trace):
        assert signature(trace, [replace(result, passed=False, steps=tuple(step.seq for step in trace.steps))])
