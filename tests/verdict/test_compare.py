"""Verdicts from counts: what is shown, what is not, and what can't be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from evalkit.canonical import exact_text
from evalkit.check.model import Check, check_json, checks_digest
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Outcome, Policy, Sample, SampleCheck, Suite
from evalkit.verdict.baseline import Baseline, BaselineInfo, make_baseline
from evalkit.verdict.compare import case_verdicts
from evalkit.verdict.estimate import estimate_of, pooled
from evalkit.verdict.in_batches import InBatches
from evalkit.verdict.model import CaseVerdict, Estimate
from evalkit.verdict.plans import Plans, make_plans
from evalkit.verdict.whole import Whole
from tests.verdict.planned import plans_of

CHECK = Check("called", {"name": "refund", "max": 1})


def ref(case_id: str = "c", state: str = "permanent") -> CaseRef:
    """A case's reference."""
    return CaseRef(
        "/p", case_id, 1, "digest", state, "title", "SIG", "", (), check_text=exact_text([check_json(CHECK)]).decode()
    )


def samples(*counts: tuple[Outcome, int], trace: str = "") -> list[Sample]:
    """Samples of some outcomes."""
    found: list[Sample] = []
    for outcome, count in counts:
        checks = (SampleCheck(CHECK.id, True, False, "it was called twice"),) if outcome == "failed" else ()
        start = len(found)
        why = checks[0].reason if checks else "why"
        found += [
            Sample("c", 1, start + at, outcome, checks, why, trace=trace or f"{outcome}{at}") for at in range(count)
        ]
    return found


def baseline(passed: int, n: int, checks: Sequence[Check] = (CHECK,)) -> Baseline:
    """A baseline of case ``c``."""
    info = BaselineInfo("run", "suite", "a", "r", "now")
    return Baseline(info, {"c": (passed, n, checks_digest(checks))})


def verdict(
    found: list[Sample], policy: Policy | None = None, base: Baseline | None = None, *, frozen: bool = False
) -> CaseVerdict:
    """The verdict on one case."""
    plans = plans_of([ref()], {"c": found}, policy or Policy("zero_failures"), base)
    (one,) = case_verdicts([ref()], {"c": found}, plans, base, frozen=frozen)
    return one


def test_no_failure_passes_and_says_what_that_rules_out() -> None:
    """59 passes of 59 leave room for a failure rate of almost 5 %; the reason says so."""
    found = verdict(samples(("passed", 59)))
    assert (found.verdict, found.rate) == ("PASS", 1.0)
    assert "below 4.9%" in found.reason or "below 5%" in found.reason


def test_one_failure_fails_and_names_the_check() -> None:
    """People read what did not hold."""
    found = verdict(samples(("passed", 19), ("failed", 1)))
    assert found.verdict == "FAIL"
    assert found.reason.startswith("1 of 20 samples failed; broken: ")
    assert found.failing_checks[0][0] == CHECK.id


@pytest.mark.parametrize("held", [True, False])
def test_an_agent_that_raised_is_said_to_have(held: bool) -> None:
    """Whatever its checks come to then: what they miss is because it did not come to its end."""
    check = SampleCheck(CHECK.id, True, held, "wanted a run that came to its end")
    crash = [Sample("c", 1, at, "failed", (check,), "the agent raised KeyError: 'id'", trace="t") for at in range(3)]
    assert verdict(crash).reason.endswith("; the agent raised KeyError: 'id'")
    assert "; broken: " in verdict([*crash, *samples(("failed", 4))]).reason


@pytest.mark.parametrize("lost", ["missed", "errored"])
def test_what_was_lost_is_neither_pass_nor_fail(lost: Outcome) -> None:
    """One lost sample makes a case inconclusive, and does not touch the rate."""
    found = verdict(samples(("passed", 19), (lost, 1)))
    assert (found.verdict, found.n, found.rate) == ("INCONCLUSIVE", 19, 1.0)
    assert "1 " + lost in found.reason
    assert verdict(samples(("passed", 19), (lost, 1)), Policy("zero_failures", max_lost=0.1)).verdict == "PASS"


def test_a_failure_counts_whatever_else_was_lost() -> None:
    """A shown failure is not hidden by an outage."""
    assert verdict(samples(("failed", 1), ("errored", 19))).verdict == "FAIL"


def test_nothing_measured_is_inconclusive() -> None:
    """No sample, or only lost ones, is never green."""
    assert verdict([]).verdict == "INCONCLUSIVE"
    assert verdict(samples(("missed", 20)), Policy("zero_failures", max_lost=0.99)).verdict == "INCONCLUSIVE"


