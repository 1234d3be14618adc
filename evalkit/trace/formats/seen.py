"""What a chat repeats, read once: each model call holds the whole conversation so far, which the call before held too.

Reading it anew each time costs the square of the conversation's length. What is the very same text or value as before
is therefore what it was before: the steps share its objects, as those of `conversation` do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, TypeVar

import orjson

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.json_input import parse_json

__all__ = ["SeenItems", "SeenTexts"]

T = TypeVar("T")

_SPACE = " \t\n\r"
_RECENT = 24
"""Of each of some mixed conversations (an agent's, its sub-agents'): the messages, the instructions, the tools."""


class SeenTexts:
    """The JSON texts of one trace, and what was made of the items in them."""

    def __init__(self) -> None:
        self._texts: deque[tuple[str, list[Json]]] = deque(maxlen=_RECENT)
        self._made: dict[tuple[int, Callable[[Any], Any]], tuple[Any, Any]] = {}

    def parsed(self, text: str) -> Json:
        """As `json_value`: a list that goes on with a recent one is read from there on."""
        continued = self._continued(text)
        value = _parsed(text) if continued is None else continued
        if isinstance(value, list) and value:
            self._texts.append((text.rstrip(_SPACE)[:-1].rstrip(_SPACE), value))
        return value

    def made(self, make: Callable[[Any], T], item: Any) -> T:
        """What `make` makes of an item, the same object each time."""
        known = self._made.get((id(item), make))
        if known is None:
            known = self._made[id(item), make] = (item, make(item))  # held, so that no other gets its id
        return known[1]

    def _continued(self, text: str) -> list[Json] | None:
        for at, (start, items) in enumerate(self._texts):
            if text.startswith(start):
                rest = text[len(start) :].strip(_SPACE)
                more = _parsed(f"[{rest[1:]}") if rest.startswith(",") else None
                if rest == "]" or (isinstance(more, list) and more):
                    del self._texts[at]
                    return [*items, *more] if isinstance(more, list) else items
        return None


class SeenItems:
    """The messages of one log, and what was made of each."""

    def __init__(self) -> None:
        self._made: dict[tuple[Callable[[Any], Any], bytes], Any] = {}

    def made(self, make: Callable[[Any], T], item: Any) -> T:
        """What `make` makes of an item; the same object for each item that has the very same text."""
        try:  # not by equality: 1, 1.0 and True are equal
            mark = blake2b(orjson.dumps(item), digest_size=16).digest()
        except orjson.JSONEncodeError:  # an integer beyond 64 bits
            return make(item)
        if (make, mark) not in self._made:
            self._made[make, mark] = make(item)
        return self._made[make, mark]  # type: ignore[no-any-return]  # what `make` made


def _parsed(text: str) -> Json:
    try:
        return parse_json(text.encode(), "")
    except (UnreadableTrace, UnicodeEncodeError):
        return None
