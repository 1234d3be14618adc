"""The plan of a case in a large suite: a few samples raise a suspicion or none, and fresh ones of a suspect decide.

The samples that made a case a suspect never count against it, nor does the part of the baseline that they were compared
with. That part is drawn once for each case, as if some of its runs had been put aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.suite.model import Policy
from evalkit.verdict.comparative import not_worse
from evalkit.verdict.parts import parts_of
from evalkit.verdict.ruling import Ruling

__all__ = ["LEAST_BASELINE", "SCREENED_ABOVE", "SCREENING", "Screened"]

SCREENED_ABOVE = 200
"""Cases with a baseline above which a suite is screened, where it doesn't say."""

SCREENING, _CONFIRMING, LEAST_BASELINE = 5, 30, 20
_LEVEL = 0.3
_PUT_ASIDE, _MOST_PUT_ASIDE = 3, 20


@dataclass(frozen=True, slots=True)
class Screened:
    """See `verdict.plans.CasePlan`.

    Attributes:
        case_id: what the draw of the baseline's part hangs on.
        measure: the baseline's passes and samples, of which there are `LEAST_BASELINE` or more.
        cap: samples at most, more than the first few; None for those of both steps.
        whole: samples that the case's policy would have taken.
    """

    policy: Policy
    alpha: float
    case_id: str
    measure: tuple[int, int]
    cap: int | None
    whole: int

    @property
    def most(self) -> int:
        """Samples of a suspect."""
        both = SCREENING + _CONFIRMING
        return both if self.cap is None else min(both, self.cap)

    @property
    def fixed(self) -> int:
        """Samples that its policy would have taken."""
        return self.whole

    @property
    def underpowered(self) -> str:
        """Screening says what it leaves open in the verdict."""
        return ""

    def next_look(self, passed: Sequence[bool]) -> int | None:
        """The first few; all of them for a suspect."""
        n = len(passed)
        if n < SCREENING:
            return SCREENING
        return self.most if n < self.most and self.suspect(passed) else None

    def suspect(self, passed: Sequence[bool]) -> bool:
        """Whether the first few are worse than the part of the baseline that is put aside for them."""
        from evalkit.stats.two_sample import regression_p  # scipy: only where it is needed

        if all(passed[:SCREENING]):
            return False
        aside, _ = self._parts()
        return regression_p(*aside, sum(passed[:SCREENING]), SCREENING) <= _LEVEL

    def ruling(self, passed: Sequence[bool], p_adjusted: float | None = None) -> Ruling:
        """Of a suspect, by its fresh samples alone; a case without suspicion is shown to be neither good nor bad."""
        x, n = sum(passed), len(passed)
        if n >= SCREENING and not self.suspect(passed):
            seen = f"{sum(passed[:SCREENING])} of {SCREENING} passed"
            return Ruling("INCONCLUSIVE", f"screened: {seen}, no suspicion", screened=True)
        if n < self.most:
            return Ruling("INCONCLUSIVE", f"{x} of {n} passed; {self.most} samples decide", more_samples=self.most - n)
        table = self.table(passed)
        assert table is not None
        found = not_worse(*table, self.policy.margin, alpha=self.alpha, beta=self.policy.beta, p_adjusted=p_adjusted)
        return Ruling(found.word, f"suspected, then {found.reason}", found.detectable_drop, found.more_samples)

    def table(self, passed: Sequence[bool]) -> tuple[int, int, int, int] | None:
        """The fresh samples against the rest of the baseline, judged together with the other suspects'."""
        if len(passed) < self.most or not self.suspect(passed):
            return None
        fresh = passed[SCREENING : self.most]
        _, rest = self._parts()
        return *rest, sum(fresh), len(fresh)

    def steps(self, passed: Sequence[bool]) -> tuple[tuple[int, int, int, int], ...]:
        """Counts as in `table`, of the first few samples and of a suspect's fresh ones: two independent comparisons."""
        if not passed:
            return ()
        few, fresh = passed[:SCREENING], self.table(passed)
        aside, _ = self._parts()
        first = (*aside, sum(few), len(few))
        return (first,) if fresh is None else (first, fresh)

    def _parts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Passes and samples of the baseline's part for screening, and of the rest."""
        return parts_of(self.case_id, self.measure, min(self.measure[1] // _PUT_ASIDE, _MOST_PUT_ASIDE))
