"""Values that an exporter cut off or masked: told by its marks, and by texts that end at one round length.

OpenTelemetry cuts attributes at ``OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`` characters and leaves no mark; Langfuse's SDKs
put a sentence in the place of what is too large, OpenInference and Logfire put one in the place of what is hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalkit.trace.model import Step, Trace
from evalkit.trace.prefixes import Prefixes

__all__ = ["Cuts", "find_cuts"]

_TOO_LARGE = "<truncated due to size exceeding limit>"
_HIDDEN = "__REDACTED__"
_SCRUBBED = "[Scrubbed due to "
_SHORTEST_LIMIT = 64
_SURE_LIMIT = 1024
"""From here on one text that ends at a power of two is enough; below, two different ones must have one round length."""


class Cuts:
    """What was cut off in one trace.

    Args:
        marked: whether any text says that it was cut off or masked.

    Attributes:
        limit: the length in characters at which the exporter cut texts; None when it cut none.
    """

    def __init__(self, limit: int | None, marked: bool = True) -> None:
        self.limit = limit
        self._none = limit is None and not marked
        self._known: dict[int, tuple[Any, str]] = {}
        self._lists: Prefixes[str] = Prefixes()

    def of(self, value: Any) -> str:
        """How a value was cut off or masked, in words; empty when it is whole.

        A list of messages, most of which stood in earlier ones, is looked at message by message, each object once.
        """
        if self._none:
            return ""
        if not isinstance(value, list):
            return self._of(value)
        count, before = self._lists.of(value)
        made = next((found for item in reversed(value[count:]) if (found := self._of_item(item))), before or "")
        self._lists.keep(value, made)
        return made

    def _of_item(self, item: Any) -> str:
        known = self._known.get(id(item))
        if known is None:
            known = self._known[id(item)] = (item, self._of(item))  # held, so that no other gets its id
        return known[1]

    def _of(self, value: Any) -> str:
        for text in _texts([value], set()):
            if self.limit is not None and len(text) == self.limit and _is_prose(text):
                return f"cut off at {self.limit} characters"
            if mark := _mark(text):
                return mark
        return ""

    def unread(self, step: Step) -> str:
        """The attribute of a step that was cut in the middle of its JSON, so that its content could not be read."""
        for name, value in step.attributes.items():
            if isinstance(value, str) and len(value) >= _SHORTEST_LIMIT and _breaks_off(value):
                return f"{name} breaks off after {len(value)} characters"
        return ""


def find_cuts(trace: Trace) -> Cuts:
    """Looks for the exporter's length limit in a trace's model, tool and retrieval steps."""
    longest, marked = 0, False
    found: set[str] = set()
    seen: set[int] = set()
    lists: Prefixes[bool] = Prefixes()
    for step in trace.of_kind("model", "tool", "retrieval"):
        given = [*_without_earlier(step.input, lists), step.output, *step.attributes.values()]
        for text in _texts(given, seen):
            marked = marked or bool(_mark(text))
            if len(text) < longest or not _is_prose(text):
                continue
            if len(text) > longest:
                longest, found = len(text), {text}
            else:
                found.add(text)
    return Cuts(longest if _is_limit(longest, len(found)) else None, marked)


def _mark(text: str) -> str:
    """What a text says that was done to it, in words; empty when it says nothing."""
    if _TOO_LARGE in text:
        return "left out by the exporter as too large"
    return "masked by the exporter" if text == _HIDDEN or text.startswith(_SCRUBBED) else ""


def _without_earlier(given: Any, lists: Prefixes[bool]) -> list[Any]:
    """The values of a step's input, without the messages that an earlier step's had."""
    messages = given.get("messages") if isinstance(given, dict) else None
    if not isinstance(messages, list):
        return [given]
    count, _ = lists.of(messages)
    lists.keep(messages, True)
    return [*(value for value in given.values() if value is not messages), *messages[count:]]


def _is_limit(length: int, texts: int) -> bool:
    if texts == 1:
        return length >= _SURE_LIMIT and length & (length - 1) == 0
    return length >= _SHORTEST_LIMIT and (length % 64 == 0 or length % 100 == 0)


def _is_prose(text: str) -> bool:
    """Whether a text has words or JSON in it: digests, keys and tokens have round lengths by themselves."""
    return text.startswith(("{", "[")) or any(map(str.isspace, text[:_SHORTEST_LIMIT]))


def _breaks_off(text: str) -> bool:
    return text.startswith(("{", "[")) and not text.rstrip().endswith(("}", "]"))


def _texts(rest: list[Any], seen: set[int]) -> Iterator[str]:
    """The texts in some values, without those of objects and lists that were seen before.

    Args:
        seen: the ids of these; whoever calls holds them.
    """
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list) and id(item) not in seen:
            seen.add(id(item))
            rest += item.values() if isinstance(item, dict) else item
