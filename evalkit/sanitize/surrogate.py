"""Stand-ins for real values: drawn with the project key, so that the same value has the same one everywhere.

A surrogate is drawn from HMAC-SHA-256(key, kind, normal form) in the kind's reserved range (`ranges`) and then spelled
as the original is (`render`). Names go word by word, so a given name alone, a full name and a user id that holds the
name all stay in step.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from itertools import islice
from typing import NoReturn

from evalkit.errors import SanitizationFailed
from evalkit.sanitize.normal import composed, has_cjk, is_cjk, luhn_digit, name_word, phone_norm
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.ranges import (
    CN_PREFIXES,
    HAN,
    UUID,
    check_number,
    is_name_surrogate,
    syllable,
    unit_number,
    words_of_account,
)
from evalkit.sanitize.register import Register, Surrogates, tag_key, tag_of
from evalkit.sanitize.render import cased, render
from evalkit.sanitize.rules.words import TITLES

__all__ = ["Draw", "Mint"]

_EPOCH, _DAYS = date(1800, 1, 1), 36_524
_DRAWS = 10_000
"""A range in which so many draws hit only what is taken is used up."""
_DIGITS, _PART = re.compile(r"\d+"), re.compile(r"[^\W_]+")
_WORD_AND_NUMBER, _HEX = re.compile(r"([^\W\d_]*)(\d*)"), re.compile(r"[0-9A-Fa-f]+")
_CN_ID = re.compile(r"\d{6}((?:18|19|20)\d{2})\d{4}\d{3}[\dX]")


class Draw:
    """A stream of choices from one seed of 32 bytes."""

    def __init__(self, seed: bytes) -> None:
        self._pool = int.from_bytes(seed, "big")

    def below(self, count: int) -> int:
        """A number from 0 to `count` - 1."""
        self._pool, found = divmod(self._pool, count)
        return found

    def digits(self, count: int) -> str:
        """`count` decimal digits."""
        return f"{self.below(10**count):0{count}}" if count else ""

    def hex(self, count: int) -> str:
        """`count` hex digits."""
        return f"{self.below(16**count):0{count}x}"

    def word(self) -> str:
        """A made-up name, lower case: five syllables and a check syllable; 2**30 of them."""
        stem = "".join(syllable(self.below(64)) for _ in range(5))
        return stem + syllable(check_number(stem, 64))


class Mint:
    """Makes the surrogates of a project.

    A value that the project knows gets the surrogate that it has. Two values that draw the same surrogate are told
    apart: the second draws again. Which is the second depends on the order of asking, so callers ask in sorted order.

    Args:
        key: the project key.
        first: how many draws are passed over: 1 gives what a value has whose first surrogate was another value's.
        register: the surrogates that stand for values already.
    """

    def __init__(self, key: bytes, first: int = 0, register: Register | None = None) -> None:
        self._key = key
        self._tag_key = tag_key(key)
        self._first = first
        self._register = register or Register()
        self._words: dict[str, str] = {}
        self._cores: dict[tuple[str, str], str] = {}
        self._owners: dict[str, str] = {}
        self._values: dict[tuple[str, str], str] = {}

    def made(self, but: int = 0) -> Surrogates:
        """The surrogates that were asked for, and of which values; but for the first ones, so many."""
        found: dict[str, dict[str, str]] = {}
        for (kind, tag), core in islice(self._values.items(), but, None):
            found.setdefault(kind, {})[core] = tag
        return found

    def meet(self, kind: Kind, core: str, tag: str) -> str:
        """Take note of a surrogate that stands for a value in what was sanitized elsewhere.

        Returns:
            The surrogate that the value is to have here: this one, unless the value has one or another has this one.

        Raises:
            SanitizationFailed: the kind's range is used up.
        """
        known = self._values.get((kind, tag)) or self._register.surrogate(kind, tag)
        if known is None:
            known = core if self._is_free(core, tag) else self.another(kind, core)
        self._owners[known] = tag
        self._values[kind, tag] = known
        return known

    def tag(self, kind: str, norm: str) -> str:
        """The tag of a value (see `register`)."""
        return tag_of(self._tag_key, kind, norm)

    def surrogate(self, kind: Kind, norm: str, text: str) -> str:
        """What stands for `text`, a spelling of the value with normal form `norm`, in that spelling's own form.

        Raises:
            SanitizationFailed: the kind's range is used up.
        """
        if kind == "name":
            return name_word(text).sub(self._spelled_word, text)
        if kind == "account":
            return self._account(text)
        return render(kind, self.core(kind, norm), text)

    def digest_mark(self, kind: Kind, norm: str) -> str:
        """What stands for a value whose kind is to be hashed: a mark with 16 hex digits of its HMAC."""
        return f"[{kind} {self._seed(f'{kind} digest', norm, 0).hex()[:16]}]"

    def core(self, kind: str, norm: str) -> str:
        """The surrogate of a value in its normal form."""
        known = self._cores.get((kind, norm))
        return self._drawn(kind, norm, kind, _CORE[kind]) if known is None else known

    def another(self, kind: str, core: str) -> str:
        """A free surrogate of the form of `core`: as long, of the same country, with the same last four digits.

        Raises:
            SanitizationFailed: the kind's range is used up.
        """
        draws = (Draw(self._seed(f"{kind} another", core, attempt)) for attempt in range(_DRAWS))
        found = (_core_like(kind, core, draw) for draw in draws)
        free = (one for one in found if one and not (self._register.owner(one) or self._owners.get(one)))
        return next(free, None) or _used_up(kind)

    def _drawn(self, kind: str, norm: str, seed: str, spell: Callable[[str, Draw], str]) -> str:
        """The surrogate that a value has, or the first of those that it draws that no other value has."""
        tag = self.tag(kind, norm)
        core = self._values.get((kind, tag)) or self._register.surrogate(kind, tag)
        if core is None:
            draws = (Draw(self._seed(seed, norm, self._first + attempt)) for attempt in range(_DRAWS))
            core = next((made for draw in draws if self._is_free(made := spell(norm, draw), tag)), None)
        if core is None:
            _used_up(kind)
        self._owners[core] = tag
        self._cores[kind, norm] = core
        self._values[kind, tag] = core
        return core

    def _is_free(self, core: str, tag: str) -> bool:
        return (self._register.owner(core) or tag) == tag == self._owners.get(core, tag)

    def _seed(self, kind: str, norm: str, attempt: int) -> bytes:
        message = f"{kind}\0{norm}\0{attempt}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, message, "sha256")

    def _spelled_word(self, match: re.Match[str]) -> str:
        word = match[0]
        known = self._words.get(word)
        if known is None:
            known = self._words[word] = word if word.lower() in TITLES else self._name_word(word)
        return known

    def _name_word(self, word: str) -> str:
        if is_name_surrogate(word) or (len(word) == 1 and not is_cjk(word)):
            return word
        return cased(self.core("name", composed(word).casefold()), word)

    def _account(self, text: str) -> str:
        words = words_of_account(text)
        if not words:
            return self.core("account", text) if any(char.isdigit() for char in text) else text
        known = self._cores.get(("account", text))
        if known is not None:
            return known
        parts = {part: self._named_part(part, words) for part in _PART.findall(text)}
        named = _PART.sub(lambda match: parts[match[0]], text)
        if _DIGITS.search(named) is None:
            return named  # its words alone tell it from others
        return self._drawn(
            "account",
            text,
            "account digits",
            lambda _, draw: _PART.sub(lambda match: _drawn_part(match[0], draw), named),
        )

    def _named_part(self, part: str, words: Sequence[str]) -> str:
        found = _WORD_AND_NUMBER.fullmatch(part)
        return self._name_word(found[1]) + found[2] if found is not None and found[1] in words else part


def _used_up(kind: str) -> NoReturn:
    raise SanitizationFailed(
        f"no surrogate of kind {kind} is left for a new value",
        cure=f'take {kind} = "drop" or "hash" up into [sanitize.actions]',
    )


def _drawn_part(part: str, draw: Draw) -> str:
    """New digits for a part of an account's name; new letters too where digits stand between them."""
    plain = _WORD_AND_NUMBER.fullmatch(part)
    if plain is not None:
        return plain[1] + draw.digits(len(plain[2]))
    letters = "abcdef" if _HEX.fullmatch(part) else "abcdefghijklmnopqrstuvwxyz"
    drawn = (draw.digits(1) if char.isdigit() else letters[draw.below(len(letters))] for char in part)
    return "".join(new.upper() if char.isupper() else new for new, char in zip(drawn, part, strict=True))


