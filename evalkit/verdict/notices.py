"""Notices: signs that a run's samples are less alike than every method takes for granted, for readers of its numbers.

Statistics here treat the samples of a case as independent runs of one thing. A provider that changed in the middle, a
cache that answered, an order that mattered: none of it shows in a pass rate. A notice decides nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, permutations
from operator import attrgetter, itemgetter
from typing import Any

from evalkit.percent import whole_percent
from evalkit.suite.model import Sample, Served
from evalkit.suite.samples import column, live_samples
from evalkit.verdict.model import CaseVerdict
from evalkit.verdict.plans import CasePlan, Plans
from evalkit.verdict.schedule import blocks
from evalkit.verdict.verdicts import distinct

__all__ = ["run_notices", "went_on"]

_ALPHA = 0.01
"""An order that doesn't matter is noticed in one run of a hundred."""
_NAMED = 4
_MANY, _CROSSED = 5, 0.05
"""So few crossing pairs of five and five come about by chance in 1.6 % of all orders, either way round."""
_COMPARED = 8
"""Names of which any two are compared; what has more of them changes all the time."""


def run_notices(
    samples: Mapping[str, Sequence[Sample]],
    verdicts: Sequence[CaseVerdict] = (),
    plans: Plans | None = None,
    *,
    frozen: bool = False,
    raised: Sequence[Mapping[str, Any]] = (),
    spoiled: Sequence[Sample] = (),
    began: Mapping[str, Any] | None = None,
    continued: Sequence[Mapping[str, Any]] = (),
) -> tuple[str, ...]:
    """The notices on a run's samples and verdicts, a sentence each; none where nothing speaks against them.

    Args:
        plans: what the run took its samples by; None where their numbers were fixed.
        frozen: see `verdict.schedule.wanted`.
        raised: see `suite.model.Manifest`.
        spoiled: attempts that count no more, since infrastructure spoiled them and a further one was made.
        began: the environment in which the run began.
        continued: see `suite.model.Manifest`.
    """
    live = sorted(chain.from_iterable(map(live_samples, samples.values())), key=lambda sample: sample.order)
    served = [(sample, sample.served) for sample in live if sample.served is not None]
    found = chain(
        _passes_failing(verdicts),
        _stale(verdicts),
        _raised(raised, verdicts),
        went_on(began or {}, continued),
        _tried_again(spoiled, samples),
        _order_mattered(samples, plans or {}, frozen=frozen),
        _models_changed(served),
        _fingerprints_changed(served),
        _prompts_changed(served),
        _answered_again(served),
        _cached(served),
    )
    return tuple(found)


def _passes_failing(verdicts: Sequence[CaseVerdict]) -> Iterator[str]:
    """Permanent cases that mostly failed, and that their policy lets pass, such as where the baseline failed, too."""
    found = [
        (verdict, count)
        for verdict, count in distinct(verdicts)
        if verdict.permanent and verdict.effect == "passes" and verdict.failed > verdict.passed
    ]
    if found:
        first, others = found[0][0], sum(count for _, count in found) - 1
        pass_on = f"and {others} more fail" if others else "fails"
        yield f"{first.case_id} {pass_on} more often than not, which the policy lets pass: {first.reason}"


def _stale(verdicts: Sequence[CaseVerdict]) -> Iterator[str]:
    """Comparisons that were not made."""
    stale = [(verdict, count) for verdict, count in distinct(verdicts) if verdict.stale]
    if stale:
        first, cases = stale[0][0], sum(count for _, count in stale)
        many = f"{cases} of {len(verdicts)} cases were not compared with the baseline"
        yield f"{many}; {first.case_id}: {first.stale}"


def _raised(raised: Sequence[Mapping[str, Any]], verdicts: Sequence[CaseVerdict]) -> Iterator[str]:
    """More samples were asked for after some had been seen: of that no policy's errors know, but `zero_failures`."""
    if raised and any(one.policy != "zero_failures" and not one.deterministic for one, _ in distinct(verdicts)):
        before, now = raised[0].get("from") or "those planned", raised[-1].get("to")
        times = "" if len(raised) == 1 else f" in {len(raised)} steps"
        yield (
            f"the number of samples was raised from {before} to {now}{times} after some were seen: the error rates of "
            "a policy hold for numbers that are fixed beforehand, and are larger here"
        )


