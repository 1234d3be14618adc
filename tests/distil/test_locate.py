"""Where it went wrong, likeliest first."""

from __future__ import annotations

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.distil.locate import locate
from evalkit.trace.model import Effect, Json, Step, StepError
from tests.build import a_trace, tool_step

RUN = a_trace(
    tool_step(0, "find", {}, error="503"),
    tool_step(1, "refund", {"order": "W8831"}, effect="write"),
    tool_step(2, "refund", {"order": "W8831"}, effect="write"),
    tool_step(3, "mail", {}, effect="write"),
    tool_step(4, "log"),
)


def says(seq: int, text: str) -> Step:
    """A model's answer."""
    return Step(seq, "model", "chat", {"messages": []}, {"role": "assistant", "content": text, "tool_calls": []})


def test_the_evidence_of_failed_checks_comes_first() -> None:
    """A person or a contrast has said what is wrong."""
    results = judge_checks([Check("not_called", {"name": "mail"}), Check("called", {"name": "log"})], RUN)
    assert locate(RUN, results)[0].step == 3


def test_without_checks_the_patterns_rank() -> None:
    """Repeated effect, invented argument, last write, a look-up's ignored error, last step."""
    assert [suspect.step for suspect in locate(RUN)] == [2, 1, 3, 0, 4]


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


def test_what_code_called_is_the_codes_doing() -> None:
    """An agent that writes code asks for no calls: the step that wrote it is to look at."""
    trace = a_trace(
        says(0, "Let me look.\n```py\nprint(find(7))\n```"),
        tool_step(1, "find", {"order": 7}, {"total": 12}),
        says(2, "```py\nfinal_answer(refunder(13))\n```"),
        tool_step(3, "final_answer", {"answer": "all is done"}, effect="write"),
    )
    first, second = locate(trace)[:2]
    assert (first.step, first.shown_by, first.reason) == (
        2, 3, "final_answer is the last change that the run made"
    )  # fmt: skip
    assert (second.step, second.shown_by) == (0, None)


def test_running_code_is_no_change_of_its_own() -> None:
    """What code does to the world is in the code: where it was first written is to look at before where it last ran."""
    trace = a_trace(
        says(0, "```py\na = 1\n```"),
        Step(1, "tool", "execute_code", {"code": "a = 1"}, effect="write", effect_source="guessed"),
        says(2, "```py\na = 2\n```"),
        Step(3, "tool", "execute_code", {"code": "a = 2"}, effect="write", effect_source="guessed"),
    )
    assert locate(trace)[0].step == 0


def test_a_look_up_that_failed_comes_after_the_last_change() -> None:
    """Agents find another way; a change that failed is another matter."""
    for effect, first in (("read", 1), ("write", 0)):
        tried: Effect = "read" if effect == "read" else "write"
        trace = a_trace(
            tool_step(0, "by_email", {"mail": "a@b.c"}, error="not found", effect=tried),
            tool_step(1, "cancel", {}, effect="write"),
        )
        assert locate(trace)[0].step == first
