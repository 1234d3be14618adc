"""The trend of a suite: what changed, when, and what was new that night."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.suite.texts import ByText, Texts
from evalkit.verdict.history import Night
from evalkit.verdict.trend import news, trend_of


def nights(*counts: dict[str, tuple[int, int]]) -> list[Night]:
    """A night for each; the run's number is in its id."""
    return [
        Night(
            f"run-{at}",
            f"2026-03-{at + 1:02d}T04:00:00Z",
            sum(passed for passed, _ in cases.values()),
            sum(n for _, n in cases.values()),
            0.0,
            cases,
        )
        for at, cases in enumerate(counts)
    ]


def test_a_case_that_broke_is_named_with_its_night() -> None:
    """And what was new then; a case that is flaky all the time is not."""
    every = nights(*({"broken": (20 if at < 6 else 11, 20), "flaky": (17, 20)} for at in range(12)))
    every = [replace(night, models=("old",) if at < 6 else ("new",)) for at, night in enumerate(every)]
    found = trend_of(every)
    assert [(one.case_id, one.night, one.run_id) for one in found.cases] == [("broken", 6, "run-6")]
    assert found.cases[0].news == ("model old → new",)
    assert found.cases[0].p <= 0.05
    assert [one.night for one in found.suite] == [6]


def test_a_case_that_was_mended_shows_both_changes() -> None:
    """It fell, and it rose."""
    found = trend_of(nights(*({"a": (5 if 5 <= at < 10 else 20, 20)} for at in range(15))))
    assert [(one.night, one.after < one.before) for one in found.cases] == [(5, True), (10, False)]


def test_a_new_failing_case_is_no_change_of_the_suite() -> None:
    """The suite's rate falls, but not that of the cases that it always had."""
    found = trend_of(nights(*({"old": (20, 20), **({"new": (2, 20)} if at > 5 else {})} for at in range(12))))
    assert found.shared == 1
    assert found.suite == found.cases == ()
    assert found.rates[11] is not None
    assert found.rates[11].rate == (1 + 0.1) / 2
    assert "1 new case" in news(found.nights[5], found.nights[6])


def test_steady_nights_show_nothing() -> None:
    """Two hundred cases that fail now and then: no list of suspects."""
    import numpy as np

    rng = np.random.default_rng(7)
    counts = rng.binomial(20, 0.95, (10, 200)).tolist()
    found = trend_of(nights(*({f"c{at}": (x, 20) for at, x in enumerate(row)} for row in counts)))
    assert found.cases == ()


def test_nothing_is_said_of_nothing() -> None:
    """No nights, one night, nights without samples."""
    assert trend_of([]).suite == ()
    assert trend_of(nights({"a": (3, 10)})).cases == ()
    empty = trend_of(nights({"a": (0, 0)}, {"a": (0, 0)}))
    assert (empty.rates, empty.cases) == ((None, None), ())


def test_nights_that_stopped_early_are_told_by_their_unbiased_rates() -> None:
    """In the table and on both sides of a change; the counts are as they were."""
    every = nights(*({"a": (20 if at < 6 else 11, 20), "b": (20, 20)} for at in range(12)))
    every = [replace(night, estimates={"a": (0.9 if at < 6 else 0.7, 0.01)}) for at, night in enumerate(every)]
    found = trend_of(every)
    assert found.rates[0] is not None
    assert found.rates[0].rate == pytest.approx(0.95)
    assert found.rates[0].low < 0.95 < found.rates[0].high
    assert [(round(one.before, 9), round(one.after, 9)) for one in found.suite] == [(0.95, 0.85)]
    assert [(one.case_id, round(one.before, 9), round(one.after, 9)) for one in found.cases] == [("a", 0.9, 0.7)]


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.sampled_from([(0, 0), (3, 20), (19, 20)])), max_size=14))
def test_nights_as_they_are_read_have_the_same_trend(each: list[dict[str, tuple[int, int]]]) -> None:
    """However the cases come and go, held packed and shared between nights or not."""
    plain = nights(*each)
    known = Texts()
    packed = []
    for night in plain:
        ids = Texts(night.cases)
        known = known if known.same(ids) else ids
        packed.append(replace(night, cases=ByText(known, night.cases.values())))
    found, wanted = trend_of(packed), trend_of(plain)
    assert (found.rates, found.shared, found.suite, found.cases) == (
        wanted.rates,
        wanted.shared,
        wanted.suite,
        wanted.cases,
    )
    for earlier, later in pairwise(range(len(plain))):
        assert news(packed[earlier], packed[later]) == news(plain[earlier], plain[later])
