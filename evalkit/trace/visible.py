"""Text from a trace, safe to show: control, bidi and invisible characters become visible marks.

A trace is hostile data. A terminal obeys escape sequences, and a bidi override makes a line read as another; neither
ever leaves evalkit raw.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["one_line", "visible"]

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """`text` in one line, with every control, format and invisible character shown as an escape such as ``\\u202e``."""
    return _HIDDEN.sub(_mark, text)


def one_line(text: str, width: int) -> str:
    """`visible` text cut to `width` terminal cells, with an ellipsis; wide (CJK) characters take two."""
    shown = visible(text)
    used = 0
    for at, character in enumerate(shown):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > width:
            return shown[: max(at - 1, 0)] + "…"
    return shown


def _mark(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _NAMED.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
