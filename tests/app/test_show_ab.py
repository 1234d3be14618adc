"""What `evalkit ab` prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.app.ab_model import ABRun
from evalkit.app.show_ab import ab_lines
from tests.report.test_html import HOSTILE
from tests.verdict.test_ab import compared


@pytest.mark.parametrize("width", [80, 60])
def test_tables_fit_the_terminal_and_hold_no_escape_codes(width: int) -> None:
    """Case ids of eighty characters and reasons of any length give way; nothing of them is obeyed by a terminal."""
    found = compared(["p" * 8, "p" * 8, "m" * 8], ["f" * 8, "p" * 8, "p" * 8])
    pairs = tuple(replace(pair, case_id="c" * 80, reason=HOSTILE) for pair in found.pairs)
    run = ABRun(None, (Path("a"), Path("b")), True, replace(found, pairs=pairs, a=HOSTILE, b=HOSTILE))
    lines = list(ab_lines(run, width))
    start = next(at for at, line in enumerate(lines) if line.startswith("pass rate"))
    table = [line for line in lines[start:] if not line.startswith("note: ")]
    assert len(table) > 4
    assert max(map(len, table)) <= width
    assert not [line for line in lines if any(ord(character) < 32 or character in "\x7f\u202e" for character in line)]
