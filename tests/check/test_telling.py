"""Numbers that the agent tells the user."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.check.telling import numbers_in
from evalkit.errors import InputError
from evalkit.trace.model import Step
from tests.build import a_trace


def tells(text: str, *values: Any) -> bool:
    """Whether an agent that said `text` told the numbers."""
    said = Step(0, "model", "chat", {}, {"role": "assistant", "content": text})
    return judge_checks([Check("tells", {"values": [*values]})], a_trace(said))[0].passed


@pytest.mark.parametrize("text", ["You save $23,553 in total.", "23553", "**$23,553.00**", "(23553)", "It is 23,553."])
def test_a_number_is_found_however_it_is_written(text: str) -> None:
    """Separators, currency signs and trailing zeros say nothing."""
    assert tells(text, 23553)


@pytest.mark.parametrize("text", ["order 4-23553", "on 2024-05-04", "at 04:23", "HAT4", "4.5", "1,004", "v1.4", "44"])
def test_a_part_of_something_else_is_no_number(text: str) -> None:
    """Dates, times, identifiers and longer numbers hold digits, not the number."""
    assert not tells(text, 4)


@given(st.integers(0, 10**12))
def test_every_grouped_integer_is_read_back(value: int) -> None:
    """Reading undoes grouping by thousands."""
    assert list(numbers_in(f"The sum is {value:,}.")) == [float(value)]


def test_all_values_must_be_told() -> None:
    """The reason names the ones that were not."""
    said = Step(0, "model", "chat", {}, {"role": "assistant", "content": "5 and 7"})
    result = judge_checks([Check("tells", {"values": [5, 8.5]})], a_trace(said))[0]
    assert "expected the agent to say 8.50" in result.reason
    assert result.steps == (0,)


@pytest.mark.parametrize("values", [None, [], ["5"], [True]])
def test_values_must_be_numbers(values: Any) -> None:
    """An empty list would hold for every run."""
    with pytest.raises(InputError):
        judge_checks([Check("tells", {"values": values})], a_trace())