def went_on(began: Mapping[str, Any], continued: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The samples of a run that was stopped, and went on with other code, are of two agents."""
    if not continued:
        return
    codes = [_code(began), *map(_code, continued)]
    packages = "; other packages" if len({one.get("packages") for one in (began, *continued)}) > 1 else ""
    yield (
        f"the run was stopped, and went on with other code ({', then '.join(codes)}{packages}): its samples are of "
        "more than one agent"
    )


def _code(environment: Mapping[str, Any]) -> str:
    commit = str(environment.get("git_commit") or "")[:10]
    changed = " with uncommitted changes" if environment.get("git_dirty") else ""
    return f"commit {commit}{changed}" if commit else "no commit"


def _tried_again(spoiled: Sequence[Sample], samples: Mapping[str, Sequence[Sample]]) -> Iterator[str]:
    """What infrastructure spoiled is replayed until it comes to a result: a choice, if the agent had a part in it."""
    tried = {(sample.case_id, sample.index) for sample in spoiled}
    told = {case_id: _with_result(samples.get(case_id, ())) for case_id, _ in tried}
    again = Counter(case_id for case_id, index in tried if index in told[case_id])
    if again:
        most, count = max(again.items(), key=itemgetter(1))
        (reason, _), *_ = Counter(sample.reason for sample in spoiled if sample.case_id == most).most_common(1)
        yield (
            f"{again.total()} of {sum(map(len, samples.values()))} samples are those of a further attempt, most of "
            f"them of case {most} ({count} of {len(samples.get(most, ()))}; before: {reason}): if what the agent did "
            "had a part in that, its rate is too good"
        )


def _with_result(samples: Sequence[Sample]) -> set[int]:
    """The indices of those that enter a rate."""
    pairs = zip(column(samples, "index"), column(samples, "outcome"), strict=True)
    return {index for index, outcome in pairs if outcome in ("passed", "failed")}


def _order_mattered(samples: Mapping[str, Sequence[Sample]], plans: Plans, *, frozen: bool) -> Iterator[str]:
    """The later half of each case's samples against the earlier one, exactly; between the looks, if there were any."""
    mixed = [
        block
        for case_id, case in samples.items()
        for block in _blocks(case, plans.get(case_id), frozen=frozen)
        if 0 < sum(block) < len(block)
    ]
    if not mixed:  # none had both outcomes: its halves can't differ
        return
    from evalkit.stats.exchangeability import halves_p

    p = halves_p(mixed)
    if p > _ALPHA:
        return
    early = [passed for block in mixed for passed in block[: len(block) // 2]]
    late = [passed for block in mixed for passed in block[len(block) // 2 :]]
    yield (
        f"the order of the samples mattered (p {p:.2g}): of cases with both outcomes the earlier half passed "
        f"{_share(early)}, the later half {_share(late)}; a provider that changed, a cache or a rate limit can do that"
    )


def _blocks(case: Sequence[Sample], plan: CasePlan | None, *, frozen: bool) -> Iterator[list[bool]]:
    """Whether each sample that came to a result passed, as they were finished, those between two looks for themselves.

    Nothing where all or none did.
    """
    outcomes = column(case, "outcome")
    if not {"passed", "failed"} <= {*outcomes}:
        return
    rows = sorted(zip(column(case, "index"), column(case, "order"), outcomes, strict=True))
    told = [(order, outcome == "passed") for _, order, outcome in rows if outcome in ("passed", "failed")]
    parts = [slice(None)] if plan is None else blocks(plan, [passed for _, passed in told], frozen=frozen)
    for part in parts:
        yield [passed for _, passed in sorted(told[part], key=itemgetter(0))]


def _models_changed(served: Sequence[tuple[Sample, Served]]) -> Iterator[str]:
    """In some case one model stopped answering before another began."""
    cases = _grouped(served, lambda sample, _: sample.case_id, lambda found: found.models)
    changed = {case: change for case, names in cases.items() if (change := _change(names))}
    if changed:
        case, (before, after) = next(iter(changed.items()))
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield f"the model changed during the run: {before}, then {after} (case {case}{more})"


def _fingerprints_changed(served: Sequence[tuple[Sample, Served]]) -> Iterator[str]:
    """Samples that the same models answered came from different configurations of the provider."""
    groups = _grouped(served, lambda _, found: ", ".join(found.models), lambda found: found.fingerprints)
    for models, names in groups.items():
        count = Counter(chain.from_iterable(names))
        if len(count) < 2:
            continue
        change = _change(names)
        told = f"{change[0]}, then {change[1]}" if change else _counted(count)
        yield f"the provider's configuration of {models or 'the model'} was not one and the same during the run: {told}"


def _prompts_changed(served: Sequence[tuple[Sample, Served]]) -> Iterator[str]:
    """A case's samples were sent one system prompt at first and another one later, or other tools."""
    for what, field in (("system prompt", "prompts"), ("tools", "toolsets")):
        cases = _grouped(served, lambda sample, _: sample.case_id, attrgetter(field))
        changed = [case for case, names in cases.items() if _change(names) and len(set(names)) == 2]
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            yield f"the agent's {what} changed during the run (case {changed[0]}{more}): was it edited meanwhile?"


def _answered_again(served: Sequence[tuple[Sample, Served]]) -> Iterator[str]:
    """Samples of one case that got the very answers that another one had got."""
    cases_of: dict[str, set[str]] = defaultdict(set)
    count = Counter[str]()
    for sample, found in served:
        if found.answers:
            cases_of[found.answers].add(sample.case_id)
            count[found.answers] += 1
    # an id that other cases have too is no id: some servers give all their answers the same one
    again = sum(count[answers] - 1 for answers, cases in cases_of.items() if len(cases) == 1)
    if again:
        yield (
            f"{again} of {len(served)} samples got answers with the ids of an earlier sample's: a cache between the "
            "agent and the model answered them, so that they count no more than the earlier ones"
        )


def _cached(served: Sequence[tuple[Sample, Served]]) -> Iterator[str]:
    tokens = sum(found.cached_tokens for _, found in served)
    if not tokens:
        return
    hits = sum(found.cached_tokens > 0 for _, found in served)
    total = sum(sample.input_tokens for sample, _ in served)
    share = f", {whole_percent(tokens / total)} of all" if total >= tokens else ""
    yield f"the provider read {tokens:,} input tokens from its cache{share} (in {hits} of {len(served)} samples)"


def _grouped(
    served: Sequence[tuple[Sample, Served]],
    key: Callable[[Sample, Served], str],
    names_of: Callable[[Served], tuple[str, ...]],
) -> dict[str, list[tuple[str, ...]]]:
    """The names of each group's samples in their order; samples without any are left out."""
    groups: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for sample, found in served:
        if names := names_of(found):
            groups[key(sample, found)].append(names)
    return groups


def _change(names: Sequence[tuple[str, ...]]) -> tuple[str, str] | None:
    """Two names of which one was last seen alone before the other first was, each in two samples or more.

    Samples that have both tell nothing: they were under way while one took the other's place, or always have both.
    """
    often = [name for name, times in Counter(chain.from_iterable(names)).most_common(_COMPARED) if times > 1]
    for gone, new in permutations(often, 2):
        before = [at for at, one in enumerate(names) if gone in one and new not in one]
        after = [at for at, one in enumerate(names) if new in one and gone not in one]
        if _follows(after, before):
            return gone, new
    return None


def _follows(after: Sequence[int], before: Sequence[int]) -> bool:
    """Whether some places lie behind others: two or more of each, or, with five of each, all but a few.

    Replays that are under way at once end in another order than they began.
    """
    fewer = min(len(before), len(after))
    crossed = sum(bisect_left(after, at) for at in before)
    return fewer > 1 and (crossed == 0 or (fewer >= _MANY and crossed <= _CROSSED * len(before) * len(after)))


def _share(outcomes: Sequence[bool]) -> str:
    return f"{sum(outcomes)} of {len(outcomes)}"


def _counted(count: Counter[str]) -> str:
    named = ", ".join(f"{name} in {times}" for name, times in count.most_common(_NAMED))
    more = len(count) - _NAMED
    return f"{named} samples" + (f", and {more} more" if more > 0 else "")
