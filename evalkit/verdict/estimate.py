"""A case's pass rate from samples whose number hung on what they came to: the suite's rate is made of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evalkit.stats.stopped import unbiased_rate
from evalkit.suite.model import Sample
from evalkit.suite.samples import column
from evalkit.verdict.model import Estimate
from evalkit.verdict.plans import CasePlan, Plans
from evalkit.verdict.schedule import TWICE, outcomes_by_index, standing, traces_left

__all__ = ["estimate_of", "estimates_of", "first_looks", "pooled"]


def estimates_of(plans: Plans, samples: Mapping[str, Sequence[Sample]], *, twice: bool) -> dict[str, Estimate]:
    """By case id, the estimates of those cases of a run that have them."""
    found: dict[str, Estimate] = {}
    for case_id, plan in plans.items():
        own = samples.get(case_id, ())
        estimate = estimate_of(plan, own, standing(outcomes_by_index(own)).passed, twice=twice)
        if estimate is not None:
            found[case_id] = estimate
    return found


def first_looks(
    plans: Plans, samples: Mapping[str, Sequence[Sample]], *, twice: bool
) -> tuple[dict[str, Sequence[Sample]], int]:
    """Each case's samples up to its first look, and of how many cases there are more: what nothing could change."""
    first = estimates_of(plans, samples, twice=twice)
    found = {
        case_id: own[: _until(own, first[case_id].n)] if case_id in first else own for case_id, own in samples.items()
    }
    return found, len(first)


def _until(samples: Sequence[Sample], results: int) -> int:
    """How many samples it took to come to so many results."""
    places = [at for at, outcome in enumerate(column(samples, "outcome")) if outcome in ("passed", "failed")]
    return places[results - 1] + 1


def estimate_of(plan: CasePlan, samples: Sequence[Sample], passed: Sequence[bool], *, twice: bool) -> Estimate | None:
    """The estimate of one case; None where no look stood before its last sample.

    Args:
        plan: by which the samples were taken, whatever judges them.
        passed: see `schedule.Standing`.
        twice: whether two equal replays ended it. Where some replays are equal, what follows on the first two was taken
            because these were not, so that they alone are told.
    """
    if twice and len(passed) > TWICE and _some_equal(samples):
        return _plain(sum(passed[:TWICE]), TWICE)
    return _estimate(plan, passed)


def pooled(runs: Sequence[tuple[int, int, Estimate | None]]) -> Estimate | None:
    """Of several runs of a case, each (passes, samples, estimate), the mean estimate; None where none is biased.

    Each run weighs the same: how many samples it has may hang on what they came to.
    """
    there = [(passed, n, estimate) for passed, n, estimate in runs if n]
    if all(estimate is None for *_, estimate in there):
        return None
    each = [estimate or _plain(passed, n) for passed, n, estimate in there]
    known = [one.variance for one in each if one.variance is not None]
    variance = sum(known) / len(each) ** 2 if len(known) == len(each) else None
    passed, n = sum(one.passed for one in each), sum(one.n for one in each)
    return Estimate(sum(one.rate for one in each) / len(each), variance, passed, n)


def _plain(passed: int, n: int) -> Estimate:
    """Of a number of samples that was fixed beforehand."""
    return Estimate(passed / n, passed * (n - passed) / (n * n * (n - 1)) if n > 1 else None, passed, n)


def _some_equal(samples: Sequence[Sample]) -> bool:
    """Whether two of them, had they come first, could have shown a target without variance."""
    traces = [trace for trace, drew in traces_left(samples) if not drew]
    return len(set(traces)) < len(traces)


def _estimate(plan: CasePlan, passed: Sequence[bool]) -> Estimate | None:
    first, x, n = plan.next_look(()) or 0, sum(passed), len(passed)
    if first >= n:
        return None
    told = unbiased_rate(passed, plan.next_look) if 0 < x < n else (x / n, 0.0)  # else there is one order of them
    return Estimate(*told, sum(passed[:first]), first)
