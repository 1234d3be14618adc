"""Two forms of a text word by word: what was replaced, without the original's letters, and a little around it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

__all__ = ["Part", "excerpt", "masked"]

_WORD = re.compile(r"[\u3400-\u9fff]|[\w.@+%&'’-]+|\W")
"""A Chinese character, a word, an address or a number, or one sign."""

_AROUND = 24
_LONG = 240


class Part(NamedTuple):
    """A stretch of a text in both forms; equal where nothing was replaced."""

    before: str
    after: str


def _parts_of(before: str, after: str) -> list[Part]:
    """What two forms of a text consist of, left to right."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    return [
        Part("".join(old[left:right]), "".join(new[first:last]))
        for _, left, right, first, last in SequenceMatcher(None, old, new).get_opcodes()
    ]


def masked(before: str, after: str) -> str:
    """`before` with asterisks for the letters and digits of all words that were replaced."""
    return "".join(_hidden(part) for part in _parts_of(before, after))


def excerpt(before: str, after: str, *, show_raw: bool) -> tuple[str, str]:
    """What was replaced in a text, with a little around it, in both forms; cut where it is long.

    Args:
        show_raw: whether the first shows what stood there, or asterisks.
    """
    old, new = "", ""
    parts = _parts_of(before, after)
    for at, part in enumerate(parts):
        if part.before == part.after:
            kept = _shortened(part.before, at > 0, at < len(parts) - 1)
            old, new = old + kept, new + kept
        else:
            old, new = old + (part.before if show_raw else _hidden(part)), new + part.after
    return _cut(old), _cut(new)


def _hidden(part: Part) -> str:
    return part.before if part.before == part.after else "".join("*" if c.isalnum() else c for c in part.before)


def _shortened(text: str, after_change: bool, before_change: bool) -> str:
    """What stayed, beside a change: its end, its start, or both."""
    if len(text) <= _AROUND * (after_change + before_change):
        return text
    return f"{text[:_AROUND] if after_change else ''}…{text[-_AROUND:] if before_change else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"
