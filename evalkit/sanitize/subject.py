"""Somebody who is to be forgotten: how to know them in what was written, and how to take them out.

A surrogate follows from a value by the project key, so whoever has the key can say which surrogates a name, an e-mail
or an id has, and look for them; where another value had it first, the cases' records say which one it has. Each is
replaced by a stand-in of the same shape that is drawn with a key made for the moment and then lost: inside one case all
places still agree, and nothing leads back.

Looked for is also the original itself, as it may stand where sanitizing was told to leave it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from evalkit.errors import InputError
from evalkit.sanitize.detect import Claim, Detector
from evalkit.sanitize.normal import digits_of, is_cjk, name_words
from evalkit.sanitize.policy import Kind, Policy
from evalkit.sanitize.ranges import NUMBER_DIGITS
from evalkit.sanitize.register import NO_SURROGATES, Register, Surrogates, merged
from evalkit.sanitize.render import render
from evalkit.sanitize.rules.words import TITLES
from evalkit.sanitize.spots import GAP, GROUPED, Spot, Spots, core_spots, literal_spot, replaced_in, word_spots
from evalkit.sanitize.surrogate import Mint
from evalkit.sanitize.verify import Harvested

__all__ = ["REMOVED", "Presence", "Subject", "claims_of", "named_words"]

Presence: TypeAlias = Literal["whole", "part", "none"]
"""``part``: some words of the name and not all: it may be another person's."""

REMOVED = "[forgotten]"
"""What stands for a whole text in which the subject was encoded so that it can't be replaced in place."""

_KINDS: tuple[Kind, ...] = (
    "email", "phone", "card", "iban", "ssn", "national_id", "ip", "account", "payment", "custom", "name",
)  # fmt: skip
"""What can be somebody's name, address or number. Streets, birthdays and postcodes belong to several people."""

_DRAWS = 3
"""Surrogates that a value may have: the second and third where the first was another value's already."""

_BETWEEN = r"[ _.,'’-]{0,3}"
_MIN_DIGITS = 7
_COUNTRY = {"cn": f"(?:86{GAP})?", "nanp": f"(?:1{GAP})?"}
"""The country codes that the normal form of a phone number leaves out."""


class _Value(NamedTuple):
    """What has a surrogate of its own: a value, a word of a name, or a number as JSON has it.

    Attributes:
        word: the word of a name; empty for what tells the whole subject.
    """

    kind: Kind
    norm: str
    word: str = ""


class _Token(NamedTuple):
    """A surrogate as a text.

    Attributes:
        core: the surrogate in its normal form.
    """

    text: str
    kind: Kind
    core: str


