"""JSON read piece by piece."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import UnreadableTrace
from evalkit.trace.json_reader import JsonReader

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def reader(data: bytes, size: int = 7) -> JsonReader:
    """A reader of blocks of `size` bytes."""
    return JsonReader((data[at : at + size] for at in range(0, len(data), size)), "f.json")


def walked(source: JsonReader, levels: int) -> Any:
    """The next value, walked into as deep as `levels`."""
    if levels and source.peek() == "{":
        return {key: walked(source, levels - 1) for key in source.members()}
    if levels and source.peek() == "[":
        return [walked(source, levels - 1) for _ in source.items()]
    return source.value()


@given(st.lists(VALUES, max_size=3), st.integers(1, 40), st.integers(0, 3), st.booleans(), st.sampled_from([None, 1]))
def test_values_are_read_as_they_were_written(
    values: list[Any], size: int, levels: int, as_ascii: bool, indent: int | None
) -> None:
    """However the stream is cut into blocks and however deep one walks, the values are those of the document."""
    data = "\n".join(json.dumps(value, ensure_ascii=as_ascii, indent=indent) for value in values).encode()
    source = reader(data, size)
    found = []
    while source.peek():
        found.append(walked(source, levels))
    assert found == values


@given(VALUES.filter(lambda value: isinstance(value, dict | list)), st.data())
def test_what_is_cut_off_is_refused(value: Any, data: st.DataObject) -> None:
    """A document that ends before its end is an error, at whatever byte."""
    text = json.dumps(value, ensure_ascii=False).encode()
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(UnreadableTrace, match=r"f\.json from byte"):
        walked(reader(cut), 2)


@pytest.mark.parametrize(
    "text", ['{"a": [1, NaN]}', '{"a": ["\\ud800"]}', '{"a": [1e999]}', '{"a": [1 2]}', '{"a" 1}', "{1: 2}", "[1,]"]
)
def test_the_rules_are_those_of_whole_documents(text: str) -> None:
    """What can't be kept exactly is refused with its place, as in a document that is parsed at once."""
    with pytest.raises(UnreadableTrace, match=r"f\.json from byte"):
        walked(reader(text.encode()), 2)


def test_a_mistake_ends_the_reading_there() -> None:
    """Broken JSON is refused where it stands; the rest of the stream is not read for it."""
    blocks = iter([b'[{"a": }' + b" " * 100, *[b"1" * 100] * 50])
    with pytest.raises(UnreadableTrace, match="from byte 7"):
        walked(JsonReader(blocks, "f.json"), 1)
    assert len(list(blocks)) == 50


def test_invalid_utf_8_is_refused() -> None:
    """Bytes that are no text are an error."""
    with pytest.raises(UnreadableTrace, match="invalid UTF-8"):
        reader(b'["a\xff"]', 3).value()
