"""An A/B verdict in words: one sentence that says what is shown, by how much, and what could not have been seen."""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.figures import figures, signed_figures
from evalkit.percent import points, points_between, signed_points
from evalkit.verdict.ab import ABVerdict, Metric, MetricChange, RateChange

__all__ = ["change_between", "change_text", "metric_name", "notes", "sentence"]

_FEW_CASES = 50


def sentence(found: ABVerdict) -> str:
    """The verdict on the primary metric, then every other metric that is shown to differ."""
    if found.rate is None:
        return "nothing could be compared: no case has results in both arms"
    parts = [_rate_sentence(found.rate, found) if found.primary == "pass_rate" else _primary_sentence(found)]
    if found.primary != "pass_rate" and found.rate.better in ("a", "b"):
        parts.append(
            f"pass rate {signed_points(found.rate.difference)}, {points_between(found.rate.low, found.rate.high)}"
        )
    parts += [
        f"{metric_name(change.metric)} {change_text(change)}"
        for change in found.metrics
        if change.metric != found.primary and change.better in ("a", "b")
    ]
    return "; ".join(parts)


def notes(found: ABVerdict) -> Iterator[str]:
    """What a reader must know before believing the sentence."""
    for name, loss in (("A", found.loss_a), ("B", found.loss_b)):
        if loss.lost:
            yield (
                f"arm {name} lost {loss.lost} of {loss.samples} samples "
                f"({loss.missed} missed, {loss.errored} errored): they enter nothing"
                + (f"; most often: {loss.reason}" if loss.reason else "")
            )
    if found.unequal_loss:
        yield (
            "one arm lost more than chance explains: what is left of it may not be comparable, so that it is called "
            "better only where it were so if all that it lost had failed"
        )
    absent = [pair for pair in found.pairs if pair.better == "not compared"]
    if absent:
        first = f"{absent[0].case_id}: {absent[0].reason}"
        yield f"{len(absent)} of {len(found.pairs)} cases were not compared; the first: {first}"
    rate = found.rate
    if rate is not None and rate.opposed:
        yield (
            "the exact test shows a difference, and the plain mean over the cases points the other way or nowhere: "
            "the cases differ in opposite directions, or have unequal numbers of samples; look at them one by one"
        )
    if rate is not None and found.deterministic:
        yield (
            f"all replays of each case were equal, so the pass rates are facts of this suite; for cases like these: "
            f"{_p_text(rate.p)} (exact McNemar)"
        )
    elif rate is not None and rate.low_like is not None and rate.cases < _FEW_CASES:
        yield f"with {rate.cases} cases the interval for cases like these holds too seldom where few of them changed"
    yield from _hopeless(found)


def _hopeless(found: ABVerdict) -> Iterator[str]:
    """The metrics beside the primary one that so few samples can't show to differ: of few deals no choice is rare."""
    changes = [one for one in found.metrics if one.metric != found.primary and one.p is not None]
    few = [one for one in changes if one.least_p is not None and one.least_p * len(changes) > found.alpha]
    names = [metric_name(one.metric) for one in few if one.p != 1]
    if names:
        several = " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
        yield f"so few samples can't show a difference of {several}, however large"


def metric_name(metric: Metric) -> str:
    """As people say it."""
    return metric.replace("_", " ")


def change_text(change: MetricChange) -> str:
    """A relative change with its interval: ``+8 %, 3 to 13``."""
    if change.change is None:
        return "not compared"
    told = _moved(change)
    return told if change.low is None or change.high is None else f"{told}, {change_between(change.low, change.high)}"


def change_between(low: float, high: float) -> str:
    """An interval of relative changes: ``3 to 13``, in percent."""
    return f"{figures(_percent(low), 3)} to {figures(_percent(high), 3)}"


def _p_text(p: float) -> str:
    """A p-value as far as it means something: ``p = 0.013``."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def _rate_sentence(rate: RateChange, found: ABVerdict) -> str:
    if found.deterministic:
        return _fact(rate, found)
    between = f"{points_between(rate.low, rate.high)} ({_p_text(rate.p)})"
    if rate.better == "b":
        return f"B is better by {points(rate.difference)}, {between}"
    if rate.better == "a":
        low, high = -rate.high, -rate.low
        return f"B is worse by {points(-rate.difference)}, {points_between(low, high)} ({_p_text(rate.p)})"
    if rate.opposed:
        mean = signed_points(rate.difference)
        return f"the arms differ ({_p_text(rate.p)}), but not in one direction: {mean} on average"
    if found.unequal_loss and rate.p_adjusted <= found.alpha:
        return f"no difference shown: B {signed_points(rate.difference)}, {between}, {_but_lost(found)}"
    seen = "too few samples to show even the largest difference 4 times of 5"
    if rate.detectable is not None:
        seen = f"could have seen about {points(rate.detectable)} or more"
    return f"no difference shown: B {signed_points(rate.difference)}, {between}; {seen}"


def _fact(rate: RateChange, found: ABVerdict) -> str:
    gained = sum(pair.better == "b" for pair in found.pairs)
    lost = sum(pair.better == "a" for pair in found.pairs)
    if not gained and not lost:
        return f"no difference: both arms pass the same of {rate.cases} cases, in every replay"
    both = f"of {rate.cases} cases it passes {gained} that A fails, and fails {lost} that A passes"
    if rate.better == "neither shown" and gained != lost:
        return f"no difference shown: B {signed_points(rate.difference)}, {both}, {_but_lost(found)}"
    word = {"a": "worse", "b": "better"}.get(rate.better, "as good")
    by = f" by {points(abs(rate.difference))}" if rate.difference else ""
    return f"B is {word}{by}: {both}"


def _but_lost(found: ABVerdict) -> str:
    """Why what was seen shows nothing, where one arm lost more."""
    name, loss = ("A", found.loss_a) if found.loss_a.share > found.loss_b.share else ("B", found.loss_b)
    return f"but arm {name} lost {loss.lost} of {loss.samples} samples, which may be all of it"


def _primary_sentence(found: ABVerdict) -> str:
    change = next(change for change in found.metrics if change.metric == found.primary)
    name = metric_name(found.primary)
    if change.reason:
        return f"{name} could not be compared: {change.reason}"
    assert change.p is not None
    needs = f"B needs {'less' if change.better == 'b' else 'more'} {name}"
    if found.deterministic:
        here = f"{_moved(change)}, in equal replays"
        return f"no difference of {name}: B {here}" if change.better == "neither shown" else f"{needs}: {here}"
    told = f"{change_text(change)} ({_p_text(change.p)})"
    if change.better == "neither shown":
        hopeless = change.least_p is not None and change.least_p > found.alpha
        few = "; so few samples can't show one, however large" if hopeless else ""
        return f"no difference of {name} shown: B {told}{few}"
    return f"{needs}: {told}"


def _moved(change: MetricChange) -> str:
    return f"{signed_figures(_percent(change.change or 0.0), 3)} %"


def _percent(share: float) -> float:
    """Without what rounding leaves of 0."""
    return round(100 * share, 6) + 0.0