@dataclass(frozen=True, slots=True)
class Subject:
    """One person, account or number, by all that it is called.

    Make it with `Subject.named`.
    """

    claims: tuple[Claim, ...]
    _spots: Spots[Mint]
    _tokens: tuple[_Token, ...]
    _encoded: Harvested
    _tags: Mapping[str, str]
    _register: Register

    @classmethod
    def named(cls, texts: Iterable[str], policy: Policy, key: bytes, register: Register | None = None) -> Subject:
        """The subject of some names, e-mails or ids.

        Args:
            policy: the project's rules.
            key: the project key.
            register: the surrogates that the project's cases tell of.

        Raises:
            InputError: one of the texts is none of these.
        """
        claims = tuple(dict.fromkeys(claim for text in texts for claim in _claims_or_refuse(text, policy)))
        own = _Own(key, register or Register())
        found = [spot for claim in claims for spot in _spots(claim, own)]
        found.sort(key=lambda spot: bool(spot.word))  # a whole account name before the words in it
        tags = {own.mint.tag(value.kind, value.norm): value.word for claim in claims for value in _values(claim)}
        return cls._of(claims, found, tuple(_tokens(claims, own)), tags, own.register)

    @classmethod
    def _of(
        cls,
        claims: tuple[Claim, ...],
        spots: Iterable[Spot[Mint]],
        tokens: tuple[_Token, ...],
        tags: Mapping[str, str],
        register: Register,
    ) -> Subject:
        encoded = Harvested((token.text, token.kind) for token in tokens)
        return cls(claims, Spots(spots), tokens, encoded, tags, register)

    def among(self, surrogates: Surrogates) -> Subject:
        """The subject as it is looked for in texts whose record says whose some surrogates are.

        One that the subject would have had, but for another value that had it first, is not the subject's there.
        """
        told = (one for tags in surrogates.values() for one in tags.items())
        others = {core.casefold() for core, tag in told if tag not in self._tags}
        left = [spot for spot in self._spots.all if spot.core.casefold() not in others]
        if len(left) == len(self._spots.all):
            return self
        tokens = tuple(token for token in self._tokens if token.core.casefold() not in others)
        return self._of(self.claims, left, tokens, self._tags, self._register)

    def presence(self, texts: Iterable[str], surrogates: Surrogates = NO_SURROGATES) -> Presence:
        """Whether the subject is in some texts that belong together: by one of its values, or by all of its name.

        Args:
            surrogates: what the record of the texts says that there is in them.
        """
        words = {self._tags[tag] for tags in surrogates.values() for tag in tags.values() if tag in self._tags}
        if "" in words:
            return "whole"
        for text in texts:
            for spot, _ in self._spots.found(text):
                if not spot.word:
                    return "whole"
                words.add(spot.word)
            encoded = self._encoded.encoded(text.encode("utf-8", "surrogatepass"))
            if encoded is not None and encoded[1] != "name":
                return "whole"
            words.update(() if encoded is None else ("\0encoded",))
        return self._by_words(words)

    def _by_words(self, words: set[str]) -> Presence:
        for claim in self.claims:
            own = named_words(claim) if claim.kind == "name" else []
            if own and {own[0], own[-1]} <= words:
                return "whole"
        return "part" if words else "none"

    def eraser(self) -> Eraser:
        """What takes the subject out of values that belong together; each eraser has stand-ins of its own."""
        return Eraser(self, Mint(os.urandom(32), register=self._register))

    def erased(self, text: str, mint: Mint) -> str:
        """`text` without the subject, with the stand-ins of `mint`."""
        new = self._spots.replaced(text, mint)
        return REMOVED if self._encoded.encoded(new.encode("utf-8", "surrogatepass")) is not None else new


@dataclass(frozen=True, slots=True)
class Eraser:
    """Replaces one subject in JSON values, everywhere by the same stand-ins."""

    subject: Subject
    mint: Mint

    def text(self, text: str) -> str:
        """One text."""
        return self.subject.erased(text, self.mint)

    def value(self, node: Any) -> Any:
        """A JSON value; containers are copied, keys are looked at too."""
        return replaced_in(node, self.text)

    def surrogates(self, surrogates: Surrogates) -> Surrogates:
        """What a record says of surrogates, the stand-ins in place of the subject's.

        An account that has the subject's name in it is told no more: it has other words now, in this case alone.
        """
        gone = self.subject._tags
        left = {
            kind: {
                one: tag
                for one, tag in tags.items()
                if tag not in gone and (kind != "account" or self.text(one) == one)
            }
            for kind, tags in surrogates.items()
        }
        return merged({kind: tags for kind, tags in left.items() if tags}, self.mint.made())


def claims_of(text: str, policy: Policy) -> list[Claim]:
    """What a text may be somebody's: their e-mail, number, id or name; empty when it is none of these."""
    detector = Detector(policy)
    found = (detector.under_hint(kind, text.strip()) for kind in _KINDS if policy.action(kind) != "keep")
    return [claim for claim in found if claim is not None]


def named_words(claim: Claim) -> list[str]:
    """The words of a claimed name that tell somebody, case-folded."""
    return [word.casefold() for word in name_words(claim.text) if word.lower() not in TITLES]


def _claims_or_refuse(text: str, policy: Policy) -> list[Claim]:
    # a value that the rules let stand is looked for all the same
    claims = claims_of(text, Policy(hints=policy.hints, patterns=policy.patterns))
    if not claims:
        raise InputError(
            "the subject is no name, e-mail, number or id that could be told from other words",
            "subject",
            "give the whole name, the e-mail address, or an id of five characters or more",
        )
    return claims


