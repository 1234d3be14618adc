"""What `evalkit ab` prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.app.ab_model import ABRun
from evalkit.app.show_ab import ab_lines
from evalkit.verdict.ab import MetricChange
from tests.report.test_html import HOSTILE
from tests.verdict.test_ab import compared


def test_tables_stay_short_and_hold_no_escape_codes() -> None:
    """Case ids of eighty characters and reasons of any length give way; nothing of them is obeyed by a terminal."""
    found = compared(["p" * 8, "p" * 8, "m" * 8], ["f" * 8, "p" * 8, "p" * 8])
    pairs = tuple(replace(pair, case_id="c" * 80, reason=HOSTILE) for pair in found.pairs)
    run = ABRun(None, (Path("a"), Path("b")), True, replace(found, pairs=pairs, a=HOSTILE, b=HOSTILE))
    lines = list(ab_lines(run, 80))
    start = next(at for at, line in enumerate(lines) if line.startswith("pass rate"))
    table = [line for line in lines[start:] if not line.startswith("note: ")]
    assert len(table) > 4
    assert max(map(len, table)) <= 100  # the terminal's 80, and what numbers need beyond
    assert not [line for line in lines if any(ord(character) < 32 or character in "\x7f\u202e" for character in line)]


@pytest.mark.parametrize("width", [80, 60])
def test_no_number_is_cut(width: int) -> None:
    """In a log of 80 columns an interval ended in three dots; names and reasons give way, or the line is longer."""
    found = compared(["p" * 8, "p" * 8], ["f" * 8, "p" * 8])
    change = MetricChange("cost", "neither shown", 2, 0.0007164, 12345.6, 13.97, 11.2, 17.4, p=0.13, p_adjusted=0.39)
    pairs = tuple(replace(pair, case_id="c" * 80, reason="r" * 80) for pair in found.pairs)
    verdict = replace(found, pairs=pairs, metrics=(change,))
    text = "\n".join(ab_lines(ABRun(None, (Path("a"), Path("b")), True, verdict), width))
    assert "$0.0007164  $12,350" in text
    assert "+1,400 %, 1,120 to 1,740 " in text
    assert "8 of 8  0 of 8  -100 points, -100 to -" in text
