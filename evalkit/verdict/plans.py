"""SUITE, CASES -> PLANS: which policy a case has, and how many samples it takes to decide it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from math import ceil
from typing import Any, Protocol

from evalkit.stats.normal_power import normal_n_for_drop
from evalkit.suite.case_ref import CaseRef, ids_of, states_of
from evalkit.suite.model import Policy, Sample, Suite
from evalkit.suite.select import matches, selection_words
from evalkit.suite.texts import ByText
from evalkit.verdict.against_baseline import AgainstBaseline, samples_not_worse
from evalkit.verdict.in_batches import InBatches
from evalkit.verdict.parts import parts_of
from evalkit.verdict.ruling import Ruling
from evalkit.verdict.screened import LEAST_BASELINE, SCREENED_ABOVE, SCREENING, Screened
from evalkit.verdict.whole import SAMPLES_ZERO_FAILURES, Whole, samples_min_rate

__all__ = ["CasePlan", "Measure", "Plans", "idle_policies", "make_plans", "policy_of", "taken_of"]

Measure = tuple[int, int]
"""Passes and samples of a case's baseline."""

_MOST_FOR_A_BASELINE = 200
_MOST_OF_A_BASELINE = 1000
"""Of which `stats.group_sequential` can go through all tables."""
_USUAL_RATE = 0.95
_KEPT_OF_ALPHA, _KEPT_OF_BETA = 0.8, 0.9
"""What ``not_worse`` tests with of its levels where its number of samples hangs on what the baseline came to.

A test holds its level for a number that is given. Counted out over the baseline's counts and the numbers that follow
from them, the errors would be up to a quarter (alpha) and a ninth (beta, without looks) above it: docs/decisions/0041.
"""


class CasePlan(Protocol):
    """What is planned for one case; frozen, and a function of the outcomes in the order of their index alone.

    `passed` below holds whether each sample passed, lost ones left out: those are replaced by the next.
    """

    @property
    def policy(self) -> Policy:
        """What decides."""
        ...

    @property
    def alpha(self) -> float:
        """Its error of FAIL: the policy's, or this case's share of it."""
        ...

    @property
    def measure(self) -> Measure | None:
        """The baseline that it compares with; None where it compares with none."""
        ...

    @property
    def most(self) -> int:
        """Samples at most."""
        ...

    @property
    def fixed(self) -> int:
        """Samples that the policy takes where none are saved by stopping early."""
        ...

    @property
    def underpowered(self) -> str:
        """What so few samples can't tell, known before the run; empty where they are enough."""
        ...

    def next_look(self, passed: Sequence[bool]) -> int | None:
        """How many samples the next look takes; None where the case is decided, or there is no further look."""
        ...

    def ruling(self, passed: Sequence[bool], p_adjusted: float | None = None) -> Ruling:
        """The word of the first look that decides; INCONCLUSIVE while none does.

        Args:
            p_adjusted: the p-value of `table` after correction over all such tables.
        """
        ...

    def table(self, passed: Sequence[bool]) -> tuple[int, int, int, int] | None:
        """Counts (baseline's passes and samples, then the candidate's) to be judged together with other cases'."""
        ...


Plans = Mapping[str, CasePlan]
"""By case id."""


def make_plans(
    suite: Suite,
    cases: Sequence[CaseRef],
    measures: Mapping[str, Measure],
    *,
    taken: Mapping[str, int] | None = None,
) -> Plans:
    """The plan of every case, from nothing but what a run's manifest holds.

    The error of blocking a release in which nothing is wrong is shared: each permanent case that can fail by chance
    gets alpha over their number.

    Args:
        measures: by case id, the baseline that the run is planned against.
        taken: by case id, how many samples of a finished run came to a result, to judge all of them by other policies
            than the run's; their errors hold where these numbers were fixed beforehand.

    Raises:
        InputError: a policy asks for what no number of samples that can be run tells.
    """
    if taken is not None:
        suite = replace(suite, sequential=False)
    policies = [policy_of(case, suite) for case in cases] if suite.policies else [suite.policy] * len(cases)
    permanent = [state == "permanent" for state in states_of(cases)]
    ids = ids_of(cases)
    compared = [_compared(*one, measures) for one in zip(ids, policies, strict=True)]
    sharing = sum(policy.kind != "zero_failures" for policy in compress(policies, permanent))
    together = sum(one is not None for one in compress(compared, permanent))
    screened = suite.sequential and (len(measures) > SCREENED_ABOVE if suite.screening is None else suite.screening)
    plans: list[CasePlan] = []
    made: dict[Any, CasePlan] = {}  # most cases have the same one
    for case_id, policy, against, is_permanent in zip(ids, policies, compared, permanent, strict=True):
        alpha = policy.alpha
        if is_permanent:  # by its own share; without looks those that are compared are corrected together
            alpha *= (1 if suite.sequential or against is None else together) / max(sharing, 1)
        asked = (policy, alpha, against, None if taken is None else taken.get(case_id, 0))
        plan = made.get(asked)
        if plan is None:
            plan = made[asked] = _plan(*asked, suite)
        measure = measures.get(case_id) if screened and not is_permanent else None
        if measure is not None and _can_be_screened(policy, measure, suite.samples):
            plan = Screened(_comparing(policy), alpha, case_id, measure, suite.samples, plan.fixed)
        plans.append(plan)
    return ByText(ids, plans)


