"""A pass rate from samples whose number hung on what they came to: without the bias of the plain share.

A run that stops at the first look where it may has too extreme shares, since luck is what stops it early; one that goes
on with suspects alone has too high ones, since their bad luck is thinned out and nobody's good luck is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

from evalkit.errors import InputError

__all__ = ["unbiased_rate"]

_MOST_COUNTED = 2_000

Ways = tuple[int, int, int]
"""Orders of passes and failures that lead somewhere; the same times the passes s of the first look; times s (s - 1)."""


def unbiased_rate(
    outcomes: Sequence[bool], next_look: Callable[[Sequence[bool]], int | None]
) -> tuple[float, float | None]:
    """The rate of which so many samples were taken by a plan, and the variance of this estimate.

    The share of the first look, whose size nothing could change, is unbiased. So is its mean over all orders of these
    outcomes in which the plan comes just as far, which varies less (Girshick, Mosteller, Savage 1946; Rao-Blackwell).
    Likewise the mean of s (s - 1) / (m (m - 1)) over them, for s passes among the m of the first look, is unbiased for
    the squared rate, and so the square of the estimate less that for the variance; of one case it may be below 0. For
    independent samples of one rate this is exact. With all samples taken in one look it is the plain share.

    Args:
        outcomes: whether each sample passed, in the plan's order.
        next_look: how many samples the next look takes, after the outcomes up to a look; None for no more. It may go by
            nothing but the passes up to each look.

    Returns:
        The variance is None where the first look takes one sample, which tells nothing of it.

    Raises:
        InputError: no outcomes.
    """
    n, x = len(outcomes), sum(outcomes)
    first = min(next_look(()) or n, n)
    if not n:
        raise InputError("no samples", cure="give the outcomes of one or more")
    ways, by_passes, by_pairs = _ways(n, x, first, next_look) if n <= _MOST_COUNTED else (0, 0, 0)
    if not ways:  # too many, or not by this plan: what it would have done tells nothing of these
        return x / n, x * (n - x) / (n * n * (n - 1)) if n > 1 else None
    rate = by_passes / (ways * first)
    if first == 1:
        return rate, None
    return rate, rate * rate - by_pairs / (ways * first * (first - 1))


def _ways(n: int, x: int, first: int, next_look: Callable[[Sequence[bool]], int | None]) -> Ways:
    """The orders that lead to `x` passes in `n` samples, look by look; counted exactly."""
    at: dict[int, dict[int, tuple[Sequence[bool], Ways]]] = {first: {}}
    for s in range(max(0, first - (n - x)), min(first, x) + 1):
        orders = comb(first, s)
        at[first][s] = _order((), s, first - s), (orders, orders * s, orders * s * (s - 1))
    while (look := min(at)) < n:
        for passes, (order, ways) in at.pop(look).items():
            following = next_look(order)
            if following is None:
                continue
            end = min(following, n)  # cut short by what says nothing of the outcomes, such as a budget
            for more in range(max(0, end - look - (n - x - (look - passes))), min(end - look, x - passes) + 1):
                orders = comb(end - look, more)
                there = at.setdefault(end, {})
                known = there.get(passes + more) or (_order(order, more, end - look - more), (0, 0, 0))
                a, b, c = (old + orders * new for old, new in zip(known[1], ways, strict=True))
                there[passes + more] = known[0], (a, b, c)
        if not at:
            return 0, 0, 0
    return at[n].get(x, ((), (0, 0, 0)))[1]


def _order(before: Sequence[bool], passes: int, failures: int) -> Sequence[bool]:
    """One of the orders: a plan goes by the numbers alone."""
    return (*before, *(True,) * passes, *(False,) * failures)
