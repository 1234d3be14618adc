"""A whole suite, two arms: published numbers, and tails counted out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import chdtrc

from evalkit.errors import InputError
from evalkit.stats.hypergeometric import passes_pmf
from evalkit.stats.interval import wilson
from evalkit.stats.mean_rate import effective_runs, suite_rate
from evalkit.stats.suite import (
    cluster_t_interval,
    cmh_p,
    differences,
    like_these_interval,
    this_suite_interval,
)
from evalkit.stats.two_sample import fisher_p

TABLE = st.tuples(st.integers(1, 30), st.integers(1, 30)).flatmap(
    lambda n: st.tuples(st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1]))
)
TABLES = st.lists(TABLE, min_size=1, max_size=30)
RABBITS = [(0, 6, 0, 5), (3, 6, 0, 6), (6, 6, 2, 6), (5, 6, 6, 6), (2, 2, 5, 5)]

Tables = list[tuple[int, int, int, int]]


def columns(tables: Tables) -> list[list[int]]:
    """x1, n1, x2, n2 of some tables."""
    return [list(column) for column in zip(*tables, strict=True)]


def convolved(tables: Tables) -> float:
    """The exact stratified p-value by plain convolution."""
    total, least = np.ones(1), 0
    for x1, n1, x2, n2 in tables:
        smallest, mass = passes_pmf(n1, n2, x1 + x2)
        total, least = np.convolve(total, mass), least + smallest
    return float(total[: sum(table[2] for table in tables) - least + 1].sum())


def test_cmh_gives_the_rabbits_of_r() -> None:
    """R's mantelhaen.test(Rabbits, exact = TRUE, alternative = "greater")."""
    assert cmh_p(*columns(RABBITS)) == pytest.approx(0.01997245179, abs=1e-11)


def test_margins_give_the_asymptotic_cmh_too() -> None:
    """R's mantelhaen.test(Rabbits), with continuity correction: from the means and variances of the margins."""
    off, variance = -0.5, 0.0
    for x1, n1, x2, n2 in RABBITS:
        least, mass = passes_pmf(n1, n2, x1 + x2)
        count = least + np.arange(len(mass))
        off += float(mass @ count) - x2
        variance += float(mass @ (count - mass @ count) ** 2)
    assert chdtrc(1, off**2 / variance) == pytest.approx(0.04747225514, abs=1e-11)


def test_cmh_of_either_direction() -> None:
    """R's mantelhaen.test(Rabbits, exact = TRUE), two-sided; it doesn't matter which arm comes first."""
    x1, n1, x2, n2 = columns(RABBITS)
    assert cmh_p(x1, n1, x2, n2, alternative="two-sided") == pytest.approx(0.03994490358, abs=1e-11)
    assert cmh_p(x2, n2, x1, n1, alternative="two-sided") == pytest.approx(0.03994490358, abs=1e-11)
    assert cmh_p([5], [10], [5], [10], alternative="two-sided") == 1.0


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_cmh_is_the_convolution(tables: Tables) -> None:
    """The transform gives what adding case by case gives."""
    assert cmh_p(*columns(tables)) == pytest.approx(min(max(convolved(tables), 1e-12), 1.0), abs=1e-12)


@given(TABLE)
def test_cmh_of_one_case_is_fisher(table: tuple[int, int, int, int]) -> None:
    """One stratum: Fisher's test."""
    assert cmh_p(*[[count] for count in table]) == pytest.approx(max(fisher_p(*table), 1e-12), abs=1e-12)


def test_cmh_sees_a_small_loss_in_many_cases() -> None:
    """One pass fewer in each of 40 cases is clear in the suite and nothing in one case; tiny values have a floor."""
    tables = [(10, 10, 9, 10)] * 40
    assert fisher_p(*tables[0]) == pytest.approx(0.5)
    assert cmh_p(*columns(tables)) == pytest.approx(0.5**40, abs=1.01e-12)
    assert cmh_p(*columns(tables[:20])) == pytest.approx(0.5**20, abs=1e-12)


def test_the_window_holds_a_large_suite() -> None:
    """Three thousand equal cases with nothing lost and nothing won: p is a half and half of the middle value."""
    tables = [(8, 10, 7, 10), (7, 10, 8, 10)] * 1500
    worse, better = cmh_p(*columns(tables)), cmh_p(*columns([(x2, n2, x1, n1) for x1, n1, x2, n2 in tables]))
    assert worse == pytest.approx(better, abs=1e-9)
    assert 0.5 < worse < 0.51


def test_the_window_holds_rare_failures() -> None:
    """Ten cases in which a failure of the candidate has one chance in 160, and six such failures: 1.2e-11."""
    tables = [(159, 159, 0, 1)] * 6 + [(158, 159, 1, 1)] * 4
    assert convolved(tables) == pytest.approx(1.2e-11, rel=0.05)
    assert cmh_p(*columns(tables)) == pytest.approx(convolved(tables), abs=1e-12)


def test_differences_are_candidate_less_baseline() -> None:
    """A loss is negative."""
    assert differences([10, 4], [10, 8], [7, 5], [10, 5]).tolist() == pytest.approx([-0.3, 0.5])


@pytest.mark.parametrize(("cases", "runs"), [(5, 5), (20, 10)])
def test_this_suite_interval_covers_its_level(cases: int, runs: int) -> None:
    """With cases of very different rates, a few of which broke, the true mean difference is nearly always inside."""
    rng = np.random.default_rng(20_261_129)
    held = []
    for _ in range(400):
        before = np.where(rng.random(cases) < 0.8, 0.995, rng.beta(18, 2, cases))
        after = np.where(rng.random(cases) < 0.1, np.maximum(before - 0.4, 0), before)
        n = np.full(cases, runs)
        low, high = this_suite_interval(rng.binomial(runs, before), n, rng.binomial(runs, after), n)
        held.append(low <= (after - before).mean() <= high)
    assert np.mean(held) >= 0.93


