"""Different spellings of one value have one normal form: numbers, dates, words, boundaries."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

__all__ = [
    "EXTENSION",
    "MARKS",
    "NAME_WORD",
    "DatePart",
    "composed",
    "date_spellings",
    "digits_of",
    "find_date",
    "is_cjk",
    "has_cjk",
    "joins",
    "luhn_digit",
    "name_word",
    "name_words",
    "phone_norm",
    "stands_alone",
]

_CJK = re.compile("[\u3400-\u9fff]")
_NO_DIGIT = re.compile("[^0-9]+")
_CN_MOBILE = re.compile(r"1[3-9]\d{9}")
_GROUPED_ONE = re.compile(r"1[ .(-]")
_NANP = re.compile(r"[2-9]\d\d[2-9]\d{6}")
_COUNTRY_2 = frozenset(
    "20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 "
    "91 92 93 94 95 98".split()
)
EXTENSION = re.compile(r" ?(?:x|ext\.? ?|extension )\d{1,6}$", re.IGNORECASE)
"""The extension at the end of a phone number. It is kept as it is: alone it reaches nobody."""

MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0"
    "\u0816-\u082d\u0859-\u085b\u08d3-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0dff\u0e31-\u0e4e\u0eb1-\u0ece"
    "\u0f18-\u0fbc\u102b-\u109d\u135d-\u135f\u1712-\u1773\u17b4-\u17dd\u1a17-\u1a7f\u1ab0-\u1b44\u1b80-\u1c37\u1dc0-\u1dff"
    "\u3099\u309a\ua802-\ua827\ua880-\uaa4d\uabe3-\uabed\ufe20-\ufe2f"
)
"""A part of a character class: signs that belong to the letter before them, and the letters of scripts that are full
of them (Hindi, Thai, ...); Python takes them for no letters."""

_LETTER = "(?:(?![㐀-鿿])[^\\W\\d_])"
_LETTERS = f"{_LETTER}(?:{_LETTER}|[{MARKS}])*"
NAME_WORD = re.compile(f"[㐀-鿿]+|{_LETTERS}(?:['’]{_LETTERS})*")
"""One word of a name: a run of Chinese characters, or of other letters with inner apostrophes."""

_ASCII_WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)*")

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_MONTH_OF = {name[:3].lower(): number for number, name in enumerate(_MONTHS, 1)}
_DATE_FORMS = (
    re.compile(r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?!\d)"),
    re.compile(r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})(?!\d)"),
    re.compile(r"(?P<m>\d{1,2})(?P<s>[-/.])(?P<d>\d{1,2})(?P=s)(?P<y>\d{4})(?!\d)"),
    re.compile(r"(?P<y>\d{4})\s?年\s?(?P<m>\d{1,2})\s?月\s?(?P<d>\d{1,2})\s?日"),
    re.compile(r"(?P<b>[A-Za-z]{3,9})\.? (?P<d>\d{1,2})(?:st|nd|rd|th)?,? (?P<y>\d{4})(?!\d)"),
    re.compile(r"(?P<d>\d{1,2})(?:st|nd|rd|th)?[ -](?P<b>[A-Za-z]{3,9})\.?,?[ -](?P<y>\d{4})(?!\d)"),
)


def phone_norm(text: str) -> str | None:
    """The normal form of a phone number, None if `text` is none.

    ``cn:`` and 11 digits, ``nanp:`` and 10 digits, ``int:<country>:<rest>``, or ``other:`` and the digits.
    """
    text = EXTENSION.sub("", text)
    digits = digits_of(text)
    if not 7 <= len(digits) <= 15:
        return None
    stripped = text.lstrip(" (")
    grouped_one = _GROUPED_ONE.match(stripped) is not None
    if stripped.startswith("+"):
        return _international(digits)
    if _CN_MOBILE.fullmatch(digits) and not grouped_one:
        return "cn:" + digits
    if len(digits) == 13 and digits.startswith("86") and _CN_MOBILE.fullmatch(digits[2:]):
        return "cn:" + digits[2:]
    if _NANP.fullmatch(digits):
        return "nanp:" + digits
    if grouped_one and len(digits) == 11 and _NANP.fullmatch(digits[1:]):
        return "nanp:" + digits[1:]
    return "other:" + digits


def digits_of(text: str) -> str:
    """The decimal digits in `text`, as ASCII: full-width and other alphabets' digits count."""
    if text.isascii():
        return _NO_DIGIT.sub("", text)
    return "".join(char if char.isascii() else str(unicodedata.decimal(char)) for char in text if char.isdecimal())


def _international(digits: str) -> str:
    if digits.startswith("86") and _CN_MOBILE.fullmatch(digits[2:]):
        return "cn:" + digits[2:]
    if digits.startswith("1") and _NANP.fullmatch(digits[1:]):
        return "nanp:" + digits[1:]
    size = 1 if digits[0] in "17" else 2 if digits[:2] in _COUNTRY_2 else 3
    return f"int:{digits[:size]}:{digits[size:]}"


