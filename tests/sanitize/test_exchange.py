"""Surrogates that are exchanged for others: in every spelling, of the same form, and nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from evalkit.sanitize.detect import Detector
from evalkit.sanitize.exchange import Exchange
from evalkit.sanitize.harvest import Harvester
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.register import Register, clashes
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.surrogate import Mint
from evalkit.trace.model import Step, Trace
from tests.sanitize.test_sanitizer_properties import KEY, PERSON, spread


def exchanged(sanitizer: Sanitizer) -> tuple[Exchange, dict[Any, str]]:
    """All surrogates that a sanitizer gave exchanged for further ones."""
    mint = Mint(bytes(32), register=Register([sanitizer.surrogates]))
    pairs = [(kind, one) for kind, tags in sanitizer.surrogates.items() for one in tags]
    moves: dict[Any, str] = {(kind, one): mint.another(kind, one) for kind, one in pairs}
    return Exchange(moves), moves


@settings(max_examples=100, deadline=None)
@given(PERSON.map(spread))
def test_no_old_surrogate_is_left(value: dict[str, Any]) -> None:
    """Grouped, in capitals, in URLs, JSON and Chinese text; and what comes out is surrogates again."""
    sanitizer = Sanitizer(Policy(), KEY)
    clean: Any = sanitizer.value(value)
    exchange, moves = exchanged(sanitizer)
    made = exchange.value(clean)
    assert exchange.value(made) == made
    text = json.dumps(made, ensure_ascii=False)
    for (kind, old), new in moves.items():
        assert old != new
        if kind not in ("account", "address", "custom"):  # which may have parts of their own: names, a bare number
            assert old not in text
    harvester = Harvester(Policy(), Detector(Policy()))
    harvester.node(made)
    assert harvester.take() == []


@settings(max_examples=100, deadline=None)
@given(PERSON)
def test_what_a_sanitizer_tells_is_believed(person: dict[str, Any]) -> None:
    """Of all kinds: a trace that another sanitizer made is met with the same surrogates in the record."""
    recorder = Sanitizer(Policy(), KEY)
    steps = (Step(0, "tool", "get", {}, recorder.value(person)),)
    trace = Trace("t", "a", "evalkit", steps, surrogates=recorder.surrogates)
    reader = Sanitizer(Policy(), KEY)
    (made,) = reader.sanitize([trace])
    assert (made.trace.steps, reader.surrogates) == (steps, recorder.surrogates)
    assert made.trace.surrogates == {}


@settings(max_examples=100, deadline=None)
@given(PERSON)
def test_a_trace_that_is_met_gives_way(person: dict[str, Any]) -> None:
    """Where other values have its surrogates already, it is as if its recorder had known."""
    recorder = Sanitizer(Policy(), KEY)
    steps = (Step(0, "tool", "get", {}, recorder.value(person)),)
    trace = Trace("t", "a", "evalkit", steps, surrogates=recorder.surrogates)
    taken = {
        kind: {core: f"{number:016x}" for number, core in enumerate(tags)} for kind, tags in recorder.surrogates.items()
    }
    reader = Sanitizer(Policy(), KEY, register=Register([taken]))
    (made,) = reader.sanitize([trace])
    assert [*clashes([("library", taken), ("case", reader.surrogates)])] == []
    later = Sanitizer(Policy(), KEY, register=Register([taken, reader.surrogates]))
    assert later.value(person) == made.trace.steps[0].output


@settings(max_examples=100, deadline=None)
@given(PERSON)
def test_a_record_meets_what_was_written(person: dict[str, Any]) -> None:
    """A sanitizer that starts from the new record gives the new surrogates for the raw values."""
    sanitizer = Sanitizer(Policy(), KEY)
    clean = sanitizer.value(person)
    exchange, _ = exchanged(sanitizer)
    told = exchange.surrogates(sanitizer.surrogates)
    assert Sanitizer(Policy(), KEY, register=Register([told])).value(person) == exchange.value(clean)


@pytest.mark.parametrize(
    "value",
    [
        {"card_number": "4111 1111 1111 1111", "last4": "1111", "said": "card ending in 1111"},
        {"phone": "13812345678", "said": "138****5678, +86 138-1234-5678"},
        {"phone": "+49 30 901820123", "said": "+49 (30) 901820123"},
        {"phone": "(212) 555-7890", "said": "+12125557890"},
        {"dob": "1990-04-05", "said": "born on April 5, 1990 or 1990年4月5日"},
        {"zip": 97205, "said": "zip 97205"},
        {"姓名": "张伟", "said": '{"name": "\\u5f20\\u4f1f"}'},
        {"address2": "Suite 217", "said": "to Suite 217"},
        {"passport": "E12345678", "said": "passport no. E12345678"},
        {"phone": 13812345678, "said": "电话：13812345678。"},
    ],
)
def test_spellings_stay_in_step(value: dict[str, Any]) -> None:
    """As if the value had been given the new surrogate from the start."""
    sanitizer = Sanitizer(Policy(), KEY)
    clean = sanitizer.value(value)
    exchange, _ = exchanged(sanitizer)
    told = exchange.surrogates(sanitizer.surrogates)
    made = exchange.value(clean)
    assert made != clean
    assert made == Sanitizer(Policy(), KEY, register=Register([told])).value(value)
