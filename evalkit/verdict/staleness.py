"""When a baseline says nothing any more: the case, or what answered its calls, is not what was measured then.

A stale baseline is never compared with: "no change shown" against another recording or another model would be read as
"as good as it was".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Across, BaselineRules, Sample
from evalkit.suite.samples import live_samples
from evalkit.suite.texts import beside
from evalkit.verdict.baseline import Baseline
from evalkit.verdict.facts import Facts, facts_of
from evalkit.verdict.model import CaseVerdict
from evalkit.verdict.verdicts import changed

__all__ = ["differences_of_facts", "fresh_part", "stale_cases", "with_staleness"]

_MOST = 3
_DAY_S = 86_400.0


def stale_cases(
    cases: Sequence[CaseRef],
    samples: Mapping[str, Sequence[Sample]],
    baseline: Baseline | None,
    rules: BaselineRules,
    at: str,
) -> dict[str, str]:
    """Case id to why its baseline is stale, a sentence with the cure; cases that the baseline does not hold are absent.

    Args:
        rules: how old a baseline may be, and across what it is compared on purpose.
        at: when the run began that is compared, UTC, ISO 8601.
    """
    if baseline is None:
        return {}
    age = _too_old(baseline, rules, at)
    found: dict[str, str] = {}
    for case in cases:
        then = baseline.facts.get(case.id)
        if then is None or not baseline.counts[case.id][1]:
            continue
        why = _recorded_otherwise(then, facts_of(case, ())) or age
        cure = "evalkit baseline bless RUN --reason WHY takes a newer run"
        if not why:
            now = facts_of(
                case, [s for s in live_samples(samples.get(case.id, ())) if s.outcome in ("passed", "failed")]
            )
            kind, why = next(_served_otherwise(then, now, rules.across), ("", ""))
            cure += f'; or [baseline] across = ["{kind}"] in the suite, where that is what is to be compared'
        if why:
            found[case.id] = f"stale baseline: {why} ({cure})"
    return found


def fresh_part(baseline: Baseline | None, stale: Collection[str]) -> Baseline | None:
    """The baseline without the cases for which it is stale."""
    if baseline is None or not stale:
        return baseline
    fresh = (None if case_id in stale else found for case_id, found in baseline.counts.items())
    return replace(baseline, counts=beside(baseline.counts, fresh))


def with_staleness(verdicts: Sequence[CaseVerdict], stale: Mapping[str, str]) -> Sequence[CaseVerdict]:
    """The verdicts, with what was not compared and why; a policy that is a comparison has nothing to go by then."""
    if not stale:
        return verdicts
    return changed(verdicts, lambda one: _stale(one, stale[one.case_id]) if one.case_id in stale else one)


def _stale(verdict: CaseVerdict, why: str) -> CaseVerdict:
    marked = replace(verdict, change="stale baseline", stale=why)
    return replace(marked, verdict="INCONCLUSIVE", reason=why) if verdict.policy == "not_worse" else marked


def differences_of_facts(one: Facts, other: Facts) -> str:
    """Why the samples of two runs of a case can't be added up, in words; empty where they can."""
    recorded = _recorded_otherwise(one, other)
    if recorded:
        return recorded
    for kind in _KINDS:
        before, after = kind.of(one), kind.of(other)
        if before != after and not _too_many(kind, before, after):
            return kind.words.format(then=_list(before), now=_list(after))
    return ""


def _recorded_otherwise(then: Facts, now: Facts) -> str:
    if then.checks != now.checks:
        return f"version {now.version} has other gating checks than version {then.version}, which it measured"
    if then.replayed != now.replayed:
        return f"version {now.version} replays another recording than version {then.version}, which it measured"
    return ""


def _served_otherwise(then: Facts, now: Facts, across: Collection[str]) -> Iterator[tuple[str, str]]:
    """What answered, or was asked, otherwise than then: (kind, in words). What is not known is not compared."""
    for kind in _KINDS:
        before, after = kind.of(then), kind.of(now)
        compared = before and after and kind.name not in across and not _too_many(kind, before, after)
        if compared and not kind.alike(before, after):
            yield kind.name, kind.words.format(then=_list(before), now=_list(after))


def _within(before: Collection[str], after: Collection[str]) -> bool:
    """Nothing new: a few samples need not meet all that many did."""
    return set(after) <= set(before)


def _overlap(before: Collection[str], after: Collection[str]) -> bool:
    """Providers run several configurations at once; which of them answered is chance."""
    return bool(set(before) & set(after))


@dataclass(frozen=True, slots=True)
class _Kind:
    """One way in which live calls can differ: its name in the suite, in which words, and when it does not.

    Attributes:
        most: with more of them than this each sample has another one, and they can't be compared.
    """

    name: Across
    field: str
    words: str
    alike: Callable[[Collection[str], Collection[str]], bool]
    most: int | None = None

    def of(self, facts: Facts) -> tuple[str, ...]:
        found: tuple[str, ...] = getattr(facts, self.field)
        return found


_KINDS = (
    _Kind("model", "models", "{then} answered then, {now} now", _within),
    _Kind("provider", "fingerprints", "the provider's configuration was {then} then, and is {now} now", _overlap),
    _Kind("prompt", "prompts", "the system prompt is another one ({then} then, {now} now)", _within, _MOST),
    _Kind("tools", "toolsets", "the tools are described otherwise ({then} then, {now} now)", _within, _MOST),
)


def _too_many(kind: _Kind, before: Collection[str], after: Collection[str]) -> bool:
    return kind.most is not None and max(len(before), len(after)) > kind.most


def _too_old(baseline: Baseline, rules: BaselineRules, at: str) -> str:
    if rules.max_age_days is None:
        return ""
    try:
        measured, now = (datetime.fromisoformat(text) for text in (baseline.info.measured_at, at))
    except ValueError:
        return "it is not known how old it is, and the suite allows an age"
    days = (now - measured).total_seconds() / _DAY_S
    if days <= rules.max_age_days:
        return ""
    return f"it is {days:.0f} days old, and the suite allows {rules.max_age_days:g}"


def _list(names: Collection[str]) -> str:
    return ", ".join(names) or "none that is known"
