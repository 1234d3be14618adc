"""In which spellings a value is looked for elsewhere, and which of them are too weak to be looked for in texts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from evalkit.sanitize.claim import Claim
from evalkit.sanitize.normal import date_spellings, find_date, has_cjk, is_cjk, name_words
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.rules.words import COMMON, NAME_FRAMES, PLACEHOLDERS, TITLES
from evalkit.sanitize.rules.words_zh import USUAL_WORDS

__all__ = ["Spelling", "propagates", "spellings"]

_MIN_LENGTH = 5


class Spelling(NamedTuple):
    """One text that a value is looked for as.

    Attributes:
        part: whether it is one part of a value only (a given name, a postcode): too weak to be looked for inside an
            identifier.
        kept: so many characters at its start are no part of the value and stay: "Dear " before a name.
    """

    text: str
    part: bool = False
    kept: int = 0


def spellings(claim: Claim, vocabulary: frozenset[str] | set[str]) -> Iterator[Spelling]:
    """The spellings of a claim that may be looked for in any text, the original's own first.

    Args:
        vocabulary: lower-case words of the tools' own names; they identify nobody.
    """
    if claim.kind == "name":
        for spelling in _names(claim.text, vocabulary):
            yield from _forms(spelling)
        return
    for text in dict.fromkeys((claim.text, *_derived(claim))):
        if propagates(claim.kind, text):
            yield from _forms(Spelling(text, part=claim.kind == "postcode"))


def _forms(spelling: Spelling) -> Iterator[Spelling]:
    """A spelling, and the same with accents as parts of their letters or as characters of their own."""
    yield spelling
    if not spelling.text.isascii():
        for form in ("NFC", "NFD"):
            text = unicodedata.normalize(form, spelling.text)
            if text != spelling.text:
                yield spelling._replace(text=text)


def propagates(kind: Kind, text: str) -> bool:
    """Whether a whole value is long and rare enough to be looked for in texts.

    Five characters at least and no common word; three for what a project's own rules find, and for a password in a
    URL, which is looked for with its ``:`` and ``@``. A secret made of letters only must have eight. An address needs a
    digit, or Chinese characters, or three words. An account name needs a digit or a separator.
    """
    low = text.lower()
    if kind == "custom" or (kind == "secret" and _is_framed(text)):
        return len(text) > 2
    if kind == "email" or (has_cjk(text) and len(text) >= 4):
        return True
    if len(text) < _MIN_LENGTH or low in COMMON or low in PLACEHOLDERS:
        return False
    if kind == "secret":
        return not text.isalpha() or len(text) >= 8
    if kind == "address":
        return any(char.isdigit() for char in text) or len(text.split()) >= 3
    if kind in ("account", "payment"):
        return any(char.isdigit() or char in "._-" for char in text)
    return True


def _derived(claim: Claim) -> Iterator[str]:
    kind, norm, text = claim[:3]
    if kind == "secret":
        yield from (norm, text.lower(), text.upper(), norm.lower(), norm.upper())
    elif kind == "email":
        yield from (norm, norm.upper(), norm.replace("@", "%40"))
    elif kind == "phone":
        yield from _phones(norm)
    elif kind == "card":
        yield norm
        if len(norm) == 16:
            yield from (sign.join((norm[:4], norm[4:8], norm[8:12], norm[12:])) for sign in " -")
    elif kind == "iban":
        yield from (norm, norm.lower(), text.lower())
        yield " ".join(norm[at : at + 4] for at in range(0, len(norm), 4))
    elif kind == "ssn":
        yield from (norm, f"{norm[:3]}-{norm[3:5]}-{norm[5:]}")
    elif kind == "national_id":
        yield from (text.upper(), text.lower())
    elif kind == "mac":
        pairs = [norm[at : at + 2] for at in range(0, 12, 2)]
        for sign in (":", "-", ""):
            yield from (sign.join(pairs), sign.join(pairs).upper())
    elif kind == "plate":
        yield norm
        if is_cjk(norm[0]):
            yield from (norm[:2] + sign + norm[2:] for sign in "·•- ")
    elif kind == "birth_date":
        found = find_date(text)
        if found is not None:
            yield from date_spellings(found.day)
    elif kind in ("address", "account", "payment", "custom", "ip"):
        yield from (text.lower(), text.upper())


def _is_framed(secret: str) -> bool:
    return secret.startswith(":") and secret.endswith("@")


def _phones(norm: str) -> Iterator[str]:
    family, _, digits = norm.partition(":")
    if family == "cn":
        parts = (digits[:3], digits[3:7], digits[7:])
        yield from (digits, "+86" + digits, "+86 " + digits, " ".join(parts), "-".join(parts))
        yield f"{parts[0]}****{parts[2]}"
    elif family == "nanp":
        area, office, line = digits[:3], digits[3:6], digits[6:]
        yield from (digits, "+1" + digits, f"{area}-{office}-{line}", f"({area}) {office}-{line}")
        yield from (f"+1-{area}-{office}-{line}", f"+1 {area}-{office}-{line}", f"{area}.{office}.{line}")
    elif family == "int":
        yield "+" + digits.replace(":", "")
    else:
        yield digits


def _names(text: str, vocabulary: frozenset[str] | set[str]) -> Iterator[Spelling]:
    words = [word for word in name_words(text) if word.lower() not in TITLES]
    if len(words) > 1:
        yield from (Spelling(form) for form in dict.fromkeys(_full_names(text, words)))
    noted = sum(word[0].isupper() for word in words) > 1  # then what is in small letters says something of the person
    for word in dict.fromkeys(words):
        if noted and word[0].islower():
            continue
        part = len(words) > 1 or not is_cjk(word[0])  # a Chinese name is one word and whole
        yield from (Spelling(kept + form, part, len(kept)) for kept, form in _single_names(word, vocabulary))


def _full_names(text: str, words: list[str]) -> Iterator[str]:
    given, family = words[0], words[-1]
    plain = " ".join(words)
    for form in (text, plain, f"{family}, {given}", f"{given} {family}"):
        yield from (form, form.title(), form.lower(), form.upper())
    for sign in ("", "_", ".", "-"):
        joined = sign.join((given, family))
        if len(joined) >= _MIN_LENGTH:
            yield from (joined, joined.lower())


def _single_names(word: str, vocabulary: frozenset[str] | set[str]) -> Iterator[tuple[str, str]]:
    """What stands before a single name, and the name."""
    low = word.lower()
    if is_cjk(word[0]):
        if len(word) > 1 and word not in COMMON and word not in USUAL_WORDS:
            yield "", word
    elif low in COMMON or low in vocabulary or low in PLACEHOLDERS or len(word) < 3:
        yield from ((frame, word.title()) for frame in NAME_FRAMES)
    else:  # capitals of three or four letters are often codes (MIA is an airport), small ones words
        yield "", word.title()
        if len(word) > 3:
            yield from (("", word.lower()), ("", word))
        if len(word) > 4:
            yield "", word.upper()
