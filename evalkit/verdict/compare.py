"""SAMPLES -> VERDICT: per case, from counts alone; missed and errored samples never enter a rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from evalkit.stats.interval import midp
from evalkit.stats.repeats import Stability, pass_at_k, pass_hat_k, pass_hat_k_interval, stability
from evalkit.suite.case_ref import CaseRef, ids_of
from evalkit.suite.model import Outcome, Policy, Sample
from evalkit.suite.samples import alike, column, read_ahead
from evalkit.suite.texts import ByText, Texts, shared
from evalkit.verdict.baseline import Baseline
from evalkit.verdict.estimate import estimate_of
from evalkit.verdict.family import Regression, regressions
from evalkit.verdict.model import BaselineRow, CaseVerdict, Change, Estimate, ManyRuns, Word
from evalkit.verdict.plans import CasePlan, Plans
from evalkit.verdict.ruling import Ruling
from evalkit.verdict.schedule import (
    Standing,
    deterministic,
    equal_replays,
    lost_too_many,
    outcomes_by_index,
    standing,
)
from evalkit.verdict.screened import Screened
from evalkit.verdict.unpassed import Alike, cause, failing_checks, first_loss
from evalkit.verdict.verdicts import verdicts_of

__all__ = ["baseline_rows", "case_verdicts"]

Table: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Came:
    """What a case's samples came to; most cases came to the same.

    Attributes:
        now: what may be decided on.
        counts: all samples by outcome, those behind a gap too.
        equal: whether all replays that left a trace were equal and not by chance, and everything that the target saw
            was frozen.
    """

    now: Standing
    counts: Counter[Outcome]
    equal: bool

    @property
    def lost(self) -> bool:
        """Whether some did not pass."""
        return self.counts["passed"] < self.counts.total()


@dataclass(slots=True)  # not frozen: very many are made
class _Ran:
    """One case, with what its samples came to."""

    case: CaseRef
    plan: CasePlan
    samples: Sequence[Sample]
    came: _Came

    @property
    def now(self) -> Standing:
        return self.came.now

    @property
    def counts(self) -> Counter[Outcome]:
        return self.came.counts

    @property
    def equal(self) -> bool:
        return self.came.equal

    @property
    def passed(self) -> int:
        return self.counts["passed"]

    @property
    def n(self) -> int:
        return self.counts["passed"] + self.counts["failed"]

    @property
    def permanent(self) -> bool:
        return self.case.state == "permanent"

    @property
    def deterministic(self) -> bool:
        return deterministic(self.now, self.equal, frozen=True)  # what is not frozen is not `equal`


def case_verdicts(
    cases: Sequence[CaseRef],
    samples: Mapping[str, Sequence[Sample]],
    plans: Plans,
    baseline: Baseline | None,
    *,
    frozen: bool,
    alpha: float = 0.05,
    stopped: str = "",
    pass_k: Sequence[int] = (),
    underpowered: Mapping[str, str] | None = None,
    sampled: Plans | None = None,
    twice: bool = False,
) -> Sequence[CaseVerdict]:
    """One verdict a case, in the order of `cases`. A case's policy alone decides; the comparison is shown beside it.

    The regression test is exact and one-sided, corrected over the cases that have a baseline (`verdict.family`). A case
    whose gating checks changed since the baseline has none.

    Args:
        plans: what was planned, and decides.
        frozen: whether everything the target saw was frozen: then equal replays show that there is no variance.
        alpha: error of the regression tests, over all cases.
        stopped: why the run stopped before its end: a case that lacks samples passes nothing then.
        pass_k: for which k to estimate pass^k and pass@k.
        underpowered: by case id, what was said before the run.
        sampled: what the samples were taken by, where others judge them.
        twice: whether two equal replays were enough of a case.
    """
    rows = baseline_rows(cases, baseline)
    ids = ids_of(cases)
    known: dict[Any, _Came] = {}
    came = [_came(samples.get(case_id, ()), frozen, known) for case_id in ids]
    judged = _judged(ids, (plans[case_id].table(one.now.passed) for case_id, one in zip(ids, came, strict=True)))

    read_ahead(samples, [case_id for case_id, one in zip(ids, came, strict=True) if one.lost])

    def ran() -> Iterator[_Ran]:
        for case, one in zip(cases, came, strict=True):
            yield _Ran(case, plans[case.id], samples.get(case.id, ()), one)

    compared = _judged(ids, (_table(one, rows.get(one.case.id)) for one in ran())) if rows else {}

    def verdict(one: _Ran) -> CaseVerdict:
        case_id = one.case.id
        row = rows.get(case_id)
        said = (underpowered or {}).get(case_id, "")
        taken_by = (sampled or plans)[case_id]
        estimate = estimate_of(taken_by, one.samples, one.now.passed, twice=twice)
        ruling = _ruling(one, row, judged.get(case_id), stopped, taken_by)
        beside = _beside(one, row, compared.get(case_id), alpha, taken_by)
        return _verdict(one, ruling, beside, pass_k=pass_k, underpowered=said, estimate=estimate)

    return verdicts_of(cases, map(verdict, ran()))


def baseline_rows(cases: Sequence[CaseRef], baseline: Baseline | None) -> Mapping[str, BaselineRow]:
    """By case id what a baseline knows of it; not of cases that it lacks, or that demand something else since."""
    if baseline is None:
        return {}
    return ByText(ids_of(cases), shared(_baseline_row(case, baseline) for case in cases))


def _came(samples: Sequence[Sample], frozen: bool, known: dict[Any, _Came]) -> _Came:
    """What some samples came to; the same object as for others that came to the same."""
    outcomes: list[Outcome] = column(samples, "outcome")
    equal = frozen and equal_replays(samples)
    asked = (*column(samples, "index"), *outcomes, equal)
    found = known.get(asked)
    if found is None:
        found = known[asked] = _Came(standing(outcomes_by_index(samples)), Counter(outcomes), equal)
    return found


def _judged(ids: Texts, tables: Iterable[Table | None]) -> Mapping[str, Regression]:
    """The p-values of those cases that have a table to be judged together."""
    each = [*shared(tables)]
    found = iter(regressions([table for table in each if table is not None]))
    return ByText(ids, (None if table is None else next(found) for table in each))


def _table(one: _Ran, row: BaselineRow | None) -> Table | None:
    """What the test of one case needs; None where nothing can be tested, or needs to be."""
    if row is None or not row.n or not one.n or _is_fact(one, row):
        return None
    return row.passed, row.n, one.passed, one.n


def _steps(plan: CasePlan, passed: Sequence[bool], row: BaselineRow | None) -> tuple[Table, ...]:
    """Of a screened case, its comparisons with the parts of its plan's baseline, where that is this one."""
    if not isinstance(plan, Screened) or row is None or row.estimate is not None:
        return ()
    return plan.steps(passed) if plan.measure == (row.passed, row.n) else ()


def _is_fact(one: _Ran, row: BaselineRow | None) -> bool:
    """Whether a change needs no test: all replays were equal, here and in the baseline."""
    return row is not None and row.deterministic and one.deterministic


def _ruling(one: _Ran, row: BaselineRow | None, together: Regression | None, stopped: str, sampled: CasePlan) -> Ruling:
    """The policy's word on one case, and why."""
    now, plan = one.now, one.plan
    lost = f"{now.missed} missed and {now.errored} errored of {now.taken} samples" if now.lost else ""
    if not now.passed:
        return Ruling("INCONCLUSIVE", lost or (f"no sample: {stopped}" if stopped else "no sample came to a result"))
    if one.deterministic:
        ruling = _of_equal(len(now.passed), one, row)
    else:
        ruling = plan.ruling(now.passed, None if together is None else together.worse_adjusted)
    if ruling.word == "FAIL":
        return ruling
    shown = ruling.word != "INCONCLUSIVE" and not one.deterministic
    if lost_too_many(plan, now, plan.most) or (shown and lost_too_many(plan, now, now.taken)):
        return Ruling("INCONCLUSIVE", lost)
    if stopped and (ruling.word == "INCONCLUSIVE" or (shown and _lacks(sampled, now))):
        reason = f"only {len(one.samples)} of up to {sampled.most} samples: {stopped}"
        return Ruling("INCONCLUSIVE", reason, ruling.detectable_drop, ruling.more_samples)
    return ruling


def _lacks(sampled: CasePlan, now: Standing) -> bool:
    """Whether the plan that the samples were taken by wanted more of them; another policy may do with any number."""
    return sampled.next_look(now.passed) is not None and sampled.ruling(now.passed).word == "INCONCLUSIVE"


def _of_equal(n: int, one: _Ran, row: BaselineRow | None) -> Ruling:
    """The word on a case whose replays are all equal: one is as good as many, under each policy.

    What failed in the baseline, too, is not worse; one that the run was not planned against excuses nothing.
    """
    if all(one.now.passed):
        return Ruling("PASS", f"{n} equal replays: the target is deterministic")
    told = f"{n} of {n} samples failed, in equal replays"
    planned = one.plan.measure if one.plan.policy.kind == "not_worse" else None
    if row is not None and row.deterministic and not row.passed and planned == (row.passed, row.n):
        return Ruling("PASS", f"{told}, as in the baseline: not worse")
    return Ruling("FAIL", f"{told}: the target is deterministic")


