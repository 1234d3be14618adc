"""Texts cut again, objects patched, JSON spelled again: what a recorded stream is told by."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.wire.json_text import object_of, spell, spelling_of
from evalkit.wire.patch import difference, patched
from evalkit.wire.pieces import cut, token_lengths, tokens
from tests.wire.shapes import ANY

OBJECTS: Any = st.dictionaries(st.sampled_from("abcd"), ANY, max_size=4)


@given(st.text(), st.lists(st.integers(0, 9), min_size=1))
def test_a_text_is_cut_in_as_many_pieces_whatever_its_length(text: str, lengths: list[int]) -> None:
    """Nothing is lost and nothing added."""
    pieces = cut(text, lengths)
    assert len(pieces) == len(lengths)
    assert "".join(pieces) == text


@given(st.text())
def test_a_text_that_kept_its_length_is_cut_as_it_was(text: str) -> None:
    """The lengths of its pieces give the pieces."""
    assert cut(text, token_lengths(text)) == tokens(text)
    assert "".join(tokens(text)) == text


def test_a_longer_text_is_cut_at_the_same_fractions() -> None:
    """Each piece has its share."""
    assert cut("abcdefgh", [1, 3]) == ["ab", "cdefgh"]
    assert cut("ab", [0, 0]) == ["", "ab"]


@given(OBJECTS, OBJECTS)
def test_a_patch_makes_the_one_of_the_other(old: Any, new: Any) -> None:
    """Also where values are null, types differ, or nothing does."""
    patch = difference(old, new)
    again = patched(old, patch)
    assert again == new
    assert repr(sorted(again)) == repr(sorted(new))
    assert difference(new, new) == {}


@given(OBJECTS, ANY)
def test_no_patch_breaks(old: Any, patch: Any) -> None:
    """A patch comes from a file."""
    assert isinstance(patched(old, patch), dict)


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ('{"a":1}', None),
        ('{"a": 1, "b": "ü"}', "spaced"),
        ('{"b":"\\u00fc"}', "compact ascii"),
        ('{"a": 1, "b": "\\u00fc"}', "spaced ascii"),
        ('{"a":  1}', {"text": '{"a":  1}'}),
        ("no json", None),
        ("{}", None),
    ],
)
def test_arguments_are_spelled_as_the_model_spelled_them(text: str, spelling: Any) -> None:
    """Only an odd spelling costs the whole text."""
    assert spelling_of(text) == spelling
    assert spell(object_of(text), spelling) == text


def test_a_kept_text_that_means_something_else_is_not_believed() -> None:
    """The object leads."""
    assert spell({"a": 2}, {"text": '{"a":  1}'}) == '{"a":2}'
