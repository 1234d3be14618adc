"""A recorded assistant Message given out piece by piece, to refill the places of a provider's own form.

A provider's answer is kept twice without repeating itself: what it says is the Message, and its **layout** is what is
left when that is taken out (ids, signatures, statuses, the order of the parts). Texts that the Message joins (the parts
of a reasoning) are told apart again by the number of paragraphs of each, which outlives sanitizing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["LayoutMismatch", "Supply", "given_content", "is_text", "joined", "paragraphs"]

_BREAK = "\n\n"


class LayoutMismatch(Exception):
    """The Message and the layout do not belong together (any more)."""


def joined(texts: Iterable[str]) -> str:
    """Texts as paragraphs of one."""
    return _BREAK.join(texts)


def paragraphs(text: str) -> int:
    """How many paragraphs of a `joined` text are `text`'s."""
    return text.count(_BREAK) + 1


class Supply:
    """What a Message holds. Each method gives the next of its kind.

    Raises:
        LayoutMismatch: from each method, when there is no such thing left or the next is of another kind.
    """

    def __init__(self, message: Any) -> None:
        raw: dict[str, Any] = message if isinstance(message, dict) else {"content": message}
        self.parts = _parts(raw.get("content"))
        self.calls = [call for call in _listed(raw.get("tool_calls")) if isinstance(call, dict)]
        self._annotations = _listed(raw.get("annotations"))
        self._joined = {name: _paragraphs(raw.get(name)) for name in ("reasoning", "refusal")}

    def text(self) -> str:
        """The next part of the content, a text."""
        if not self.parts or not is_text(self.parts[0]):
            raise LayoutMismatch
        return str(self.parts.pop(0)["text"])

    def part(self) -> dict[str, Any]:
        """The next part of the content, no text."""
        if not self.parts or is_text(self.parts[0]):
            raise LayoutMismatch
        return self.parts.pop(0)

    def call(self) -> dict[str, Any]:
        """The next tool call."""
        if not self.calls:
            raise LayoutMismatch
        return self.calls.pop(0)

    def annotations(self, count: int) -> list[Any]:
        """The next annotations."""
        found, self._annotations = self._annotations[:count], self._annotations[count:]
        return found

    def joined(self, name: str, count: Any) -> str:
        """The next `count` paragraphs of the reasoning or the refusal."""
        left = self._joined[name]
        if type(count) is not int or count < 1:
            raise LayoutMismatch
        found, self._joined[name] = left[:count], left[count:]
        return _BREAK.join(found)

    def check_spent(self) -> None:
        """Raises when something is left over."""
        if self.parts or self.calls or any(self._joined.values()):
            raise LayoutMismatch


def is_text(part: dict[str, Any]) -> bool:
    """Whether a part of a Message's content is a text."""
    return part.get("type", "text") == "text" and isinstance(part.get("text"), str)


def given_content(content: Any, part: Callable[[Any], Any]) -> Any:
    """Content that an agent gave, with its texts as plain parts; one text alone is itself, wherever it comes from.

    Args:
        part: makes the plain form of an API's part.
    """
    if not isinstance(content, list):
        return content
    parts = [part(one) for one in content]
    return parts[0]["text"] if len(parts) == 1 and isinstance(parts[0], dict) and is_text(parts[0]) else parts


def _parts(content: Any) -> list[dict[str, Any]]:
    if content is None:
        return []
    if isinstance(content, list):
        return [part if isinstance(part, dict) else _as_text(part) for part in content]
    return [content if isinstance(content, dict) else _as_text(content)]


def _as_text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else str(value)}


def _paragraphs(text: Any) -> list[str]:
    if not text:
        return []
    return (text if isinstance(text, str) else str(text)).split(_BREAK)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []
