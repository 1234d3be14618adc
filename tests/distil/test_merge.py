"""Two incidents, one list of checks: nobody's healthy run is blamed by what was expected of another."""

from __future__ import annotations

from evalkit.check.model import Check
from evalkit.distil.merge import merged_checks
from evalkit.trace.model import Json, Trace
from tests.build import a_trace, tool_step

GENERAL = Check("repeated_effect", evidence=(1, 2))


def refunded(order: str, times: int) -> Trace:
    """An order refunded some times."""
    steps = [tool_step(at, "refund", {"id": order}, {"ok": True}, effect="write") for at in range(times)]
    return a_trace(*steps, input={"order": order})


def once(order: str) -> Check:
    """Exactly one refund of an order."""
    effects: list[Json] = [{"name": "refund", "arguments": {"id": order}}]
    return Check("effects_equal", {"effects": effects})


def test_a_general_check_gates_on() -> None:
    """It holds for any healthy run; its evidence was the earlier incident's."""
    merged = merged_checks([GENERAL], refunded("W100", 2), [once("W200")], refunded("W200", 2), [])
    assert [(check.type, check.gating, check.evidence) for check in merged] == [
        ("effects_equal", True, ()), ("repeated_effect", True, ()),
    ]  # fmt: skip


def test_another_records_values_are_only_observed() -> None:
    """With or without a healthy run of the new one; one of the earlier incident's record shows nothing of the new."""
    for healthy in ([], [refunded("W200", 1)], [refunded("W100", 1)]):
        merged = merged_checks([once("W100")], refunded("W100", 2), [GENERAL], refunded("W200", 2), healthy)
        assert [(check.type, check.gating) for check in merged] == [("repeated_effect", True), ("effects_equal", False)]
        assert "another record" in merged[1].note


def test_the_same_records_values_gate_on_while_healthy_runs_pass() -> None:
    """One that blames a healthy run does not."""
    earlier, newer = refunded("W100", 2), refunded("W100", 3)
    (_, kept) = merged_checks([once("W100")], earlier, [GENERAL], newer, [refunded("W100", 1)])
    assert (kept.type, kept.gating) == ("effects_equal", True)
    (_, blamed) = merged_checks([once("W100")], earlier, [GENERAL], newer, [refunded("W100", 0)])
    assert blamed.gating is False


def test_a_check_that_both_have_stands_once() -> None:
    """The newer one, with its evidence."""
    newer = Check("repeated_effect", evidence=(0, 1))
    assert merged_checks([GENERAL], refunded("W1", 2), [newer], refunded("W1", 2), []) == [newer]
