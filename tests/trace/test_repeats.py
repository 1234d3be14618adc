"""The text of values that share objects is the text that they have by themselves."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.canonical import canonical, exact_text
from evalkit.errors import InputError
from evalkit.trace.repeats import Repeats

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.lists(st.dictionaries(st.sampled_from(["role", "content", "b"]), JSON, max_size=3), max_size=6)


def requests(talks: list[list[Any]], cuts: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Requests of several conversations in turns, each with all messages so far or fewer."""
    asked = [talks[which % len(talks)] for which, _ in cuts]
    return [
        {"step": at, "input": {"tools": [], "messages": talk[: count % (len(talk) + 1)], "n": 1.0}, "é": 2.0}
        for at, (talk, (_, count)) in enumerate(zip(asked, cuts, strict=True))
    ]


@given(
    st.lists(MESSAGES, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=8),
    st.lists(JSON, max_size=3),
)
def test_shared_messages_are_written_as_any(
    talks: list[list[Any]], cuts: list[tuple[int, int]], others: list[Any]
) -> None:
    """Conversations in any interleaving, lines and inputs, and values that are no requests."""
    lines = requests(talks, cuts)
    values: list[Any] = [*lines, *(line["input"] for line in lines), *others]
    shared, exact = Repeats(), Repeats(exact=True)
    beside = Repeats(beside=shared)
    for value in values:
        assert shared.text(value) == beside.text(value) == canonical(value)
        assert exact.text(value) == exact_text(value)
        assert shared.sha256(b"[1,", value, b"]") == sha256(b"[1,%b]" % canonical(value)).hexdigest()


@pytest.mark.parametrize("wrong", [{"messages": [float("nan")]}, {"messages": ["\ud800"]}, {"messages": [], 1: 2}])
def test_what_is_no_json_is_refused(wrong: Any) -> None:
    """As it is without sharing."""
    with pytest.raises(InputError):
        Repeats().text({"input": wrong})
