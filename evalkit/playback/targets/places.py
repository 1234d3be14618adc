"""Texts with places to be filled: ``{input}`` in an argument or a variable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["filled", "places_in"]

_PLACE = re.compile(r"\{([a-z_]+)\}")


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with what its places stand for; braces around any other word stay, and what is put in is not read."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), text)


def places_in(texts: Iterable[str]) -> set[str]:
    """The names of the places in some texts."""
    return {name for text in texts for name in _PLACE.findall(text)}
