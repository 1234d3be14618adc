"""Two arms compared: what is shown, what is not, and what enters nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Outcome, Sample
from evalkit.verdict.ab import ABVerdict, CasePair, Metric, MetricChange
from evalkit.verdict.ab_compare import ArmSamples, compare_arms
from evalkit.verdict.ab_words import change_text

LETTERS: dict[str, Outcome] = {"p": "passed", "f": "failed", "m": "missed", "e": "errored"}


def case(name: str) -> CaseRef:
    """A case's header."""
    return CaseRef(f"cases/{name}", name, 1, "d", "permanent", f"title of {name}", "s", "", ())


def samples(name: str, outcomes: str, **fields: Any) -> list[Sample]:
    """One a letter; by default all of one trace a sample."""
    return [
        Sample(name, 1, at, LETTERS[letter], **{"trace": f"{name}-{at}", "substituted": 3, **fields})
        for at, letter in enumerate(outcomes)
    ]


def arms(a: Sequence[str], b: Sequence[str], **fields: Any) -> tuple[list[CaseRef], ArmSamples, ArmSamples]:
    """A case a word."""
    cases = [case(f"c{at}") for at in range(len(a))]
    made = [
        ArmSamples(name, {one.id: samples(one.id, word) for one, word in zip(cases, words, strict=True)}, **fields)
        for name, words in (("old", a), ("new", b))
    ]
    return cases, made[0], made[1]


def compared(a: Sequence[str], b: Sequence[str], **options: Any) -> ABVerdict:
    """The verdict on some words of outcomes."""
    return compare_arms(*arms(a, b), **options)


def by_metric(found: ABVerdict) -> dict[str, MetricChange]:
    """The other metrics."""
    return {change.metric: change for change in found.metrics}


def test_a_better_arm_is_named_with_its_interval() -> None:
    """In points, with both ends and the p-value; the mean over cases, each counted alike."""
    found = compared(["ppppppffff"] * 10, ["pppppppppf"] * 10)
    assert found.better == "b"
    assert found.rate is not None
    assert [found.rate.a, found.rate.b] == pytest.approx([0.6, 0.9])
    assert found.rate.low < 0.3 < found.rate.high
    assert found.sentence.startswith("B is better by 30 points, ")
    assert "p < 0.0001" in found.sentence


def test_a_worse_arm_is_called_worse() -> None:
    """The same numbers the other way round."""
    better = compared(["ppppppffff"] * 10, ["pppppppppf"] * 10)
    worse = compared(["pppppppppf"] * 10, ["ppppppffff"] * 10)
    assert worse.better == "a"
    assert worse.sentence.startswith("B is worse by 30 points, ")
    assert better.rate is not None
    assert worse.rate is not None
    assert [worse.rate.low, worse.rate.high] == pytest.approx([-better.rate.high, -better.rate.low])


def test_no_difference_says_what_could_have_been_seen() -> None:
    """Few samples that show nothing are no proof that nothing changed."""
    few = compared(["pppppppppf"] * 5, ["pppppppppf"] * 5)
    many = compared(["pppppppppf" * 10] * 20, ["pppppppppf" * 10] * 20)
    assert few.better == many.better == "neither shown"
    assert few.rate is not None
    assert many.rate is not None
    assert few.rate.detectable is not None
    assert many.rate.detectable is not None
    assert many.rate.detectable < few.rate.detectable
    assert f"could have seen about {100 * few.rate.detectable:.1f} points or more" in few.sentence


def test_one_run_a_case_is_mcnemars_exact_test() -> None:
    """With a single run an arm the stratified test is the published one on the discordant pairs."""
    found = compared(["f"] * 16 + ["p"] * 2 + ["p"] * 30, ["p"] * 16 + ["f"] * 2 + ["p"] * 30)
    assert found.rate is not None
    assert found.rate.p == pytest.approx(binomtest(2, 18).pvalue)
    assert found.better == "b"


