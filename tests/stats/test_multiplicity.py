"""Many cases at once: published adjusted p-values, and errors counted out."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise, permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.stats.binomial import binomial_pmf
from evalkit.stats.hypergeometric import passes_pmf
from evalkit.stats.multiplicity import Attainable, benjamini_hochberg, discrete_bh, holm, step_down
from evalkit.stats.two_sample import fisher_p

TABLE = st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(
    lambda n: st.tuples(st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1]))
)
TABLES = st.lists(TABLE, min_size=1, max_size=12)


def fisher_of(tables: list[tuple[int, int, int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """The p-values and the margins of some tables (x1, n1, x2, n2)."""
    p = np.array([fisher_p(*table) for table in tables])
    return p, np.array([(n1, n2, x1 + x2) for x1, n1, x2, n2 in tables])


def two_sided(x1: int, n1: int, x2: int, n2: int) -> tuple[float, np.ndarray]:
    """Fisher's two-sided p of a table, and all that its margins allow."""
    least, mass = passes_pmf(n1, n2, x1 + x2)
    p = np.array([mass[mass <= own * (1 + 1e-7)].sum() for own in mass])
    return float(p[x2 - least]), np.unique(p)


def test_a_p_value_that_rounding_left_below_an_attainable_one_is_that_one() -> None:
    """Another way to sum up a tail ends in another last digit."""
    p, margins = fisher_of([(10, 10, 5, 10), (9, 10, 8, 10)])
    below = p * (1 - 1e-14)
    assert step_down(below, margins) == pytest.approx(step_down(p, margins))
    assert discrete_bh(below, margins) == pytest.approx(discrete_bh(p, margins))


def test_holm_gives_p_adjust() -> None:
    """The 15 p-values of Benjamini and Hochberg 1995, adjusted as R's p.adjust does, in any order."""
    rest = [0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1]
    p = [0.0001, 0.0004, 0.0019, 0.0095, *rest]
    assert holm(p)[:4] == pytest.approx([0.0015, 0.0056, 0.0247, 0.114])
    assert holm(p[::-1])[::-1].tolist() == holm(p).tolist()


def test_benjamini_hochberg_gives_p_adjust() -> None:
    """The same 15 p-values, and the eight of a textbook example, adjusted as R's p.adjust does, in any order."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, *[1.0] * 10]
    assert benjamini_hochberg(p)[:5] == pytest.approx([0.0015, 0.003, 0.0095, 0.035625, 0.0603])
    assert benjamini_hochberg(p[::-1])[::-1].tolist() == benjamini_hochberg(p).tolist()
    eight = [0.005, 0.009, 0.019, 0.022, 0.051, 0.101, 0.361, 0.387]
    wanted = [0.036, 0.036, 0.044, 0.044, 0.082, 0.135, 0.387, 0.387]
    assert benjamini_hochberg(eight) == pytest.approx(wanted, abs=6e-4)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
@settings(max_examples=40, deadline=None)
def test_benjamini_hochberg_is_scipys(p: list[float]) -> None:
    """For independent and for any dependence."""
    assert benjamini_hochberg(p) == pytest.approx(scipy.stats.false_discovery_control(p))
    by = scipy.stats.false_discovery_control(p, method="by")
    assert benjamini_hochberg(p, dependence="any") == pytest.approx(by)


def test_discrete_bh_gives_the_vignette_of_discretefdr() -> None:
    """Nine tables with two-sided Fisher p-values: the adjusted values of DBH-SD, to eight digits, and of plain BH."""
    pairs = [(4, 0), (2, 0), (2, 1), (14, 3), (6, 2), (9, 1), (4, 2), (0, 2), (1, 2)]
    found = [two_sided(x1, 148, x2, 132) for x1, x2 in pairs]
    adjusted = discrete_bh([p for p, _ in found], Attainable([values for _, values in found], np.arange(9)))
    wanted = [0.25630985, 1, 1, 0.03819796, 0.51482782, 0.03819796, 1, 0.47895996, 1]
    assert adjusted == pytest.approx(wanted, abs=6e-9)
    plain = [0.37430072, 0.74976959, 1, 0.09570921, 0.51928737, 0.09570921, 0.77313633, 0.49804147, 0.77313633]
    assert benjamini_hochberg([p for p, _ in found]) == pytest.approx(plain, abs=6e-9)


def test_step_down_follows_its_formula() -> None:
    """1 - product of (1 - largest attainable p), over the case itself and all with a larger p, worked by hand."""
    p, margins = fisher_of([(9, 10, 3, 10), (10, 10, 2, 10), (10, 10, 10, 10)])
    one, two = 45 / 125970, (45 + 1200) / 125970
    assert p == pytest.approx([two, one, 1.0])
    assert step_down(p, margins) == pytest.approx([two, 1 - (1 - one) ** 2, 1.0])  # the second could have had `one` too
    assert step_down(p, margins, dependence="any") == pytest.approx([two, 2 * one, 1.0])


def test_cases_that_cannot_fail_the_gate_cost_nothing() -> None:
    """A thousand cases without a failure leave the one regression's p-value as it is."""
    p, margins = fisher_of([(10, 10, 3, 10)] + [(10, 10, 10, 10)] * 1000)
    assert step_down(p, margins)[0] == pytest.approx(p[0])
    assert discrete_bh(p, margins)[0] == pytest.approx(p[0] / (1 - p[0]))
    assert holm(p)[0] == 1.0


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_step_down_never_exceeds_holm(tables: list[tuple[int, int, int, int]]) -> None:
    """Raw p <= step-down <= step-down for any dependence <= Holm, and all stay probabilities."""
    p, margins = fisher_of(tables)
    chain = [p, step_down(p, margins), step_down(p, margins, dependence="any"), holm(p)]
    for lower, upper in pairwise(chain):
        assert (lower <= upper + 1e-9).all()
    assert (holm(p) <= 1).all()


