"""What is said of a whole suite against its baseline."""

from __future__ import annotations

import pytest

from evalkit.suite.model import Sample, Suite
from evalkit.suite.select import CaseRef
from evalkit.verdict.baseline import Baseline, BaselineInfo, checks_digest
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
    assert OPPOSED not in effect_sentence(effect(-0.008, 1e-7))
    assert OPPOSED not in effect_sentence(effect(0.008, 0.9))


def screened(letters: dict[str, str]) -> SuiteEffect:
    """Cases of a screened suite as they came to passes and failures, against 60 passes of 60 each."""
    cases = [CaseRef("/p", case_id, 1, "", "proposed", "t", "s", "", ()) for case_id in letters]
    counts = dict.fromkeys(letters, (60, 60, checks_digest(())))
    base = Baseline(BaselineInfo("r", "s", "a", "w", "now"), counts, ())
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


def test_the_exact_test_takes_no_sample_that_suspicion_added() -> None:
    """Failures that only suspects had the chance to show don't make the suite worse."""
    first = {"suspect": "ppffp", **{f"quiet-{at}": "p" * 5 for at in range(9)}}
    assert screened({**first, "suspect": first["suspect"] + "f" * 30}).p_worse == screened(first).p_worse
