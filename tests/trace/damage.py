"""Damage to documents: junk in any place, keys and items deleted, doubled and swapped, ids that lead in circles."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

__all__ = ["Raw", "Twice", "damaged", "damaged_bytes", "json_text"]


@dataclass(frozen=True, slots=True)
class Raw:
    """A value that Python's own JSON values can't hold: its text, as it goes into the file."""

    text: str


class Twice(dict[str, Any]):
    """An object whose first key is written twice."""


JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, False, 0, -1, 1.5, -0.0, 2**53 + 1, 2**63, 2**64, -(2**70), 10**300, 1e300, 5e-324),
        *("", " ", "x", "{", "[1]", '{"a": 1}', "null", "NaN", "0", "1e999", "2025-13-45", "9999-12-31T23:59:59-14:00"),
        *(
            "0001-01-01T00:00:00+14:00",
            "-1",
            "99999999999999999999",
            "9" * 400,
            "\x00",
            "\u202e\u2066x",
            "\x1b]0;x\x07",
        ),
        *("\ufeff", "ﬁ\u200b", "a" * 5000, "..", "../../x", "t", "a", "c", "user", "assistant", "tool", "error"),
        *([], [1], [None, "a"], [[]], [{}], [[[{"role": "user"}]]], {}, {"a": 1}, {"role": 5}, {"": {"": []}}),
        *({"arrayValue": {"values": [{"intValue": "1"}]}}, {"kvlistValue": {"values": []}}, {"doubleValue": "NaN"}),
        *({"id": []}, {"name": {}}, {"type": {"type": 1}}, {"content": [{"text": 1}]}, {"message": {"message": {}}}),
        *(Raw("NaN"), Raw("-Infinity"), Raw("1e999"), Raw("1E400"), Raw("9" * 309), Raw("9" * 5000), Raw("-0")),
        *(Raw('"\\ud800"'), Raw('"\\udc00\\ud800"'), Raw('"\\u0000\\u202e"'), Raw("[" * 150 + "]" * 150)),
        *(Raw('{"a":' * 190 + "1" + "}" * 190), Raw("[" * 300 + "]" * 300), Raw('{"a":1,"a":2}'), Raw("1.0")),
    ]
)
_ROUNDS = 4


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values inside `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """The value at a path."""
    for key in path:
        value = value[key]
    return value


def damaged(document: Any, data: st.DataObject) -> Any:
    """A copy of `document` that is damaged in one to four places."""
    document = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, _ROUNDS))):
        found = sorted(places(document), key=str)
        if not found:
            break
        path = data.draw(st.sampled_from(found))
        other = data.draw(st.sampled_from(found))
        document = _struck(document, path, other, data)
    return document


def _struck(document: Any, path: tuple[Any, ...], other: tuple[Any, ...], data: st.DataObject) -> Any:
    holder, key = at(document, path[:-1]), path[-1]
    value = holder[key]
    kind = data.draw(st.sampled_from(["junk", "junk", "delete", "double", "swap", "copy", "copy", "wrap", "as text"]))
    if kind == "junk":
        holder[key] = copy.deepcopy(data.draw(JUNK))
    elif kind == "delete":
        del holder[key]
    elif kind == "double" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(value))
    elif kind == "double":
        return _replaced(document, path[:-1], Twice({key: value, **holder}))
    elif kind == "swap":
        second = data.draw(st.sampled_from([*(holder if isinstance(holder, dict) else range(len(holder)))]))
        holder[key], holder[second] = holder[second], value
    elif kind == "copy":  # an id that names another, or itself; a list inside of its own item
        holder[key] = copy.deepcopy(at(document, other))
    elif kind == "wrap":
        holder[key] = data.draw(st.sampled_from([[value], {"value": value}, [value, value]]))
    else:
        holder[key] = json_text(value)
    return document


def _replaced(document: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    at(document, path[:-1])[path[-1]] = new
    return document


def damaged_bytes(content: bytes, data: st.DataObject) -> bytes:
    """`content` with a part cut off or out, bytes flipped, or a part doubled."""
    start = data.draw(st.integers(0, len(content)))
    end = min(start + data.draw(st.integers(0, 40)), len(content))
    kind = data.draw(st.sampled_from(["cut off", "cut out", "flip", "insert", "double"]))
    if kind == "cut off":
        return content[:start]
    if kind == "cut out":
        return content[:start] + content[end:]
    if kind == "flip":
        mask = data.draw(st.integers(1, 255))
        return content[:start] + bytes(byte ^ mask for byte in content[start:end]) + content[end:]
    if kind == "insert":
        return content[:start] + data.draw(st.binary(max_size=8)) + content[start:]
    return content[:end] + content[start:end] + content[end:]


def json_text(value: Any) -> str:
    """JSON text of a value, ASCII only; what stands in it as `Raw` or `Twice` goes in as it is."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {json_text(item)}" for key, item in value.items()]
        return "{" + ", ".join([*items[:1], *items] if isinstance(value, Twice) else items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(json_text, value)) + "]"
    return json.dumps(value)
