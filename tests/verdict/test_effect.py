"""What is said of a whole suite against its baseline."""

from __future__ import annotations

from math import log

import pytest

from evalkit.check.model import checks_digest
from evalkit.stats.mover import mover_interval
from evalkit.stats.suite import cmh_p
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Sample, Suite
from evalkit.verdict.baseline import Baseline, BaselineInfo
from evalkit.verdict.compare import case_verdicts
from evalkit.verdict.effect import OPPOSED, effect_sentence, suite_effect
from evalkit.verdict.model import SuiteEffect
from evalkit.verdict.plans import make_plans


def effect(difference: float, p_worse: float) -> SuiteEffect:
    """An effect over some cases."""
    return SuiteEffect(250, difference, (difference - 0.005, difference + 0.005), (-0.02, 0.03), p_worse)


def test_a_test_against_the_mean_shows_nothing() -> None:
    """Bad cases with more samples than the others weigh more in the test than in the mean."""
    assert effect_sentence(effect(0.008, 1e-7)).endswith(OPPOSED)
    assert effect_sentence(effect(0.0, 0.05)).endswith(OPPOSED)
    assert OPPOSED not in effect_sentence(effect(-0.008, 1e-7))
    assert OPPOSED not in effect_sentence(effect(0.008, 0.9))


def screened(letters: dict[str, str]) -> SuiteEffect:
    """Cases of a screened suite as they came to passes and failures, against 60 passes of 60 each."""
    cases = [CaseRef("/p", case_id, 1, "", "proposed", "t", "s", "", ()) for case_id in letters]
    counts = dict.fromkeys(letters, (60, 60, checks_digest(())))
    base = Baseline(BaselineInfo("r", "s", "a", "w", "now"), counts)
    plans = make_plans(Suite("s", mode="live-model", screening=True), cases, dict.fromkeys(letters, (60, 60)))
    samples = {
        case_id: [Sample(case_id, 1, at, "passed" if letter == "p" else "failed") for at, letter in enumerate(own)]
        for case_id, own in letters.items()
    }
    found = suite_effect(case_verdicts(cases, samples, plans, base, frozen=False))
    assert found is not None
    return found


def test_a_suspect_counts_in_the_suite_as_if_nobody_had_suspected_it() -> None:
    """One of its first five failed, thirty fresh samples passed: 0.8 is what a look without suspicion saw."""
    found = screened({"suspect": "ppfpp" + "p" * 30, **{f"quiet-{at}": "p" * 5 for at in range(9)}})
    assert found.difference == pytest.approx((0.8 - 1) / 10)
    assert found.this_suite[0] < found.difference < found.this_suite[1]


def test_the_exact_test_is_one_of_the_screening_and_one_of_the_fresh_samples() -> None:
    """Fisher's product of both, each against its own part of the baseline of 60: 20 put aside, and the other 40."""
    quiet = {f"quiet-{at}": "p" * 5 for at in range(9)}
    for failed in (0, 1, 10):
        product = cmh_p([20], [20], [3], [5]) * cmh_p([40], [40], [30 - failed], [30])
        found = screened({"suspect": "ppffp" + "f" * failed + "p" * (30 - failed), **quiet})
        assert found.p_worse == pytest.approx(product * (1 - log(product)))


def test_a_suspicion_that_was_not_followed_up_counts_as_far_as_it_goes() -> None:
    """A run that its budget ended after the screening has no second step."""
    quiet = {f"quiet-{at}": "p" * 5 for at in range(9)}
    p = float(cmh_p([20], [20], [3], [5]))
    assert screened({"suspect": "ppffp", **quiet}).p_worse == pytest.approx(p * (1 - log(p)))


def test_a_suite_of_one_case_has_the_interval_of_that_case() -> None:
    """Made of two exact ones; its early stop makes the one by estimated variances too short."""
    case = CaseRef("/p", "c", 1, "", "proposed", "t", "s", "", ())
    base = Baseline(BaselineInfo("r", "s", "a", "w", "now"), {"c": (45, 50, checks_digest(()))})
    plans = make_plans(Suite("s", mode="live-model"), [case], {"c": (45, 50)})
    outcomes = "ppppfpppfpppppppppfpppppppppppfppppppppp"
    samples = [Sample("c", 1, at, "passed" if one == "p" else "failed") for at, one in enumerate(outcomes)]
    found = suite_effect(case_verdicts([case], {"c": samples}, plans, base, frozen=False))
    assert found is not None
    low, high = mover_interval(45, 50, outcomes.count("p"), len(outcomes))
    assert found.this_suite == (min(low, found.difference), max(high, found.difference))
