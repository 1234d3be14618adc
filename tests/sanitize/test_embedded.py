"""Texts inside texts come back in their own style."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.sanitize.embedded import decoded_pieces, parse_nested, rewrite_pieces, serialize_like

VALUE = {"name": "é张", "list": [1, 2.5, None, True], "inner": {"a": "b"}}


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("style", [{}, {"separators": (",", ":")}, {"indent": 2}, {"indent": 4}, {"indent": "\t"}])
def test_json_keeps_its_style(style: dict[str, Any], ascii_only: bool) -> None:
    """Spacing, indent and escapes are those of the original, so that an unchanged value gives the same text."""
    text = json.dumps(VALUE, ensure_ascii=ascii_only, **style)
    assert serialize_like(parse_nested(text), parse_nested(text), text) == text


def test_white_space_around_json_stays() -> None:
    """Only the JSON itself is written anew."""
    assert serialize_like({"a": 2}, {"a": 1}, ' {"a":1}\n') == ' {"a":2}\n'


@pytest.mark.parametrize(
    "text", ["", "{", "hello", "[1,", "12", "null", '{"a": NaN}', "[" * 100_000, "[" + "9" * 5000 + "]"]
)
def test_what_is_no_nested_json_is_plain_text(text: str) -> None:
    """Broken, hostile or scalar JSON is not taken apart, and nothing is raised."""
    assert parse_nested(text) is None


def test_percent_encoded_parts_are_rewritten_decoded() -> None:
    """A part that changes is encoded again; all others stay to the letter."""
    text = "https://x.io/a%2fb?q=mia%40acme.com&r=50%&s=Mia+Li%21"
    assert rewrite_pieces(text, lambda piece: piece.replace("mia@acme.com", "u@example.com")) == text.replace(
        "mia%40acme.com", "u%40example.com"
    )
    assert "mia@acme.com" in decoded_pieces(text)
    assert "Mia Li!" in decoded_pieces(text)


@given(st.text(max_size=60))
def test_a_rewrite_that_changes_nothing_gives_the_text_itself(text: str) -> None:
    """Decoding and encoding never alter what is not replaced."""
    assert rewrite_pieces(text, lambda piece: piece) == text


def test_half_a_surrogate_pair_in_nested_text_is_a_question_mark() -> None:
    """Text that was cut inside of an emoji's escape is still looked through, and can be written."""
    assert parse_nested('{"mail": "a\\u0040b.org \\ud83d"}') == {"mail": "a@b.org ?"}
    assert parse_nested('"\\ud83d\\ude00"') == "😀"
