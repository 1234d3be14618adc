"""JSON from outside: exact or refused."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.json_input import MAX_DEPTH, json_or_text, parse_json, parse_json_lines

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**40), max_value=10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def typed(value: Json) -> object:
    """The value with the types of its numbers, so that 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return (type(value).__name__, value)


@given(JSON, st.booleans())
def test_what_the_standard_library_writes_is_read_unchanged(value: Json, ascii_only: bool) -> None:
    """Any JSON value comes back equal and of the same types, integers of any size included."""
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    try:
        text.decode()
    except UnicodeDecodeError:
        return
    assert typed(parse_json(text, "f")) == typed(value)


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**19, 10**300, -(10**18), 12345678901234567890123])
def test_integers_beyond_64_bits_stay_exact(number: int) -> None:
    """An order id of twenty digits is not rounded to a float."""
    found = parse_json(f'{{"id": {number}}}'.encode(), "f")
    assert found == {"id": number}
    assert isinstance(found, dict)
    assert isinstance(found["id"], int)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": NaN}', "NaN or infinity, which JSON has not, at byte 6"),
        (b"[-Infinity]", "NaN or infinity, which JSON has not, at byte 2"),
        (b"[1e999]", "infinity"),
        (b'["\\ud800"]', "lone surrogate in the string at byte 2"),
        (b'["ab\xff"]', "invalid UTF-8 at byte 4"),
        (b'\xef\xbb\xbf["ab\xff"]', "invalid UTF-8 at byte 7"),
        (b'["\xed\xa0\x80"]', "invalid UTF-8 at byte 2"),
        ('{"ü": x}'.encode(), "at byte 7"),
        (b"", "not JSON"),
        (b"[" * 100_000, "deeper than 200"),
        (b"[" * 100_000 + b"]" * 100_000, "deeper than 200"),
    ],
)
def test_what_is_not_exact_json_is_refused_with_its_place(data: bytes, said: str) -> None:
    """NaN, surrogates, broken UTF-8 and bottomless nesting end in a typed error that names the byte."""
    with pytest.raises(UnreadableTrace) as caught:
        parse_json(data, "trace.json")
    assert said in caught.value.what
    assert caught.value.where == "trace.json"


@pytest.mark.parametrize(("depth", "allowed"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False), (1000, False)])
def test_depth_is_limited_at_200(depth: int, allowed: bool) -> None:
    """Two hundred levels are read, one more is refused, whether arrays or objects."""
    for text in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
        if allowed:
            parse_json(text, "f")
        else:
            with pytest.raises(UnreadableTrace, match="deeper than 200"):
                parse_json(text, "f")


def test_brackets_in_strings_are_not_depth() -> None:
    """A flat value with many brackets in its text is read."""
    assert parse_json(json.dumps(["[" * 1000]).encode(), "f") == ["[" * 1000]


def test_one_byte_order_mark_is_stripped() -> None:
    """A file saved by a Windows editor is read; a second mark is an error."""
    assert parse_json(b"\xef\xbb\xbf{}", "f") == {}
    with pytest.raises(UnreadableTrace):
        parse_json(b"\xef\xbb\xbf\xef\xbb\xbf{}", "f")


def test_a_bad_line_is_named_by_its_number() -> None:
    """The place of an error in JSON Lines is file and line; blank lines count, but hold nothing."""
    lines = parse_json_lines([b"{}\n", b"\n", b"[1,\n"], "f.jsonl")
    assert next(lines) == ("f.jsonl:1", {})
    with pytest.raises(UnreadableTrace) as caught:
        next(lines)
    assert caught.value.where == "f.jsonl:3"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (" [1]", [1]),
        ("42", "42"),
        ("null", "null"),
        ('"words"', '"words"'),
        ("[NaN]", "[NaN]"),
        ("{broken", "{broken"),
        ("[" * 300 + "]" * 300, "[" * 300 + "]" * 300),
        ('{"a": "\ud800"}', '{"a": "\ud800"}'),
    ],
)
def test_only_objects_and_arrays_in_a_text_are_parsed(text: str, value: Json) -> None:
    """A tool's ``42`` stays the text it was, and what breaks the rules stays text."""
    assert json_or_text(text) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Hostile bytes raise the typed error and nothing else; what is read is finite."""
    try:
        value = parse_json(data, "f")
    except UnreadableTrace:
        return
    assert not isinstance(value, float) or math.isfinite(value)
