"""Texts inside texts: JSON in a string, percent-encoding in a URL. Taken apart, rewritten, put back in their style."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn
from urllib.parse import quote, quote_plus, unquote, unquote_plus

__all__ = ["MAX_NESTING", "decoded_pieces", "parse_nested", "rewrite_pieces", "serialize_like"]

MAX_NESTING = 8
"""How deep texts are looked for in texts; what lies deeper is plain text."""

_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PIECE = re.compile(r"[^\s\"'<>&=?/#;]+")
_STYLES: tuple[dict[str, Any], ...] = (
    {"separators": (", ", ": ")},
    {"separators": (",", ":")},
    {"indent": 2},
    {"indent": 4},
    {"indent": 1},
    {"indent": "\t"},
)


def parse_nested(text: str) -> Any:
    """The JSON object, list or string that `text` spells, None when it spells none.

    Half a surrogate pair, as in text cut inside of an emoji's escape, is a question mark in it.
    """
    first = text.lstrip()[:1]
    if first not in ("{", "[", '"') or len(text) < 2:
        return None
    try:
        value = json.loads(text, parse_constant=_refuse)
        if _SURROGATE.search(text):
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list | str) else None


def serialize_like(value: Any, original_value: Any, original: str) -> str:
    """`value` as JSON in the style (spacing, indent, escapes) that `original` spells `original_value` in.

    The nearest usual style where the original's is none of them.

    Raises:
        ValueError: the value is no JSON (an infinity).
    """
    only_ascii = original.isascii()
    core = original.strip()
    for style in _STYLES:
        if json.dumps(original_value, ensure_ascii=only_ascii, allow_nan=False, **style) == core:
            break
    else:
        style = _STYLES[1] if re.search(r"\":[^\s]", core) else _STYLES[0]
    text = json.dumps(value, ensure_ascii=only_ascii, allow_nan=False, **style)
    return original.replace(core, text) if core != original else text


def decoded_pieces(text: str) -> list[str]:
    """The percent-decoded forms of the parts of `text` that hold percent-encoding."""
    if "%" not in text or not _ENCODED.search(text):
        return []
    return [_decode(piece) for piece in _PIECE.findall(text) if _ENCODED.search(piece)]


def rewrite_pieces(text: str, rewrite: Callable[[str], str]) -> str:
    """`text` with its percent-encoded parts decoded, rewritten and encoded again; the others as they are."""
    if "%" not in text or not _ENCODED.search(text):
        return text
    return _PIECE.sub(lambda match: _rewrite_piece(match[0], rewrite), text)


def _rewrite_piece(piece: str, rewrite: Callable[[str], str]) -> str:
    if not _ENCODED.search(piece):
        return piece
    decoded = _decode(piece)
    new = rewrite(decoded)
    if new == decoded:
        return piece
    kept = "".join(char for char in ":@,!$()*~" if char in piece)
    return quote_plus(new, safe=kept) if "+" in piece else quote(new, safe=kept)


def _decode(piece: str) -> str:
    return unquote_plus(piece) if "+" in piece else unquote(piece)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
