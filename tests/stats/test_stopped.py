"""Rates from samples whose number hung on what they came to: unbiased, counted out over all ends of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import pytest

from evalkit.errors import InputError
from evalkit.stats.stopped import unbiased_rate

Plan = Callable[[Sequence[bool]], int | None]


def until_a_failure(outcomes: Sequence[bool]) -> int | None:
    """Looks after every two samples, up to eight, until one failed."""
    return None if not all(outcomes) or len(outcomes) == 8 else len(outcomes) + 2


def suspects_alone(outcomes: Sequence[bool]) -> int | None:
    """Four samples, and six more where two or more of them failed."""
    if not outcomes:
        return 4
    return 10 if len(outcomes) == 4 and sum(outcomes) <= 2 else None


def ends(plan: Plan, outcomes: tuple[bool, ...] = ()) -> Iterator[tuple[bool, ...]]:
    """Every series that the plan can end with, order by order."""
    look = plan(outcomes)
    if look is None:
        yield outcomes
        return
    for more in product((True, False), repeat=look - len(outcomes)):
        yield from ends(plan, (*outcomes, *more))


def mean(plan: Plan, rate: float, value: Callable[[Sequence[bool]], float]) -> float:
    """Over all series, each as likely as it is."""
    return sum(rate ** sum(end) * (1 - rate) ** (len(end) - sum(end)) * value(end) for end in ends(plan))


@pytest.mark.parametrize("plan", [until_a_failure, suspects_alone])
@pytest.mark.parametrize("rate", [0.97, 0.8, 0.3])
def test_the_estimate_and_its_variance_are_unbiased(plan: Plan, rate: float) -> None:
    """Where the share of passes is off by points."""
    told = {end: unbiased_rate(end, plan) for end in ends(plan)}
    assert abs(mean(plan, rate, lambda end: sum(end) / len(end)) - rate) > 0.001
    assert mean(plan, rate, lambda end: told[tuple(end)][0]) == pytest.approx(rate)
    spread = mean(plan, rate, lambda end: (told[tuple(end)][0] - rate) ** 2)
    assert mean(plan, rate, lambda end: told[tuple(end)][1] or 0.0) == pytest.approx(spread)
    first = plan(()) or 1
    assert spread <= rate * (1 - rate) / first + 1e-12


def test_all_samples_at_once_are_a_plain_share() -> None:
    """With the variance of one."""
    assert unbiased_rate([True, False, True, True], lambda _: 4) == pytest.approx((0.75, 0.75 * 0.25 / 3))
    with pytest.raises(InputError):
        unbiased_rate([], lambda _: 4)


def test_a_first_look_of_one_sample_tells_no_variance() -> None:
    """Rate 1 or 0, by what came first."""
    found = unbiased_rate([True, False], lambda seen: None if not all(seen) else len(seen) + 1)
    assert found == (1.0, None)


def test_a_run_cut_short_is_told_as_far_as_it_came() -> None:
    """A budget that ended says nothing of the outcomes."""
    assert unbiased_rate([True, True, False], until_a_failure) == (1.0, 0.0)


def test_of_very_many_samples_it_is_the_plain_share() -> None:
    """10,000 samples with a look after every five, whose orders nobody would see counted."""
    outcomes = [at % 10 != 9 for at in range(10_000)]
    rate, variance = unbiased_rate(outcomes, lambda seen: len(seen) + 5 if len(seen) < 20_000 else None)
    assert rate == 0.9
    assert variance == pytest.approx(0.9 * 0.1 / 9_999)