@pytest.mark.parametrize(
    ("passed", "failed", "word"), [(29, 0, "PASS"), (28, 0, "INCONCLUSIVE"), (10, 10, "FAIL"), (19, 1, "INCONCLUSIVE")]
)
def test_a_minimum_rate_is_shown_or_not(passed: int, failed: int, word: str) -> None:
    """29 of 29 show a rate of 0.9 at 95 % (the success-run theorem), 28 do not; 10 of 20 show less."""
    found = verdict(samples(("passed", passed), ("failed", failed)), Policy("min_rate", min_rate=0.9))
    assert found.verdict == word
    assert ("more would" in found.reason) is (word == "INCONCLUSIVE")


def test_the_policy_decides_and_the_comparison_is_shown() -> None:
    """20 of 20 against 8 of 20 is worse, and said to be; a minimum rate of 0.1 is reached all the same."""
    found = verdict(samples(("passed", 8), ("failed", 12)), Policy("min_rate", min_rate=0.1), baseline(20, 20))
    assert (found.verdict, found.change) == ("PASS", "regressed")
    assert found.reason.endswith("worse than the baseline: 8 of 20 against 20 of 20")
    assert found.p_value is not None
    assert found.p_value < 0.001
    assert verdict(samples(("passed", 8), ("failed", 12)), Policy("not_worse"), baseline(20, 20)).verdict == "FAIL"


def test_no_change_shown_is_not_called_improved() -> None:
    """19 of 20 against 20 of 20 shows nothing either way."""
    found = verdict(samples(("passed", 20)), base=baseline(19, 20))
    assert found.change == "no change shown"


def test_an_improvement_is_shown() -> None:
    """20 of 20 after 5 of 20."""
    assert verdict(samples(("passed", 20)), base=baseline(5, 20)).change == "improved"


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        ("passed", "failed", "regressed"),
        ("failed", "passed", "improved"),
        ("passed", "passed", "no change shown"),
        ("failed", "failed", "no change shown"),
    ],
)
def test_between_deterministic_runs_a_change_is_a_fact(before: Outcome, now: Outcome, change: str) -> None:
    """Two equal replays each: a test of so few samples could show nothing, and there is nothing to test."""
    info = BaselineInfo("run", "suite", "a", "r", "now")
    measured = {"c": samples((before, 2), trace="then")}
    equal = samples((now, 2), trace="now")
    found = verdict(equal, base=make_baseline(info, measured, [ref()], frozen=True), frozen=True)
    assert (found.change, found.p_value) == (change, None)
    live = make_baseline(info, measured, [ref()], frozen=False)
    tested = verdict(equal, base=live, frozen=True)
    assert (tested.change, tested.p_value is not None) == ("no change shown", True)


def test_what_always_failed_is_not_worse_when_it_still_does() -> None:
    """Under the policy that asks no more than that; under others it fails."""
    info = BaselineInfo("run", "suite", "a", "r", "now")
    base = make_baseline(info, {"c": samples(("failed", 2), trace="then")}, [ref()], frozen=True)
    equal = samples(("failed", 2), trace="now")
    assert verdict(equal, Policy("not_worse", margin=0.1), base, frozen=True).verdict == "PASS"
    assert verdict(equal, base=base, frozen=True).verdict == "FAIL"
    healthy = make_baseline(info, {"c": samples(("passed", 2), trace="then")}, [ref()], frozen=True)
    assert verdict(equal, Policy("not_worse", margin=0.1), healthy, frozen=True).verdict == "FAIL"


def test_a_baseline_of_other_checks_is_none() -> None:
    """A rate under other demands is no measure."""
    other = baseline(20, 20, [Check("called", {"name": "other"})])
    found = verdict(samples(("passed", 20)), base=other)
    assert (found.baseline, found.change) == (None, "no baseline")


@pytest.mark.parametrize(("count", "p", "adjusted"), [(3, 0.0437939534, 3 * 0.0437939534), (20, 2 / 19, 1.0)])
def test_p_values_are_corrected_over_the_cases(count: int, p: float, adjusted: float) -> None:
    """10/10 against 7/10 in every case: E+M with Holm for three cases, Fisher with the step-down for twenty."""
    cases = [ref(f"c{n}") for n in range(count)]
    info = BaselineInfo("run", "suite", "a", "r", "now")
    base = Baseline(info, {case.id: (10, 10, checks_digest((CHECK,))) for case in cases})
    drawn = {case.id: samples(("passed", 7), ("failed", 3)) for case in cases}
    found = case_verdicts(cases, drawn, plans_of(cases, drawn, Policy("zero_failures")), base, frozen=False)
    assert found[0].p_value == pytest.approx(p, abs=1e-5)
    assert found[0].p_adjusted == pytest.approx(adjusted, abs=1e-4)
    assert {one.change for one in found} == {"no change shown"}


