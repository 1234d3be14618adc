"""A large file's format is found by its beginning."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.trace.formats.protocol import SMALL_BYTES
from evalkit.trace.glimpse import beginning
from evalkit.trace.read import load_traces

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 10**6) | st.text(max_size=6) | st.sampled_from(['"', "\\", '[{"', "é"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
MESSAGE = {"role": "user", "name": "user", "content": "x" * 5000}


def is_start_of(part: Any, whole: Any) -> bool:
    """Whether one value is another that is cut off somewhere: its last member or item may be incomplete."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return list(part) == list(whole)[: len(part)] and all(is_start_of(part[key], whole[key]) for key in part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_start_of, part, whole))
    return bool(part == whole)


@given(st.lists(json_values) | st.dictionaries(st.text(max_size=4), json_values), st.data())
def test_a_beginning_holds_what_stands_there(value: Any, data: st.DataObject) -> None:
    """Whatever is cut off where: what is left is the beginning of the value, and all of it when nothing is cut off."""
    text = json.dumps(value, ensure_ascii=False).encode()
    cut = data.draw(st.integers(1, len(text)))
    assert is_start_of(beginning(text[:cut]), value)
    assert beginning(text) == value


@pytest.mark.parametrize("text", [b"", b"x", b"]", b"[}", b'{"a": nul, "b": 1', b"\n\x00[", b'"a"'])
def test_what_is_no_json_has_no_beginning(text: bytes) -> None:
    """Nothing is made up for what is no JSON, or neither object nor list."""
    assert beginning(text) is None


@pytest.mark.parametrize("late", [False, True])
def test_a_large_log_is_found_wherever_its_marks_stand(tmp_path: Path, late: bool) -> None:
    """A format is found by its marks in the first kilobytes, and all the same when they come after megabytes."""
    count = SMALL_BYTES // 5000 + 100
    history = {"history": [MESSAGE] * count}
    about = {"question": "Which?", "question_ID": "q-1"}
    path = tmp_path / "log"
    path.write_text(json.dumps({**history, **about} if late else {**about, **history}))
    (trace,) = load_traces(path)
    assert (trace.dialect, trace.id) == ("who-and-when", "q-1")


def test_binary_data_is_not_read_to_be_refused(tmp_path: Path) -> None:
    """What its head shows to be no text costs no memory, however large it is."""
    (tmp_path / "model.bin").write_bytes(b"[\x00\x01" + b"x" * 40_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(Exception, match="no format reads it"):
            list(load_traces(tmp_path / "model.bin"))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
