"""Numbers and long strings as people read them."""

from __future__ import annotations

from evalkit.report.text import cut, interval_text, json_text, p_text


def test_an_interval_is_in_whole_percents_but_for_its_ends() -> None:
    """Decimals only where whole percents would claim certainty."""
    assert interval_text(0.354, 0.9301) == "35–93%"
    assert interval_text(0.354, 0.9991) == "35–99.91%"


def test_a_tiny_p_is_not_zero() -> None:
    """No p value is shown as 0, and none as empty but for a missing one."""
    assert p_text(1e-9) == "<0.001"
    assert p_text(0.0214) == "0.021"
    assert p_text(None) == ""


def test_a_cut_tells_the_length() -> None:
    """What is left out is said."""
    assert cut("a" * 5000, 3) == "aaa… (5,000 characters)"
    assert cut("abc", 3) == "abc"


def test_json_that_has_no_canonical_form_is_still_shown() -> None:
    """A lone surrogate in a recorded value must not stop a report."""
    assert "udc00" in json_text({"a": "\udc00"})
