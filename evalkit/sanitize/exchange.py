"""Surrogates replaced by others in what was written: where two values came to share one, or one value has two.

No value is needed for it: a further surrogate is drawn in the form of the one that there is, and the value's tag stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any, TypeAlias

from evalkit.sanitize.normal import date_spellings
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.register import Surrogates
from evalkit.sanitize.spots import Spot, Spots, core_spots, escaped_spots, literal_spot, replaced_in, word_spots
from evalkit.sanitize.verify import Harvested

__all__ = ["Exchange", "Moves"]

Moves: TypeAlias = Mapping[tuple[Kind, str], str]
"""By kind and surrogate (see `Mint.core`): the one that is to stand there."""


class Exchange:
    """Replaces surrogates in JSON values, everywhere alike. An account's name goes with the names in it."""

    def __init__(self, moves: Moves) -> None:
        names = Spots(spot for (kind, old), new in moves.items() if kind == "name" for spot in _spots(kind, old, new))
        accounts = {at: names.replaced(new, None) for at, new in moves.items() if at[0] == "account"}
        every = {**accounts, **{at: new for at, new in moves.items() if at not in accounts}}
        self._new: dict[tuple[str, str], str] = {(kind, old): new for (kind, old), new in every.items()}
        self._spots = Spots(spot for (kind, old), new in every.items() for spot in _spots(kind, old, new))
        self._encoded = Harvested((old, kind) for kind, old in moves)

    def text(self, text: str) -> str:
        """One text."""
        return self._spots.replaced(text, None)

    def value(self, node: Any) -> Any:
        """A JSON value; containers are copied, keys are looked at too."""
        return replaced_in(node, self.text)

    def surrogates(self, surrogates: Surrogates) -> Surrogates:
        """What a record says of surrogates."""
        return {kind: {self._moved(kind, one): tag for one, tag in tags.items()} for kind, tags in surrogates.items()}

    def _moved(self, kind: str, surrogate: str) -> str:
        return self._new.get((kind, surrogate)) or (self.text(surrogate) if kind == "account" else surrogate)

    def left_in(self, texts: Iterable[str]) -> bool:
        """Whether one of the old surrogates stands in a text in an encoding, where it is not replaced."""
        return any(self._encoded.encoded(text.encode("utf-8", "surrogatepass")) is not None for text in texts)


def _spots(kind: Kind, old: str, new: str) -> Iterator[Spot[None]]:
    if kind == "name":
        yield from word_spots("", old, _always(new))
    elif kind == "birth_date":
        days = (date_spellings(date.fromisoformat(one)) for one in (old, new))
        yield from (_alone(re.escape(here), there, old) for here, there in zip(*days, strict=True))
    elif kind == "mac":
        pattern = "[:. -]?".join(re.escape(char) for char in old)
        yield from (spot._replace(pattern=pattern) for spot in core_spots(kind, old, _always(new)))
    elif kind == "plate" and not old.isascii():
        pattern = re.escape(old[:2]) + "[·• -]?" + re.escape(old[2:])
        yield from (spot._replace(pattern=pattern) for spot in core_spots(kind, old, _always(new)))
        yield from escaped_spots("", old, _always(new))
    elif kind == "account":
        yield literal_spot(old, _spelled(new), old)
    else:
        unit = kind == "address" and old.isdecimal()
        yield from (spot._replace(alone=True) if unit else spot for spot in core_spots(kind, old, _always(new)))
        yield from escaped_spots("", old, _always(new))
        if kind == "postcode" and "-" in old:  # as a JSON number, without leading zeros
            yield _alone(str(int(old.replace("-", ""))), str(int(new.replace("-", ""))), old)


def _alone(pattern: str, new: str, old: str) -> Spot[None]:
    return Spot(pattern, "", True, _spelled(new), old)


def _always(new: str) -> Callable[[None], str]:
    return lambda _: new


def _spelled(new: str) -> Callable[[None, str], str]:
    return lambda _, __: new
