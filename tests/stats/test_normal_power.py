"""Power by the normal formula: R's numbers."""

from __future__ import annotations

import pytest

from evalkit.errors import InputError
from evalkit.stats.normal_power import normal_n_for_drop, normal_power


def test_normal_power_gives_power_prop_test() -> None:
    """R's power.prop.test, two-sided at 0.05: 50 runs at 0.5 and 0.75; and the runs for a power of 0.9."""
    assert normal_power(0.75, 0.5, 50, 0.025) == pytest.approx(0.7401659, abs=5e-8)
    assert normal_n_for_drop(0.75, 0.25, 0.025, 0.9) == pytest.approx(76.70693, abs=5e-6)


@pytest.mark.parametrize(("p", "drop", "runs"), [(1, 0.5, 9), (0.99, 0.1, 69), (0.95, 0.25, 28), (0.9, 0.2, 49)])
def test_runs_by_the_normal_formula(p: float, drop: float, runs: int) -> None:
    """At power 0.8 and a one-sided 0.05, rounded up."""
    found = normal_n_for_drop(p, drop)
    assert runs - 1 < found <= runs
    assert normal_power(p, p - drop, found) == pytest.approx(0.8)


def test_rates_without_chance() -> None:
    """1 against 0 is always shown with enough runs, never with too few; 1 against 1 never is."""
    assert normal_power(1, 0, 10) == 1.0
    assert normal_power(1, 0, 1) == 0.0
    assert normal_power(1, 1, 10) == 0.0


def test_questions_without_sense_are_refused() -> None:
    """Percent, drops above the rate, no runs."""
    with pytest.raises(InputError, match="rate"):
        normal_power(95, 70, 10)
    with pytest.raises(InputError, match="drop"):
        normal_n_for_drop(0.5, 0.6)
    with pytest.raises(InputError, match="runs"):
        normal_power(0.9, 0.8, 0)
