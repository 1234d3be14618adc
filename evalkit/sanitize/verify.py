"""The last look before anything is kept: no original may be found in what was written, in any usual encoding.

Every spelling that was replaced is looked for as it is, in lower and in upper case: in the text and in everything
that it can be decoded to (`views`), bytes in base64 and hex that are no text included. Bytes, and texts as they
stand, are also searched for its JSON escapes once and twice, percent-encoding, base64 at three offsets, hex and
UTF-16 (`encodings`).
What can't be decoded within the budget counts as a find.

Many texts are looked at together; only where something seems to be in them, one by one, to say where.

Left out is what turns up by chance: values under five bytes in UTF-8 (two Chinese characters are six), common words
(they are not looked for in texts in the first place), numbers of fewer than seven digits, encoded patterns under six
bytes, and in base64 values under eight. Plain spellings count only where the rule for replacing would have taken them
(`normal.stands_alone`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from evalkit.errors import SanitizationFailed
from evalkit.sanitize.encodings import encodings
from evalkit.sanitize.lexicon import Form
from evalkit.sanitize.needles import Needles
from evalkit.sanitize.normal import stands_alone
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.unpacked import APART
from evalkit.sanitize.views import BETWEEN, Budget, Level, Lot, readings, utf_8, views_together

__all__ = ["Harvested", "harvested_of", "verify", "verify_bytes", "verify_strings", "verify_text", "verify_texts"]

_AROUND = 2
"""So many characters before and behind a spelling say whether it stands alone."""
_MIN_BYTES = 5
_MIN_BASE64_BYTES = 8
_MIN_DIGITS = 7
_MIN_PATTERN = 6
_BEGINNING = 12
_AT_ONCE = 2**17
"""Characters that are looked at together."""


class Harvested:
    """The originals of a sanitizer, ready to be looked for.

    Args:
        originals: text and kind of every spelling.
    """

    def __init__(self, originals: Iterable[tuple[str, Kind]]) -> None:
        self.originals: tuple[tuple[str, Kind], ...] = tuple((text, kind) for text, kind in originals if _telling(text))

    def __len__(self) -> int:
        return len(self.originals)

    def plain(self, text: str) -> tuple[int, Kind] | None:
        """Where an original stands in `text` in plain letters, and its kind."""
        data = utf_8(text)
        found = self.plain_in(data)
        return None if found is None else (_characters(data[: found[0]]), found[1])

    def plain_in(self, data: bytes) -> tuple[int, Kind] | None:
        """As `plain`, in UTF-8; where it stands is a number of bytes."""
        for start, form, kind in self._met(data):
            end = start + len(form)
            before = data[max(0, start - _AROUND * 4) : start].decode("utf-8", "ignore")[-_AROUND:]
            after = data[end : end + _AROUND * 4].decode("utf-8", "ignore")[:_AROUND]
            if stands_alone(form.decode(), before, after, kind):
                return start, kind
        return None

    def packed(self, blobs: Iterable[bytes], shortest: int) -> Kind | None:
        """The kind of an original that stands in bytes which need not be text.

        Args:
            shortest: bytes that an original must have so as not to stand there by chance.
        """
        for _, form, kind in self._met(APART.join(blobs)):
            if len(form) >= shortest:
                return kind
        return None

    def _met(self, data: bytes) -> Iterator[tuple[int, bytes, Kind]]:
        """Where originals stand in some bytes, alone or not: place, spelling, kind."""
        needles, spelled = self._plain
        for start, small in needles.find(data.lower()):
            for form, kind in spelled[small]:
                if data.startswith(form, start):
                    yield start, form, kind

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
    def _plain(self) -> tuple[Needles[bytes], dict[bytes, list[tuple[bytes, Kind]]]]:
        """Originals in small letters, ready to be looked for; by these their spellings."""
        forms = {form: kind for text, kind in self.originals for form in (text.lower(), text.upper(), text)}
        spelled: dict[bytes, list[tuple[bytes, Kind]]] = {}
        for form, kind in forms.items():
            data = form.encode()
            spelled.setdefault(data.lower(), []).append((data, kind))
        return Needles(spelled, much=True), spelled

    @cached_property
    def quoted(self) -> bool:
        """Whether there is a quotation mark in an original."""
        return any('"' in text for text, _ in self.originals)

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


def _characters(data: bytes) -> int:
    return len(data) if data.isascii() else len(data.decode("utf-8", "surrogatepass"))


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


def verify_text(text: str, harvested: Harvested, where: str = "") -> None:
    """Look for originals in a text as it is, without decoding it.

    Raises:
        SanitizationFailed: as `verify`.
    """
    plain = harvested.plain(text)
    if plain is not None:
        raise _failure(plain[1], "plain text", f"character {plain[0]}", where)
    encoded = harvested.encoded(utf_8(text))
    if encoded is not None:
        raise _failure(encoded[1], encoded[2], "in its text", where)


def verify_texts(texts: Iterable[str], harvested: Harvested, where: str = "") -> None:
    """As `verify_text` for many texts, which are looked at together."""
    for numbered in _lots(texts):
        joined = BETWEEN.join(numbered.values())
        if harvested.plain(joined) is not None or harvested.encoded(utf_8(joined)) is not None:
            for number, text in numbered.items():
                verify_text(text, harvested, f"{where}, text {number}" if where else f"text {number}")


def verify_strings(strings: Iterable[str], harvested: Harvested, where: str = "") -> None:
    """Check texts that are about to be kept, such as the columns of a table.

    Raises:
        SanitizationFailed: as `verify`; the place is the number of the text, from 0.
    """
    if not len(harvested):
        return
    budget = Budget()
    for numbered in _lots(dict.fromkeys(strings)):
        if _may_be_in(list(numbered.values()), harvested, budget, where):
            for number, text in numbered.items():
                _verify_decoded(text, harvested, f"{where}, text {number}" if where else f"text {number}")


def _lots(texts: Iterable[str]) -> Iterator[dict[int, str]]:
    """Some texts with their numbers, as many at once as are well looked at together."""
    lot: dict[int, str] = {}
    size = 0
    for number, text in enumerate(texts):
        lot[number] = text
        size += len(text)
        if size > _AT_ONCE:
            yield lot
            lot, size = {}, 0
    if lot:
        yield lot


def _may_be_in(texts: list[str], harvested: Harvested, budget: Budget, where: str) -> bool:
    """Whether an original is in some texts or in what they can be decoded to; or seems to be, where two meet."""
    lot = Lot(list(dict.fromkeys(texts)))
    if _plainly_in(lot, harvested):
        return True
    return any(
        any(_plainly_in(some, harvested) for some in level.lots) or _packed_in(level, harvested) is not None
        for level in views_together(lot, budget, where, quoted=harvested.quoted)
    )


def _plainly_in(lot: Lot, harvested: Harvested) -> bool:
    some = (lot.data, *readings(lot, quoted=harvested.quoted))
    return any(harvested.plain_in(data) is not None for data in some)


def _packed_in(level: Level, harvested: Harvested) -> Kind | None:
    return harvested.packed(level.hex, _MIN_BYTES) or harvested.packed(level.base64, _MIN_BASE64_BYTES)


def _verify_decoded(text: str, harvested: Harvested, where: str) -> None:
    """Look for originals in one text and in what it can be decoded to.

    Raises:
        SanitizationFailed: as `verify`.
    """
    verify_text(text, harvested, where)
    lot = Lot([text])
    for level in (Level((lot,)), *views_together(lot, Budget(), where, quoted=harvested.quoted)):
        views = [
            view for some in level.lots for view in (*map(utf_8, some.texts), *readings(some, quoted=harvested.quoted))
        ]
        plain = [found for view in views if (found := harvested.plain_in(view))]
        packed = plain[0][1] if plain else _packed_in(level, harvested)
        if packed is not None:
            raise _failure(packed, "decoded", "in what it spells", where)


def _failure(kind: Kind, encoding: str, place: str, where: str) -> SanitizationFailed:
    return SanitizationFailed(
        f"an original value of kind {kind} would be written ({encoding}); nothing was",
        f"{where}, {place}" if where else place,
        "report it as a bug, and add a pattern or a key hint for the value to the sanitization rules",
    )


def _telling(text: str) -> bool:
    return len(text.encode()) >= _MIN_BYTES and not (text.isdigit() and len(text) < _MIN_DIGITS)
