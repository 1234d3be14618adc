"""Cost, latency, steps and tokens of two arms, compared case by case on the logarithm (`stats.paired`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite

from evalkit.suite.model import Sample
from evalkit.verdict.ab import Metric, MetricChange

__all__ = ["OF_LIVE_MODELS", "means_of", "metric_changes"]

_SEED = 20_251
"""Of random deals and flips: the same samples give the same p-value."""

_VALUES: Mapping[Metric, Callable[[Sample], float]] = {
    "cost": lambda sample: sample.cost_usd,
    "latency": lambda sample: sample.duration_s,
    "steps": lambda sample: sample.tool_bodies + sample.live_model + sample.substituted,
    "tokens": lambda sample: sample.input_tokens + sample.output_tokens,
}
OF_LIVE_MODELS: frozenset[Metric] = frozenset({"cost", "latency", "tokens"})
"""What is compared only where both arms asked a live model."""
_SHIFTED: frozenset[Metric] = frozenset({"steps", "tokens"})
"""What may well be 0; then 1 is added to every value."""


def means_of(samples: Sequence[Sample]) -> dict[Metric, float]:
    """The plain means of the samples that came to a result, by metric; empty without one."""
    counted = _counted(samples)
    return {m: sum(map(value, counted)) / len(counted) for m, value in _VALUES.items()} if counted else {}


def metric_changes(
    a: Sequence[Sequence[Sample]],
    b: Sequence[Sequence[Sample]],
    alpha: float,
    *,
    live: bool,
    deterministic: bool = False,
) -> tuple[MetricChange, ...]:
    """How each metric changed from arm a to arm b, before any correction.

    Args:
        a: per case its samples in arm a, some with a result.
        b: the same of arm b, in the same order of cases.
        live: whether both arms asked a live model; without it only the steps mean anything.
        deterministic: all replays of each case were equal: what changed in this suite is a fact, and the tests are
            about cases like these.
    """
    runs_a, runs_b = [_counted(samples) for samples in a], [_counted(samples) for samples in b]
    changes = (_change(metric, runs_a, runs_b, alpha, live=live) for metric in _VALUES)
    return tuple(
        replace(one, low=one.change, high=one.change, p=one.p_like, least_p=None) if deterministic else one
        for one in changes
    )


def _change(
    metric: Metric, a: Sequence[Sequence[Sample]], b: Sequence[Sequence[Sample]], alpha: float, *, live: bool
) -> MetricChange:
    value = _VALUES[metric]
    values_a = [[value(sample) for sample in samples] for samples in a]
    values_b = [[value(sample) for sample in samples] for samples in b]
    reason = _reason(metric, values_a, values_b, live=live)
    if reason:
        return MetricChange(metric, "not compared", reason=reason)
    import numpy as np

    from evalkit.stats.paired import paired_change

    zeros = any(not one for values in (*values_a, *values_b) for one in values)
    shift = 1.0 if zeros else 0.0
    found = paired_change(values_a, values_b, np.random.default_rng(_SEED), shift=shift, level=1 - alpha)
    low, high = _limits(found.low, found.high)
    low_like, high_like = _limits(found.low_like, found.high_like)
    return MetricChange(
        metric,
        "neither shown",
        cases=found.cases,
        a=_mean(values_a),
        b=_mean(values_b),
        change=found.change,
        low=low,
        high=high,
        low_like=low_like,
        high_like=high_like,
        p=found.p,
        least_p=found.least_p,
        p_like=found.p_like,
        ratio_of_means=found.ratio_of_means if isfinite(found.ratio_of_means) else None,
        share_lower=found.share_lower,
        shift=shift,
    )


def _limits(low: float, high: float) -> tuple[float, float] | tuple[None, None]:
    """The ends of an interval; none where it is open."""
    return (low, high) if isfinite(low) and isfinite(high) else (None, None)


def _reason(metric: Metric, a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], *, live: bool) -> str:
    """Why a metric can't be compared; empty where it can."""
    if not a:
        return "no case could be compared"
    if metric in OF_LIVE_MODELS and not live:
        return "not both arms asked a live model"
    for name, arm in (("A", a), ("B", b)):
        zeros = sum(not one for values in arm for one in values)
        count = sum(map(len, arm))
        if zeros == count and metric != "steps":
            return f"arm {name} has none" + (": its model has no price" if metric == "cost" else "")
        if zeros and metric not in _SHIFTED:
            return f"{zeros} of {count} samples of arm {name} have none"
    return ""


def _counted(samples: Sequence[Sample]) -> list[Sample]:
    return [sample for sample in samples if sample.outcome in ("passed", "failed")]


def _mean(values: Sequence[Sequence[float]]) -> float:
    """Over cases, each counted alike."""
    return sum(sum(one) / len(one) for one in values) / len(values)
