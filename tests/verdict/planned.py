"""Plans for tests of verdicts: so many samples as there are, all of them taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Policy, Sample, Suite
from evalkit.verdict.baseline import Baseline
from evalkit.verdict.compare import baseline_rows
from evalkit.verdict.plans import Plans, make_plans

__all__ = ["plans_of"]


def plans_of(
    cases: Sequence[CaseRef],
    samples: Mapping[str, Sequence[Sample]],
    policy: Policy,
    baseline: Baseline | None = None,
) -> Plans:
    """Each case's samples that came to a result are those that were planned."""
    rows = baseline_rows(cases, baseline)
    measures = {case_id: (row.passed, row.n) for case_id, row in rows.items() if row is not None}
    counted = max(sum(s.outcome in ("passed", "failed") for s in found) for found in samples.values())
    return make_plans(Suite("s", samples=max(counted, 1), policy=policy, sequential=False), cases, measures)
