"""Where it went wrong, likeliest first."""

from __future__ import annotations

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.distil.locate import locate
from evalkit.trace.model import Json, Step, StepError
from tests.build import a_trace, tool_step

RUN = a_trace(
    tool_step(0, "find", {}, error="503"),
    tool_step(1, "refund", {"order": "W8831"}, effect="write"),
    tool_step(2, "refund", {"order": "W8831"}, effect="write"),
    tool_step(3, "mail", {}, effect="write"),
    tool_step(4, "log"),
)


def test_the_evidence_of_failed_checks_comes_first() -> None:
    """A person or a contrast has said what is wrong."""
    results = judge_checks([Check("not_called", {"name": "mail"}), Check("called", {"name": "log"})], RUN)
    assert locate(RUN, results)[0].step == 3


def test_without_checks_the_patterns_rank() -> None:
    """Repeated effect, invented argument, ignored error, last write, last step."""
    assert [suspect.step for suspect in locate(RUN)] == [2, 1, 0, 3, 4]


def test_each_step_is_named_once_with_its_strongest_reason() -> None:
    """Step 2 is invented and repeated: the repetition is said."""
    reasons = {suspect.step: suspect.reason for suspect in locate(RUN)}
    assert reasons[2] == "refund was done again with the same arguments"
    assert len(reasons) == len(locate(RUN))


def test_a_loop_of_equal_reads_is_suspect() -> None:
    """Three times the same question in a row."""
    calls = [tool_step(at, "find", {"order": 7}) for at in range(3)]
    assert locate(a_trace(*calls, tool_step(3, "log")))[0].step == 2


def test_an_empty_run_has_no_suspects() -> None:
    """Nothing happened in it."""
    assert locate(a_trace()) == []


def test_a_decision_is_blamed_for_its_call() -> None:
    """What the world saw is the call; who went wrong is the answer that asked for it."""
    asked: Json = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "name": "refund", "arguments": {}}]}
    trace = a_trace(
        Step(0, "model", "chat", {"messages": []}, asked),
        tool_step(1, "refund", {"order": "W8831"}, error="not allowed", effect="write"),
    )
    first = locate(trace)[0]
    assert (first.step, first.shown_by) == (0, 1)
    assert first.reason == "refund was given /order = W8831, which nothing before it held"


def test_blind_retries_and_missing_approvals_come_before_weaker_signs() -> None:
    """They cost money."""
    lost = StepError("ReadTimeout", "no answer")
    trace = a_trace(
        tool_step(0, "pay", {"amount": 40}, error=lost, effect="write"),
        tool_step(1, "pay", {"amount": 40}, effect="write"),
        Step(2, "policy", "may_close", {"tool": "close"}, False),
        tool_step(3, "close", {}, effect="write"),
    )
    assert [suspect.step for suspect in locate(trace)][:2] == [1, 3]
