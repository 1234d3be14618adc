"""Plans and their schedule: when a run looks, when it stops, and that neither order nor a kill changes what it says."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from evalkit.stats.binomial import binomial_pmf
from evalkit.stats.power import n_for_drop
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Outcome, Policy, PolicyFor, Selection, Suite
from evalkit.suite.seen import Seen
from evalkit.verdict.plans import CasePlan, make_plans, policy_of
from evalkit.verdict.schedule import standing, wanted
from evalkit.verdict.screened import Screened

POLICIES = [
    Policy(),
    Policy(p_good=0.95, p_bad=0.8, max_lost=0.2),
    Policy("zero_failures", max_lost=0.2),
    Policy("min_rate", min_rate=0.7),
    Policy("not_worse", margin=0.3, beta=0.1),
]
MEASURE = (38, 40)

Undecided = dict[int, tuple[tuple[bool, ...], NDArray[np.float64]]]
"""By the passes at a look: an order of outcomes that comes to them, and how probable they are at each rate."""


def ref(case_id: str = "c", state: str = "permanent", tags: tuple[str, ...] = ()) -> CaseRef:
    """A case's reference."""
    return CaseRef("/p", case_id, 1, "digest", state, "title", "SIG", "", tags)


def plan_of(policy: Policy, **suite: object) -> CasePlan:
    """The plan of one permanent case that has a baseline."""
    return make_plans(Suite("s", policy=policy, **suite), [ref()], {"c": MEASURE})["c"]  # type: ignore[arg-type]


def drawn(rate: float, lost: float, seed: int) -> Callable[[int], Outcome]:
    """What each sample comes to, whenever it is run."""

    def outcome(index: int) -> Outcome:
        draws = random.Random(seed * 100_003 + index)
        if draws.random() < lost:
            return "errored"
        return "passed" if draws.random() < rate else "failed"

    return outcome


def take(seen: Seen, case_id: str, index: int, outcome: Outcome) -> None:
    """Notes a sample; replays differ from each other."""
    seen.add([(case_id, [index], outcome, f"trace {index}")])


def run_through(
    plans: Mapping[str, CasePlan], outcome: Callable[[int], Outcome], *, kills: random.Random | None = None
) -> tuple[Seen, list[Mapping[str, int]]]:
    """Runs until nothing is wanted: samples end in any order, and a kill may lose what a round has not done yet."""
    seen, rounds = Seen(), []
    for _ in range(1000):
        lacking = wanted(plans, seen, frozen=False)
        rounds.append(lacking)
        if not lacking:
            return seen, rounds
        todo = [(c, i) for c, n in lacking.items() for i in range(n) if not seen.has(c, i)]
        assert todo, "asked for what is there"
        if kills is not None:
            kills.shuffle(todo)
            if kills.random() < 0.5:
                todo = todo[: kills.randint(0, len(todo))]
        for case_id, index in todo:
            take(seen, case_id, index, outcome(index))
    raise AssertionError("a run that does not end")


@given(
    st.sampled_from(POLICIES), st.sampled_from([0.5, 0.8, 0.95, 1.0]), st.sampled_from([0.0, 0.05]), st.integers(0, 999)
)
@settings(max_examples=100, deadline=None)
def test_neither_order_nor_kills_change_what_is_decided(policy: Policy, rate: float, lost: float, seed: int) -> None:
    """The word, its sentence and the samples asked for are those of a run in order and without a kill."""
    plans, outcome = {"c": plan_of(policy)}, drawn(rate, lost, seed)
    calm, rounds = run_through(plans, outcome)
    killed, _ = run_through(plans, outcome, kills=random.Random(seed))
    assert killed["c"].outcomes == calm["c"].outcomes
    now = standing(calm["c"].outcomes)
    ruling = plans["c"].ruling(now.passed)
    assert plans["c"].ruling(standing(killed["c"].outcomes).passed) == ruling
    batch = policy.batch
    asked = [one["c"] for one in rounds if one]
    assert asked == sorted(set(asked))
    if not lost:
        assert all(n % batch == 0 or n == plans["c"].most for n in asked)
        assert all(later - earlier <= batch for earlier, later in zip([0, *asked], asked, strict=False))
    if ruling.word != "INCONCLUSIVE":  # what was run beyond the deciding look changes nothing
        left = plans["c"].most - len(now.passed)
        assert plans["c"].ruling((*now.passed, *[ruling.word != "PASS"] * left)).word == ruling.word