def test_one_case_has_the_exact_test_of_one_case() -> None:
    """The suite and its only case say the same."""
    found = compared(["ppppppffff"], ["pppppppppp"])
    (pair,) = found.pairs
    assert found.rate is not None
    assert (found.rate.p, found.rate.low, found.rate.high) == (pair.p, pair.low, pair.high)
    assert found.rate.low_like is None


def test_cases_that_differ_are_named_after_correction() -> None:
    """One broken case of many is found; the others are not blamed."""
    found = compared(["pppppppppp"] * 12, ["pppppppppp"] * 11 + ["ffffffffpp"])
    assert [pair.case_id for pair in found.pairs if pair.better == "a"] == ["c11"]
    (broken,) = [pair for pair in found.pairs if pair.better == "a"]
    assert broken.p is not None
    assert broken.p_adjusted is not None
    assert broken.p <= broken.p_adjusted <= 0.05


def test_an_unchanged_agent_is_rarely_called_different() -> None:
    """Seeded simulation: any case named, or the suite, in at most about 5 % of unchanged suites."""
    rng = np.random.default_rng(11)
    rates = np.tile([0.99, 0.9, 0.7, 0.5], 3)
    named = shown = 0
    for _ in range(80):
        words = [["".join("p" if one else "f" for one in rng.random(8) < rate) for rate in rates] for _ in "ab"]
        found = compared(*words)
        named += any(pair.better in ("a", "b") for pair in found.pairs)
        shown += found.better in ("a", "b")
    assert named <= 8
    assert shown <= 8


def test_one_replay_is_not_the_same_twice() -> None:
    """Beside a lost one it is still one: no fact, and a test."""
    for words, fact in (("pe", "fe"), False), (("pp", "ff"), True):
        cases, old, new = arms(words[:1], words[1:], frozen=True)
        equal = [
            replace(arm, samples={id: [replace(one, trace=arm.name) for one in own] for id, own in arm.samples.items()})
            for arm in (old, new)
        ]
        assert compare_arms(cases, *equal).deterministic is fact


def test_lost_samples_enter_nothing_and_are_shown() -> None:
    """Misses and infrastructure faults are told, and are neither passes nor failures."""
    found = compared(["ppppp", "ppppp"], ["pppp" + "mmeeemmmmm", "ppppp"])
    assert found.rate is not None
    assert (found.rate.a, found.rate.b) == (1.0, 1.0)
    assert (found.loss_b.missed, found.loss_b.errored, found.loss_b.samples) == (7, 3, 19)
    assert any("arm B lost 10 of 19 samples (7 missed, 3 errored): they enter nothing" in note for note in found.notes)
    assert found.unequal_loss
    assert any("lost more than chance explains" in note for note in found.notes)


def test_equal_losses_are_told_without_alarm() -> None:
    """Both arms met the same outage."""
    found = compared(["ppppe"] * 4, ["ppppe"] * 4)
    assert not found.unequal_loss
    assert len([note for note in found.notes if "lost" in note]) == 2


def test_a_case_without_results_in_an_arm_is_not_compared() -> None:
    """It is said why, and the others are."""
    found = compared(["pppp", "pppp"], ["mmmm", "pppf"])
    pair = found.pairs[0]
    assert (pair.better, pair.reason, pair.difference) == ("not compared", "no sample of arm B came to a result", None)
    assert found.rate is not None
    assert found.rate.cases == 1
    assert any(note.startswith("1 of 2 cases were not compared") for note in found.notes)


def test_nothing_comparable_is_no_verdict() -> None:
    """Not "no difference"."""
    found = compared(["mmmm"], ["pppp"])
    assert (found.better, found.rate) == ("not compared", None)
    assert found.sentence.startswith("nothing could be compared")


def equal_arms(
    a: Sequence[str], b: Sequence[str], *, primary: Metric = "pass_rate", steps: tuple[int, int] = (3, 3)
) -> ABVerdict:
    """Frozen arms, in which all replays of a case are one and the same."""
    cases, old, new = arms(a, b, frozen=True)
    for arm, taken in zip((old, new), steps, strict=True):
        for name, runs in arm.samples.items():
            assert isinstance(runs, list)
            runs[:] = [
                Sample(one.case_id, 1, one.index, one.outcome, trace=f"{arm.name}-{name}", substituted=taken)
                for one in runs
            ]
    return compare_arms(cases, old, new, primary=primary)


