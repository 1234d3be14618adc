"""SAMPLES -> VERDICT: per case, from counts alone; missed and errored samples never enter a rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evalkit.check.judge import sentence_of
from evalkit.stats.interval import midp
from evalkit.suite.model import Policy, Sample
from evalkit.suite.select import CaseRef
from evalkit.verdict.absolute import acceptance, min_rate, zero_failures
from evalkit.verdict.baseline import Baseline, checks_digest
from evalkit.verdict.family import Regression, regressions
from evalkit.verdict.model import BaselineRow, CaseVerdict, Change, Word

__all__ = ["case_verdicts"]


@dataclass(frozen=True, slots=True)
class _Counts:
    passed: int
    failed: int
    missed: int
    errored: int

    @property
    def n(self) -> int:
        return self.passed + self.failed

    @property
    def lost_share(self) -> float:
        total = self.n + self.missed + self.errored
        return (self.missed + self.errored) / total if total else 1.0


def case_verdicts(
    cases: Sequence[CaseRef],
    samples: Mapping[str, Sequence[Sample]],
    policy: Policy,
    baseline: Baseline | None,
    *,
    frozen: bool,
    planned: int = 0,
    stopped: str = "",
) -> list[CaseVerdict]:
    """One verdict a case, in the order of `cases`.

    The regression test is exact and one-sided, corrected over the cases that have a baseline (`verdict.family`). A case
    whose gating checks changed since the baseline has none.

    Args:
        planned: samples a case should have.
        stopped: why the run stopped before its end: a case that lacks samples passes nothing then.
        frozen: whether everything the target saw was frozen: then equal replays prove that there is no variance.
    """
    counts = {case.id: _count(samples.get(case.id, ())) for case in cases}
    rows = {case.id: _baseline_row(case, baseline) for case in cases}
    compared = _regressions(counts, rows)
    verdicts = []
    for case in cases:
        found = samples.get(case.id, ())
        deterministic = frozen and len(found) > 1 and len({s.trace for s in found if s.trace}) == 1
        verdict = _verdict(case, counts[case.id], found, policy, rows[case.id], compared.get(case.id), deterministic)
        if stopped and len(found) < planned and verdict.verdict != "FAIL":
            reason = f"only {len(found)} of {planned} samples: {stopped}"
            verdict = replace(verdict, verdict="INCONCLUSIVE", reason=reason)
        verdicts.append(verdict)
    return verdicts


def _verdict(
    case: CaseRef,
    counts: _Counts,
    samples: Sequence[Sample],
    policy: Policy,
    row: BaselineRow | None,
    regression: Regression | None,
    deterministic: bool,
) -> CaseVerdict:
    low, high = midp(counts.passed, counts.n) if counts.n else (0.0, 1.0)
    change = _change(regression, policy.alpha)
    failing = _failing_checks(case, samples)
    word, reason = _decide(counts, policy, deterministic)
    if change == "regressed" and word != "FAIL":
        assert row is not None
        word, reason = "FAIL", f"worse than the baseline: {counts.passed} of {counts.n} against {row.passed} of {row.n}"
    if word == "FAIL" and failing:
        reason += f"; broken: {failing[0][1].rstrip('.')}"
    if word == "INCONCLUSIVE":
        reason += _first_loss(samples)
    return CaseVerdict(
        case_id=case.id,
        version=case.version,
        digest=case.digest,
        title=case.title,
        permanent=case.state == "permanent",
        passed=counts.passed,
        failed=counts.failed,
        missed=counts.missed,
        errored=counts.errored,
        low=low,
        high=high,
        verdict=word,
        change=change,
        reason=reason,
        baseline=row,
        p_value=None if regression is None else regression.p,
        p_adjusted=None if regression is None else regression.p_worse,
        deterministic=deterministic,
        failing_checks=failing,
        cost_usd=sum(sample.cost_usd for sample in samples),
        owner=case.owner,
        link=case.link,
        signature=case.signature,
        tags=case.tags,
    )


def _decide(counts: _Counts, policy: Policy, deterministic: bool) -> tuple[Word, str]:
    """The policy's word on one case, and why."""
    if policy.kind == "zero_failures" and counts.failed:
        return "FAIL", f"{counts.failed} of {counts.n} samples failed"
    if counts.n == 0:
        return "INCONCLUSIVE", "no sample came to a result"
    if counts.lost_share > policy.max_lost:
        total = counts.n + counts.missed + counts.errored
        return "INCONCLUSIVE", f"{counts.missed} missed and {counts.errored} errored of {total} samples"
    if deterministic:
        word: Word = "PASS" if counts.failed == 0 else "FAIL"
        return word, f"{counts.n} equal replays: the target is deterministic"
    if policy.kind == "zero_failures":
        ruling = zero_failures(counts.passed, counts.n, policy.alpha)
    elif policy.kind == "acceptance":
        ruling = acceptance(counts.passed, counts.n, p_good=policy.p_good, p_bad=policy.p_bad, alpha=policy.alpha)
    else:
        ruling = min_rate(counts.passed, counts.n, policy.min_rate, policy.alpha)
    if ruling.word == "PASS" or ruling.word == "FAIL":
        return ruling.word, ruling.reason
    return "INCONCLUSIVE", ruling.reason


def _regressions(counts: Mapping[str, _Counts], rows: Mapping[str, BaselineRow | None]) -> dict[str, Regression]:
    """Per case with a baseline how it compares."""
    compared = {case_id: row for case_id, row in rows.items() if row is not None and row.n and counts[case_id].n}
    tables = [(row.passed, row.n, counts[case_id].passed, counts[case_id].n) for case_id, row in compared.items()]
    return dict(zip(compared, regressions(tables), strict=True))


def _change(found: Regression | None, alpha: float) -> Change:
    if found is None:
        return "no baseline"
    if found.p_worse <= alpha:
        return "regressed"
    return "improved" if found.p_better <= alpha else "no change shown"


def _baseline_row(case: CaseRef, baseline: Baseline | None) -> BaselineRow | None:
    found = None if baseline is None else baseline.counts.get(case.id)
    if found is None or not found[1] or found[2] != checks_digest(case.checks):
        return None
    low, high = midp(found[0], found[1])
    return BaselineRow(found[0], found[1], low, high)


def _count(samples: Sequence[Sample]) -> _Counts:
    outcomes = Counter(sample.outcome for sample in samples)
    return _Counts(outcomes["passed"], outcomes["failed"], outcomes["missed"], outcomes["errored"])


def _failing_checks(case: CaseRef, samples: Sequence[Sample]) -> tuple[tuple[str, str, int], ...]:
    counts = Counter(c.check for s in samples if s.outcome == "failed" for c in s.checks if c.gating and not c.passed)
    sentences = {check.id: sentence_of(check) for check in case.checks if check.id in counts}
    return tuple((check, sentences.get(check, check), count) for check, count in counts.most_common())


def _first_loss(samples: Sequence[Sample]) -> str:
    lost = next((sample.reason for sample in samples if sample.outcome in ("missed", "errored")), "")
    return f": {lost}" if lost else ""