@pytest.mark.parametrize(
    ("policy", "good", "bad"),
    [
        (Policy(), 0.99, 0.9),
        (Policy(p_good=0.95, p_bad=0.8, alpha=0.01), 0.95, 0.8),
        (Policy("min_rate", min_rate=0.8), 0.8, 0.8 - 1e-9),
    ],
)
@pytest.mark.parametrize("gates", [1, 8])
def test_the_errors_of_a_plan_are_held_exactly(policy: Policy, good: float, bad: float, gates: int) -> None:
    """Counted out look by look: FAIL at the good rate by alpha over all gates, PASS at the bad one by beta."""
    cases = [ref(f"c{at}") for at in range(gates)]
    plan = make_plans(Suite("s", policy=policy), cases, {})["c0"]
    assert chance(plan, good)["FAIL"] <= policy.alpha / gates + 1e-9
    assert chance(plan, bad)["PASS"] <= policy.beta + 1e-9


@pytest.mark.parametrize("kept", [20, 50, 75])
def test_fewer_samples_than_planned_never_add_errors(kept: int) -> None:
    """A cap leaves cases open, and fails no good one more often."""
    plan = plan_of(Policy(), samples=kept)
    found = chance(plan, 0.99)
    assert found["FAIL"] <= 0.05 + 1e-9
    assert chance(plan, 0.9)["PASS"] <= 0.05 + 1e-9
    assert (found["INCONCLUSIVE"] > 0) is (kept < 75)
    assert bool(plan.underpowered) is (kept < 75)


def chance(plan: CasePlan, rate: float) -> dict[str, float]:
    """How often a plan comes to each word at a pass rate, exactly.

    It goes from look to look, and keeps of each number of failures one series that has come so far.
    """
    words = {"PASS": 0.0, "FAIL": 0.0, "INCONCLUSIVE": 0.0}
    state: dict[int, tuple[float, tuple[bool, ...]]] = {0: (1.0, ())}
    while state:
        after: dict[int, tuple[float, tuple[bool, ...]]] = {}
        for failed, (weight, passed) in state.items():
            look = plan.next_look(passed)
            if look is None:
                words[plan.ruling(passed).word] += weight
                continue
            left = look - len(passed)
            for more, share in enumerate(binomial_pmf(left, np.array([1 - rate]))[0].tolist()):
                before, series = after.get(failed + more, (0.0, (*passed, *[False] * more, *[True] * (left - more))))
                after[failed + more] = before + weight * share, series
        state = after
    assert sum(words.values()) == pytest.approx(1.0)
    return words


def test_acceptance_stops_at_its_first_clear_look() -> None:
    """35 passes are enough; two failures in the first five fail; in between it says how many more would do."""
    plan = plan_of(Policy())
    assert plan.ruling([True] * 35).word == "PASS"
    assert plan.ruling([True] * 35 + [False] * 40) == plan.ruling([True] * 35)
    assert plan.next_look([True] * 35) is None
    assert plan.ruling([False, False, True, True, True, *[True] * 70]).word == "FAIL"
    found = plan.ruling([True] * 20)
    assert (found.word, found.more_samples) == ("INCONCLUSIVE", 15)
    assert found.detectable_drop == pytest.approx(0.133, abs=0.001)
    assert plan.next_look([]) == 5


def test_what_the_next_look_can_but_say_is_said() -> None:
    """Three samples that all fail are no whole batch, and yet nothing could let the case pass any more."""
    plan = plan_of(Policy(), samples=3)
    assert plan.next_look([]) == 3
    assert plan.next_look([False] * 3) is None
    assert plan.ruling([False] * 3).word == "FAIL"
    assert plan.ruling([False, False, True]).word == "FAIL"
    assert plan.ruling([False, True, True]).word == "INCONCLUSIVE"
    assert plan.ruling([True] * 3).word == "INCONCLUSIVE"
    almost = plan_of(Policy(), samples=34)  # 35 that all pass would: the last may fail
    assert almost.ruling([True] * 34).word == "INCONCLUSIVE"


def test_zero_failures_stops_at_the_first_batch_with_one() -> None:
    """Its word is that of all samples; without a failure all are taken."""
    plan = plan_of(Policy("zero_failures"), samples=20)
    assert plan.next_look([True] * 4 + [False]) is None
    assert plan.ruling([True] * 4 + [False]).word == "FAIL"
    assert [plan.next_look([True] * n) for n in (0, 5, 19, 20)] == [5, 10, 20, None]
    assert plan.ruling([True] * 15).word == "INCONCLUSIVE"