def test_deterministic_arms_differ_by_facts() -> None:
    """Two equal replays say all: no p-value for a case, and the suite's counts each case once."""
    found = equal_arms(["pp", "ff", "ff", "pp"], ["pp", "pp", "pp", "ff"])
    assert found.deterministic
    assert found.better == "b"
    assert [pair.better for pair in found.pairs] == ["neither shown", "b", "b", "a"]
    assert all(pair.p is None for pair in found.pairs)
    assert found.sentence == (
        "B is better by 25 points: of 4 cases it passes 2 that A fails, and fails 1 that A passes"
    )
    assert found.rate is not None
    assert found.rate.p == pytest.approx(binomtest(1, 3).pvalue)
    assert any("exact McNemar" in note for note in found.notes)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (3, "B needs more steps: +50 %, in equal replays"),
        (2, "no difference of steps: B +0 %, in equal replays"),
    ],
)
def test_steps_of_deterministic_arms_are_facts(steps: int, told: str) -> None:
    """Said without a p-value: that one is about cases like these, and would seem to doubt what is known."""
    found = equal_arms(["pp"] * 3, ["pp"] * 3, primary="steps", steps=(2, steps))
    assert found.sentence.startswith(told)
    change = next(one for one in found.metrics if one.metric == "steps")
    assert (change.low_like, change.high_like) == (None, None)


def test_deterministic_arms_may_be_the_same() -> None:
    """And then that is known, not just unseen."""
    found = equal_arms(["pp", "ff"], ["pp", "ff"])
    assert found.sentence == "no difference: both arms pass the same of 2 cases, in every replay"


def test_equal_replays_of_a_live_model_are_no_fact() -> None:
    """Only a frozen world proves that there is no variance."""
    cases, old, new = arms(["pp"], ["ff"])
    same = [
        ArmSamples(arm.name, {"c0": [Sample("c0", 1, at, one.outcome, trace="x") for at, one in enumerate(runs)]})
        for arm in (old, new)
        for runs in arm.samples.values()
    ]
    assert not compare_arms(cases, *same).deterministic


def spending(costs: Sequence[float], steps: int = 3, seconds: float = 1.0) -> dict[str, list[Sample]]:
    """A case a cost, five passing samples each, of a live model."""
    return {
        f"c{at}": samples(
            f"c{at}", "ppppp", cost_usd=cost, live_model=steps, substituted=0, duration_s=seconds, input_tokens=1000
        )
        for at, cost in enumerate(costs)
    }


def test_costs_are_compared_case_by_case() -> None:
    """Eight per cent more in every case is shown, although the cases cost a hundredfold different."""
    costs = [0.01 * 1.7**at for at in range(9)]
    old = ArmSamples("old", spending(costs), live=True)
    new = ArmSamples("new", spending([1.08 * cost for cost in costs]), live=True)
    found = compare_arms([case(f"c{at}") for at in range(9)], old, new)
    change = by_metric(found)["cost"]
    assert change.change == pytest.approx(0.08)
    assert change.ratio_of_means == pytest.approx(1.08)
    assert change.better == "a"
    assert found.sentence.endswith("; cost +8 %, 8 to 8")
    assert found.better == "neither shown"


@pytest.mark.parametrize(
    ("change", "low", "high", "said"),
    [
        (0.08, 0.031, 0.132, "+8 %, 3.1 to 13.2"),
        (-0.5, -0.5, -0.5, "-50 %, -50 to -50"),
        (8.9e-16, -8.9e-16, 0.0, "+0 %, 0 to 0"),
        (0.1, None, None, "+10 %"),
    ],
)
def test_a_change_is_told_as_people_read_it(change: float, low: float | None, high: float | None, said: str) -> None:
    """Three digits; what rounding leaves of nothing is nothing."""
    assert change_text(MetricChange("cost", "neither shown", change=change, low=low, high=high)) == said


