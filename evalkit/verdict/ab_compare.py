"""SAMPLES x 2 -> VERDICT: two arms over the same cases. Pure: the same samples give the same verdict.

Missed and errored samples enter nothing. All tests are two-sided: neither arm is the better one beforehand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from evalkit.stats.mover import mover_interval
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Sample
from evalkit.verdict.ab import METRICS, ABVerdict, ArmOfCase, Better, CasePair, Loss, Metric, MetricChange, RateChange
from evalkit.verdict.ab_metrics import means_of, metric_changes
from evalkit.verdict.ab_words import notes, sentence
from evalkit.verdict.family import Regression, regressions
from evalkit.verdict.schedule import TWICE, equal_replays

__all__ = ["ArmSamples", "compare_arms"]

_SAME = 1e-12

Arm = Literal["a", "b"]
Table = tuple[int, int, int, int]


class _Columns(NamedTuple):
    """Passes and samples of both arms, a column each."""

    x1: Sequence[int]
    n1: Sequence[int]
    x2: Sequence[int]
    n2: Sequence[int]

    @property
    def turned(self) -> _Columns:
        """With the arms in each other's place."""
        return _Columns(self.x2, self.n2, self.x1, self.n1)


@dataclass(frozen=True, slots=True)
class ArmSamples:
    """One arm: what it is, and what its cases came to.

    Attributes:
        name: in words, such as "prompt=new.txt".
        samples: by case id.
        frozen: whether everything the target saw was frozen: then equal replays prove that there is no variance.
        live: whether a model was asked, so that there are cost, tokens and a latency to compare.
    """

    name: str
    samples: Mapping[str, Sequence[Sample]]
    frozen: bool = False
    live: bool = False


def compare_arms(
    cases: Sequence[CaseRef],
    a: ArmSamples,
    b: ArmSamples,
    *,
    primary: Metric = "pass_rate",
    alpha: float = 0.05,
    left_out: Mapping[str, str] | None = None,
    remarks: Sequence[str] = (),
) -> ABVerdict:
    """What two arms over the same cases came to.

    Args:
        cases: of both arms; the verdict's pairs are in this order.
        primary: the metric that decides; chosen before the samples are seen.
        alpha: the error of showing a difference where there is none: of the primary metric, of all others together,
            and over the cases.
        left_out: by case id, why a case is not to be compared.
        remarks: what else a reader must know, put before the verdict's own notes.

    Raises:
        InputError: `alpha` is no share.
    """
    left_out = left_out or {}
    loss_a, loss_b = _loss(a), _loss(b)
    unequal = _unequal(loss_a, loss_b)
    lossy: Arm | None = None if not unequal else "a" if loss_a.share > loss_b.share else "b"
    pairs = _judged([_pair(case, a, b, left_out.get(case.id, "")) for case in cases], alpha, lossy)
    compared = [pair for pair in pairs if pair.better != "not compared"]
    deterministic = bool(compared) and all(pair.deterministic for pair in compared)
    rate = _rate_change(compared, alpha, deterministic=deterministic) if compared else None
    ids = [pair.case_id for pair in compared]
    others = metric_changes(
        [a.samples[case_id] for case_id in ids],
        [b.samples[case_id] for case_id in ids],
        alpha,
        live=a.live and b.live,
        deterministic=deterministic,
    )
    rate, others = _corrected(rate, others, primary, alpha, deterministic=deterministic)
    if rate is not None and lossy is not None and rate.better == lossy:
        ran = [pair for pair in pairs if pair.case_id not in left_out]
        if not _holds_without(ran, lossy, alpha, deterministic=deterministic):
            rate = replace(rate, better="neither shown")
    better = rate.better if primary == "pass_rate" and rate else _of(others, primary)
    found = ABVerdict(
        a=a.name,
        b=b.name,
        sentence="",
        primary=primary,
        better=better,
        alpha=alpha,
        rate=rate,
        metrics=others,
        pairs=tuple(pairs),
        loss_a=loss_a,
        loss_b=loss_b,
        unequal_loss=unequal,
        deterministic=deterministic,
    )
    return replace(found, sentence=sentence(found), notes=(*remarks, *notes(found)))


def _pair(case: CaseRef, a: ArmSamples, b: ArmSamples, left_out: str) -> CasePair:
    runs_a, runs_b = a.samples.get(case.id, ()), b.samples.get(case.id, ())
    arm_a, arm_b = _arm(runs_a), _arm(runs_b)
    reason = left_out
    if not reason and not (arm_a.n and arm_b.n):
        empty = " and ".join(name for name, arm in (("A", arm_a), ("B", arm_b)) if not arm.n)
        reason = f"no sample of arm {empty} came to a result"
    pair = CasePair(case.id, case.title, case.state == "permanent", arm_a, arm_b, "not compared", reason=reason)
    if reason:
        return pair
    equal = (
        a.frozen
        and b.frozen
        and all(arm.n >= TWICE and equal_replays(runs) for arm, runs in ((arm_a, runs_a), (arm_b, runs_b)))
    )
    return replace(pair, better="neither shown", deterministic=equal, difference=_share(arm_b) - _share(arm_a))


