"""Surrogates that are exchanged for others: in every spelling, of the same form, and nothing else changes."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings

from evalkit.sanitize.detect import Detector
from evalkit.sanitize.exchange import Exchange
from evalkit.sanitize.harvest import Harvester
from evalkit.sanitize.policy import KINDS, Policy
from evalkit.sanitize.ranges import check_number
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


TAG, OTHER = "a" * 16, "b" * 16


@pytest.mark.parametrize("kind", [*KINDS, "nickname"])
@pytest.mark.parametrize(
    "forged",
    [
        "lena.vogt@posteo.de",
        "4111 1111 1111 1111",
        "Lena Vogt 0123456789abEXAMPLE",
        "lena.vogt@posteo.de 0123456789abEXAMPLE",
        f"lena.vogt@posteo.de 91234567{check_number('lena.vogt@posteo.de 91234567', 10_000):04}",
        f"lena.vogt@posteo.de91234567{check_number('lena.vogt@posteo.de91234567', 10_000):04}",
        f"Lena Vogt 91234567{check_number('Lena Vogt 91234567', 10_000):04}",
    ],
)
def test_no_value_is_kept_for_a_surrogate(kind: str, forged: str) -> None:
    """Whoever forges a recorder's lines gets nothing but surrogates into the record, and hides nothing in the trace."""
    reader = Sanitizer(Policy(), KEY)
    trace = Trace("t", "a", "evalkit", (Step(0, "tool", "get", {"said": forged}, None),))
    (plain,) = Sanitizer(Policy(), KEY).sanitize([trace])
    (made,) = reader.sanitize([replace(trace, surrogates={kind: {forged: TAG}})])
    assert forged not in str(reader.surrogates)
    assert made.trace == plain.trace


CORES = {
    "birth_date": ["1850-13-05", "1850-02-30", "1850-01-02"],
    "postcode": ["ZZ99 ABCDEF", "00100-0000", "991234"],
    "address": ["0123456", "418 Lipilisapazi Street", "某天地玄黄路12号"],
    "ip": ["198.18.999.999", "2001:db8:::::", "198.18.1.2"],
    "phone": ["4000001234567890", "0001234567", "490001234567", "16012345678"],
    "account": ["某天地玄黄", "lipilisapazi", "lipilisapazi_12", "id912345675818"],
    "card": ["4000000000000", "4000001234567890"],
    "name": ["某天地玄黄", "lipilisapazi"],
}


@pytest.mark.parametrize("kind", CORES)
def test_forged_lines_break_nothing(kind: str) -> None:
    """Days that are none, one value with surrogates of several forms, one surrogate for two values."""
    said = " ".join(core for cores in CORES.values() for core in cores)
    for one, other in permutations(CORES[kind], 2):
        for told in ({kind: {one: TAG, other: TAG}}, {kind: {one: TAG}, "custom": {one: OTHER, other: TAG}}):
            trace = Trace("t", "a", "evalkit", (Step(0, "tool", "get", {"said": said}, None),), surrogates=told)
            reader = Sanitizer(Policy(), KEY)
            (made,) = reader.sanitize([trace])
            assert Sanitizer(Policy(), KEY).sanitize([made.trace])[0].trace == made.trace


def test_a_recorder_gives_a_value_one_surrogate() -> None:
    """Whoever tells many for one value moves none of them: to exchange them all would take minutes."""
    mails = [f"u{number:012x}@example.com" for number in range(3000)]
    step = Step(0, "tool", "get", {}, list(mails))
    reader = Sanitizer(Policy(), KEY)
    (made,) = reader.sanitize([Trace("t", "a", "evalkit", (step,), surrogates={"email": dict.fromkeys(mails, TAG)})])
    assert made.trace.steps == (step,)
    assert reader.surrogates == {"email": {mails[0]: TAG}}