def test_the_primary_metric_decides_and_the_others_are_corrected() -> None:
    """Asked about the cost, the sentence begins with it; its p-value is not corrected, the pass rate's is."""
    costs = [0.01 * 1.7**at for at in range(9)]
    old = ArmSamples("old", spending(costs, seconds=1.0), live=True)
    new = ArmSamples("new", spending([0.5 * cost for cost in costs], seconds=1.1), live=True)
    found = compare_arms([case(f"c{at}") for at in range(9)], old, new, primary="cost")
    assert found.better == "b"
    assert found.sentence.startswith("B needs less cost: -50 %")
    metrics = by_metric(found)
    assert metrics["cost"].p_adjusted == metrics["cost"].p
    assert metrics["latency"].p is not None
    assert metrics["latency"].p_adjusted is not None
    assert metrics["latency"].p_adjusted > metrics["latency"].p


@pytest.mark.parametrize(
    ("metric", "live", "cost", "reason"),
    [
        ("cost", False, 0.01, "not both arms asked a live model"),
        ("latency", False, 0.01, "not both arms asked a live model"),
        ("cost", True, 0.0, "arm A has none: its model has no price"),
    ],
)
def test_what_means_nothing_is_not_compared(metric: str, live: bool, cost: float, reason: str) -> None:
    """A replay's milliseconds are no latency, and a model without a price costs nothing only here."""
    arm = ArmSamples("x", spending([cost] * 3), live=live)
    found = compare_arms([case(f"c{at}") for at in range(3)], arm, arm, primary=metric)  # type: ignore[arg-type]
    assert by_metric(found)[metric].reason == reason
    assert found.better == "not compared"
    assert reason in found.sentence


def test_lost_samples_cost_nothing() -> None:
    """What a sample spent before it was lost is not in the means."""
    cases, old, _ = arms(["pp"], ["pp"])
    lossy = {"c0": [*samples("c0", "pp", cost_usd=1.0), *samples("c0", "ee", cost_usd=100.0)]}
    found = compare_arms(cases, old, ArmSamples("new", lossy, live=True))
    assert found.pairs[0].b.means["cost"] == 1.0


def test_opposite_changes_are_not_called_a_direction() -> None:
    """Where a few cases with many samples point against the mean of the cases, no arm is called better."""
    a = ["p" * 60 + "f" * 40, "pf", "pf", "pf"]
    b = ["p" * 90 + "f" * 10, "ff", "ff", "ff"]
    found = compared(a, b)
    assert found.rate is not None
    assert found.rate.p < 0.05
    assert found.rate.difference < 0
    assert found.rate.opposed
    assert found.better == "neither shown"
    assert "not in one direction" in found.sentence


def test_the_same_samples_give_the_same_verdict() -> None:
    """Random sign flips included."""
    costs = [0.01, 0.03, 0.02, 0.05]
    pair = ArmSamples("a", spending(costs), live=True), ArmSamples("b", spending(costs[::-1]), live=True)
    cases = [case(f"c{at}") for at in range(4)]
    assert compare_arms(cases, *pair) == compare_arms(cases, *pair)


@pytest.mark.parametrize(("n_a", "n_b"), [([4], [5]), ([3, 4, 5], [8, 2, 6]), ([5] * 20, [5] * 20)])
def test_the_arms_the_other_way_round_give_the_verdict_the_other_way_round(n_a: list[int], n_b: list[int]) -> None:
    """And the cases in another order the same one: what could have been seen and random flips included."""
    draws = random.Random(5)
    cases = [case(f"c{at}") for at in range(len(n_a))]

    def arm(name: str, sizes: list[int]) -> ArmSamples:
        found = {
            one.id: [replace(sample, cost_usd=draws.lognormvariate(0, 1)) for sample in samples(one.id, "p" * n)]
            for one, n in zip(cases, sizes, strict=True)
        }
        return ArmSamples(name, found, live=True)

    a, b = arm("a", n_a), arm("b", n_b)
    found, turned, reordered = compare_arms(cases, a, b), compare_arms(cases, b, a), compare_arms(cases[::-1], a, b)
    cost, other_way, other_order = (by_metric(one)["cost"] for one in (found, turned, reordered))
    assert (cost.p, cost.p_like) == (other_way.p, other_way.p_like) == (other_order.p, other_order.p_like)
    assert found.rate is not None
    assert turned.rate is not None
    assert found.rate.detectable == turned.rate.detectable
    assert (found.rate.low, found.rate.high) == pytest.approx((-turned.rate.high, -turned.rate.low))
    assert found.sentence == reordered.sentence


