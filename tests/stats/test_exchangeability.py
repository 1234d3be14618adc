"""Earlier against later runs: an exact test, and one that cares for order only."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from evalkit.stats.exchangeability import halves_p
from evalkit.stats.two_sample import fisher_p


def test_a_provider_that_changed_in_the_middle_is_noticed() -> None:
    """Twenty cases that pass five times and then fail once or twice of five; turned around it is as clear."""
    later = [[True, False, True, False, True], [True, False, True, True, True]]
    outcomes = [[True] * 5 + half for half in later] * 10
    assert halves_p(outcomes) < 1e-4
    assert halves_p([case[::-1] for case in outcomes]) == pytest.approx(halves_p(outcomes))


def test_cases_that_differ_are_no_change() -> None:
    """Cases of very different rates, each the same all the time."""
    assert halves_p([[True] * 8, [False] * 8, [True, False] * 4]) == 1.0


def test_one_case_is_fishers_test() -> None:
    """Twice its one-sided value; the middle run is a later one."""
    assert halves_p([[True, True, True, False, False, False, False]]) == pytest.approx(2 * fisher_p(3, 3, 0, 4))


def test_it_is_exact_over_all_orders() -> None:
    """Of all orders of four passes and three failures at most a tenth have a p of at most a tenth."""
    orders = sorted(set(permutations([True] * 4 + [False] * 3)))
    p = np.array([halves_p([order]) for order in orders])
    for alpha in (0.1, 0.3, 0.6):
        assert (p <= alpha).mean() <= alpha
    assert (p < 1).any()


def test_too_few_runs_show_nothing() -> None:
    """No cases, or single runs."""
    assert halves_p([]) == 1.0
    assert halves_p([[True], [False], []]) == 1.0