def test_a_minimum_rate_stops_only_where_it_can_not_be_reached() -> None:
    """The word is that of all samples, for every number of failures."""
    plan = plan_of(Policy("min_rate", min_rate=0.8), samples=40)
    whole = plan_of(Policy("min_rate", min_rate=0.8), samples=40, sequential=False)
    for failed in range(41):
        outcomes = [False] * failed + [True] * (40 - failed)
        n = 0
        while (look := plan.next_look(outcomes[:n])) is not None:
            n = look
        assert plan.ruling(outcomes[:n]).word == whole.ruling(outcomes).word
    assert plan.next_look([False] * 20) is None
    assert "0 of 20 passed: even if the other 20 did, too few for 80%" in plan.ruling([False] * 20).reason


@pytest.mark.parametrize("samples", [1, 3, 5, 6, 20, None])
@pytest.mark.parametrize("outcome", ["passed", "failed"])
def test_a_screened_suite_ends_with_any_number_of_samples(samples: int | None, outcome: Outcome) -> None:
    """Five screen a case; with so few at most nothing is left to confirm it, and its policy's own plan holds."""
    plan = make_plans(Suite("s", samples=samples, screening=True), [ref(state="proposed")], {"c": MEASURE})["c"]
    seen, rounds = run_through({"c": plan}, lambda _: outcome)
    few = samples is not None and samples <= 5
    assert isinstance(plan, Screened) is not few
    assert rounds[0] == {"c": min(5, samples or 5)}
    if outcome == "failed":
        assert len(seen["c"].outcomes) == (samples or 35)
        assert plan.ruling([False] * (samples or 35)).word == ("INCONCLUSIVE" if samples == 1 else "FAIL")


def test_a_minimum_rate_of_few_failures_may_be_missed() -> None:
    """The samples that a low rate takes by itself can fail it too: a shared alpha makes that the dearer side."""
    suite = Suite("s", policy=Policy("min_rate", min_rate=0.3))
    alone = make_plans(suite, [ref()], {})["c"]
    assert {alone.ruling([passes] * alone.most).word for passes in (True, False)} == {"PASS", "FAIL"}
    shared = make_plans(suite, [ref(f"c{at}") for at in range(50)], {})["c0"]
    assert (alone.most, shared.most) == (9, 20)
    assert shared.ruling([False] * 20).word == "FAIL"


@pytest.mark.parametrize("sequential", [True, False])
def test_of_a_very_large_baseline_a_thousand_samples_are_taken(sequential: bool) -> None:
    """The same ones in every run; other cases draw others."""
    suite = Suite("s", policy=Policy("not_worse", margin=0.9), samples=5, sequential=sequential)
    cases = [ref(name) for name in "abcd"]
    plans = make_plans(suite, cases, dict.fromkeys("abcd", (19_000, 20_000)))
    again = make_plans(suite, cases[:1], {"a": (19_000, 20_000)})["a"].ruling([True] * 5)
    reasons = [plans[name].ruling([True] * 5).reason for name in "abcd"]
    assert again.word == "PASS"
    assert reasons[0] == again.reason
    assert len(set(reasons)) > 1
    assert all("of 1000: not worse" in reason for reason in reasons)


def test_without_early_stopping_every_sample_is_taken() -> None:
    """The fixed plan's own number where the suite names none."""
    plan = plan_of(Policy(), sequential=False)
    assert (plan.next_look([]), plan.next_look([False] * 30), plan.next_look([True] * 61)) == (61, 61, None)
    assert plan_of(Policy("zero_failures"), sequential=False).most == 20
    assert plan_of(Policy("min_rate", min_rate=0.9), sequential=False).most == 46


def test_equal_frozen_replays_end_after_two() -> None:
    """Of a frozen case two are asked for first; if they are equal, no more. A live model's are not frozen."""
    plans, seen = {"c": plan_of(Policy())}, Seen()
    assert wanted(plans, seen, frozen=True) == {"c": 2}
    assert wanted(plans, seen, frozen=False) == {"c": 5}
    seen.add([("c", [0, 1], "passed", "same")])
    assert wanted(plans, seen, frozen=True) == {}
    assert wanted(plans, seen, frozen=False) == {"c": 5}
    seen.add([("c", [2], "passed", "other")])
    assert wanted(plans, seen, frozen=True) == {"c": 5}


def test_one_result_and_one_loss_are_not_two_equal_replays() -> None:
    """A lost sample left no trace to compare."""
    plans, seen = {"c": plan_of(Policy(max_lost=0.1))}, Seen()
    seen.add([("c", [0], "passed", "same"), ("c", [1], "errored", "")])
    assert wanted(plans, seen, frozen=True) == {"c": 6}


