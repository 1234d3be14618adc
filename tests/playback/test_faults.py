"""Declared faults: which calls meet one, what the agent then sees, and that it is told."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

import evalkit
from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.capture.tools import tool
from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.errors import ConfigError
from evalkit.playback.faults import Fault, fault_text, parse_fault
from evalkit.playback.model import Replay
from tests.build import a_case, a_trace, tool_step

TEXT = "a long text"
CHECK = Check("repeated_effect", {"names": ["refund"]})


def the_case() -> Case:
    """Looks up, then refunds; an object, and a text."""
    return a_case(
        a_trace(
            tool_step(0, "lookup", {"order": 7}, {"amount": 5, "paid": True}),
            tool_step(1, "describe", {"order": 7}, TEXT),
            tool_step(2, "refund", {"order": 7}, {"ok": True}, effect="write"),
            tool_step(3, "refund", {"order": 7}, {"ok": True}, effect="write"),
            output={"done": True},
        ),
        checks=[CHECK],
    )


@tool(effect="read")
def lookup(order: int) -> Any:
    """Answered by the case."""


@tool(effect="read")
def describe(order: int) -> Any:
    """Answered by the case."""


@tool(effect="write")
def refund(order: int) -> Any:
    """Answered by the case."""


def agent(order: int) -> Any:
    """Goes on after whatever it meets, and says what it saw."""
    seen: list[Any] = []
    for function in (lookup, describe, refund):
        began = time.time()
        try:
            result = function(order)
        except Exception as error:
            result = type(error).__name__
        seen.append([result, round(time.time() - began, 3)])
    return seen


def run(*faults: Fault, sample: int = 0, target: Any = agent) -> Replay:
    """A simulation."""
    return evalkit.replay(the_case(), target, mode="simulation", faults=faults, sample=sample)


def seen(*faults: Fault) -> list[Any]:
    """What the agent saw: answer or error, and the seconds that it took, of each call."""
    output: Any = run(*faults).trace.output
    found: list[Any] = output
    return found


def test_an_error_comes_in_place_of_the_answer() -> None:
    """Only where it was declared; the step tells the fault; a failed write is no effect."""
    done = run(Fault("ref*", "error"))
    assert done.status == "passed"
    assert [each[0] for each in seen(Fault("ref*", "error"))] == [{"amount": 5, "paid": True}, TEXT, "RuntimeError"]
    assert [step.name for step in done.trace.steps if "fault" in step.attributes] == ["refund"]
    assert done.trace.steps[2].attributes["fault"] == {
        "tool": "ref*", "kind": "error", "rate": 1.0, "seed": 0, "seconds": 30.0,
    }  # fmt: skip
    assert not done.trace.steps[2].is_effect


def test_a_timeout_takes_its_time_on_the_frozen_clock() -> None:
    """And raises what Python raises; the real clock is not waited for."""
    began = time.perf_counter()
    assert seen(Fault("lookup", "timeout", seconds=600))[0] == ["TimeoutError", 600.0]
    assert time.perf_counter() - began < 60


def test_a_delay_brings_the_answer_later() -> None:
    """The answer is the recorded one."""
    (answer, took), *_ = seen(Fault("lookup", "delay", seconds=90))
    assert answer == {"amount": 5, "paid": True}
    assert took >= 90


def test_a_wrong_value_changes_one_thing() -> None:
    """The same one each time; or it is the declared one."""
    first, again = (seen(Fault("lookup", "wrong_value", seed=3)) for _ in range(2))
    assert first == again
    recorded = {"amount": 5, "paid": True}
    changed = [key for key in recorded if first[0][0][key] != recorded[key]]
    assert len(changed) == 1
    assert seen(Fault("lookup", "wrong_value", value={"amount": -1}))[0][0] == {"amount": -1}


def test_a_partial_answer_breaks_off() -> None:
    """A text in its middle; an object can't be half, so the connection is lost."""
    assert [each[0] for each in seen(Fault("*", "partial_stream"))] == [
        "ConnectionResetError",
        "a lon",
        "ConnectionResetError",
    ]


def test_the_rate_is_kept_and_each_sample_has_its_own_draws() -> None:
    """Of 400 samples about 30 % meet the fault (0.30 ± 0.08 is beyond three standard errors); a seed gives the same."""
    fault = Fault("refund", "error", 0.3, seed=7)
    met = ["fault" in run(fault, sample=at).trace.steps[2].attributes for at in range(400)]
    assert 0.22 < sum(met) / len(met) < 0.38
    assert [("fault" in run(fault, sample=at).trace.steps[2].attributes) for at in range(20)] == met[:20]
    other = replace(fault, seed=8)
    assert [("fault" in run(other, sample=at).trace.steps[2].attributes) for at in range(40)] != met[:40]


def insists(order: int) -> Any:
    """Asks again after an error; gives up after three."""
    for _ in range(3):
        try:
            return refund(order)
        except RuntimeError:
            continue
    raise RuntimeError("gave up")


def test_a_retry_draws_anew_and_gets_the_answer_that_was_kept_back() -> None:
    """Some sample fails once and then has the recorded answer."""
    fault = Fault("refund", "error", 0.5)
    runs = [run(fault, sample=at, target=insists) for at in range(30)]
    tries = {len(one.trace.steps) for one in runs}
    assert tries == {1, 2, 3}
    assert all(one.trace.output == {"ok": True} for one in runs if one.trace.error is None)


def test_a_failing_sample_says_which_fault_it_met() -> None:
    """In its reason."""
    done = run(Fault("refund", "error"), target=insists)
    assert done.status == "failed"
    assert done.reason.endswith("met error in refund (call 1), error in refund (call 2), error in refund (call 3)")


def test_a_live_model_that_is_declared_down_is_the_agents_affair() -> None:
    """An outage would be errored; this one was asked for, so the agent fails under it."""
    case = a_case(a_trace(output={"answer": "x"}, input={"message": "Refund A-1001"}), checks=[CHECK])
    with serving(ScriptedModel(0.0)) as url:
        done = evalkit.replay(
            case, "evalkit.app.demo.agent:run_buggy", mode="simulation", base_url=url, faults=[Fault("chat", "error")]
        )
    assert done.status == "failed"
    assert "met error in chat (call 1), error in chat (call 2)" in done.reason
    assert done.counts.live_model == 0


def test_a_fault_can_be_written_and_read() -> None:
    """The form of the flag."""
    fault = parse_fault('tool=ref*,kind=wrong_value,rate=0.3,seed=7,seconds=2,value={"a": [1, 2]}')
    assert fault == Fault("ref*", "wrong_value", 0.3, 7, 2.0, {"a": [1, 2]})
    body: dict[str, Any] = {
        "tool": "ref*",
        "kind": "wrong_value",
        "rate": 0.3,
        "seed": 7,
        "seconds": 2.0,
        "value": {"a": [1, 2]},
    }
    assert parse_fault(fault_text(body)) == fault
    assert parse_fault("tool=x,kind=error") == Fault("x", "error")


def test_faults_want_their_mode() -> None:
    """In another one they would be forgotten."""
    with pytest.raises(ConfigError, match="--fault is mode simulation"):
        evalkit.replay(the_case(), agent, mode="exact", faults=[Fault("x", "error")])
