"""Texts inside texts come back in their own style."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalkit.sanitize.embedded import parse_nested, serialize_like
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer

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


def test_half_a_surrogate_pair_in_nested_text_is_a_question_mark() -> None:
    """Text that was cut inside of an emoji's escape is still looked through, and can be written."""
    assert parse_nested('{"mail": "a\\u0040b.org \\ud83d"}') == {"mail": "a@b.org ?"}
    assert parse_nested('"\\ud83d\\ude00"') == "😀"


def test_a_doubled_key_in_nested_json_hides_nothing() -> None:
    """A parser would drop the first value, and leave it in the text."""
    sanitizer = Sanitizer(Policy(), bytes(32))
    written = str(sanitizer.value('{"password": "hunter2secretX9", "password": ""}'))
    assert "hunter2" not in written
    assert parse_nested('{"a": 1, "a": 2, "a": 3}') == {"a": 1, "a ": 2, "a  ": 3}