def test_stable_cases_do_not_hide_a_regression() -> None:
    """One case of fifty fell to 4 of 10, the others never failed: shown, as fifty times E+M's 0.0018 would not be."""
    cases = [ref(f"c{n}") for n in range(50)]
    info = BaselineInfo("run", "suite", "a", "r", "now")
    base = Baseline(info, {case.id: (10, 10, checks_digest((CHECK,))) for case in cases})
    drawn = {case.id: samples(("passed", 10)) for case in cases} | {"c7": samples(("passed", 4), ("failed", 6))}
    plans = plans_of(cases, drawn, Policy("zero_failures"))
    found = {one.case_id: one for one in case_verdicts(cases, drawn, plans, base, frozen=False)}
    assert found["c7"].change == "regressed"
    assert found["c7"].p_adjusted == pytest.approx(35 / 6460, abs=1e-4)
    assert {one.change for one in found.values() if one.case_id != "c7"} == {"no change shown"}


def test_equal_frozen_replays_are_called_deterministic() -> None:
    """A deterministic agent needs no statistics; a live model that happened to agree does."""
    equal = samples(("passed", 2), trace="same")
    assert verdict(equal, frozen=True).deterministic
    assert verdict(equal, Policy("min_rate"), frozen=True).verdict == "PASS"
    assert not verdict(equal, frozen=False).deterministic
    assert verdict(equal, Policy("min_rate"), frozen=False).verdict == "INCONCLUSIVE"
    by_chance = [replace(sample, drew=True) for sample in equal]
    assert not verdict(by_chance, frozen=True).deterministic
    assert verdict(by_chance, Policy("min_rate"), frozen=True).verdict == "INCONCLUSIVE"


def test_steadiness_and_repeats_are_estimated() -> None:
    """27 passes are stable, 10 are not; a mixed case is flaky; deterministic replays need no estimate."""
    many = [verdict(samples(("passed", passed), ("failed", failed))) for passed, failed in ((27, 0), (10, 0), (20, 20))]
    assert [one.stability for one in many] == ["STABLE_PASS", "UNKNOWN", "FLAKY"]
    assert verdict(samples(("failed", 2), trace="same"), frozen=True).stability == "STABLE_FAIL"


def test_pass_hat_k_and_pass_at_k_stand_in_the_verdict() -> None:
    """6 of 8: all of four pass with 15/70; one of four always does; of nine nothing is known."""
    found = samples(("passed", 6), ("failed", 2))
    plans = plans_of([ref()], {"c": found}, Policy("zero_failures"))
    (one,) = case_verdicts([ref()], {"c": found}, plans, None, frozen=False, pass_k=(4, 9))
    four, nine = one.many_runs
    assert four.all_pass == pytest.approx(15 / 70)
    assert four.one_passes == 1.0
    assert four.low < 15 / 70 < four.high
    assert (nine.all_pass, nine.one_passes) == (None, None)


def test_a_plan_that_decides_early_does_not_pass_what_lost_many() -> None:
    """`max_lost` is a share of the samples that were taken, not of those that there could have been.

    What is lost may be the failures: a case that loses one of ten passes no more often than a failing one may.
    """
    policy = Policy(max_lost=0.05)
    plans: Plans = {"c": InBatches(policy, policy.alpha)}
    for lost, word in ((0, "PASS"), (1, "PASS"), (2, "INCONCLUSIVE"), (3, "INCONCLUSIVE")):
        found = {"c": samples(("passed", 20), ("missed", lost), ("passed", 15))}
        (one,) = case_verdicts([ref()], found, plans, None, frozen=False)
        assert one.verdict == word, lost
    assert one.reason.startswith("3 missed and 0 errored of 38 samples")