def test_lost_samples_are_replaced_until_there_are_too_many() -> None:
    """As many more are taken as were lost, up to the policy's share of those planned; then the case is given up."""
    plans = {"c": plan_of(Policy(max_lost=0.03))}
    seen = Seen()
    for index, outcome in enumerate(["passed", "errored", "passed", "missed", "passed"]):
        take(seen, "c", index, outcome)  # type: ignore[arg-type]  # outcomes
    assert wanted(plans, seen, frozen=False) == {"c": 7}
    take(seen, "c", 5, "errored")
    assert wanted(plans, seen, frozen=False) == {"c": 7}
    take(seen, "c", 6, "passed")
    assert wanted(plans, seen, frozen=False) == {}
    assert wanted({"c": plan_of(Policy())}, seen, frozen=False) == {}


def test_a_look_waits_for_the_samples_before_it() -> None:
    """Nine of ten that ended first decide nothing: what lacks may be the slow failure."""
    plans, seen = {"c": plan_of(Policy())}, Seen()
    for index in range(1, 40):
        take(seen, "c", index, "passed")
    assert wanted(plans, seen, frozen=False) == {"c": 5}
    assert standing(seen["c"].outcomes).passed == ()


def test_a_comparison_says_how_many_samples_it_needs() -> None:
    """Those that show the margin, from a rate a little lower than seen; one fewer is too few."""
    policy = Policy("not_worse", margin=0.3, beta=0.1)
    needed = n_for_drop(39 / 42, 0.3, 0.04, 0.9, 40)
    assert needed is not None
    plan = plan_of(policy)
    assert plan.fixed == needed
    assert 1.3 * needed <= plan.most < 1.3 * needed + policy.batch
    assert plan.underpowered == plan_of(policy, samples=needed).underpowered == ""
    few = plan_of(policy, samples=needed - 1)
    assert (few.most, few.fixed) == (needed - 1, needed - 1)
    assert few.underpowered.endswith(f"too few to tell a drop of 30 points for sure; {needed} are needed")


@pytest.mark.parametrize("sequential", [False, True])
def test_a_number_of_samples_that_hangs_on_the_baseline_adds_no_error(sequential: bool) -> None:
    """Counted out over the baseline's counts too, at all rates; a share of alpha where it went beyond by a quarter."""
    n1, margin, alpha = 20, 0.4, 0.0125
    rates = np.linspace(0.03, 1, 98)
    mass, dropped = binomial_pmf(n1, rates), np.clip(rates - margin, 0, 1)
    policy = Policy("not_worse", margin=margin, alpha=alpha, beta=0.1)
    failed, passed = np.zeros(len(rates)), np.zeros(len(rates))
    for x1 in range(n1 + 1):
        plan = make_plans(Suite("s", policy=policy, sequential=sequential), [ref()], {"c": (x1, n1)})["c"]
        failed += mass[:, x1] * told(plan, rates, ("FAIL", "DEGRADED_WITHIN_MARGIN"))
        passed += mass[:, x1] * told(plan, dropped, ("PASS", "DEGRADED_WITHIN_MARGIN"))
    assert failed.max() <= alpha
    assert passed[rates >= margin].max() <= 0.1


def test_a_number_of_samples_of_the_suites_own_leaves_the_levels_as_they_are() -> None:
    """Without looks nothing hangs on the baseline then."""
    policy = Policy("not_worse", margin=0.3, beta=0.1)
    plan = plan_of(policy, samples=30, sequential=False)
    assert (plan.alpha, plan.policy, plan.most) == (0.05, policy, 30)


def told(plan: CasePlan, rates: NDArray[np.float64], words: tuple[str, ...]) -> NDArray[np.float64]:
    """By rate, the probability that the plan comes to one of these words."""
    found, before = np.zeros(len(rates)), 0
    open_: Undecided = {0: ((), np.ones(len(rates)))}
    while open_:
        looks: Undecided = {}
        look = plan.next_look(next(iter(open_.values()))[0])
        assert look is not None
        step = binomial_pmf(look - before, rates)
        for x, (order, probability) in open_.items():
            for more in range(look - before + 1):
                longer = (*order, *(True,) * more, *(False,) * (look - before - more))
                so_far = looks.get(x + more, (longer, 0.0))
                looks[x + more] = so_far[0], so_far[1] + probability * step[:, more]
        open_, before = {}, look
        for x, (order, probability) in looks.items():
            if plan.next_look(order) is None:
                found += probability if plan.ruling(order).word in words else 0
            else:
                open_[x] = order, probability
    return found


