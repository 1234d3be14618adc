"""`evalkit power`: what so many samples can tell, said before they are paid for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from evalkit.app.environment import now_utc
from evalkit.app.run_plan import measures_of, read_suite, underpowered_lines
from evalkit.app.settings import Settings
from evalkit.errors import ConfigError, InputError
from evalkit.figures import counted
from evalkit.percent import percent, points
from evalkit.stats.acceptance import acceptance_plan
from evalkit.stats.interval import zero_failure_bound
from evalkit.stats.normal_power import normal_n_for_drop
from evalkit.stats.power import detectable_drop, n_for_drop
from evalkit.stats.sprt import sprt_plan
from evalkit.stats.stopping import characteristics
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Suite
from evalkit.suite.select import select_cases
from evalkit.verdict.plans import Plans, make_plans

__all__ = ["PowerPlan", "PowerQuestion", "SuitePlan", "foresee_suite", "plan_power", "power_json", "power_lines"]

_MOST_SAMPLES = 200


@dataclass(frozen=True, slots=True)
class PowerQuestion:
    """What is asked.

    Attributes:
        samples: samples a case.
        rate: the pass rate of a case before.
        drop: the drop of it that must not be missed.
        baseline_samples: samples a case of a baseline that exists; None to run both anew.
        alpha: the error of calling an unchanged or good case worse.
        power: the probability of seeing the drop.
        beta: the error of passing a bad case without a baseline.
        p_good: a pass rate that must pass without a baseline.
        p_bad: one that must fail.
        batch: samples between two looks.
        gates: permanent cases, over which `alpha` is shared where cases are judged without a baseline.
    """

    samples: int = 20
    rate: float = 0.95
    drop: float = 0.2
    baseline_samples: int | None = None
    alpha: float = 0.05
    power: float = 0.8
    beta: float = 0.05
    p_good: float = 0.99
    p_bad: float = 0.9
    batch: int = 5
    gates: int = 1


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """What a suite will take, as it stands.

    Attributes:
        cases: that it selects; one made-up permanent case where it selects none yet.
        permanent: how many of them share alpha.
        samples_at_most: of all cases together, where each needs its last look.
        samples_fixed: where none are saved by stopping early.
        underpowered: by case id, what its samples are too few for.
        frozen: whether equal replays show that a case needs no more than two.
    """

    cases: int
    permanent: int
    samples_at_most: int
    samples_fixed: int
    underpowered: Mapping[str, str] = field(default_factory=dict)
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class PowerPlan:
    """What is answered.

    Attributes:
        needed: samples (of each arm, or of the candidate) that show the drop; exact up to 200, else None.
        needed_about: the same by the normal formula, for equal arms.
        detectable: the smallest drop that the samples show; None where none is.
        fixed: samples that tell good from bad at once, and how many of them may fail.
        looks_at_most: samples of the plan in batches, at most.
        expected_good: its mean number of samples for a good case.
        expected_bad: the same for a bad one.
        ruled_out: the failure rate that no failure in the samples rules out.
        false_block: how often at least one of the gates, all of them good, fails when no sample may fail.
        suite: what the suite will take; None where none was asked about.
    """

    question: PowerQuestion
    needed: int | None
    needed_about: int
    detectable: float | None
    fixed: tuple[int, int]
    looks_at_most: int
    expected_good: float
    expected_bad: float
    ruled_out: float
    false_block: float
    suite: SuitePlan | None = None


def foresee_suite(path: Path, settings: Settings, asked: dict[str, Any]) -> tuple[PowerQuestion, SuitePlan]:
    """What a suite will take, and the question about its own samples, errors and rates, where not asked otherwise.

    Raises:
        ConfigError: there is no such suite, or it is none.
    """
    suite = read_suite(path, settings, {"samples": asked.get("samples")})
    cases = _selected(settings, suite)
    plans = make_plans(suite, cases, measures_of(suite, cases, now_utc()))
    permanent = sum(case.state == "permanent" for case in cases)
    policy = suite.policy
    own = {"alpha": policy.alpha, "beta": policy.beta, "batch": policy.batch, "gates": max(permanent, 1)}
    if policy.kind == "acceptance":
        own |= {"p_good": policy.p_good, "p_bad": policy.p_bad}
    if suite.samples is not None:
        own["samples"] = suite.samples
    return PowerQuestion(**{**own, **asked}), _suite_plan(plans, permanent, frozen=suite.mode == "exact")


def plan_power(question: PowerQuestion, suite: SuitePlan | None = None) -> PowerPlan:
    """The answers, exact but for `needed_about`.

    Raises:
        InputError: a number is out of its range.
    """
    if question.samples < 1 or question.gates < 1:
        raise InputError("no samples or no gates", cure="give 1 or more")
    alpha, beta = question.alpha, question.beta
    arms = question.rate, question.drop, alpha, question.power
    shared = alpha / question.gates
    sequential = sprt_plan(question.p_good, question.p_bad, shared, beta, batch=question.batch)
    runs = characteristics(sequential, [1 - question.p_good, 1 - question.p_bad]).expected_runs.tolist()
    before = question.samples if question.baseline_samples is None else question.baseline_samples
    return PowerPlan(
        question=question,
        needed=n_for_drop(*arms, question.baseline_samples, n_max=_MOST_SAMPLES),
        needed_about=ceil(normal_n_for_drop(*arms)),
        detectable=detectable_drop(question.rate, before, question.samples, alpha, question.power),
        fixed=acceptance_plan(question.p_good, question.p_bad, shared, beta),
        looks_at_most=sequential.looks[-1],
        expected_good=runs[0],
        expected_bad=runs[1],
        ruled_out=zero_failure_bound(question.samples, alpha),
        false_block=1 - question.p_good ** (question.samples * question.gates),
        suite=suite,
    )


def power_lines(plan: PowerPlan) -> Iterator[str]:
    """The answers in words."""
    asked = plan.question
    if plan.suite is not None:
        yield from _suite_lines(plan.suite)
    errors = f"alpha {asked.alpha:g}, power {percent(asked.power)}"
    yield f"Against a baseline ({errors}), a case that passed {percent(asked.rate)}:"
    yield f"  a drop of {points(asked.drop)} takes {_needed(plan)}"
    yield f"  {_versus(asked)} {_seen(plan)}"
    shared = "" if asked.gates == 1 else f", alpha shared over {asked.gates} gates"
    yield f"Without a baseline, {percent(asked.p_good)} must pass and {percent(asked.p_bad)} must fail{shared}:"
    yield f"  at once: {plan.fixed[0]} samples, of which up to {plan.fixed[1]} may fail"
    yield (
        f"  in batches of {asked.batch}: on average {plan.expected_good:.0f} samples for a good case, "
        f"{plan.expected_bad:.0f} for a bad one, {plan.looks_at_most} at most"
    )
    gates = "a gate" if asked.gates == 1 else f"at least one of {asked.gates} gates"
    yield f"No failure allowed in {asked.samples} samples:"
    yield f"  rules out failure rates of {percent(plan.ruled_out)} and more"
    often = f"in {percent(plan.false_block)} of the runs"
    yield f"  blocks {gates} by chance {often}, where cases pass {percent(asked.p_good)} of the time"


def power_json(plan: PowerPlan) -> dict[str, Any]:
    """The answers for machines."""
    return asdict(plan)


def _selected(settings: Settings, suite: Suite) -> Sequence[CaseRef]:
    """The suite's cases; one permanent case that stands for those to come where there are none."""
    try:
        return select_cases(settings.cases, suite.select)
    except ConfigError:
        return [CaseRef("", "a case", 1, "", "permanent", "", "", "", ())]