@dataclass(slots=True)  # not frozen: very many are made
class _Beside:
    """What a case is beside its baseline; the policy alone decides.

    Attributes:
        row: what the baseline knows of it.
        test: None where nothing was tested.
        steps: see `CaseVerdict`.
    """

    row: BaselineRow | None
    test: Regression | None
    change: Change
    steps: tuple[Table, ...]


def _beside(one: _Ran, row: BaselineRow | None, test: Regression | None, alpha: float, sampled: CasePlan) -> _Beside:
    change = _fact(one, row) if row is not None and _is_fact(one, row) else _change(test, alpha)
    return _Beside(row, test, change, _steps(sampled, one.now.passed, row))


def _verdict(
    one: _Ran,
    ruling: Ruling,
    beside: _Beside,
    *,
    pass_k: Sequence[int],
    underpowered: str,
    estimate: Estimate | None,
) -> CaseVerdict:
    case, policy, test = one.case, one.plan.policy, beside.test
    low, high = midp(one.passed, one.n) if one.n else (0.0, 1.0)
    lost = alike(one.samples) if one.came.lost else ()
    failing = failing_checks(case, lost)
    return CaseVerdict(
        case_id=case.id,
        version=case.version,
        digest=case.digest,
        title=case.title,
        permanent=one.permanent,
        passed=one.passed,
        failed=one.counts["failed"],
        missed=one.counts["missed"],
        errored=one.counts["errored"],
        low=low,
        high=high,
        verdict=ruling.word,
        change=beside.change,
        reason=ruling.reason + _worse(one, beside) + _why(ruling.word, lost, failing),
        baseline=beside.row,
        p_value=None if test is None else test.worse,
        p_adjusted=None if test is None else test.worse_adjusted,
        deterministic=one.deterministic,
        failing_checks=failing,
        cost_usd=sum(column(one.samples, "cost_usd")),
        owner=case.owner,
        link=case.link,
        signature=case.signature,
        tags=case.tags,
        policy=policy.kind,
        on_degraded=_on_degraded(policy, one.permanent),
        detectable_drop=ruling.detectable_drop,
        more_samples=ruling.more_samples,
        underpowered=underpowered if ruling.word == "INCONCLUSIVE" else "",
        stability=_stability(one),
        many_runs=tuple(_many_runs(one.passed, one.n, k) for k in pass_k),
        samples_fixed=one.plan.fixed,
        model_calls=sum(column(one.samples, "live_model")),
        screened=ruling.screened,
        estimate=estimate,
        steps=beside.steps,
    )


def _worse(one: _Ran, beside: _Beside) -> str:
    """That a case is worse than its baseline, where its policy does not say it."""
    row = beside.row
    if beside.change != "regressed" or one.plan.policy.kind == "not_worse" or row is None:
        return ""
    return f"; worse than the baseline: {one.passed} of {one.n} against {row.passed} of {row.n}"


def _why(word: Word, lost: Alike, failing: Sequence[tuple[str, str, int]]) -> str:
    """What a reader needs beside the policy's own sentence; `lost`: the samples, where some did not pass."""
    if word in ("FAIL", "DEGRADED_WITHIN_MARGIN"):
        return cause(lost, failing)
    return first_loss(lost) if word == "INCONCLUSIVE" else ""


def _on_degraded(policy: Policy, permanent: bool) -> Literal["block", "pass"]:
    return policy.on_degraded or ("block" if permanent else "pass")


def _stability(one: _Ran) -> Stability:
    if one.deterministic:
        return "STABLE_PASS" if all(one.now.passed) else "STABLE_FAIL"
    return stability(one.passed, one.n)


def _many_runs(passed: int, n: int, k: int) -> ManyRuns:
    if n < k:
        return ManyRuns(k, None, *(pass_hat_k_interval(passed, n, k) if n else (0.0, 1.0)), None)
    return ManyRuns(k, pass_hat_k(passed, n, k), *pass_hat_k_interval(passed, n, k), pass_at_k(passed, n, k))


def _fact(one: _Ran, row: BaselineRow) -> Change:
    before, now = bool(row.passed), bool(one.passed)
    return "no change shown" if before is now else "improved" if now else "regressed"


def _change(found: Regression | None, alpha: float) -> Change:
    if found is None:
        return "no baseline"
    if found.worse_adjusted <= alpha:
        return "regressed"
    return "improved" if found.better_adjusted <= alpha else "no change shown"


def _baseline_row(case: CaseRef, baseline: Baseline) -> BaselineRow | None:
    found = baseline.counts.get(case.id)
    if found is None or not found[1] or found[2] != case.checks_digest:
        return None
    low, high = midp(found[0], found[1])
    facts = baseline.facts.get(case.id)
    equal = facts is not None and facts.deterministic
    return BaselineRow(found[0], found[1], low, high, equal, baseline.estimates.get(case.id))