@given(TABLES, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_of_cases_does_not_matter(tables: list[tuple[int, int, int, int]], random: object) -> None:
    """Shuffled cases keep their adjusted p-values, and a smaller p never has a larger adjusted one."""
    p, margins = fisher_of(tables)
    order = np.arange(len(p))
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    for adjust in (step_down, discrete_bh):
        adjusted = adjust(p, margins)
        assert adjust(p[order], margins[order]) == pytest.approx(adjusted[order], abs=1e-12)
        assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= -1e-12).all()


def test_step_down_never_exceeds_its_family_wise_error() -> None:
    """Three unchanged cases of four runs an arm: P(any adjusted p <= alpha) is at most alpha, by enumeration."""
    tables = [(x1, 4, x2, 4) for x1 in range(5) for x2 in range(5)]
    triples = list(combinations_with_replacement(range(25), 3))
    orders = np.array([len(set(permutations(triple))) for triple in triples])
    least = np.array([step_down(*fisher_of([tables[at] for at in triple])).min() for triple in triples])
    for rate in (0.3, 0.5, 0.7, 0.85, 0.95):
        arm = binomial_pmf(4, np.array([rate]))[0]
        mass = np.outer(arm, arm).ravel()[np.array(triples)].prod(axis=1) * orders
        assert mass.sum() == pytest.approx(1.0)
        for alpha in (0.05, 0.2):
            assert 0 < mass[least <= alpha].sum() <= alpha


def test_no_cases_give_no_p_values() -> None:
    """An empty list is adjusted to an empty list."""
    none = np.zeros((0, 3), dtype=np.int64)
    assert [len(found) for found in (holm([]), step_down([], none), discrete_bh([], none))] == [0, 0, 0]


def test_what_is_no_probability_is_refused() -> None:
    """NaN, percent and margins that don't fit are errors; a rounding step above 1 is not."""
    for p in ([float("nan")], [5.0], [-0.1]):
        with pytest.raises(InputError, match="p-values"):
            holm(p)
    with pytest.raises(InputError, match="2 cases for 1"):
        step_down([0.5], [(3, 3, 3), (3, 3, 3)])
    with pytest.raises(InputError, match="margins"):
        discrete_bh([0.5], [(3, 3, 7)])
    assert holm([1 + 1e-16, 0.5]).max() == 1.0
