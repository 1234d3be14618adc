"""The last look before anything is kept: no original may be found in what was written, in any usual encoding.

Every spelling that was replaced is looked for as it is, in lower and upper case, as JSON escapes once and twice,
percent-encoded, in base64 at its three offsets, in hex, and in UTF-16; and in plain letters in everything that the text
can be decoded to (`views`). What can't be decoded within the budget counts as a find.

Left out is what turns up by chance: values under five bytes in UTF-8 (two Chinese characters are six), common words
(they are not looked for in texts in the first place), numbers of fewer than seven digits, encoded patterns under six
bytes, and in base64 values under eight. Plain spellings count only where the rule for replacing would have taken them
(`normal.stands_alone`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from evalkit.errors import SanitizationFailed
from evalkit.sanitize.encodings import encodings
from evalkit.sanitize.lexicon import Form
from evalkit.sanitize.normal import stands_alone
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.views import Budget, views

__all__ = ["Harvested", "harvested_of", "verify", "verify_bytes", "verify_strings", "verify_text"]

_AROUND = 2
"""So many characters before and behind a spelling say whether it stands alone."""
_MIN_BYTES = 5
_MIN_DIGITS = 7
_MIN_PATTERN = 6
_BEGINNING = 12


class Harvested:
    """The originals of a sanitizer, ready to be looked for.

    Args:
        originals: text and kind of every spelling.
    """

    def __init__(self, originals: Iterable[tuple[str, Kind]]) -> None:
        self.originals: tuple[tuple[str, Kind], ...] = tuple((text, kind) for text, kind in originals if _telling(text))

    def __len__(self) -> int:
        return len(self.originals)

    def plain(self, text: str, known: int = 0) -> tuple[int, Kind] | None:
        """Where an original stands in `text` in plain letters, and its kind.

        Args:
            known: so many characters at its start were looked through before, in another text.
        """
        matcher, spelled, longest = self._plain
        if matcher is None:
            return None
        first = max(0, known - longest - _AROUND)
        for index, start, end in matcher.find_matches_as_indexes(text[first:], overlapping=True):
            form, kind = spelled[index]
            start, end = start + first, end + first
            before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
            if stands_alone(form, before, after, kind):
                return start, kind
        return None

    def encoded(self, data: bytes) -> tuple[int, Kind, str] | None:
        """Where an original stands in `data` in some encoding, its kind, and the encoding's name."""
        matcher, patterns, _ = self._encoded
        if matcher is None:
            return None
        for index, start, _ in matcher.find_matches_as_indexes(data, overlapping=True):
            for pattern, kind, encoding in patterns[index]:
                if data.startswith(pattern, start):
                    return start, kind, encoding
        return None

    @property
    def longest(self) -> int:
        """How many bytes the longest encoding of an original has."""
        return self._encoded[2]

    @cached_property
    def _plain(self) -> tuple[Any, list[tuple[str, Kind]], int]:
        import ahocorasick_rs  # lazy: a compiled library that only sanitizing needs

        forms = {form: kind for text, kind in self.originals for form in (text.lower(), text.upper(), text)}
        spelled = list(forms.items())
        longest = max(map(len, forms), default=0)
        return (ahocorasick_rs.AhoCorasick([form for form, _ in spelled]) if spelled else None), spelled, longest

    @cached_property
    def _encoded(self) -> tuple[Any, list[list[tuple[bytes, Kind, str]]], int]:
        import ahocorasick_rs  # lazy: see above

        # only the beginnings are made a matcher of: it takes a tenth of the time, and what begins alike is compared
        beginnings: dict[bytes, list[tuple[bytes, Kind, str]]] = {}
        for text, kind in self.originals:
            for encoding, pattern in encodings(text):
                if len(pattern) >= _MIN_PATTERN:
                    beginnings.setdefault(pattern[:_BEGINNING], []).append((pattern, kind, encoding))
        matcher = ahocorasick_rs.BytesAhoCorasick(list(beginnings)) if beginnings else None
        longest = max((len(pattern) for same in beginnings.values() for pattern, _, _ in same), default=0)
        return matcher, list(beginnings.values()), longest


def harvested_of(forms: Mapping[str, Form]) -> Harvested:
    """What is to be looked for, of all the forms of a lexicon."""
    return Harvested((text, form.entity.kind) for text, form in forms.items())


def verify(blob: bytes, harvested: Harvested, where: str = "") -> None:
    """Check bytes that are about to be kept. For Parquet, pass the decoded columns to `verify_strings` as well.

    Args:
        where: the file, for the message.

    Raises:
        SanitizationFailed: an original is in it. The message names kind, encoding and place, never the value.
    """
    verify_bytes(blob, harvested, where)
    verify_strings((blob.decode("utf-8", "replace"),), harvested, where)


def verify_bytes(blob: bytes, harvested: Harvested, where: str = "") -> None:
    """Look for originals in bytes as they are, without decoding them.

    Raises:
        SanitizationFailed: as `verify`.
    """
    plain = harvested.plain(blob.decode("utf-8", "replace"))
    if plain is not None:
        raise _failure(plain[1], "plain text", f"character {plain[0]}", where)
    encoded = harvested.encoded(blob)
    if encoded is not None:
        raise _failure(encoded[1], encoded[2], f"byte {encoded[0]}", where)


def verify_text(text: str, harvested: Harvested, where: str = "", *, known: int = 0) -> None:
    """Look for originals in a text as it is, without decoding it.

    Args:
        known: so many characters at its start were looked through before, in another text that begins with them.

    Raises:
        SanitizationFailed: as `verify`.
    """
    plain = harvested.plain(text, known)
    if plain is not None:
        raise _failure(plain[1], "plain text", f"character {plain[0]}", where)
    rest = text[max(0, known - harvested.longest) :]
    encoded = harvested.encoded(rest.encode("utf-8", "surrogatepass"))
    if encoded is not None:
        raise _failure(encoded[1], encoded[2], "in its text", where)


def verify_strings(strings: Iterable[str], harvested: Harvested, where: str = "") -> None:
    """Check texts that are about to be kept, such as the columns of a table.

    Raises:
        SanitizationFailed: as `verify`; the place is the number of the text, from 0.
    """
    budget = Budget()
    seen: set[str] = set()
    for number, text in enumerate(strings):
        if text in seen:
            continue
        seen.add(text)
        plain = harvested.plain(text)
        if plain is not None:
            raise _failure(plain[1], "plain text", f"text {number}, character {plain[0]}", where)
        encoded = harvested.encoded(text.encode("utf-8", "surrogatepass"))
        if encoded is not None:
            raise _failure(encoded[1], encoded[2], f"text {number}, byte {encoded[0]}", where)
        if len(harvested):
            for view in views(text, budget, f"{where}, text {number}"):
                plain = harvested.plain(view)
                if plain is not None:
                    raise _failure(plain[1], "decoded", f"text {number}", where)


def _failure(kind: Kind, encoding: str, place: str, where: str) -> SanitizationFailed:
    return SanitizationFailed(
        f"an original value of kind {kind} would be written ({encoding}); nothing was",
        f"{where}, {place}" if where else place,
        "report it as a bug, and add a pattern or a key hint for the value to the sanitization rules",
    )


def _telling(text: str) -> bool:
    return len(text.encode()) >= _MIN_BYTES and not (text.isdigit() and len(text) < _MIN_DIGITS)
