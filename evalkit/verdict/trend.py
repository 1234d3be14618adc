"""A suite over its nights: the pass rate of each, and at which night it changed, for the suite and for single cases."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from evalkit.figures import counted
from evalkit.suite.texts import ByText, Texts
from evalkit.verdict.history import Night

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Rate", "Shift", "Trend", "news", "trend_of"]

_ALPHA = 0.05
_SEED = 20_251


@dataclass(frozen=True, slots=True)
class Rate:
    """The mean of the cases' pass rates in one night, with its 95 % interval, the cases being fixed."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Shift:
    """A change of a pass rate.

    Attributes:
        case_id: empty for the suite.
        night: index of the first night after it.
        run_id, started_at: of that night.
        before, after: the rates on both sides, up to the next change.
        p: how likely so clear a change is where none was; for cases after Benjamini and Hochberg's correction.
        news: what else was new that night, in words.
    """

    case_id: str
    night: int
    run_id: str
    started_at: str
    before: float
    after: float
    p: float
    news: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trend:
    """What the nights say together.

    Attributes:
        rates: per night; None where no sample entered the rate.
        shared: cases that every night has: only these tell of a change of the suite, for a new case is none.
        suite: changes of the suite's rate over the shared cases, oldest first.
        cases: changes of single cases, by case and night.
    """

    nights: tuple[Night, ...]
    rates: tuple[Rate | None, ...]
    shared: int
    suite: tuple[Shift, ...]
    cases: tuple[Shift, ...]


def trend_of(nights: Sequence[Night], *, most_cases: int | None = None) -> Trend:
    """The trend of nights that are in order.

    Changes are looked for by `stats.change_point`, with random series from a fixed seed: the same history has the same
    trend. It takes independent samples for granted; a provider whose bad days come in bursts shows more changes.

    Args:
        most_cases: where the rates of more cases vary, changes of single cases are not looked for, which takes about a
            millisecond for each.
    """
    every = list(nights)
    stretches = _stretches(every)
    first, *others = [stretch.cases for stretch in stretches] or [ByText(Texts(), ())]
    shared = Texts(one for one in first if all(one in cases for cases in others))
    return Trend(
        nights=tuple(every),
        rates=tuple(_rate(night) for night in every),
        shared=len(shared),
        suite=_suite_shifts(every, shared),
        cases=_case_shifts(every, stretches, most_cases),
    )


def news(before: Night, after: Night) -> tuple[str, ...]:
    """What one night has otherwise than the one before, besides its outcomes; a phrase each."""
    new, gone = _further(after, before), _further(before, after)
    told = (
        (before.commit != after.commit and bool(after.commit), f"commit {after.commit[:10]}"),
        (after.dirty and not before.dirty, "uncommitted changes"),
        (before.suite != after.suite, "another form of the suite"),
        (before.models != after.models, f"model {_list(before.models)} → {_list(after.models)}"),
        (
            before.fingerprints != after.fingerprints,
            f"provider's fingerprint {_list(before.fingerprints)} → {_list(after.fingerprints)}",
        ),
        (bool(new), counted(new, "new case")),
        (bool(gone), f"{counted(gone, 'case')} gone"),
    )
    return tuple(words for holds, words in told if holds)


def _further(one: Night, other: Night) -> int:
    """How many cases a night has that another has not."""
    ours, theirs = one.cases, other.cases
    if isinstance(ours, ByText) and isinstance(theirs, ByText) and ours.same_keys(theirs):
        return 0
    return sum(case_id not in theirs for case_id in ours)


def _rate(night: Night) -> Rate | None:
    counts = [count for count in night.cases.values() if count[1]]
    if not counts:
        return None
    from evalkit.stats.mean_rate import suite_rate  # NumPy: only where there is something to compute

    ids = (case_id for case_id, (_, n) in night.cases.items() if n)
    places = {case_id: at for at, case_id in enumerate(ids) if case_id in night.estimates} if night.estimates else {}
    estimated = {places[case_id]: one for case_id, one in night.estimates.items() if case_id in places}
    rate, low, high = suite_rate([x for x, _ in counts], [n for _, n in counts], estimated=estimated)
    return Rate(float(rate), float(low), float(high))


