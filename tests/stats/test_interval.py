"""Intervals for one rate: published numbers, and coverage counted out."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.stats.binomial import binomial_pmf
from evalkit.stats.interval import (
    clopper_pearson,
    clopper_pearson_table,
    cp_lower,
    cp_upper,
    jeffreys,
    midp,
    midp_table,
    wilson,
    wilson_corrected,
    zero_failure_bound,
)

COUNTS = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LEVELS = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])


def coverage(table: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """P(the interval holds the rate), by enumeration, for each rate."""
    inside = (table[:, 0] <= rates[:, None]) & (rates[:, None] <= table[:, 1])
    covered: np.ndarray = (binomial_pmf(len(table) - 1, rates) * inside).sum(axis=1)
    return covered


@pytest.mark.parametrize(
    ("x", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_newcombes_table(x: int, n: int, low: float, high: float) -> None:
    """The score intervals are those of Newcombe 1998, Table I."""
    assert wilson(x, n) == pytest.approx((low, high), abs=5.1e-5)


def test_wilson_gives_prop_test() -> None:
    """The score interval is that of R's prop.test without correction."""
    assert wilson(3, 10) == pytest.approx((0.1077913, 0.6032219), abs=1e-7)


def test_corrected_wilson_gives_prop_test() -> None:
    """R's prop.test as it is by default, with continuity correction; the ends are closed, and it is the wider one."""
    assert wilson_corrected(3, 10) == pytest.approx((0.08094782, 0.64632928), abs=5e-9)
    assert wilson_corrected(0, 10)[0] == 0.0
    assert wilson_corrected(10, 10)[1] == 1.0
    assert wilson_corrected(9, 10)[0] < wilson(9, 10)[0] < wilson(9, 10)[1] < wilson_corrected(9, 10)[1]


@pytest.mark.parametrize(
    ("x", "n", "level", "low", "high"),
    [
        (682, 925, 0.95, 0.7076683, 0.7654066),
        (3, 50, 0.99, 0.006872485, 0.202706269),
        (20, 100, 0.95, 0.1266555521, 0.2918426891),
    ],
)
def test_clopper_pearson_gives_binom_test(x: int, n: int, level: float, low: float, high: float) -> None:
    """The exact intervals are those of R's binom.test."""
    assert clopper_pearson(x, n, level) == pytest.approx((low, high), abs=5e-8)


def test_one_sided_bound_gives_binom_test() -> None:
    """Ten of ten passes show a rate of at least 0.741, as R's binom.test says; so do no failures of ten, mirrored."""
    assert cp_lower(10, 10, 0.05) == pytest.approx(0.7411344, abs=5e-8)
    assert cp_upper(0, 10, 0.05) == pytest.approx(1 - 0.7411344, abs=5e-8)


@pytest.mark.parametrize(
    ("x", "n", "low", "high"),
    [(1, 29, 0.001725, 0.158538), (15, 148, 0.06005, 0.15814), (81, 263, 0.25441, 0.36577)],
)
def test_midp_gives_exactci(x: int, n: int, low: float, high: float) -> None:
    """The mid-P intervals are those of R's exactci, within its tolerance."""
    assert midp(x, n) == pytest.approx((low, high), abs=3e-5)


@pytest.mark.parametrize("n", [1, 10, 20, 5000])
def test_midp_has_its_closed_form_at_the_ends(n: int) -> None:
    """All passed: the lower limit is (1 - level)^(1/n); none passed: its mirror image."""
    assert midp(n, n) == pytest.approx((0.05 ** (1 / n), 1.0), abs=1e-12)
    assert midp(0, n) == pytest.approx((0.0, 1 - 0.05 ** (1 / n)), abs=1e-12)


def test_midp_of_many_runs_needs_no_table() -> None:
    """Just above the size up to which a table is made, the limits are those of the table."""
    assert midp(990, 1001) == pytest.approx(tuple(midp_table(1001)[990]), abs=1e-14)


@pytest.mark.parametrize(("x", "low", "high"), [(0, 0, 0.292), (1, 0.016, 0.501), (2, 0.065, 0.648), (3, 0.139, 0.766)])
def test_jeffreys_gives_the_published_table(x: int, low: float, high: float) -> None:
    """The intervals for n = 7 are those of Brown, Cai and DasGupta 2001."""
    assert jeffreys(x, 7) == pytest.approx((low, high), abs=5.1e-4)


@given(st.integers(1, 60), LEVELS)
@settings(max_examples=30, deadline=None)
def test_clopper_pearson_covers_at_least_its_level(n: int, level: float) -> None:
    """No rate is covered less often than promised."""
    assert coverage(clopper_pearson_table(n, level), np.linspace(0, 1, 301)).min() >= level - 1e-9


