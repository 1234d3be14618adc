"""One project, many sanitizings: the surrogates of earlier ones seed the later ones, in any order."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.sanitize.policy import Policy
from evalkit.sanitize.register import Register, Surrogates, clashes, merged
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Step, Trace
from tests.sanitize.colliding import KEY, PAIRS, VALUES, Value

BATCHES = st.lists(st.lists(VALUES, min_size=1, max_size=4, unique=True), min_size=1, max_size=5)


def ingested(batch: list[Value], told: list[Surrogates]) -> tuple[dict[Value, str], Surrogates]:
    """What stands for each value of a batch, and what the case's record says, after the cases before it."""
    sanitizer = Sanitizer(Policy(), KEY, register=Register(told))
    given: list[Any] = [{field: value} for field, value in batch]
    (made,) = sanitizer.sanitize([Trace("t", "a", "evalkit", (Step(0, "tool", "get", {}, given),))])
    output: Any = made.trace.steps[0].output
    assert sanitizer.value(output) == output
    known = sanitizer.surrogates
    assert Sanitizer(Policy(), KEY, register=Register([known])).value(output) == output
    return {one: item[one[0]] for one, item in zip(batch, output, strict=True)}, known


def test_some_values_draw_the_same_surrogate() -> None:
    """The values of these tests would collide, each in a project of its own."""
    for field, pairs in PAIRS.items():
        assert pairs, field
        for left, right in pairs:
            (one,), (other,) = (ingested([(field, text)], [])[0].values() for text in (left, right))
            assert one == other


@settings(max_examples=120, deadline=None)
@given(BATCHES)
def test_a_project_tells_all_values_apart(batches: list[list[Value]]) -> None:
    """Whatever was ingested first: one value has one surrogate in all cases, and two values never share one."""
    told: list[Surrogates] = []
    seen: dict[Value, str] = {}
    for batch in batches:
        found, known = ingested(batch, told)
        told.append(known)
        for value, surrogate in found.items():
            assert seen.setdefault(value, surrogate) == surrogate
    assert len(set(seen.values())) == len(seen)
    assert [*clashes((str(at), known) for at, known in enumerate(told))] == []


@settings(max_examples=60, deadline=None)
@given(BATCHES, st.randoms(use_true_random=False))
def test_a_case_alone_knows_its_surrogates(batches: list[list[Value]], random: Any) -> None:
    """A replay knows its own case only: what the agent computes again meets what was recorded, alone or together."""
    told: list[Surrogates] = []
    for batch in batches:
        found, known = ingested(batch, told)
        told.append(known)
        replay = Sanitizer(Policy(), KEY, register=Register([known]))
        for field, text in random.sample(batch, len(batch)):
            assert replay.value({field: text}) == {field: found[field, text]}
            assert replay.fresh().value({field: text}) == {field: found[field, text]}


@settings(max_examples=80, deadline=None)
@given(BATCHES, BATCHES, BATCHES)
def test_two_branches_that_meet_are_told_apart(
    trunk: list[list[Value]], left: list[list[Value]], right: list[list[Value]]
) -> None:
    """What git joins disagrees exactly where a value has two surrogates, or a surrogate two values."""
    told: list[Surrogates] = []
    seen: dict[str, set[Value]] = {}
    held: dict[Value, set[str]] = {}
    for branch in (trunk, left, right):
        own = told[: len(trunk)]
        for batch in branch:
            found, known = ingested(batch, own)
            own.append(known)
            told.append(known)
            for value, surrogate in found.items():
                seen.setdefault(surrogate, set()).add(value)
                held.setdefault(value, set()).add(surrogate)
    differ = [*clashes((str(at), known) for at, known in enumerate(told))]
    shared = any(len(values) > 1 for values in seen.values())
    assert any(clash.shared for clash in differ) == shared
    if not shared:
        assert bool(differ) == any(len(surrogates) > 1 for surrogates in held.values())


@settings(max_examples=40, deadline=None)
@given(BATCHES, BATCHES)
def test_after_branches_met_nothing_new_is_shared(left: list[list[Value]], right: list[list[Value]]) -> None:
    """A value that shares its surrogate gets another one from then on, and what is new none of either."""
    told = [ingested(batch, [])[1] for batch in (*left, *right)]
    values = list(dict.fromkeys(value for batch in (*left, *right) for value in batch))
    found, _ = ingested(values, told)
    assert len(set(found.values())) == len(values)


def test_another_project_key_takes_no_surrogate_that_is_in_use() -> None:
    """Its tags are strange, but what they stand for is somebody."""
    free = {f"99{number:04}" for number in range(0, 10_000, 200)}
    taken = {"postcode": {one: "0" * 16 for number in range(10_000) if (one := f"99{number:04}") not in free}}
    found, _ = ingested([("zip", str(number)) for number in range(310_000, 310_020)], [taken])
    assert len(set(found.values()) & free) == 20


def test_a_derived_spelling_follows_the_surrogate_that_the_value_has() -> None:
    """Last four digits, E.164, masked, upper case, a name alone: all of the surrogate that the project knows."""
    whole: dict[str, Any] = {
        "phone": "138 1234 5678",
        "card_number": "4111 1111 1111 1111",
        "email": "mia.lindqvist@posteo.de",
        "name": "Mia Lindqvist",
    }
    first = Sanitizer(Policy(), KEY)
    first.value(whole)
    told = {
        kind: {surrogate: f"{number:016x}" for number, surrogate in enumerate(tags)}
        for kind, tags in first.surrogates.items()
    }
    second = Sanitizer(Policy(), KEY, register=Register([told]))  # all of them are other values'
    made: Any = second.value(whole)
    third = Sanitizer(Policy(), KEY, register=Register([told, second.surrogates]))
    again: Any = third.value(
        {
            **whole,
            "last4": "1111",
            "text": "+8613812345678, 138****5678, MIA.LINDQVIST@POSTEO.DE, card ending in 1111, Dear Lindqvist,",
        }
    )
    phone = made["phone"].replace(" ", "")
    assert {key: again[key] for key in whole} == made
    assert made["card_number"] != first.value({"card_number": "4111 1111 1111 1111"})["card_number"]  # type: ignore[call-overload, index]
    assert again["last4"] == made["card_number"][-4:]
    name = made["name"].split()[1]
    assert again["text"] == (
        f"+86{phone}, {phone[:3]}****{phone[-4:]}, {made['email'].upper()}, card ending in "
        f"{made['card_number'][-4:]}, Dear {name},"
    )


def test_records_are_merged_without_a_choice() -> None:
    """The first that was told keeps what two disagree about."""
    one, other = {"ip": {"198.18.0.1": "a"}}, {"ip": {"198.18.0.1": "b", "198.18.0.2": "c"}, "card": {"4": "d"}}
    assert merged(one, other) == {"card": {"4": "d"}, "ip": {"198.18.0.1": "a", "198.18.0.2": "c"}}