@given(TABLES)
@example([(1, 1, 0, 1)])
@settings(max_examples=60, deadline=None)
def test_this_suite_interval_holds_the_mean_and_mirrors(tables: Tables) -> None:
    """The seen mean difference is inside, and swapping the arms mirrors the interval."""
    x1, n1, x2, n2 = columns(tables)
    low, high = this_suite_interval(x1, n1, x2, n2)
    assert -1 <= low <= high <= 1
    assert low - 1e-12 <= differences(x1, n1, x2, n2).mean() <= high + 1e-12
    assert this_suite_interval(x2, n2, x1, n1) == pytest.approx((-high, -low), abs=1e-9)


def test_knowing_the_cases_makes_the_interval_narrower() -> None:
    """Cases that always pass or always fail leave little to chance, but never nothing."""
    sure = this_suite_interval([10, 10, 0, 0], [10] * 4, [10, 10, 0, 0], [10] * 4)
    mixed = this_suite_interval([5, 5, 5, 5], [10] * 4, [5, 5, 5, 5], [10] * 4)
    assert 0 < sure[1] - sure[0] < (mixed[1] - mixed[0]) / 2
    one_run_each = this_suite_interval([1, 1, 0, 0], [1] * 4, [1, 1, 0, 0], [1] * 4)
    assert one_run_each[1] - one_run_each[0] > mixed[1] - mixed[0]


def test_cluster_t_is_students_interval() -> None:
    """Student's sleep data (R's sleep): mean 1.58, interval 0.7001142 to 2.4598858."""
    extra = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    assert cluster_t_interval(extra) == pytest.approx((0.7001142, 2.4598858), abs=5e-8)


def test_cases_of_one_group_count_as_one() -> None:
    """Repeating every case in its group changes nothing; one label a case is the plain interval."""
    values = [0.1, -0.2, 0.05, 0.3]
    plain = cluster_t_interval(values)
    assert cluster_t_interval(values, groups=["a", "b", "c", "d"]) == pytest.approx(plain)
    assert cluster_t_interval(values * 3, groups=["a", "b", "c", "d"] * 3) == pytest.approx(plain)
    assert cluster_t_interval(values, groups=["a"] * 4) == (-np.inf, np.inf)
    assert cluster_t_interval([]) == (-np.inf, np.inf)


def test_suites_that_cannot_be_compared_are_refused() -> None:
    """No cases, a case without runs, more passes than runs, labels that don't fit: errors."""
    for arguments in (([], [], [], []), ([0], [0], [1], [1]), ([2], [1], [1], [1]), ([1, 1], [1, 1], [1], [1])):
        with pytest.raises(InputError):
            cmh_p(*arguments)
    for part in (0.5, float("nan"), float("inf")):
        with pytest.raises(InputError, match="whole"):
            cmh_p([part], [1], [1], [1])
    with pytest.raises(InputError):
        cluster_t_interval([0.1, 0.2], groups=["a"])
    with pytest.raises(InputError):
        cluster_t_interval([0.1, float("nan")])


def test_each_case_weighs_the_same_in_a_suites_rate() -> None:
    """However many runs it had; one case alone has Wilson's interval."""
    rate, low, high = suite_rate([90, 1], [100, 2])
    assert rate == pytest.approx(0.7)
    assert low < 0.7 < high
    assert suite_rate([9], [10]) == pytest.approx((0.9, *wilson(9, 10)))


def test_cases_that_all_differ_alike_promise_nothing_of_others() -> None:
    """Two that did not change say little, two hundred say more; no rate leaves its range."""
    assert like_these_interval([0.0, 0.0]) == pytest.approx((-0.7764, 0.7764), abs=1e-4)
    assert like_these_interval([0.0] * 200) == pytest.approx((-0.01487, 0.01487), abs=1e-5)
    assert like_these_interval([-1.0] * 3) == pytest.approx((-1.0, -1 + 2 * (1 - 0.05 ** (1 / 3))))
    assert like_these_interval([0.3]) == (-1.0, 1.0)
    varied = [0.1, -0.1, 0.2, 0.0]
    assert like_these_interval(varied) == pytest.approx(cluster_t_interval(varied))


def test_effective_runs_are_those_of_one_case_that_varies_as_the_mean_does() -> None:
    """Two cases of ten runs, one sure and one even: 0.75 varies as 27 runs do. Never fewer than with equal rates."""
    (mean, runs), _ = effective_runs([10, 5], [10, 10], [9, 9], [10, 10])
    variance = 0.5 * 0.5 / 9 / 4
    assert (mean, runs) == pytest.approx((0.75, 0.75 * 0.25 / variance))
    assert effective_runs([5, 5], [10, 10], [9, 9], [10, 10])[0] == pytest.approx((0.5, 20.0))


def test_effective_runs_of_estimated_rates_go_by_their_variances() -> None:
    """One that is not known counts as that of the mean; as sure as all cases with the fewest runs is the least."""
    known, unknown = {0: (0.5, 0.02)}, {0: (0.5, None)}
    (_, runs), (_, without) = effective_runs([40, 10], [50, 10], [40, 10], [50, 10], estimated=(known, unknown))
    assert runs == pytest.approx(0.75 * 0.25 / (0.02 / 4))
    assert without == pytest.approx(20.0)
    assert without > 0.75 * 0.25 / (0.75 * 0.25 / 4)