def test_alpha_is_shared_over_the_permanent_cases_that_can_fail_by_chance() -> None:
    """Each of four gates gets a quarter; a case that is none keeps all of it, and zero failures takes no share."""
    cases = [*(ref(f"g{at}") for at in range(4)), ref("zero", tags=("strict",)), ref("free", "proposed")]
    strict = PolicyFor(Selection(tags=("strict",)), Policy("zero_failures"))
    plans = make_plans(Suite("s", policies=(strict,)), cases, {})
    assert {plans[f"g{at}"].alpha for at in range(4)} == {0.05 / 4}
    assert plans["free"].alpha == 0.05
    assert plans["zero"].policy.kind == "zero_failures"


def test_the_first_policy_that_means_a_case_holds() -> None:
    """By id, tag or gate; the suite's own for the rest."""
    suite = Suite(
        "s",
        policies=(
            PolicyFor(Selection(ids=("pay-*",)), Policy("zero_failures")),
            PolicyFor(Selection(gate=True), Policy("not_worse")),
            PolicyFor(Selection(tags=("slow",)), Policy("min_rate")),
        ),
    )
    cases = [ref("pay-1"), ref("a"), ref("b", "proposed", ("slow",)), ref("c", "proposed")]
    assert [policy_of(case, suite).kind for case in cases] == ["zero_failures", "not_worse", "min_rate", "acceptance"]


def test_fixed_comparisons_share_alpha_as_a_family() -> None:
    """Their p-values are corrected already: the family of three of four gates gets three quarters."""
    own = PolicyFor(Selection(ids=("a",)), Policy())
    suite = Suite("s", policy=Policy("not_worse", margin=0.3), policies=(own,), sequential=False)
    cases = [ref(name) for name in "abcd"]
    plans = make_plans(suite, cases, {case.id: MEASURE for case in cases})
    assert plans["b"].alpha == pytest.approx(0.8 * 0.05 * 3 / 4)
    assert plans["a"].alpha == pytest.approx(0.05 / 4)
    assert plans["b"].table([True, False, True]) == (*MEASURE, 2, 3)
    assert (plans["b"].table([]), plans["a"].table([True])) == (None, None)  # nothing, and nothing to compare it with
    sequential = make_plans(Suite("s", policy=Policy("not_worse", margin=0.3)), cases, {"b": MEASURE})
    assert sequential["b"].alpha == pytest.approx(0.8 * 0.05 / 4)


def words_of(plan: CasePlan) -> set[str]:
    """All that a plan can come to, by the passes up to each look."""
    found, open_ = set[str](), {(0, 0): tuple[bool, ...]()}
    while open_:
        (n, passes), order = open_.popitem()
        look = plan.next_look(order)
        if look is None:
            found.add(plan.ruling(order).word)
            continue
        for more in range(look - n + 1):
            key = look, passes + more
            open_.setdefault(key, (*order, *(True,) * more, *(False,) * (look - n - more)))
    return found


@pytest.mark.parametrize("samples", [1, 2, 4, 6, 9, 14, 60])
@pytest.mark.parametrize("margin", [0.25, 0.5, 0.95])
@pytest.mark.parametrize("measure", [(10, 10), (50, 50), (10, 20), (5, 100)])
def test_what_is_not_underpowered_can_pass_and_fail(samples: int, margin: float, measure: tuple[int, int]) -> None:
    """Against a baseline, in batches, with less than one of them, and where no drop is as large as the margin."""
    suite = Suite("s", policy=Policy("not_worse", margin=margin, beta=0.1), samples=samples)
    plan = make_plans(suite, [ref()], {"c": measure})["c"]
    words = set[str]() if plan.underpowered else words_of(plan)
    assert plan.underpowered or ("PASS" in words and words & {"FAIL", "DEGRADED_WITHIN_MARGIN"})


@pytest.mark.parametrize("samples", [2, 4, 5, 6, 8, 9, 12])
def test_what_is_not_underpowered_leaves_no_case_open(samples: int) -> None:
    """Two rates far apart: a plan in batches may take a batch more than its usual length."""
    suite = Suite("s", policy=Policy(p_good=0.99, p_bad=0.5, batch=3), samples=samples)
    plan = make_plans(suite, [ref()], {})["c"]
    assert ("INCONCLUSIVE" in words_of(plan)) is bool(plan.underpowered)


@pytest.mark.parametrize(("most", "looks"), [(20, 4), (600, 120), (1_999, 134), (20_000, 100)])
def test_a_plan_of_thousands_of_samples_looks_a_hundred_times_or_little_more(most: int, looks: int) -> None:
    """Each look goes through all there are: after every five of 20,000 samples it took a minute for one case."""
    plan = plan_of(Policy("min_rate", min_rate=0.9), samples=most)
    seen, found = 0, []
    while (look := plan.next_look([True] * seen)) is not None:
        found.append(look)
        seen = look
    assert (len(found), found[-1]) == (looks, most)
