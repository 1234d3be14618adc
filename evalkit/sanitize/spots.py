"""Surrogates and values as they stand in texts: found in any grouping, case or escape, and replaced in place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from evalkit.canonical import Json
from evalkit.sanitize.normal import joins
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.render import cased, render

__all__ = ["GAP", "GROUPED", "Spot", "Spots", "core_spots", "literal_spot", "replaced_in", "word_spots"]

GROUPED = frozenset({"phone", "card", "iban", "ssn", "national_id"})
"""Kinds whose values are written in groups."""

GAP = r"[ ().\-]{0,3}"
_LEAST_NUMBER = 1_000_000
"""Smaller JSON numbers are nobody's."""

T = TypeVar("T")


class Spot(NamedTuple, Generic[T]):
    """One thing to look for.

    Attributes:
        pattern: RE2 and `re` alike, no capturing group, case does not matter.
        word: the word of a name that it shows; empty for what shows a whole value.
        alone: whether letters and digits beside it make it something else.
        spell: what stands for a match, given what it is replaced by.
        core: the surrogate that it shows, in its normal form; empty for a value itself.
    """

    pattern: str
    word: str
    alone: bool
    spell: Callable[[T, str], str]
    core: str = ""


class Spots(Generic[T]):
    """Finds several things in one look. Of those that begin at one place, the one that was given first is found."""

    def __init__(self, several: Iterable[Spot[T]]) -> None:
        self.all = tuple({spot.pattern: spot for spot in reversed([*several])}.values())[::-1]  # the first of equals
        joined = "|".join(f"(?P<n{number}>{spot.pattern})" for number, spot in enumerate(self.all))
        self._exact = re.compile(joined, re.IGNORECASE)
        self._quick = _quick("|".join(spot.pattern for spot in self.all))

    def found(self, text: str) -> Iterator[tuple[Spot[T], re.Match[str]]]:
        """Each with its match, left to right."""
        if self.all and self._quick.search(text) is not None:
            for match in self._exact.finditer(text):
                spot = self.all[int((match.lastgroup or "n0")[1:])]
                if not (spot.alone and _joined(text, match)):
                    yield spot, match

    def replaced(self, text: str, by: T) -> str:
        """`text` with all of them replaced."""
        parts, at = [], 0
        for spot, match in self.found(text):
            parts += [text[at : match.start()], spot.spell(by, match[0])]
            at = match.end()
        return "".join((*parts, text[at:])) if parts else text


def core_spots(kind: Kind, core: str, new: Callable[[T], str]) -> Iterator[Spot[T]]:
    """A surrogate in its spellings."""

    def spell(by: T, like: str) -> str:
        return render(kind, new(by), like)

    if kind in GROUPED:
        # nine digits may stand in a longer number by chance; a phone number may follow its country code
        yield Spot(GAP.join(re.escape(char) for char in core), "", kind == "ssn", spell, core)
    else:
        yield Spot(re.escape(core).replace("@", "(?:@|%40)"), "", kind == "ip", spell, core)
    if kind == "phone":
        masked = re.escape(core[:3]) + r"\*{4}" + re.escape(core[-4:])
        yield Spot(masked, "", False, lambda by, _: _masked(new(by)), core)


def word_spots(word: str, core: str, new: Callable[[T], str]) -> Iterator[Spot[T]]:
    """The surrogate of one word of a name."""
    yield Spot(re.escape(core), word, False, lambda by, like: cased(new(by), like), core)
    yield from escaped_spots(word, core, new)


def escaped_spots(word: str, core: str, new: Callable[[T], str]) -> Iterator[Spot[T]]:
    """A surrogate with other letters than ASCII's, as JSON and URLs escape it."""
    if not core.isascii():
        escaped, percent = json.dumps(core)[1:-1], quote(core, safe="")
        yield Spot(re.escape(escaped), word, False, lambda by, _: json.dumps(new(by))[1:-1], core)
        yield Spot(re.escape(percent), word, False, lambda by, _: quote(new(by), safe=""), core)


def literal_spot(text: str, spell: Callable[[T, str], str], core: str = "") -> Spot[T]:
    """A text as it is."""
    return Spot(re.escape(text), "", False, spell, core)


def replaced_in(node: Any, text: Callable[[str], str]) -> Any:
    """A JSON value with every text in it replaced; containers are copied, keys and long numbers are looked at too."""
    if isinstance(node, str):
        return text(node)
    if isinstance(node, dict):
        return {text(key): replaced_in(item, text) for key, item in node.items()}
    if isinstance(node, list | tuple):
        return [replaced_in(item, text) for item in node]
    if type(node) is int and abs(node) >= _LEAST_NUMBER:
        return _number(node, text(str(node)))
    return node


def _number(number: int, new: str) -> Json:
    return int(new) if new.isdecimal() and new.isascii() else new if new != str(number) else number


def _masked(core: str) -> str:
    return f"{core[:3]}****{core[-4:]}"


def _joined(text: str, match: re.Match[str]) -> bool:
    start, end = match.span()
    return joins(text[max(0, start - 1) : start]) or joins(text[end : end + 1])


def _quick(pattern: str) -> Any:
    import re2  # lazy: a C++ library that only sanitizing needs

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return re2.compile(pattern, options=options)
