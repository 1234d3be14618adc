"""Text of traces in Markdown: with character references for every sign that Markdown or HTML reads.

An at sign or a number sign is followed by an empty comment, so that nobody is notified and no issue is linked.
"""

from __future__ import annotations

import re

from evalkit.report.text import cut
from evalkit.trace.visible import visible

__all__ = ["code", "escaped"]

_MAX_TEXT = 300
_SIGNS = re.compile(r"[&<>|`*_\[\]\\~!$^{}]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_CALLS = re.compile(r"@|(?<!&)#")  # a reference's own number sign stays


def code(text: str) -> str:
    """In the type of a computer."""
    return f"<code>{escaped(text)}</code>"


def escaped(text: str) -> str:
    """As text, and nothing else."""
    shown = _SIGNS.sub(lambda match: f"&#{ord(match[0])};", visible(cut(text, _MAX_TEXT)))
    return _CALLS.sub(r"\g<0><!-- -->", shown)
