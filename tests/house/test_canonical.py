"""Equal values have equal canonical texts, and only they."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.canonical import canonical, digest, same
from evalkit.errors import InputError

texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner),
    max_leaves=12,
)


@given(json_values)
def test_canonical_text_is_json_with_the_same_value(value: object) -> None:
    """Nothing is lost but the difference between 1 and 1.0."""
    assert json.loads(canonical(value)) == value  # type: ignore[arg-type]  # hypothesis gives object


@given(json_values)
def test_a_second_pass_changes_nothing(value: object) -> None:
    """The canonical text is a fixed point."""
    text = canonical(value)  # type: ignore[arg-type]  # hypothesis gives object
    assert canonical(json.loads(text)) == text


@pytest.mark.parametrize(
    ("left", "right"),
    [({"a": 1, "b": 2}, {"b": 2, "a": 1}), (1, 1.0), (-0.0, 0), (1e300, int(1e300)), ([2.0], [2])],
)
def test_equal_values_have_equal_texts(left: object, right: object) -> None:
    """Key order and number form say nothing."""
    assert canonical(left) == canonical(right)  # type: ignore[arg-type]  # parametrized as object
    assert digest(left) == digest(right)  # type: ignore[arg-type]  # parametrized as object


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (False, 0),
        (None, 0),
        ("1", 1),
        (2**64, 2**64 + 1),
        (2**53, 2**53 + 1),
        ("\u00e9", "e\u0301"),
        ("", None),
    ],
)
def test_different_values_have_different_texts(left: object, right: object) -> None:
    """No two order ids, however long, are taken for one another."""
    assert not same(left, right)  # type: ignore[arg-type]  # parametrized as object


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1: 2}, {"a": {1, 2}}, (1, 2), b"x", "\ud800", 10**400], ids=repr
)
def test_what_is_no_json_is_refused(value: object) -> None:
    """A value that has no JSON text is an error, never a guess."""
    with pytest.raises(InputError):
        canonical(value)  # type: ignore[arg-type]  # wrong on purpose


def test_depth_is_bounded() -> None:
    """A hostile nesting ends in a typed error, not in a crash."""
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InputError, match="deeper"):
        canonical(value)  # type: ignore[arg-type]  # list is invariant
