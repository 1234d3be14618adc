"""Texts that are spelled by the codes of their bytes or characters: ``\\xe5\\xbc\\xa0``, ``=E5=BC=A0``, ``%u5f20``.

Python prints bytes so, git quotes paths so (in octal), mails are written so (RFC 2045, RFC 2047), and old scripts too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["FORMS", "ByteForm"]


class ByteForm(NamedTuple):
    """One way to spell.

    Attributes:
        sign: what stands in every text that is spelled so.
        telling: the same for RE2, which tells faster where it is not.
        segment: a part of a text that is to be read as one.
        decode: what a segment spells.
        encode: a changed text, spelled so again.
    """

    sign: re.Pattern[str]
    telling: str
    segment: re.Pattern[str]
    decode: Callable[[str], str]
    encode: Callable[[str], str]


def _decoder(pattern: re.Pattern[str], blank: str = "") -> Callable[[str], str]:
    def decode(text: str) -> str:
        plain = text.replace(blank, " ") if blank else text
        return pattern.sub(_characters, plain)

    return decode


def _characters(match: re.Match[str]) -> str:
    """What one run of codes spells; the run itself where it is no text."""
    digits = re.findall(r"[0-9a-fA-F]{2,}", match[0])
    if all(len(code) == 2 for code in digits):
        try:
            return bytes.fromhex("".join(digits)).decode()
        except UnicodeDecodeError:
            return match[0]
    codes = [int(code, 16) for code in digits]
    if any(code > 0x10FFFF or 0xD800 <= code < 0xE000 for code in codes):
        return match[0]
    return "".join(map(chr, codes))


def _encoder(form: str, kept: str, blank: str = "") -> Callable[[str], str]:
    def encode(text: str) -> str:
        spelled = "".join(
            char
            if char.isascii() and (char.isalnum() or char in kept)
            else "".join(form % byte for byte in char.encode())
            for char in text
        )
        return spelled.replace(form % 0x20, blank) if blank else spelled

    return encode


def _escape_u(text: str) -> str:
    return "".join(char if char.isascii() else f"%u{ord(char):04X}" for char in text)


def _octal(match: re.Match[str]) -> str:
    try:
        return bytes(int(code, 8) for code in match[0].split("\\")[1:]).decode()
    except UnicodeDecodeError:
        return match[0]


def _form(sign: str, telling: str, segment: str, encode: Callable[[str], str], blank: str = "") -> ByteForm:
    pattern = re.compile(sign)
    return ByteForm(pattern, telling, re.compile(segment), _decoder(pattern, blank), encode)


_PRINTED = "".join(map(chr, range(32, 127)))
_QUOTED = r"(?:[^\\\n\"']|\\.)+"
_MAILED = r"(?:[^\s=]|=[0-9A-F]{2})*"
_OCTAL = re.compile(r"(?:\\[0-3][0-7]{2})+")
_NO_PAIR = r"(?:=[89A-F][0-9A-F]){2,}|=(?:20|3D|40)(?!\d)"
"""What mails escape outside of headers; ``zip=00487`` is a key and a value."""
_AS_BYTES = _encoder("\\x%02x", _PRINTED)
_HEX_2 = r"[0-9a-fA-F]{2}"
FORMS: tuple[ByteForm, ...] = (
    _form(rf"(?:\\x{_HEX_2})+", rf"\\x{_HEX_2}", _QUOTED, _AS_BYTES),
    _form(r"(?:\\U[0-9a-fA-F]{8})+", rf"\\U{_HEX_2}", _QUOTED, _AS_BYTES),
    _form(r"(?:\\u\{[0-9a-fA-F]{2,6}\})+", rf"\\u\{{{_HEX_2}", _QUOTED, _AS_BYTES),
    ByteForm(
        _OCTAL,
        r"\\[0-3][0-7]{2}",
        re.compile(_QUOTED),
        lambda text: _OCTAL.sub(_octal, text),
        _encoder("\\%03o", _PRINTED),
    ),
    _form(r"(?:%u[0-9a-fA-F]{4})+", rf"%u{_HEX_2}", r"[^\s\"'<>&]+", _escape_u),
    _form(
        r"(?:=[0-9A-F]{2})+",
        r"(?:=[0-9A-F]{2}){2}|\?[Qq]\?[^\s?]*=[0-9A-F]{2}",
        r"(?<=\?[Qq]\?)[^\s?]+",
        _encoder("=%02X", "-", "_"),
        "_",
    ),
    _form(
        _NO_PAIR,
        r"(?:=[89A-F][0-9A-F]){2}|=(?:20|3D|40)(?:\P{Nd}|$)",
        f"{_MAILED}=[0-9A-F]{{2}}{_MAILED}",
        _encoder("=%02X", _PRINTED.replace("=", "")),
    ),
)
"""All of them; a segment is read by the first whose sign is in it."""