def _core_like(kind: str, core: str, draw: Draw) -> str | None:
    """A surrogate of the form of another one; None where the draw made none."""
    if kind == "account" and words_of_account(core):
        return _DIGITS.sub(lambda match: draw.digits(len(match[0])), core)
    made = _CORE[kind](_norm_like(kind, core), draw)
    if kind not in ("phone", "card"):
        return made
    made = made[:-4] + core[-4:]  # "ending in 1111" may stand somewhere
    return made if kind == "phone" or str(luhn_digit(made[:-1])) == made[-1] else None


def _norm_like(kind: str, core: str) -> str:
    """A normal form whose surrogates have the form of `core`."""
    if kind == "phone":
        norm = phone_norm(core) or ""
        return norm if not norm.startswith("other:") or core.startswith("000") else phone_norm(f"+{core}") or ""
    if kind == "address" and core.isdecimal():
        return "unit 1"
    return core.replace("-", "") if kind == "postcode" else core


def _name_core(norm: str, draw: Draw) -> str:
    if is_cjk(norm[0]):
        return "某" + "".join(HAN[draw.below(len(HAN))] for _ in range(4))
    return draw.word()


def _phone_core(norm: str, draw: Draw) -> str:
    family, _, rest = norm.partition(":")
    if family == "cn":
        return CN_PREFIXES[draw.below(len(CN_PREFIXES))] + draw.digits(8)
    if family == "nanp":
        return f"{draw.below(8) + 2}9{draw.below(10)}{draw.below(8) + 2}{draw.digits(6)}"
    country, _, national = rest.rpartition(":")
    return country + "000" + draw.digits(max(len(national) - 3, 4))