class _Own:
    """The project's own surrogates: those that its key gives a value, and those that its cases tell of."""

    def __init__(self, key: bytes, register: Register) -> None:
        self.mint = Mint(key)
        self.register = register
        self._further = [Mint(key, first) for first in range(1, _DRAWS)]

    def every(self, kind: Kind, norm: str) -> list[str]:
        """All that a value may have."""
        drawn = (mint.core(kind, norm) for mint in (self.mint, *self._further))
        return list(dict.fromkeys((*self.register.every(kind, self.mint.tag(kind, norm)), *drawn)))

    def accounts(self, text: str) -> list[str]:
        """The same for the name of an account."""
        drawn = (mint.surrogate("account", text, text) for mint in (self.mint, *self._further))
        known = self.register.every("account", self.mint.tag("account", text))
        return [one for one in dict.fromkeys((*known, *drawn)) if one != text]


def _values(claim: Claim) -> Iterator[_Value]:
    """All that has a surrogate of its own."""
    if claim.kind == "name":
        yield from (_Value("name", word, word) for word in named_words(claim))
        return
    if claim.kind == "account":
        yield from (_Value("account", text) for text in _spelled_accounts(claim))
        return
    yield _Value(claim.kind, claim.norm)
    if claim.kind in GROUPED:  # as a JSON number it is an id
        yield _Value("custom", digits_of(claim.norm).zfill(NUMBER_DIGITS))


def _spelled_accounts(claim: Claim) -> Iterator[str]:
    yield from dict.fromkeys((claim.text, claim.text.lower(), claim.text.upper()))


def _spots(claim: Claim, own: _Own) -> Iterator[Spot[Mint]]:
    yield from _originals(claim)
    for value in _values(claim):
        if claim.kind == "account":
            spell = _account_spell(claim.norm, value.norm)
            yield from (literal_spot(surrogate, spell, surrogate) for surrogate in own.accounts(value.norm))
            continue
        new = _core_of(value)
        for core in own.every(value.kind, value.norm):
            if value.word:
                yield from word_spots(value.word, core, new)
            elif value.kind == claim.kind:
                yield from core_spots(value.kind, core, new)
            else:
                yield literal_spot(core, _custom_spell(value.norm), core)
    mark = own.mint.digest_mark(claim.kind, claim.norm)
    yield literal_spot(mark, lambda mint, _: mint.digest_mark(claim.kind, claim.norm))


def _core_of(value: _Value) -> Callable[[Mint], str]:
    return lambda mint: mint.core(value.kind, value.norm)


def _account_spell(norm: str, text: str) -> Callable[[Mint, str], str]:
    return lambda mint, _: mint.surrogate("account", norm, text)


def _originals(claim: Claim) -> Iterator[Spot[Mint]]:
    kind, norm, text = claim
    if kind == "name":
        words = [re.escape(word) for word in named_words(claim)]
        alone = not is_cjk(words[0][0]) if words else True
        yield Spot(_BETWEEN.join(words), "", alone, lambda mint, like: mint.surrogate("name", norm, like))
        if len(words) > 1:
            yield Spot(
                _BETWEEN.join((words[-1], words[0])), "", alone, lambda mint, like: mint.surrogate("name", norm, like)
            )
    elif kind in GROUPED:
        if sum(char.isdigit() for char in norm) >= _MIN_DIGITS:
            pattern = _COUNTRY.get(norm.partition(":")[0], "")
            pattern += GAP.join(re.escape(char) for char in norm.rpartition(":")[2])
            yield Spot(pattern, "", True, lambda mint, like: render(kind, mint.core(kind, norm), like))
    else:
        pattern = re.escape(text).replace("@", "(?:@|%40)")
        yield Spot(pattern, "", True, lambda mint, like: mint.surrogate(kind, norm, text))


def _custom_spell(norm: str) -> Callable[[Mint, str], str]:
    return lambda mint, _: mint.core("custom", norm)


def _tokens(claims: Iterable[Claim], own: _Own) -> Iterator[_Token]:
    """The surrogates as texts, to be looked for in base64 and the like."""
    for claim in claims:
        for value in _values(claim):
            if value.word:
                for core in own.every(value.kind, value.norm):
                    yield from (_Token(form, "name", core) for form in (core, core.title(), core.upper()))
            elif claim.kind == "account":
                yield from (_Token(surrogate, "account", surrogate) for surrogate in own.accounts(value.norm))
            elif value.kind == claim.kind:
                yield from (_Token(core, claim.kind, core) for core in own.every(value.kind, value.norm))
