"""Very many texts in one piece of memory: found, and known of, as in lists and dictionaries."""

from __future__ import annotations

import random

import pytest

from evalkit.suite.met import Met
from evalkit.suite.packed import Digests
from evalkit.suite.texts import ByText, Texts, beside, joined

WORDS = ("b", "a", "é", "aa", "\N{SNOWMAN}", "", "\ud800", "z" * 300)


@pytest.mark.parametrize("words", [WORDS, sorted(WORDS), ("one",), ()])
def test_texts_are_a_list(words: tuple[str, ...]) -> None:
    """In any order, with any characters: by place, in a row, in parts."""
    texts = Texts(words)
    assert [*texts] == [*words]
    assert texts == [*words]
    assert texts[1:] == [*words[1:]]
    assert [texts[at] for at in range(-len(words), len(words))] == [*words, *words]


@pytest.mark.parametrize("words", [WORDS, sorted(WORDS)])
def test_a_text_is_found_in_any_order(words: tuple[str, ...]) -> None:
    """One after the other, again, at random, and not at all."""
    texts, rng = Texts(words), random.Random(7)
    asked = [*words, *words, *(word for word in words for _ in range(2)), *rng.choices(words, k=100)]
    assert [texts.find(word) for word in asked] == [words.index(word) for word in asked]
    assert texts.find("no") == -1
    assert "no" not in texts
    with pytest.raises(ValueError, match="'no' is not there"):
        texts.index("no")


def test_one_that_is_added_is_found() -> None:
    """Also after others were looked for."""
    texts = Texts("bc")
    assert texts.find("a") == -1
    texts.append("a")
    assert [texts.find(one) for one in "abc"] == [2, 0, 1]
    assert not texts.sorted


def test_what_is_known_of_texts_is_a_mapping() -> None:
    """Without those that nothing is known of."""
    known = ByText(Texts("cab"), [1, None, 0])
    assert known == {"c": 1, "b": 0}
    assert [*known] == ["c", "b"]
    assert len(known) == 2
    assert known.get("a") is None
    assert "other" not in known


def test_more_is_known_beside_it() -> None:
    """Packed where the first is, and the same as in dictionaries."""
    packed, plain = ByText(Texts("cab"), [1, 2, 3]), {"c": 1, "a": 2, "b": 3}
    assert beside(packed, [None, 5, 6]) == beside(plain, [None, 5, 6]) == {"a": 5, "b": 6}
    later = beside(packed, [None, 5, 6])
    assert joined(packed, later) == joined(plain, {"a": 5, "b": 6}) == {"c": 1, "a": 5, "b": 6}
    assert joined({}, later) == later


def test_digests_are_what_they_were() -> None:
    """In any spelling, and other texts among them."""
    told = ["ab" * 32, "AB" * 32, "", "no digest", "x", "00"]
    digests = Digests()
    assert [digests.add(told[:2]), digests.add(told[2:])] == [0, 2]
    assert [*digests] == told
    assert digests[1:3] == told[1:3]


def test_a_text_is_met_for_the_first_time_once() -> None:
    """As a set would tell."""
    met, known, rng = Met(), set[str](), random.Random(3)
    for _ in range(50):
        some = [str(rng.randrange(400)) for _ in range(rng.randrange(40))]
        fresh = [at for at, text in enumerate(some) if text not in known and text not in some[:at]]
        assert met.fresh(some) == fresh
        known.update(some)
