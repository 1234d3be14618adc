"""Arguments that are new in every run are learnt from several runs of one task, and left out by checks and matching."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.app.make import make_case
from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.distil.volatile import looks_drawn, volatile_paths
from evalkit.trace.model import Step, Trace
from tests.build import a_trace, sanitized, tool_step

KEYS = [f"{digit * 8}-{digit * 4}-4{digit * 3}-8{digit * 3}-{digit * 12}" for digit in "123456"]


@pytest.mark.parametrize(
    "value",
    [KEYS[0], "req_8f3a91c2", "01HZX5M2Q8", "2026-11-29T10:00:00Z", "2026-11-29 10:00:00.5+01:00", 1_790_000_000,
     1_790_000_000.25, 1_790_000_000_123, "9f86d081884c7d65", 48_211_765_019],
)  # fmt: skip
def test_ids_and_times_look_drawn(value: Any) -> None:
    """What programs make."""
    assert looks_drawn(value)


@pytest.mark.parametrize(
    "value",
    ["Berlin", "2024-05-20", "HAT136", 250, 19.99, True, None, "order 7", "economy", "a b 12345678 c", "gpt-4o", ""],
)
def test_words_amounts_and_plain_dates_do_not(value: Any) -> None:
    """What a task is about."""
    assert not looks_drawn(value)


def a_run(*steps: Step, **fields: Any) -> Trace:
    """A run of the task."""
    return a_trace(*steps, **fields)


def pay(key: str, order: int = 7, seq: int = 0, **more: Any) -> Step:
    """A payment."""
    return tool_step(seq, "pay", {"order": order, "meta": [{"key": key}], **more}, {"ok": True}, effect="write")


def paths(*runs: Trace) -> list[tuple[str, str]]:
    """What is learnt."""
    return [(one.name, one.path) for one in volatile_paths(runs)]


def test_a_key_that_differs_where_nothing_else_does_is_volatile() -> None:
    """For one item of a list and so for all; a single run teaches nothing."""
    runs = [a_run(pay(key)) for key in KEYS[:3]]
    assert paths(*runs) == [("pay", "/meta/*/key")]
    assert paths(runs[0]) == []
    assert KEYS[0] in volatile_paths(runs)[0].sentence()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (a_run(pay(KEYS[0])), a_run(pay(KEYS[1], order=8))),
        (a_run(pay(KEYS[0], to="Berlin")), a_run(pay(KEYS[0], to="Bremen"))),
        (a_run(pay(KEYS[0])), a_run(pay(KEYS[1], more=1))),
        (a_run(pay(KEYS[0])), a_run(pay(KEYS[0]))),
    ],
    ids=["something else differs", "a word", "another shape", "the same"],
)
def test_what_else_differs_is_not_learnt(one: Trace, other: Trace) -> None:
    """Otherwise a call would match that was about something else."""
    assert paths(one, other) == []


@pytest.mark.parametrize("source", ["tool", "input", "user"])
def test_an_id_that_was_handed_out_is_not_volatile(source: str) -> None:
    """A replay hands out the recorded one, and another would be an invention."""

    def run(key: str) -> Trace:
        told = f"the ticket is {key}."
        if source == "input":
            return a_run(pay(key), input={"message": told})
        first = tool_step(0, "open", {}, told)
        if source == "user":
            first = Step(0, "other", "user_message", output={"role": "user", "content": told})
        return a_run(first, pay(key, seq=1))

    assert paths(run(KEYS[0]), run(KEYS[1])) == []


def an_incident() -> Trace:
    """Paid twice, each time with a key of its own."""
    return a_run(pay(KEYS[0]), pay(KEYS[1], seq=1), id="incident", output="paid")


def a_healthy_run(key: str) -> Trace:
    """Paid once."""
    return a_run(pay(key), id=f"healthy-{key[:2]}", output="paid")


def test_a_cases_checks_ignore_what_is_volatile() -> None:
    """A healthy run with a key that nobody has seen passes, one that pays another order fails; no answer is doubled."""
    case, _ = make_case(sanitized(an_incident()), print_of="", passing=[sanitized(a_healthy_run(KEYS[2]))])
    assert dict(case.volatile) == {"pay": ("/meta/*/key",)}
    assert [len(case.incident.steps), len(case.trace.trace.steps)] == [2, 2]

    def passes(run: Trace) -> bool:
        return all(result.passed for result in judge_checks(case.gating, run))

    assert passes(a_healthy_run(KEYS[3]))
    assert not passes(an_incident())
    assert not passes(a_run(pay(KEYS[3], order=9), output="paid"))


def test_learning_is_a_choice() -> None:
    """Without it the healthy run's key is what must come out."""
    case, _ = make_case(sanitized(an_incident()), print_of="", passing=[sanitized(a_healthy_run(KEYS[2]))], learn=False)
    assert dict(case.volatile) == {}
    assert not all(result.passed for result in judge_checks(case.gating, a_healthy_run(KEYS[3])))


def test_an_expectation_may_leave_out_a_volatile_argument() -> None:
    """And may state any."""
    effect: Any = {"name": "pay", "arguments": {"order": 7, "meta": [{}]}}
    check = Check("effects_equal", {"effects": [effect], "volatile": {"pay": ["/meta/*/key"]}})
    assert judge_checks([check], a_healthy_run(KEYS[5]))[0].passed
    assert not judge_checks([check], a_run(pay(KEYS[5], order=8)))[0].passed