def test_the_pairs_are_in_the_order_of_the_cases() -> None:
    """All of them, compared or not."""
    found = compared(["pp", "mm", "pp"], ["pp", "pp", "ff"])
    pairs: Sequence[CasePair] = found.pairs
    assert [pair.case_id for pair in pairs] == ["c0", "c1", "c2"]


def test_an_arm_that_lost_its_failures_is_not_called_better() -> None:
    """What is lost may be what failed: an unchanged agent, three of ten of whose replays miss instead of failing."""
    found = compared(["pppppppfff"] * 10, ["pppppppmmm"] * 10)
    assert (found.better, found.unequal_loss) == ("neither shown", True)
    assert "but arm B lost 30 of 100 samples" in found.sentence
    assert not [pair for pair in found.pairs if pair.better == "b"]
    turned = compared(["pppppppmmm"] * 10, ["pppppppfff"] * 10)
    assert (turned.better, "but arm A lost 30 of 100 samples" in turned.sentence) == ("neither shown", True)


def test_an_arm_that_lost_more_is_better_where_its_losses_can_t_be_why() -> None:
    """Even had all failed that it lost; and one that is worse in spite of them stays so."""
    assert compared(["ppffffffff"] * 10, ["ppppppppmm"] * 10).better == "b"
    assert compared(["pppppppppp"] * 10, ["ppppffffmm"] * 10).better == "a"


def test_what_was_lost_is_held_against_an_arm_in_a_test_of_both_sides() -> None:
    """Of one case: 9 of 16 against 4 of 16 is p 0.04 one-sided, so that it shows nothing where it may go either way."""
    found = compared(["pppp" + "f" * 12], ["p" * 9 + "m" * 7])
    assert (found.unequal_loss, found.better, found.pairs[0].better) == (True, "neither shown", "neither shown")
    assert found.pairs[0].p_adjusted is not None
    assert found.pairs[0].p_adjusted < 0.05


def test_cases_that_one_arm_lost_whole_count_against_it() -> None:
    """All its hard cases missed, and the rest of them is better: nothing is shown."""
    found = compared(["pppppppppp"] * 5 + ["ppppffffff"] * 5, ["mmmmmmmmmm"] * 5 + ["pppppppppp"] * 5)
    assert found.better == "neither shown"


def test_an_equal_number_of_steps_is_no_change() -> None:
    """Means over different numbers of samples differ in their last digit, in each case alike: that is rounding."""
    steps = by_metric(compared(["pppppppppp"] * 10, ["pppppppmmm"] * 10))["steps"]
    assert (steps.change, steps.p, steps.better) == (0.0, 1.0, "neither shown")