def _judged(pairs: Sequence[CasePair], alpha: float, lossy: Arm | None) -> list[CasePair]:
    """The pairs with their tests, corrected over all of them; a deterministic one needs none.

    Args:
        lossy: the arm that lost more than chance explains: it is better where it is so had its lost samples failed.
    """
    at = [i for i, pair in enumerate(pairs) if pair.better != "not compared" and not pair.deterministic]
    tested = dict(zip(at, regressions([_table(pairs[i]) for i in at]), strict=True))
    found = [_with_test(pair, tested.get(i), alpha) for i, pair in enumerate(pairs)]
    if lossy is None or not any(found[i].better == lossy for i in at):
        return found
    for i, one in zip(at, regressions([_table(pairs[i], lossy) for i in at]), strict=True):
        for_it = one.better_adjusted if lossy == "b" else one.worse_adjusted
        if found[i].better == lossy and 2 * for_it > alpha:
            found[i] = replace(found[i], better="neither shown")
    return found


def _table(pair: CasePair, failed: Arm | None = None) -> Table:
    """Passes and samples of both arms; with the lost ones of an arm as failures."""
    lost_a, lost_b = (arm.lost if failed == name else 0 for name, arm in (("a", pair.a), ("b", pair.b)))
    return pair.a.passed, pair.a.n + lost_a, pair.b.passed, pair.b.n + lost_b


def _holds_without(pairs: Sequence[CasePair], lossy: Arm, alpha: float, *, deterministic: bool) -> bool:
    """Whether the arm that lost more is better even if all that it lost were failures."""
    tables = [table for pair in pairs if (table := _table(pair, lossy))[1] and table[3]]
    mean = sum(x2 / n2 - x1 / n1 for x1, n1, x2, n2 in tables)
    if (mean if lossy == "b" else -mean) <= _SAME * len(tables):
        return False
    if deterministic:
        return True
    turned = [(*table[2:], *table[:2]) for table in tables] if lossy == "b" else tables  # whether the other is worse
    if len(turned) == 1:
        return 2 * regressions(turned)[0].worse <= alpha
    from evalkit.stats.suite import cmh_p

    return 2 * cmh_p(*zip(*turned, strict=True)) <= alpha


def _with_test(pair: CasePair, tested: Regression | None, alpha: float) -> CasePair:
    if pair.difference is None:
        return pair
    direction: Better = "b" if pair.difference > 0 else "a"
    if tested is None:
        better: Better = direction if pair.difference else "neither shown"
        return replace(pair, better=better, low=pair.difference, high=pair.difference)
    adjusted = min(1.0, 2 * min(tested.worse_adjusted, tested.better_adjusted))
    low, high = mover_interval(pair.a.passed, pair.a.n, pair.b.passed, pair.b.n, 1 - alpha)
    return replace(
        pair,
        better=direction if adjusted <= alpha else "neither shown",
        low=low,
        high=high,
        p=min(1.0, 2 * min(tested.worse, tested.better)),
        p_adjusted=adjusted,
    )


def _rate_change(pairs: Sequence[CasePair], alpha: float, *, deterministic: bool) -> RateChange:
    """The suite's pass rates. One replay of a deterministic case tells as much as many: it counts once."""
    from evalkit.stats.suite import cmh_p, like_these_interval, this_suite_interval

    once = [(int(pair.a.passed > 0), 1, int(pair.b.passed > 0), 1) for pair in pairs]
    columns = _Columns(*zip(*(once if deterministic else map(_table, pairs)), strict=True))
    rate_a, rate_b = (sum(map(_share, arms)) / len(pairs) for arms in zip(*((p.a, p.b) for p in pairs), strict=True))
    difference = rate_b - rate_a
    b_worse, a_worse = cmh_p(*columns), cmh_p(*columns.turned)
    p = min(1.0, 2 * min(b_worse, a_worse))
    only, detectable = pairs[0], None
    if deterministic:
        low = high = difference
    elif len(pairs) == 1 and only.p is not None and only.low is not None and only.high is not None:
        p, low, high = only.p, only.low, only.high  # one case's own are sharper; CMH is Fisher's test then
        detectable = _detectable_of_one(only, alpha)
    else:
        low, high = this_suite_interval(*columns, 1 - alpha)
        detectable = _detectable(columns, alpha)
    like = like_these_interval([pair.difference or 0.0 for pair in pairs], 1 - alpha) if len(pairs) > 1 else None
    opposed = abs(difference) < _SAME or (a_worse < b_worse) != (difference > 0)
    return RateChange(
        cases=len(pairs),
        a=rate_a,
        b=rate_b,
        low=low,
        high=high,
        low_like=None if like is None else like[0],
        high_like=None if like is None else like[1],
        p=p,
        p_adjusted=p,
        detectable=detectable,
        better="neither shown",
        opposed=p <= alpha and not deterministic and opposed,
    )


