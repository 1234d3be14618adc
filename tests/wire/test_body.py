"""JSON bodies, exactly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.wire.body import dump_json, parse_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(JSON)
def test_values_survive(value: Any) -> None:
    """Integers of any size and texts of any kind come back as they were."""
    assert parse_json(dump_json(value)) == value


@pytest.mark.parametrize(
    ("body", "value"),
    [(b"123456789012345678901234567890", 123456789012345678901234567890), (b'"\\ud800"', "\ud800"), ("[1]", [1])],
)
def test_what_orjson_can_not_read_is_read(body: bytes | str, value: Any) -> None:
    """Long integers are exact, and lone surrogates are text."""
    assert parse_json(body) == value
    assert parse_json(dump_json(value)) == value


@pytest.mark.parametrize(
    "body", [b"", b"{", b"NaN", b"[1234567890123456789012, NaN]", b"\xff", b"[" * 100_000, b"[" * 100_000 + b"1" * 20]
)
def test_what_is_no_json_is_a_value_error(body: bytes) -> None:
    """So are NaN, torn bodies and nesting without end."""
    with pytest.raises(ValueError):  # noqa: PT011  # the type is the contract
        parse_json(body)
