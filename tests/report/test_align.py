"""Runs side by side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evalkit.report.align import align, step_key
from evalkit.trace.model import Step
from tests.report.build import refund_trace, tool

step_lists = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["tool", "model"]), st.integers(0, 2)), max_size=12
)


def steps_of(parts: list[tuple[str, str, int]]) -> list[Step]:
    """Steps of a few names, kinds and arguments."""
    return [Step(at, kind, name, {"n": n}) for at, (name, kind, n) in enumerate(parts)]  # type: ignore[arg-type]


@given(st.lists(step_lists, max_size=3))
def test_every_step_stands_once_and_in_order(runs: list[list[tuple[str, str, int]]]) -> None:
    """Alignment neither loses, repeats nor reorders a step, and no line is empty."""
    given_runs = [steps_of(run) for run in runs]
    lines = align(given_runs)
    for column, run in enumerate(given_runs):
        assert [line[column] for line in lines if line[column] is not None] == run
    assert all(any(step is not None for step in line) for line in lines)


@given(step_lists)
def test_equal_runs_stand_side_by_side(run: list[tuple[str, str, int]]) -> None:
    """A run beside itself has no gap."""
    steps = steps_of(run)
    assert align([steps, steps]) == [(step, step) for step in steps]


def test_a_call_with_other_arguments_stands_beside_the_original() -> None:
    """A changed argument is one changed call, not one call less and another more."""
    left, right = tool(0, "refund_order", {"amount": 1}), tool(0, "refund_order", {"amount": 2})
    assert align([[left], [right]]) == [(left, right)]


def test_another_tool_stands_beside_the_original() -> None:
    """Two runs that part in a tool's name stay aligned after it."""
    buggy, fixed = refund_trace("a", buggy=True), refund_trace("a", buggy=False)
    assert align([buggy.steps, fixed.steps]) == list(zip(buggy.steps, fixed.steps, strict=True))


def test_ids_of_tool_calls_make_no_difference() -> None:
    """Providers draw them at random."""
    one, two = (
        Step(0, "model", "chat", output={"tool_calls": [{"id": call, "name": "a", "arguments": {}}]}) for call in "xy"
    )
    assert step_key(one) == step_key(two)