def _suite_plan(plans: Plans, permanent: int, *, frozen: bool) -> SuitePlan:
    return SuitePlan(
        cases=len(plans),
        permanent=permanent,
        samples_at_most=sum(plan.most for plan in plans.values()),
        samples_fixed=sum(plan.fixed for plan in plans.values()),
        underpowered={case_id: said for case_id, plan in plans.items() if (said := plan.underpowered)},
        frozen=frozen,
    )


def _suite_lines(suite: SuitePlan) -> Iterator[str]:
    yield from underpowered_lines(suite.underpowered, frozen=suite.frozen)
    twice = f", {2 * suite.cases} where all replays of a case are equal" if suite.frozen else ""
    yield (
        f"The suite's {counted(suite.cases, 'case')}, {suite.permanent} permanent: "
        f"{suite.samples_at_most} samples at most, {suite.samples_fixed} without early stopping{twice}"
    )


def _versus(asked: PowerQuestion) -> str:
    if asked.baseline_samples is None:
        return f"{asked.samples} samples of each"
    return f"{asked.samples} samples against a baseline of {asked.baseline_samples}"


def _seen(plan: PowerPlan) -> str:
    return "show no drop" if plan.detectable is None else f"show drops of {points(plan.detectable)} and more"


def _needed(plan: PowerPlan) -> str:
    known = plan.question.baseline_samples
    if plan.needed is not None:
        return f"{plan.needed} samples" + (" of each" if known is None else f" against a baseline of {known}")
    about = f"about {plan.needed_about} samples of each"
    return about if known is None else f"more than the baseline of {known} allows; {about}"