def _detectable(columns: _Columns, alpha: float) -> float | None:
    """The difference of the suite's rates that its test shows 4 times of 5."""
    from evalkit.stats.suite_power import detectable_in_this_suite

    return _either_way(
        detectable_in_this_suite(*columns, alpha=alpha), detectable_in_this_suite(*columns.turned, alpha=alpha)
    )


def _detectable_of_one(pair: CasePair, alpha: float) -> float | None:
    """The difference of one case that its own test shows 4 times of 5, from the rate of both arms towards 1/2."""
    from evalkit.stats.power import detectable_drop

    middle = (pair.a.passed + pair.b.passed) / (pair.a.n + pair.b.n)
    rate = max(middle, 1 - middle)
    return _either_way(
        detectable_drop(rate, pair.a.n, pair.b.n, alpha / 2), detectable_drop(rate, pair.b.n, pair.a.n, alpha / 2)
    )


def _either_way(b_worse: float | None, a_worse: float | None) -> float | None:
    """What can be seen whichever arm is the worse one: with unequal numbers of samples these differ."""
    return None if b_worse is None or a_worse is None else max(b_worse, a_worse)


def _corrected(
    rate: RateChange | None, others: Sequence[MetricChange], primary: Metric, alpha: float, *, deterministic: bool
) -> tuple[RateChange | None, tuple[MetricChange, ...]]:
    """Holm's correction over all metrics but the primary one, and what they show then."""
    from evalkit.stats.multiplicity import holm

    raw: dict[Metric, float] = {change.metric: change.p for change in others if change.p is not None}
    if rate is not None:
        raw["pass_rate"] = rate.p
    rest = [metric for metric in METRICS if metric in raw and metric != primary]
    adjusted = {**raw, **dict(zip(rest, holm([raw[metric] for metric in rest]).tolist(), strict=True))}
    if rate is not None:
        shown = deterministic or (adjusted["pass_rate"] <= alpha and not rate.opposed)
        direction: Better = "b" if rate.difference > 0 else "a"
        better: Better = direction if shown and abs(rate.difference) > _SAME else "neither shown"
        rate = replace(rate, p_adjusted=adjusted["pass_rate"], better=better)
    return rate, tuple(
        change if change.p is None else _shown(change, adjusted[change.metric], alpha, deterministic=deterministic)
        for change in others
    )


def _shown(change: MetricChange, adjusted: float, alpha: float, *, deterministic: bool) -> MetricChange:
    less: Better = "b" if (change.change or 0.0) < 0 else "a"
    shown = bool(change.change) if deterministic else adjusted <= alpha
    return replace(change, p_adjusted=adjusted, better=less if shown else "neither shown")


def _of(others: Sequence[MetricChange], metric: Metric) -> Better:
    return next((change.better for change in others if change.metric == metric), "not compared")


def _arm(samples: Sequence[Sample]) -> ArmOfCase:
    counts = Counter(sample.outcome for sample in samples)
    return ArmOfCase(counts["passed"], counts["failed"], counts["missed"], counts["errored"], means_of(samples))


def _share(arm: ArmOfCase) -> float:
    return arm.passed / arm.n


def _loss(arm: ArmSamples) -> Loss:
    all_of_it = [sample for samples in arm.samples.values() for sample in samples]
    counts = Counter(sample.outcome for sample in all_of_it)
    reasons = Counter(sample.reason for sample in all_of_it if sample.outcome in ("missed", "errored"))
    reason = reasons.most_common(1)[0][0] if reasons else ""
    return Loss(len(all_of_it), counts["missed"], counts["errored"], reason)


def _unequal(a: Loss, b: Loss) -> bool:
    """Whether the arms lost other shares of their samples than chance explains, at 5 %."""
    if not (a.lost or b.lost):
        return False
    from evalkit.stats.two_sample import fisher_p

    return (
        2 * min(fisher_p(a.lost, a.samples, b.lost, b.samples), fisher_p(b.lost, b.samples, a.lost, a.samples)) <= 0.05
    )
