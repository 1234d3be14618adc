"""The page of an A/B comparison."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from evalkit.report.ab_page import render_ab_html
from evalkit.report.trajectory import build_trajectory
from evalkit.verdict.ab import ABVerdict
from tests.report.build import refund_trace
from tests.report.test_html import HOSTILE, Page, packed_rows, unmarked
from tests.verdict.test_ab import compared


def verdict() -> ABVerdict:
    """Of thirty cases one is worse in B, one better, one lost in A; the others are alike."""
    a, b = ["p" * 20] * 30, ["p" * 20] * 30
    a[1], b[0], a[2] = "f" * 20, "f" * 20, "m" * 20
    return compared(a, b)


def test_cases_come_by_what_the_arms_came_to() -> None:
    """Worse ones first, then better ones, those not compared with the reason, the rest."""
    text = Page(render_ab_html(verdict())).text
    places = [text.index(word) for word in ("Worse in B", "Better in B", "Not compared", "which is not shown")]
    assert places == sorted(places)
    assert "not compared no sample of arm A came to a result" in text


def test_numbers_stand_beside_their_pictures() -> None:
    """Both rates, the difference with its interval, p, and what the slopes show, as text."""
    text = Page(render_ab_html(verdict())).text
    assert "A: 20 of 20" in text
    assert "B: 0 of 20" in text
    assert "-100 points" in text
    assert "1 case better in B (blue), 1 worse (orange, dashed)" in text
    assert "pass rate, this suite" in text


def test_what_was_not_compared_is_told() -> None:
    """A metric without numbers is no metric without a difference."""
    text = Page(render_ab_html(verdict())).text
    assert "cost, latency, tokens not compared: not both arms asked a live model" in text


def test_both_intervals_of_the_pass_rate_are_drawn_on_one_scale() -> None:
    """Else the narrow one would look as wide as the other."""
    found = verdict()
    assert found.rate is not None
    assert found.rate.low_like is not None
    narrow, wide = re.findall(r'class="b" d="M([\d.]+) 9H', render_ab_html(found))[:2]
    assert (70 - float(narrow)) / (70 - float(wide)) == pytest.approx(found.rate.low / found.rate.low_like, rel=0.1)


def test_where_the_arms_part_is_told() -> None:
    """The steps of both arms side by side, with the kind of the first divergence; and the arms' own reports."""
    runs = [
        ("passing replay of A (sample 1)", refund_trace("a", buggy=False)),
        ("failing replay of B (sample 1)", refund_trace("a", buggy=True)),
    ]
    page = Page(
        render_ab_html(
            verdict(), reports=("a/report.html", "b/report.html"), trajectories={"c0": build_trajectory(runs, 500)}
        )
    )
    assert (
        "Failing replay of B (sample 1) parts from the passing replay of A (sample 1) here: "
        "the model calls refund_order instead of lookup_order."
    ) in page.text
    links = [value for _, name, value in page.attributes if name == "href"]
    assert "a/report.html#case=c0" in links


def test_hostile_titles_and_arms_add_no_markup() -> None:
    """What an arm or a case is called is text, in the document and in the rows that are drawn on demand."""

    def made(text: str) -> tuple[Page, Page]:
        found = compared(["p" * 6] * 130, ["f" * 6] * 130)
        pairs = tuple(replace(pair, title=text, reason=text) for pair in found.pairs)
        html = render_ab_html(
            replace(found, a=text, b=text, sentence=text.replace("; ", " "), notes=(text,), pairs=pairs), stopped=text
        )
        return Page(html), Page("".join(packed_rows(html)))

    for hostile, harmless in zip(made(HOSTILE), made("x" * len(HOSTILE)), strict=True):
        assert sorted(unmarked(hostile)) == sorted(unmarked(harmless))
        assert not [name for _, name, _ in hostile.attributes if name.startswith("on") or name == "style"]


def test_a_comparison_of_nothing_has_a_page() -> None:
    """No case has results in both arms: it says so, and draws nothing."""
    page = Page(render_ab_html(compared(["m"], ["m"])))
    assert "Nothing could be compared" in page.text
    assert "figure" not in page.tags
