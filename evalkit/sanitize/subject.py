"""Somebody who is to be forgotten: how to know them in what was written, and how to take them out.

A surrogate follows from a value by the project key, so whoever has the key can say which surrogates a name, an e-mail
or an id has, and look for them; where another value had it first, the cases' records say which one it has. Each is
replaced by a stand-in of the same shape that is drawn with a key made for the moment and then lost: inside one case all
places still agree, and nothing leads back.

Looked for is also the original itself, as it may stand where sanitizing was told to leave it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

from evalkit.canonical import Json
from evalkit.errors import InputError
from evalkit.sanitize.detect import Claim, Detector
from evalkit.sanitize.normal import digits_of, is_cjk, joins, name_words
from evalkit.sanitize.policy import Kind, Policy
from evalkit.sanitize.ranges import NUMBER_DIGITS
from evalkit.sanitize.register import NO_SURROGATES, Register, Surrogates, merged
from evalkit.sanitize.render import cased, render
from evalkit.sanitize.rules.words import TITLES
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

_GROUPED = frozenset({"phone", "card", "iban", "ssn", "national_id"})
_DRAWS = 3
"""Surrogates that a value may have: the second and third where the first was another value's already."""

_GAP = r"[ ().\-]{0,3}"
_BETWEEN = r"[ _.,'’-]{0,3}"
_MIN_DIGITS = 7
_COUNTRY = {"cn": f"(?:86{_GAP})?", "nanp": f"(?:1{_GAP})?"}
"""The country codes that the normal form of a phone number leaves out."""


class _Value(NamedTuple):
    """What has a surrogate of its own: a value, a word of a name, or a number as JSON has it.

    Attributes:
        word: the word of a name; empty for what tells the whole subject.
    """

    kind: Kind
    norm: str
    word: str = ""


class _Needle(NamedTuple):
    """One thing to look for.

    Attributes:
        pattern: RE2 and `re` alike, no capturing group, case does not matter.
        word: the word of a name that it shows; empty for what shows the whole subject.
        alone: whether letters and digits beside it make it something else.
        spell: the stand-in for a match, given the mint of stand-ins.
    """

    pattern: str
    word: str
    alone: bool
    spell: Callable[[Mint, str], str]


@dataclass(frozen=True, slots=True)
class Subject:
    """One person, account or number, by all that it is called.

    Make it with `Subject.named`.
    """

    claims: tuple[Claim, ...]
    _needles: tuple[_Needle, ...]
    _quick: Any
    _exact: re.Pattern[str]
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
        found = [needle for claim in claims for needle in _needles(claim, own)]
        found.sort(key=lambda needle: bool(needle.word))  # a whole account name before the words in it
        needles = tuple({needle.pattern: needle for needle in reversed(found)}.values())[::-1]  # the first of equals
        joined = "|".join(f"(?P<n{number}>{needle.pattern})" for number, needle in enumerate(needles))
        quick = _quick("|".join(needle.pattern for needle in needles))
        exact, encoded = re.compile(joined, re.IGNORECASE), Harvested(_tokens(claims, own))
        tags = {own.mint.tag(value.kind, value.norm): value.word for claim in claims for value in _values(claim)}
        return cls(claims, needles, quick, exact, encoded, tags, own.register)

    def presence(self, texts: Iterable[str], surrogates: Surrogates = NO_SURROGATES) -> Presence:
        """Whether the subject is in some texts that belong together: by one of its values, or by all of its name.

        Args:
            surrogates: what the record of the texts says that there is in them.
        """
        words = {self._tags[tag] for tags in surrogates.values() for tag in tags.values() if tag in self._tags}
        if "" in words:
            return "whole"
        for text in texts:
            for needle, _ in self._found(text):
                if not needle.word:
                    return "whole"
                words.add(needle.word)
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

    def _found(self, text: str) -> Iterator[tuple[_Needle, re.Match[str]]]:
        if self._quick.search(text) is None:
            return
        for match in self._exact.finditer(text):
            needle = self._needles[int((match.lastgroup or "n0")[1:])]
            if not (needle.alone and _joined(text, match)):
                yield needle, match

    def eraser(self) -> Eraser:
        """What takes the subject out of values that belong together; each eraser has stand-ins of its own."""
        return Eraser(self, Mint(os.urandom(32), register=self._register))

    def erased(self, text: str, mint: Mint) -> str:
        """`text` without the subject, with the stand-ins of `mint`."""
        parts, at = [], 0
        for needle, match in self._found(text):
            parts += [text[at : match.start()], needle.spell(mint, match[0])]
            at = match.end()
        new = "".join((*parts, text[at:])) if parts else text
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
        if isinstance(node, str):
            return self.text(node)
        if isinstance(node, dict):
            return {self.text(key): self.value(item) for key, item in node.items()}
        if isinstance(node, list | tuple):
            return [self.value(item) for item in node]
        if type(node) is int and abs(node) >= 10 ** (_MIN_DIGITS - 1):
            return self._number(node)
        return node

    def surrogates(self, surrogates: Surrogates) -> Surrogates:
        """What a record says of surrogates, the stand-ins in place of the subject's."""
        gone = self.subject._tags
        left = {
            kind: {self.text(one): tag for one, tag in tags.items() if tag not in gone}
            for kind, tags in surrogates.items()
        }
        return merged({kind: tags for kind, tags in left.items() if tags}, self.mint.made)

    def _number(self, number: int) -> Json:
        new = self.text(str(number))
        return int(new) if new.isdecimal() and new.isascii() else new if new != str(number) else number


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
    if claim.kind in _GROUPED:  # as a JSON number it is an id
        yield _Value("custom", digits_of(claim.norm).zfill(NUMBER_DIGITS))