def _card_core(norm: str, draw: Draw) -> str:
    stem = "400000" + draw.digits(len(norm) - 7)
    return stem + str(luhn_digit(stem))


def _iban_core(norm: str, draw: Draw) -> str:
    bank = "".join("0" if char.isdigit() else "X" for char in norm[4:8])
    rest = "".join(str(draw.below(10)) if char.isdigit() else chr(65 + draw.below(26)) for char in norm[8:])
    number = int("".join(str(int(char, 36)) for char in bank + rest + norm[:2] + "00"))
    return f"{norm[:2]}{98 - number % 97:02}{bank}{rest}"


def _ssn_core(norm: str, draw: Draw) -> str:
    return f"9{draw.digits(2)}{draw.below(49) + 1:02}{draw.digits(4)}"


def _national_id_core(norm: str, draw: Draw) -> str:
    match = _CN_ID.fullmatch(norm)
    if match is None:
        return _id_core(norm, draw)
    day = date(int(match[1]), 1, 1) + timedelta(days=draw.below(365))
    stem = f"110000{day:%Y%m%d}{draw.digits(3)}"
    return stem + "10X98765432"[sum(int(digit) * 2 ** (17 - at) for at, digit in enumerate(stem)) % 11]


def _id_core(norm: str, draw: Draw) -> str:
    if UUID.fullmatch(norm):
        return f"ffffffff-{draw.hex(4)}-8{draw.hex(3)}-8{draw.hex(3)}-{draw.hex(12)}"
    prefix = re.match(r"\D*", norm)[0]  # type: ignore[index]  # the pattern matches the empty text too
    prefix = prefix if len(prefix) < len(norm) and len(prefix) <= 24 else "id"
    stem = prefix + "9" + draw.digits(min(max(len(norm) - len(prefix), 12), 24) - 5)
    return f"{stem}{check_number(stem, 10_000):04}"


def _mac_core(norm: str, draw: Draw) -> str:
    return "02005e" + draw.hex(6)


def _plate_core(norm: str, draw: Draw) -> str:
    if not is_cjk(norm[0]):
        return _id_core(norm, draw)
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"  # neither I nor O stands on a plate
    return "京I" + "".join(letters[draw.below(34)] for _ in range(max(5, len(norm) - 2)))


def _ip_core(norm: str, draw: Draw) -> str:
    if ":" in norm:
        return ipaddress.IPv6Address((0x20010DB8 << 96) | draw.below(2**96)).compressed
    return f"198.{18 + draw.below(2)}.{draw.below(256)}.{draw.below(256)}"


def _address_core(norm: str, draw: Draw) -> str:
    if unit_number(norm) is not None:
        return "0" + draw.digits(6)
    if has_cjk(norm):
        return _name_core("某", draw) + f"路{draw.below(899) + 1}号"
    return f"{draw.below(899) + 100} {draw.word().title()} Street"


def _postcode_core(norm: str, draw: Draw) -> str:
    if re.fullmatch(r"\d{6}", norm):
        return "99" + draw.digits(4)
    if re.fullmatch(r"\d{5}(?:\d{4})?", norm):
        return f"00{draw.below(4) + 1}{draw.digits(2)}-{draw.digits(4)}"
    return f"ZZ99 {draw.hex(6).upper()}"


_CORE: dict[str, Callable[[str, Draw], str]] = {
    "secret": lambda norm, draw: draw.hex(12) + "EXAMPLE",
    "custom": _id_core,
    "national_id": _national_id_core,
    "card": _card_core,
    "iban": _iban_core,
    "ssn": _ssn_core,
    "email": lambda norm, draw: f"u{draw.hex(12)}@example.com",
    "phone": _phone_core,
    "ip": _ip_core,
    "mac": _mac_core,
    "plate": _plate_core,
    "account": _id_core,
    "payment": _id_core,
    "address": _address_core,
    "birth_date": lambda norm, draw: (_EPOCH + timedelta(days=draw.below(_DAYS))).isoformat(),
    "name": _name_core,
    "postcode": _postcode_core,
}
