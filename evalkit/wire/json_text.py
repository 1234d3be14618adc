"""How a model wrote a JSON object: its arguments are kept as the object, and their text is made of it again.

Models write JSON in one of a few spellings. The spelling is kept beside the object (nothing for the compact one), and
the whole text only where none of them gives it.
"""

from __future__ import annotations

import json
from typing import Any

from evalkit.wire.body import dump_json, parse_json

__all__ = ["object_of", "spell", "spelling_of"]

_SEPARATORS = {"compact": (",", ":"), "spaced": (", ", ": ")}


def object_of(text: Any) -> Any:
    """Arguments as an object; the model's own text where that is no JSON object."""
    if not isinstance(text, str):
        return {} if text is None else text
    try:
        value = parse_json(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def spelling_of(text: Any) -> Any:
    """What `spell` needs to make `text` of its object again: None, the name of a spelling, or ``{"text": text}``."""
    value = object_of(text)
    if not isinstance(text, str) or value is text or text == spell(value, None):
        return None
    for name in ("spaced", "compact ascii", "spaced ascii"):
        if text == spell(value, name):
            return name
    return {"text": text}


def spell(value: Any, spelling: Any) -> str:
    """`value` as text; a text is itself. A kept text is only believed where it still means `value`."""
    if isinstance(value, str):
        return value
    kept = spelling.get("text") if isinstance(spelling, dict) else None
    if isinstance(kept, str) and (object_of(kept) == value or (not kept and value in ({}, None))):
        return kept
    name, _, only_ascii = spelling.partition(" ") if isinstance(spelling, str) else ("", "", "")
    if name in _SEPARATORS:
        return json.dumps(value, separators=_SEPARATORS[name], ensure_ascii=bool(only_ascii))
    return dump_json({} if value is None else value).decode()