def _spelled_accounts(claim: Claim) -> Iterator[str]:
    yield from dict.fromkeys((claim.text, claim.text.lower(), claim.text.upper()))


def _needles(claim: Claim, own: _Own) -> Iterator[_Needle]:
    yield from _originals(claim)
    for value in _values(claim):
        if claim.kind == "account":
            for surrogate in own.accounts(value.norm):
                spelled = value.norm
                yield _literal(surrogate, lambda mint, _, text=spelled: mint.surrogate("account", claim.norm, text))  # type: ignore[misc]
            continue
        for core in own.every(value.kind, value.norm):
            if value.word:
                yield from _word_needles(value.word, core)
            elif value.kind == claim.kind:
                yield from _core_needles(claim, core)
            else:
                yield _literal(core, _custom_spell(value.norm))
    mark = own.mint.digest_mark(claim.kind, claim.norm)
    yield _literal(mark, lambda mint, _: mint.digest_mark(claim.kind, claim.norm))


def _originals(claim: Claim) -> Iterator[_Needle]:
    kind, norm, text = claim
    if kind == "name":
        words = [re.escape(word) for word in named_words(claim)]
        alone = not is_cjk(words[0][0]) if words else True
        yield _Needle(_BETWEEN.join(words), "", alone, lambda mint, like: mint.surrogate("name", norm, like))
        if len(words) > 1:
            yield _Needle(
                _BETWEEN.join((words[-1], words[0])), "", alone, lambda mint, like: mint.surrogate("name", norm, like)
            )
    elif kind in _GROUPED:
        if sum(char.isdigit() for char in norm) >= _MIN_DIGITS:
            pattern = _COUNTRY.get(norm.partition(":")[0], "")
            pattern += _GAP.join(re.escape(char) for char in norm.rpartition(":")[2])
            yield _Needle(pattern, "", True, lambda mint, like: render(kind, mint.core(kind, norm), like))
    else:
        pattern = re.escape(text).replace("@", "(?:@|%40)")
        yield _Needle(pattern, "", True, lambda mint, like: mint.surrogate(kind, norm, text))


def _word_needles(word: str, core: str) -> Iterator[_Needle]:
    def spell(mint: Mint, like: str) -> str:
        return cased(mint.core("name", word), like)

    yield _Needle(re.escape(core), word, False, spell)
    if not core.isascii():
        escaped, percent = json.dumps(core)[1:-1], quote(core, safe="")
        yield _Needle(re.escape(escaped), word, False, lambda mint, _: json.dumps(mint.core("name", word))[1:-1])
        yield _Needle(re.escape(percent), word, False, lambda mint, _: quote(mint.core("name", word), safe=""))


def _core_needles(claim: Claim, core: str) -> Iterator[_Needle]:
    kind, norm, _ = claim

    def spell(mint: Mint, like: str) -> str:
        return render(kind, mint.core(kind, norm), like)

    if kind in _GROUPED:
        # nine digits may stand in a longer number by chance; a phone number may follow its country code
        yield _Needle(_GAP.join(re.escape(char) for char in core), "", kind == "ssn", spell)
    else:
        yield _Needle(re.escape(core).replace("@", "(?:@|%40)"), "", kind == "ip", spell)
    if kind == "phone":
        masked = re.escape(core[:3]) + r"\*{4}" + re.escape(core[-4:])
        yield _Needle(masked, "", False, lambda mint, _: _masked(mint.core(kind, norm)))


def _masked(core: str) -> str:
    return f"{core[:3]}****{core[-4:]}"


def _literal(text: str, spell: Callable[[Mint, str], str]) -> _Needle:
    return _Needle(re.escape(text), "", False, spell)


def _custom_spell(norm: str) -> Callable[[Mint, str], str]:
    return lambda mint, _: mint.core("custom", norm)


def _tokens(claims: Iterable[Claim], own: _Own) -> Iterator[tuple[str, Kind]]:
    """The surrogates as texts, to be looked for in base64 and the like."""
    for claim in claims:
        for value in _values(claim):
            if value.word:
                words = own.every(value.kind, value.norm)
                yield from ((form, "name") for word in words for form in (word, word.title(), word.upper()))
            elif claim.kind == "account":
                yield from ((surrogate, "account") for surrogate in own.accounts(value.norm))
            elif value.kind == claim.kind:
                yield from ((core, claim.kind) for core in own.every(value.kind, value.norm))


def _joined(text: str, match: re.Match[str]) -> bool:
    start, end = match.span()
    return joins(text[max(0, start - 1) : start]) or joins(text[end : end + 1])


def _quick(pattern: str) -> Any:
    import re2  # lazy: a C++ library that only sanitizing needs

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return re2.compile(pattern, options=options)
