"""The geometry of dots and intervals."""

from __future__ import annotations

import re
from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from evalkit.report.picture import MAX_DOTS, TRACK, draw_dots, draw_interval
from evalkit.suite.model import Outcome
from tests.report.build import LETTERS, sample_of, verdict_of


def dots_of(letters: str) -> list[list[float]]:
    """The x positions of passed, failed, missed and errored dots."""
    found = draw_dots([LETTERS[letter] for letter in letters])
    positions: list[list[float]] = []
    for path in (found.passed, found.failed, found.missed, found.errored):
        positions.append([])
        for x, y, end in re.findall(r"M(\d+) (\d+)(?:H([\d.]+))?", path):
            last = float(end) if end else float(x)
            positions[-1] += [(int(y) // 8) * 160 + at for at in range(int(x), int(last) + 1, 8)]
    return positions


@given(st.text("pfme", min_size=1, max_size=MAX_DOTS))
def test_each_sample_has_one_dot_in_its_place(letters: str) -> None:
    """Twenty a line, in the order of the samples, each in its outcome's path."""
    expected = [[4 + (at // 20) * 160 + at % 20 * 8 for at, x in enumerate(letters) if x == o] for o in "pfme"]
    assert dots_of(letters) == expected


def test_too_many_samples_have_no_dots() -> None:
    """Beyond sixty only counts are shown."""
    found = draw_dots(["passed"] * (MAX_DOTS + 1))
    assert not any(getattr(found, field.name) for field in fields(found))


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 20))
def test_the_interval_lies_on_the_track_around_its_point(passed: int, failed: int, base: int) -> None:
    """Nothing is drawn outside the picture, and the rate lies within its interval."""
    outcomes: list[Outcome] = ["passed"] * passed + ["failed"] * failed  # type: ignore[assignment]
    samples = [sample_of("a", at, outcome, "") for at, outcome in enumerate(outcomes)]
    found = draw_interval(verdict_of("a", samples, False, (base, 20), "no change shown", None, "", ""))
    assert bool(found.bar) == bool(samples)
    for bar, point in ((found.bar, found.point), (found.base_bar, found.base_point)):
        if bar:
            low, high = map(float, re.findall(r"[MH]([\d.]+)", bar))
            at = float(re.findall(r"M([\d.]+)", point)[0])
            assert 0 <= low <= at + 0.1
            assert at - 0.1 <= high <= TRACK
