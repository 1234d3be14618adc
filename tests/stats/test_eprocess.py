"""Evidence at any time: errors counted out over all runs up to a far end."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from evalkit.errors import InputError
from evalkit.stats.eprocess import audit, log_evidence
from evalkit.stats.stopping import StoppingPlan, characteristics


def looked_at_always(p_good: float, p_bad: float, alpha: float, beta: float, runs: int) -> StoppingPlan:
    """The audit after every run, as a plan."""
    looks = tuple(range(1, runs + 1))
    passes, fails = [], []
    for n in looks:
        evidence = log_evidence(np.arange(n + 1), np.full(n + 1, n), p_good, p_bad)
        passes.append(int(np.count_nonzero(evidence <= log(beta))) - 1)
        fails.append(int(np.count_nonzero(evidence < -log(alpha))))
    return StoppingPlan(looks, tuple(passes), tuple(fails))


@pytest.mark.parametrize(("p_good", "p_bad", "good", "bad"), [(0.99, 0.9, 40.6, 24.8), (0.95, 0.8, 30.8, 23.5)])
def test_looking_after_every_run_keeps_both_errors(p_good: float, p_bad: float, good: float, bad: float) -> None:
    """Over 400 runs, each looked at: errors below 0.05 at and beyond both rates, mean runs as known."""
    plan = looked_at_always(p_good, p_bad, 0.05, 0.05, 400)
    found = characteristics(plan, [1 - p_good, 1 - p_bad, (1 - p_good) / 2, 1.2 * (1 - p_bad)])
    assert found.failed[[0, 2]].max() <= 0.05
    assert found.passed[[1, 3]].max() <= 0.05
    assert found.expected_runs[:2] == pytest.approx((good, bad), abs=0.6)


def test_evidence_is_fair_where_nothing_is_to_be_found() -> None:
    """Its mean after one run is 1 at the good rate, less for a better one; the inverse's likewise at the bad rate."""
    failed, passed = (exp(log_evidence(failures, 1, 0.95, 0.8)) for failures in (1, 0))
    assert 0.05 * failed + 0.95 * passed == pytest.approx(1.0)
    assert 0.01 * failed + 0.99 * passed < 1.0
    assert 0.2 / failed + 0.8 / passed == pytest.approx(1.0)
    assert 0.3 / failed + 0.7 / passed < 1.0


def test_the_audit_names_the_first_run_that_shows_it() -> None:
    """0.99 against 0.90: 32 passes show the good rate, two failures at once the bad one; little shows nothing."""
    assert audit([True] * 40, 0.99, 0.9) == ("PASS", 32)
    assert audit([False, False, *[True] * 500], 0.99, 0.9) == ("FAIL", 2)
    assert audit([True] * 31, 0.99, 0.9) == ("RUN_ON", None)
    assert audit([], 0.99, 0.9) == ("RUN_ON", None)


def test_an_audit_without_sense_is_refused() -> None:
    """Reversed rates, errors in percent, more failures than runs."""
    with pytest.raises(InputError, match="p_bad"):
        audit([True], 0.8, 0.9)
    with pytest.raises(InputError, match="alpha"):
        audit([True], 0.9, 0.8, alpha=5)
    with pytest.raises(InputError, match="failures"):
        log_evidence([3], [2], 0.9, 0.8)
