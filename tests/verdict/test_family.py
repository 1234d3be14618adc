"""Many cases at once: which test counts, and that "better" is "worse" with the arms turned round."""

from __future__ import annotations

import numpy as np
import pytest

from evalkit.stats.multiplicity import holm, step_down
from evalkit.stats.two_sample import fisher_p, regression_p
from evalkit.verdict.family import Counts, regressions

TABLES: list[Counts] = [(20, 20, 6, 10), (18, 20, 9, 9), (30, 40, 4, 10), (5, 20, 9, 10), (60, 60, 20, 20)]


@pytest.mark.parametrize("cases", [1, 3, 4, 5])
def test_better_is_worse_with_the_arms_turned_round(cases: int) -> None:
    """Whatever the arms' numbers of samples."""
    found = regressions(TABLES[:cases])
    turned = regressions([(x2, n2, x1, n1) for x1, n1, x2, n2 in TABLES[:cases]])
    for one, other in zip(found, turned, strict=True):
        assert (one.better, one.better_adjusted) == pytest.approx((other.worse, other.worse_adjusted))


def test_up_to_three_cases_the_sharper_test_of_one_case_counts() -> None:
    """E+M with Holm's correction; from four on Fisher's with the discrete step-down of cases that may fail together."""
    few, many = TABLES[:3], TABLES[:4]
    alone = [regression_p(*table) for table in few]
    assert [one.worse for one in regressions(few)] == pytest.approx(alone)
    assert [one.worse_adjusted for one in regressions(few)] == pytest.approx(holm(alone))
    alone = [fisher_p(*table) for table in many]
    margins = np.array([(n1, n2, x1 + x2) for x1, n1, x2, n2 in many])
    assert [one.worse for one in regressions(many)] == pytest.approx(alone)
    assert [one.worse_adjusted for one in regressions(many)] == pytest.approx(
        step_down(alone, margins, dependence="any")
    )
    assert regressions([]) == []