@pytest.mark.parametrize("n", [5, 10, 20, 50, 100])
def test_midp_covers_nearly_its_level(n: int) -> None:
    """Mid-P covers 0.95 on average and never less than 0.91: it is to be shown, not to decide."""
    covered = coverage(midp_table(n), np.linspace(0, 1, 1999)[1:-1])
    assert covered.min() >= 0.91
    assert 0.95 <= covered.mean() <= 0.98


@given(COUNTS, LEVELS)
@settings(max_examples=60, deadline=None)
def test_intervals_are_mirror_images(counts: tuple[int, int], level: float) -> None:
    """Counting failures instead of passes gives the same interval, mirrored, and it holds the seen rate."""
    x, n = counts
    for interval in (midp, clopper_pearson, wilson, wilson_corrected, jeffreys):
        low, high = interval(x, n, level)
        mirrored = interval(n - x, n, level)
        assert (1 - high, 1 - low) == pytest.approx(mirrored, abs=1e-9)
        assert 0 <= low <= high <= 1
        if n:
            assert low - 1e-12 <= x / n <= high + 1e-12


@given(COUNTS, LEVELS)
@settings(max_examples=60, deadline=None)
def test_tables_hold_what_single_calls_give(counts: tuple[int, int], level: float) -> None:
    """A row of a table is the interval of that count, and rows rise with the count."""
    x, n = counts
    assert tuple(clopper_pearson_table(n, level)[x]) == pytest.approx(clopper_pearson(x, n, level), abs=1e-12)
    assert tuple(midp_table(n, level)[x]) == pytest.approx(midp(x, n, level), abs=1e-12)
    assert (np.diff(midp_table(n, level), axis=0) >= 0).all()


def test_without_runs_nothing_is_known() -> None:
    """No runs: from 0 to 1, by every method."""
    assert {interval(0, 0) for interval in (midp, clopper_pearson, wilson, wilson_corrected, jeffreys)} == {(0.0, 1.0)}
    assert (cp_lower(0, 0, 0.05), cp_upper(0, 0, 0.05)) == (0.0, 1.0)


def test_tables_are_read_only() -> None:
    """A shared table can't be changed by who gets it."""
    for table in (midp_table(4), clopper_pearson_table(4)):
        with pytest.raises(ValueError, match="read-only"):
            table[0, 0] = 1.0


@pytest.mark.parametrize(("x", "n"), [(-1, 3), (4, 3), (0, -1), (3, float("inf")), (float("nan"), 3)])
def test_impossible_counts_are_refused(x: int, n: int) -> None:
    """More passes than runs, fewer than none, or endless many: an error and no interval."""
    for interval in (midp, clopper_pearson, wilson, wilson_corrected, jeffreys):
        with pytest.raises(InputError):
            interval(x, n)


def test_parts_of_a_run_are_refused() -> None:
    """Half a pass is none; Wilson's interval alone takes an effective number of runs."""
    for interval in (midp, clopper_pearson, wilson_corrected, jeffreys):
        with pytest.raises(InputError, match="count"):
            interval(2.5, 5)  # type: ignore[arg-type]  # wrong on purpose
    assert wilson(2.5, 5)[0] > 0


def test_all_kinds_of_whole_numbers_are_counts() -> None:
    """Those of NumPy, the small ones too, true for one, and whole floats."""
    for one in (np.int32(1), np.uint8(1), True, 1.0, np.float64(1)):
        assert midp(one, 3) == midp(1, 3)  # type: ignore[arg-type]  # beyond what is typed
        assert clopper_pearson(one, 3) == clopper_pearson(1, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, float("nan")])
def test_impossible_levels_are_refused(level: float) -> None:
    """A level of 95 instead of 0.95 is an error."""
    for interval in (midp, clopper_pearson, wilson, wilson_corrected, jeffreys):
        with pytest.raises(InputError, match="level"):
            interval(1, 3, level)


def test_the_import_loads_no_numerics() -> None:
    """Importing the module loads neither NumPy nor SciPy: commands that compute nothing don't pay for them."""
    code = "import sys, evalkit.stats.interval; print(sorted({'numpy', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(("n", "bound"), [(5, 0.451), (10, 0.259), (59, 0.0495), (299, 0.0100), (0, 1.0)])
def test_bounds_after_no_failure(n: int, bound: float) -> None:
    """The exact bound on the failure rate; without runs nothing is known."""
    assert zero_failure_bound(n) == pytest.approx(bound, abs=5e-4)


def test_the_success_run_rule() -> None:
    """59 runs without a failure are the first to show 95% at a level of 95%, 299 to show 99%, 29 to show 90%."""
    for n, share in ((59, 0.05), (299, 0.01), (29, 0.1)):
        assert zero_failure_bound(n) <= share < zero_failure_bound(n - 1)
