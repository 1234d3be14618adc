"""What makes one JSON object of another: small where they are nearly alike.

A patch is ``{"set": {key: value}, "in": {key: patch}, "gone": [key]}``, without the empty ones of these. Unlike a JSON
merge patch (RFC 7386) it can set null.
"""

from __future__ import annotations

from typing import Any

__all__ = ["difference", "patched"]


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The patch that makes `new` of `old`; empty when they are alike."""
    put, inner = {}, {}
    for key, value in new.items():
        if key not in old:
            put[key] = value
        elif isinstance(value, dict) and isinstance(old[key], dict):
            within = difference(old[key], value)
            if within:
                inner[key] = within
        elif type(value) is not type(old[key]) or value != old[key]:
            put[key] = value
    gone = [key for key in old if key not in new]
    return {name: value for name, value in (("set", put), ("in", inner), ("gone", gone)) if value}


def patched(old: dict[str, Any], patch: Any) -> dict[str, Any]:
    """What `patch` makes of `old`; a patch from a file may hold anything, and what does not apply is passed over."""
    if not isinstance(patch, dict):
        return old
    put, inner, gone = patch.get("set"), patch.get("in"), patch.get("gone")
    new = {**old, **put} if isinstance(put, dict) else dict(old)
    for key, within in inner.items() if isinstance(inner, dict) else ():
        if isinstance(new.get(key), dict):
            new[key] = patched(new[key], within)
    for key in gone if isinstance(gone, list) else ():
        if isinstance(key, str):
            new.pop(key, None)
    return new
