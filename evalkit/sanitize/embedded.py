"""JSON in a string: taken apart, and put back in its style."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, NoReturn

import orjson

__all__ = ["MAX_NESTING", "Parsed", "content_key", "parse_nested", "refuse_constant", "serialize_like"]

MAX_NESTING = 8
"""How deep texts are looked for in texts; what lies deeper is plain text."""

_KEPT = 4_000_000
"""Characters of texts; their values take some ten times as many bytes."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_STYLES: tuple[dict[str, Any], ...] = (
    {"separators": (", ", ": ")},
    {"separators": (",", ":")},
    {"indent": 2},
    {"indent": 4},
    {"indent": 1},
    {"indent": "\t"},
)


class Parsed:
    """What texts were taken apart to, kept until it is asked for again, as far as a fixed amount of text goes."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._left = _KEPT

    def keep(self, text: str) -> Any:
        """As `parse_nested`; kept for `take`."""
        value = parse_nested(text)
        if value is not None and self._left >= len(text) and text not in self._values:
            self._values[text] = value
            self._left -= len(text)
        return value

    def take(self, text: str) -> Any:
        """As `parse_nested`, without parsing where the value was kept; it is given away."""
        if text not in self._values:
            return parse_nested(text)
        self._left += len(text)
        return self._values.pop(text)

    def clear(self) -> None:
        """Keep nothing."""
        self._values.clear()
        self._left = _KEPT


def content_key(value: Any) -> bytes | None:
    """A digest by which an object or list is known again that was written to a text and read from it.

    None for any other value, and for one with integers beyond 64 bits.
    """
    if type(value) is not dict and type(value) is not list:
        return None
    try:
        return hashlib.blake2b(orjson.dumps(value), digest_size=16).digest()
    except TypeError:
        return None


def parse_nested(text: str) -> Any:
    """The JSON object, list or string that `text` spells, None when it spells none.

    Half a surrogate pair, as in text cut inside of an emoji's escape, is a question mark in it. A key that stands twice
    keeps both values, the later one under a key with a space behind it: what a parser would drop is in the text all the
    same.
    """
    first = text.lstrip()[:1]
    if first not in ("{", "[", '"') or len(text) < 2:
        return None
    try:
        value = _DECODER.decode(text)
        if _SURROGATE.search(text):
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list | str) else None


def _with_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    found = {}
    for key, value in pairs:
        while key in found:
            key += " "
        found[key] = value
    return found


def serialize_like(value: Any, original_value: Any, original: str) -> str:
    """`value` as JSON, spelled as `original` spells `original_value`.

    Where only texts differ, all else stays to the letter; else it is written in the style (spacing, indent, escapes) of
    the original, or the nearest usual one.

    Raises:
        ValueError: the value is no JSON (an infinity).
    """
    only_ascii = original.isascii()
    spliced = _spliced(value, original_value, original, only_ascii)
    if spliced is not None:
        return spliced
    core = original.strip()
    for style in _STYLES:
        if json.dumps(original_value, ensure_ascii=only_ascii, allow_nan=False, **style) == core:
            break
    else:
        style = _STYLES[1] if re.search(r"\":[^\s]", core) else _STYLES[0]
    text = json.dumps(value, ensure_ascii=only_ascii, allow_nan=False, **style)
    return original.replace(core, text) if core != original else text


def _spliced(value: Any, original_value: Any, original: str, only_ascii: bool) -> str | None:
    """`original` with each text that differs replaced where it stands; None where it can't be told where that is."""
    found: dict[str, str] = {}
    if not _differing(original_value, value, found):
        return None
    text = original
    spell = _ASCII.encode if only_ascii else _ANY.encode
    for old, new in found.items():
        text = text.replace(spell(old), spell(new))
    try:
        return text if orjson.loads(text) == value else None
    except ValueError:
        return None


def _differing(old: Any, new: Any, found: dict[str, str]) -> bool:
    """Gathers what became of texts between two values of one shape; false where anything else differs."""
    kind = type(old)
    if kind is not type(new):
        return False
    if kind is str:
        if old != new:
            found[old] = new
        return True
    if kind is list:
        return all(was is became or _differing(was, became, found) for was, became in zip(old, new, strict=True))
    if kind is not dict:
        return bool(old == new)
    for (key, was), (label, became) in zip(old.items(), new.items(), strict=True):
        if key != label:
            found[key] = label
        if was is not became and not _differing(was, became, found):
            return False
    return True


def refuse_constant(constant: str) -> NoReturn:
    """For a JSON decoder: NaN and the infinities are refused with ValueError."""
    raise ValueError(f"{constant} is no JSON")


_ASCII, _ANY = json.JSONEncoder(), json.JSONEncoder(ensure_ascii=False)
_DECODER = json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=_with_doubles)