def test_equal_replays_do_not_make_up_for_too_many_lost_ones() -> None:
    """A target that kills its worker in one replay of twenty is not the same each time."""
    found = [*samples(("passed", 19), trace="t"), replace(samples(("errored", 1))[0], index=19)]
    assert verdict(found, frozen=True).verdict == "INCONCLUSIVE"
    assert verdict(found, Policy("zero_failures", max_lost=0.1), frozen=True).reason.startswith("19 equal replays")
    failing = [replace(one, outcome="failed") for one in found[:19]]
    assert verdict([*failing, found[19]], frozen=True).verdict == "FAIL"


def test_another_policy_passes_no_case_that_lacks_samples() -> None:
    """A run that was stopped shows no more under a policy that any number of samples could satisfy."""
    own, few = Policy("zero_failures"), samples(("passed", 5))
    sampled: Plans = {"c": Whole(own, own.alpha, 20)}
    judging: Plans = {"c": Whole(own, own.alpha, 5)}
    for stopped, word in (("", "PASS"), ("the budget is spent", "INCONCLUSIVE")):
        (one,) = case_verdicts([ref()], {"c": few}, judging, None, frozen=False, stopped=stopped, sampled=sampled)
        assert one.verdict == word
    assert one.reason.startswith("only 5 of up to 20 samples: the budget is spent")
    whole = {"c": samples(("passed", 20))}
    (one,) = case_verdicts([ref()], whole, judging, None, frozen=False, stopped="the budget is spent", sampled=sampled)
    assert one.verdict == "PASS"


def test_equal_replays_are_as_good_as_many_though_a_third_was_lost() -> None:
    """What is left shows all there is; samples that vary do not, and pass nothing then."""
    policy = Policy("zero_failures", max_lost=0.25)
    plans = make_plans(Suite("s", samples=4, policy=policy), [ref()], {})
    for traces, word in ((("same", "same"), "PASS"), (("one", "other"), "INCONCLUSIVE")):
        found = [Sample("c", 1, at, "passed", trace=trace) for at, trace in enumerate(traces)]
        found.append(Sample("c", 1, 2, "errored", reason="no answer"))
        (one,) = case_verdicts([ref()], {"c": found}, plans, None, frozen=True)
        assert one.verdict == word


@pytest.mark.parametrize(("traces", "word"), [("same", "PASS"), ("", "FAIL")])
def test_failing_as_equal_replays_of_the_baseline_did_is_not_worse(traces: str, word: str) -> None:
    """A baseline that failed by chance as often shows nothing of it."""
    before = make_baseline(
        BaselineInfo("run", "suite", "a", "r", "now"),
        {"c": samples(("failed", 20), trace=traces)},
        [ref()],
        frozen=True,
    )
    found = verdict(samples(("failed", 2), trace="same"), Policy("not_worse", margin=0.2), before, frozen=True)
    assert found.verdict == word


def test_of_a_case_that_two_equal_replays_would_have_ended_the_first_two_tell() -> None:
    """The third was taken only because those two were not equal; where equal ones end nothing, all tell."""
    plan = make_plans(Suite("s"), [ref()], {})["c"]
    passed = [True, False, True, True, True]
    found = [
        Sample("c", 1, at, "passed" if x else "failed", trace=trace)
        for at, (x, trace) in enumerate(zip(passed, "abaab", strict=True))
    ]
    first = estimate_of(plan, found, passed, twice=True)
    assert first is not None
    assert (first.rate, first.passed, first.n) == (0.5, 1, 2)
    assert estimate_of(plan, found, passed, twice=False) is None
    different = [replace(sample, trace=str(sample.index)) for sample in found]
    assert estimate_of(plan, different, passed, twice=True) is None


def test_replays_that_vary_are_tested_against_equal_ones() -> None:
    """Only where both sides are equal a change is a fact."""
    info = BaselineInfo("run", "suite", "a", "r", "now")
    before = make_baseline(info, {"c": samples(("passed", 20), trace="then")}, [ref()], frozen=True)
    found = verdict(samples(("passed", 5), ("failed", 15)), base=before, frozen=True)
    assert found.change == "regressed"
    assert found.p_value is not None


def test_pooled_estimates_vary_as_a_mean_does() -> None:
    """Two runs of one variance: half of it; one that is not known makes that of the mean unknown."""
    one, other = Estimate(0.5, 0.02, 2, 5), Estimate(0.9, 0.04, 4, 5)
    assert pooled([(5, 10, one), (9, 10, other)]) == Estimate(0.7, 0.015, 6, 10)
    assert pooled([(5, 10, one), (9, 10, replace(other, variance=None))]) == Estimate(0.7, None, 6, 10)
    assert pooled([(5, 10, None), (9, 10, None)]) is None