class _Stretch:
    """Nights in a row with the same cases: a case is looked for once for all of them."""

    def __init__(self, cases: ByText[tuple[int, int]]) -> None:
        self.cases = cases
        self._nights = [cases]

    def took(self, cases: ByText[tuple[int, int]]) -> bool:
        """Whether a further night has the same cases, and is one of these now."""
        same = self.cases.same_keys(cases)
        if same:
            self._nights.append(cases)
        return same

    def counts(self, case_id: str) -> list[tuple[int, int]]:
        """Of each night what one case came to; none of no samples where it did not run."""
        place = self.cases.texts.find(case_id)
        return [(0, 0) if place < 0 else cases.at(place) or (0, 0) for cases in self._nights]


def _stretches(nights: Sequence[Night]) -> list[_Stretch]:
    found: list[_Stretch] = []
    for night in nights:
        cases = night.cases if isinstance(night.cases, ByText) else ByText(Texts(night.cases), night.cases.values())
        if not (found and found[-1].took(cases)):
            found.append(_Stretch(cases))
    return found


def _series(stretches: Sequence[_Stretch]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Every case once, with what it came to in each night: never all of them as a set, they may be very many."""
    for at, stretch in enumerate(stretches):
        for case_id in stretch.cases:
            if not any(case_id in others.cases for others in stretches[:at]):
                yield case_id, [count for one in stretches for count in one.counts(case_id)]


def _suite_shifts(nights: Sequence[Night], shared: Collection[str]) -> tuple[Shift, ...]:
    series = [_together(night.cases, shared) for night in nights]
    return _shifts(shared, series, nights) if _varies(series) else ()


def _together(cases: Mapping[str, tuple[int, int]], shared: Collection[str]) -> tuple[int, int]:
    counts = cases.values() if len(cases) == len(shared) else [cases[case_id] for case_id in shared]
    return sum([passed for passed, _ in counts]), sum([n for _, n in counts])


def _case_shifts(nights: Sequence[Night], stretches: Sequence[_Stretch], most: int | None) -> tuple[Shift, ...]:
    """The changes of single cases, of which one in twenty is none."""
    series = dict(sorted((case_id, counts) for case_id, counts in _series(stretches) if _varies(counts)))
    if not series or (most is not None and len(series) > most):
        return ()
    from evalkit.stats.change_point import change_p_many
    from evalkit.stats.multiplicity import benjamini_hochberg

    passed, runs = zip(*(_columns(counts) for counts in series.values()), strict=True)
    adjusted = benjamini_hochberg(change_p_many(passed, runs)).tolist()
    return tuple(
        shift
        for (case_id, counts), p in zip(series.items(), adjusted, strict=True)
        if p <= _ALPHA
        for shift in _shifts([case_id], counts, nights, p, case_id)
    )


def _shifts(
    cases: Collection[str],
    series: Sequence[tuple[int, int]],
    nights: Sequence[Night],
    p: float | None = None,
    case_id: str = "",
) -> tuple[Shift, ...]:
    """All changes of one series; `p` stands for that of the first look, where it is known better."""
    from evalkit.stats.change_point import change_points

    found = change_points(*_columns(series), _rng(), alpha=_ALPHA)
    ends = [0, *(change.at for change in found), len(nights)]
    told = [_mean(nights[start:end], cases) for start, end in pairwise(ends)]
    return tuple(
        Shift(
            case_id=case_id,
            night=change.at,
            run_id=nights[change.at].run_id,
            started_at=nights[change.at].started_at,
            before=change.before if before is None else before,
            after=change.after if after is None else after,
            p=change.p if p is None else max(change.p, p),
            news=news(nights[change.at - 1], nights[change.at]),
        )
        for change, (before, after) in zip(found, pairwise(told), strict=True)
    )


def _mean(nights: Sequence[Night], cases: Collection[str]) -> float | None:
    """Over nights whose numbers of samples hung on what they came to, the mean of their rates; else None."""
    if not any(case_id in night.estimates for night in nights for case_id in cases):
        return None
    rates = []
    for night in nights:
        counts = {case_id: night.cases.get(case_id, (0, 0)) for case_id in cases}
        each = [
            night.estimates[case_id][0] if case_id in night.estimates else passed / n
            for case_id, (passed, n) in counts.items()
            if n
        ]
        rates += [sum(each) / len(each)] if each else []
    return sum(rates) / len(rates)


def _varies(series: Sequence[tuple[int, int]]) -> bool:
    """Whether the rate differs between nights; where it doesn't, no place in the series is a likely change."""
    seen = [(passed, runs) for passed, runs in series if runs]
    return any(passed * seen[0][1] != seen[0][0] * runs for passed, runs in seen)


def _columns(series: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [passed for passed, _ in series], [n for _, n in series]


def _rng() -> np.random.Generator:
    import numpy as np

    return np.random.default_rng(_SEED)


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "unknown"