def luhn_digit(digits: str) -> int:
    """The check digit of ISO/IEC 7812-1 (Luhn) that makes ``digits`` plus it valid."""
    total = 0
    for position, char in enumerate(reversed(digits)):
        value = int(char) * (2 if position % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return -total % 10


@dataclass(frozen=True, slots=True)
class DatePart:
    """A date found at the start of a text: the day, and the text that spells it."""

    day: date
    text: str


def find_date(text: str) -> DatePart | None:
    """The date that `text` starts with, in one of the usual spellings; month before day where both are numbers."""
    for form in _DATE_FORMS:
        match = form.match(text)
        if match is None:
            continue
        parts = match.groupdict()
        month = _MONTH_OF.get(parts["b"][:3].lower()) if parts.get("b") else int(parts["m"])
        day = _day(int(parts["y"]), month, int(parts["d"]))
        return None if day is None else DatePart(day, match[0])
    return None


def _day(year: int, month: int | None, day: int) -> date | None:
    try:
        return date(year, month or 0, day)
    except ValueError:
        try:
            return date(year, day, month or 0)  # day before month, as much of the world writes
        except ValueError:
            return None


@lru_cache(maxsize=4096)
def date_spellings(day: date) -> tuple[str, ...]:
    """The usual spellings of a date: always as many in the same order, so that two dates' spellings pair up."""
    return tuple(_date_spellings(day))


def _date_spellings(day: date) -> Iterator[str]:
    y, m, d, name = day.year, day.month, day.day, _MONTHS[day.month - 1]
    for separator in "-/.":
        yield f"{y:04}{separator}{m:02}{separator}{d:02}"
        yield f"{m:02}{separator}{d:02}{separator}{y:04}"
        yield f"{d:02}{separator}{m:02}{separator}{y:04}"
    yield f"{m}/{d}/{y:04}"
    yield f"{d}/{m}/{y:04}"
    yield f"{y:04}/{m}/{d}"
    yield f"{y:04}{m:02}{d:02}"
    yield f"{y:04}年{m}月{d}日"
    yield f"{y:04}年{m:02}月{d:02}日"
    for month in (name, name[:3]):
        for number in (f"{d}", f"{d:02}"):
            yield f"{month} {number}, {y:04}"
            yield f"{month} {number} {y:04}"
            yield f"{number} {month} {y:04}"
            yield f"{number}-{month}-{y:04}"
        yield f"{month} {d}{_ordinal(d)}, {y:04}"
        yield f"{month} {d}{_ordinal(d)} {y:04}"
        yield f"{d}{_ordinal(d)} {month} {y:04}"


def _ordinal(day: int) -> str:
    return "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def is_cjk(char: str) -> bool:
    """Whether `char` is a Chinese character of the two basic blocks."""
    return "\u3400" <= char <= "\u9fff"


def has_cjk(text: str) -> bool:
    """Whether there is a character in `text` that `is_cjk`."""
    return not text.isascii() and _CJK.search(text) is not None


def name_word(text: str) -> re.Pattern[str]:
    """`NAME_WORD`, or what finds the same in `text` faster."""
    return _ASCII_WORD if text.isascii() else NAME_WORD


def name_words(text: str) -> list[str]:
    """The words of a name, in order; single letters (initials) are left out unless Chinese."""
    return [word for word in name_word(text).findall(text) if len(word) > 1 or is_cjk(word)]


def stands_alone(form: str, before: str, after: str, kind: str) -> bool:
    """Whether an occurrence of `form` is the value itself and not a part of something longer.

    One rule for replacing and for verifying. Letters and digits of ASCII join; Chinese characters don't. An escape
    such as ``\\n`` in a text that holds code is no letter. For names, letters of other alphabets join too, and digits
    behind five letters or more don't (``yusuf9620``). Numbers are also joined by a decimal point and by a currency
    sign. What a project's own rules found (``custom``) is never a part of something else.

    Args:
        before: the two characters before, fewer at the start.
        after: the two characters after.
    """
    if kind == "custom":
        return True
    first, last, word = form[0], form[-1], kind == "name"
    if before and _joins(before[-1], first, word) and not (before[0] == "\\" and before[-1] in 'nrtbf"'):
        return False
    if after and _joins(after[0], last, word) and not (word and len(form) >= 5 and after[0].isdigit()):
        return False
    signs = "." if len(form) > 6 else ".,"  # more digits than a group of thousands has: a comma parts values
    if first.isdigit() and before and (before[-1] in "$€£¥" or (before[-1] in signs and before[0].isdigit())):
        return False
    return not (last.isdigit() and len(after) == 2 and after[0] in signs and after[1].isdigit())


def joins(char: str) -> bool:
    """Whether a character beside a value makes it a part of something longer: a letter or digit of ASCII, any digit."""
    return char.isalnum() and (char.isascii() or char.isdecimal())


def _joins(neighbour: str, edge: str, word: bool) -> bool:
    if neighbour.isascii() or neighbour.isdecimal():
        return joins(neighbour) and joins(edge)
    letter = neighbour.isalpha() or unicodedata.category(neighbour) in ("Mn", "Mc")
    return word and letter and not is_cjk(neighbour) and not is_cjk(edge)


def composed(text: str) -> str:
    """`text` with letters and their accents as one character, where there is one (NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