@pytest.mark.parametrize(("n_a", "n_b"), [(10, 10), (20, 20), (12, 30)])
def test_one_case_could_have_seen_what_its_own_test_shows(n_a: int, n_b: int) -> None:
    """Counted out: the difference named is shown 4 times of 5, by the test that decides."""
    found = compared(["p" * n_a], ["p" * n_b])
    assert found.rate is not None
    assert found.rate.detectable is not None
    drop = found.rate.detectable

    def power(whole: int, falling: int) -> float:
        """Of an arm that always passes, over one that falls by the difference named."""
        shown = [compared(["p" * whole], ["p" * x + "f" * (falling - x)]).better == "a" for x in range(falling + 1)]
        return float(binom.pmf(range(falling + 1), falling, 1 - drop) @ np.array(shown))

    assert min(power(n_a, n_b), power(n_b, n_a)) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize(
    ("cases", "runs", "few"), [(1, "ppp", True), (1, "pppp", False), (5, "p", True), (6, "p", False)]
)
def test_too_few_samples_for_a_metric_say_so(cases: int, runs: str, few: bool) -> None:
    """Three times the steps: three runs against three can be dealt in 20 ways, five cases of one run in 32."""
    refs, old, new = arms([runs] * cases, [runs] * cases)
    more = {id: [replace(one, substituted=9) for one in own] for id, own in new.samples.items()}
    found = compare_arms(refs, old, replace(new, samples=more), primary="steps")
    assert ("so few samples can't show one, however large" in found.sentence) is few
    assert (found.better == "a") is not few


def test_four_cases_show_what_three_times_the_steps_are() -> None:
    """In this suite; of cases like these four signs can't tell, and changes that are all alike give no interval."""
    refs, old, new = arms(["pppppp"] * 4, ["pppppp"] * 4)
    more = {id: [replace(one, substituted=9 + one.index % 2) for one in own] for id, own in new.samples.items()}
    found = compare_arms(refs, old, replace(new, samples=more))
    steps = by_metric(found)["steps"]
    assert (steps.better, steps.p, steps.p_like) == ("a", 0.0001, 0.125)
    assert found.sentence.endswith("; steps +216 %, 209 to 223")
    assert (steps.low_like, steps.high_like) == (None, None)


def test_too_few_samples_are_not_said_to_show_nothing_at_all() -> None:
    """Four against four would show all against none, now and then."""
    found = compared(["p", "p", "p", "f"], ["f", "p", "p", "f"])
    assert found.sentence.endswith("too few samples to show even the largest difference 4 times of 5")


@pytest.mark.parametrize("runs", ["pp", "pppppp"])
def test_metrics_that_so_few_samples_can_not_show_are_named(runs: str) -> None:
    """Two runs against two can be dealt in six ways."""
    many, old, new = arms([runs], [runs])
    dear = {name: [replace(one, substituted=9) for one in several] for name, several in new.samples.items()}
    told = "so few samples can't show a difference of steps, however large"
    assert (told in compare_arms(many, old, replace(new, samples=dear)).notes) is (runs == "pp")
    assert told not in compare_arms(many, old, new).notes


def test_steps_of_equal_replays_are_facts() -> None:
    """A frozen case whose replays all take nine steps takes nine: no p-value has to show it."""
    cases, old, new = arms(["pp"], ["pp"], frozen=True)
    made = [
        replace(arm, samples={"c0": [replace(one, trace=arm.name, substituted=n) for one in arm.samples["c0"]]})
        for arm, n in ((old, 3), (new, 9))
    ]
    found = compare_arms(cases, *made)
    steps = by_metric(found)["steps"]
    assert steps.better == "a"
    assert [steps.low, steps.change, steps.high] == pytest.approx([2.0] * 3)
    assert found.sentence.endswith("; steps +200 %, 200 to 200")
    assert not [note for note in found.notes if "so few" in note]


def test_facts_that_cancel_out_are_no_change() -> None:
    """Frozen cases of 12, 10, 6 steps that take 12, 12, 5 now: what rounding leaves of the mean names no better arm."""
    cases, old, new = arms(["pp"] * 3, ["pp"] * 3, frozen=True)
    made = []
    for arm, counts in ((old, (12, 10, 6)), (new, (12, 12, 5))):
        named = zip(arm.samples.items(), counts, strict=True)
        equal = {
            name: [replace(one, trace=f"{arm.name}-{name}", substituted=n) for one in runs] for (name, runs), n in named
        }
        made.append(replace(arm, samples=equal))
    found = compare_arms(cases, *made)
    steps = by_metric(found)["steps"]
    assert found.deterministic
    assert (steps.better, steps.change) == ("neither shown", 0.0)
