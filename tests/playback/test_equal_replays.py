"""Replays that do the same come to the same text and digest, however that is found; those that differ do not."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

import evalkit
from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.playback.kept import trace_digest, trace_text
from evalkit.playback.model import Replay
from evalkit.playback.replay import prepare
from evalkit.playback.targets.python import PythonTarget
from tests.build import BOUGHT_AT, a_case, a_trace, tool_step


@evalkit.tool(effect="read")
def lookup(order: int, day: str | None = None) -> Any:
    """Never runs in a replay."""
    raise AssertionError


@evalkit.tool(effect="write")
def refund(order: int) -> Any:
    """Never runs in a replay."""
    raise AssertionError


def the_case() -> Case:
    """Two reads and a refund."""
    return a_case(
        a_trace(
            tool_step(0, "lookup", {"day": None, "order": 7}, {"amount": 5.0, "lines": [{"sku": "a"}]}),
            tool_step(1, "lookup", {"day": None, "order": 8}, {"amount": 2, "lines": []}),
            tool_step(2, "refund", {"order": 7}, {"ok": True}, effect="write"),
        ),
        checks=[Check("called", {"name": "refund", "min": 0, "max": 1})],
    )


def replays(run: Callable[[], Any], count: int = 3, **options: Any) -> list[Replay]:
    """Several replays of one day."""
    target = PythonTarget(run)
    with prepare(the_case(), **options).entered(target) as day:
        return [day.replay(target, sample) for sample in range(count)]


def test_equal_replays_are_one_text() -> None:
    """Each has a trace of its own name, whose text is what a trace by itself would give."""

    def agent() -> Any:
        found = lookup(7)
        found["lines"].append("the agent's own")
        return [found, refund(order=7), lookup(day=None, order=8)]

    first, *others = replays(agent)
    assert first.status == "passed", first.reason
    assert [step.started_at for step in first.trace.steps] == [BOUGHT_AT, BOUGHT_AT + 0.5, BOUGHT_AT + 2.5]
    for sample, other in enumerate(others, 1):
        assert (other.digest, other.text) == (first.digest, first.text)
        assert other.trace.id.endswith(f"#{sample}")
        assert other.trace.steps == first.trace.steps
        assert (other.status, other.counts) == ("passed", first.counts)
        assert trace_digest(trace_text(other.trace)) == other.digest
    assert first.trace.output[0]["lines"] == [{"sku": "a"}, "the agent's own"]  # type: ignore[index,call-overload]  # JSON


ALIKE: dict[str, tuple[list[Callable[[], Any]], list[Callable[[], Any]]]] = {
    "arguments": ([lambda: lookup(7)], [lambda: lookup(8)]),
    "order": ([lambda: lookup(7), lambda: refund(7)], [lambda: refund(7), lambda: lookup(7)]),
    "one more": ([lambda: lookup(7), lambda: lookup(7)], [lambda: lookup(7)]),
    "the output": ([lambda: 1], [lambda: 1.0]),
    "how it is written": ([lambda: lookup(7)], [lambda: lookup(7.0)]),  # type: ignore[arg-type]  # the same call
    "what was noted": ([lambda: evalkit.state("cart", 1)], [lambda: evalkit.state("cart", 2)]),
}
"""What two agents do, by what differs."""


@pytest.mark.parametrize("differing", ALIKE)
def test_replays_that_differ_have_texts_that_differ(differing: str) -> None:
    """Also when what differs comes to the same in the end; and what is the same is found again amid others."""
    one, other = ALIKE[differing]
    turns = iter([one, other, one, other])
    found = replays(lambda: [do() for do in next(turns)][-1], 4)
    assert found[0].digest == found[2].digest != found[1].digest == found[3].digest
    for replay in found:
        assert replay.status in ("passed", "failed"), replay.reason
        assert trace_digest(trace_text(replay.trace)) == replay.digest


def test_verdicts_follow_what_was_done() -> None:
    """One sample that does otherwise is judged by itself, amid others that are alike."""
    turns = iter([1, 2, 1, 2, 1])

    def agent() -> None:
        for _ in range(next(turns)):
            refund(7)

    found = replays(agent, 5)
    assert [replay.status for replay in found] == ["passed", "failed", "passed", "failed", "passed"]
    assert found[1].trace.steps[1].attributes["answered_again"] is True


def test_what_was_refused_is_no_pass_although_the_trace_is_the_same() -> None:
    """An agent that hides the refusal did the same calls; it asked the network all the same."""
    turns = iter([False, True, False])

    def agent() -> None:
        lookup(7)
        if next(turns):
            with socket.socket() as line:
                try:
                    line.connect(("192.0.2.1", 80))
                except BaseException:  # an agent that hides everything
                    return

    first, second, third = replays(agent)
    assert [one.status for one in (first, second, third)] == ["passed", "missed", "passed"]
    assert first.digest == second.digest
    assert "192.0.2.1" in second.reason


def test_no_number_is_not_taken_for_nothing() -> None:
    """Both are written ``null``; only None was recorded."""
    turns = iter([None, float("nan"), None])
    found = replays(lambda: lookup(7, next(turns)))  # type: ignore[arg-type]  # NaN is no day
    assert [one.status for one in found] == ["passed", "missed", "passed"]


def test_every_replay_of_a_day_has_its_time() -> None:
    """The limit holds for each by itself, whatever was left of the timer when it began."""
    turns = iter([0.0, 0.15, 0.15, 30.0, 0.0])
    found = replays(lambda: time.sleep(next(turns)), 5, timeout_s=0.25)
    assert [one.status for one in found] == ["passed", "passed", "passed", "failed", "passed"]
    assert "stopped after 0.25 s" in found[3].reason