def taken_of(samples: Mapping[str, Sequence[Sample]]) -> dict[str, int]:
    """By case id, how many samples came to a result."""
    return {id: sum(one.outcome in ("passed", "failed") for one in found) for id, found in samples.items()}


def policy_of(case: CaseRef, suite: Suite) -> Policy:
    """The first of the suite's policies that means the case; else the one of all."""
    return next((one.policy for one in suite.policies if matches(case, one.select)), suite.policy)


def idle_policies(cases: Iterable[CaseRef], suite: Suite) -> Iterator[str]:
    """The suite's policies for some cases that no case has, a sentence each: misspelt, or behind one that means all.

    What was to be judged strictly is judged by another policy then.
    """
    idle = dict(enumerate(suite.policies))
    for case in cases:
        if not idle:
            return
        idle.pop(next((at for at, one in enumerate(suite.policies) if matches(case, one.select)), -1), None)
    for at, one in idle.items():
        whom = selection_words(one.select) or "permanent cases"
        told = f"policies.{at}, {one.policy.kind} for {whom}, decides on none of the suite's cases"
        yield f"{told}: is its select misspelt, or does an earlier one mean them?"


def _compared(case_id: str, policy: Policy, measures: Mapping[str, Measure]) -> Measure | None:
    """What a policy compares a case with: of a very large baseline a part, since all its tables are gone through."""
    measure = measures.get(case_id) if policy.kind == "not_worse" else None
    if measure is None or measure[1] <= _MOST_OF_A_BASELINE:
        return measure
    return parts_of(case_id, measure, _MOST_OF_A_BASELINE)[0]


def _plan(policy: Policy, alpha: float, compared: Measure | None, taken: int | None, suite: Suite) -> CasePlan:
    """The policy's plan; of all samples that there are, where so many were taken."""
    if taken is not None:
        return Whole(policy, alpha, taken, compared)
    if suite.sequential and policy.kind == "acceptance":
        return InBatches(policy, alpha, suite.samples)
    if suite.sequential and compared is not None:
        return AgainstBaseline(policy, alpha * _KEPT_OF_ALPHA, compared, suite.samples)
    if compared is not None and suite.samples is None:
        policy, alpha = replace(policy, beta=policy.beta * _KEPT_OF_BETA), alpha * _KEPT_OF_ALPHA
    most = suite.samples or _fixed(policy, alpha, compared)
    early = suite.sequential and policy.kind in ("zero_failures", "min_rate")
    return Whole(policy, alpha, most, compared, early)


def _comparing(policy: Policy) -> Policy:
    """A screened case is compared with its baseline; a policy of two rates tolerates what lies between them."""
    if policy.kind == "not_worse":
        return policy
    return replace(policy, kind="not_worse", margin=round(policy.p_good - policy.p_bad, 9))


def _fixed(policy: Policy, alpha: float, compared: Measure | None) -> int:
    """Samples that a policy takes by itself where they are fixed beforehand."""
    if policy.kind == "acceptance":
        return InBatches(policy, alpha).fixed
    if policy.kind == "zero_failures":
        return SAMPLES_ZERO_FAILURES
    if policy.kind == "min_rate":
        return samples_min_rate(policy.min_rate, alpha, policy.beta)
    if compared is not None and (needed := samples_not_worse(*compared, policy.margin, alpha, policy.beta)):
        return needed
    # as many as a baseline takes that is to be measured against later
    wanted = ceil(normal_n_for_drop(_USUAL_RATE, min(policy.margin, _USUAL_RATE), alpha, 1 - policy.beta))
    return min(_MOST_FOR_A_BASELINE, wanted)


def _can_be_screened(policy: Policy, measure: Measure, cap: int | None) -> bool:
    """Whether there are samples for both steps, of the baseline and of the case, and a policy that they decide."""
    fresh = cap is None or cap > SCREENING
    return fresh and policy.kind in ("acceptance", "not_worse") and measure[1] >= LEAST_BASELINE
