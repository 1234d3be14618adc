"""Surrogates replaced by others in what was written: where two values came to share one, or one value has two.

No value is needed for it: a further surrogate is drawn in the form of the one that there is, and the value's tag stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, TypeAlias, cast

from evalkit.sanitize.normal import date_spellings
from evalkit.sanitize.policy import KINDS, Kind
from evalkit.sanitize.ranges import is_core
from evalkit.sanitize.register import Surrogates
from evalkit.sanitize.spots import Spot, Spots, core_spots, escaped_spots, literal_spot, replaced_in, word_spots
from evalkit.sanitize.verify import Harvested
from evalkit.trace.model import Step, StepError, Trace

__all__ = ["Exchange", "Moves", "told_by"]

_TAG = re.compile(r"[0-9a-f]{16}")

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

    def trace(self, trace: Trace) -> Trace:
        """A trace's values and texts; what is of evalkit's own making in it stays."""
        return replace(
            trace,
            id=self.text(trace.id),
            name=self.text(trace.name),
            steps=tuple(map(self._step, trace.steps)),
            input=self.value(trace.input),
            output=self.value(trace.output),
            error=self._error(trace.error),
            attributes=self.value(dict(trace.attributes)),
            gaps=tuple(map(self.text, trace.gaps)),
        )

    def _step(self, step: Step) -> Step:
        return replace(
            step,
            name=self.text(step.name),
            input=self.value(step.input),
            output=self.value(step.output),
            error=self._error(step.error),
            attributes=self.value(dict(step.attributes)),
        )

    def _error(self, error: StepError | None) -> StepError | None:
        if error is None:
            return None
        stack = None if error.stack is None else self.text(error.stack)
        return replace(error, message=self.text(error.message), stack=stack)

    def surrogates(self, surrogates: Surrogates) -> Surrogates:
        """What a record says of surrogates."""
        return {kind: {self._moved(kind, one): tag for one, tag in tags.items()} for kind, tags in surrogates.items()}

    def _moved(self, kind: str, surrogate: str) -> str:
        return self._new.get((kind, surrogate)) or (self.text(surrogate) if kind == "account" else surrogate)

    def left_in(self, texts: Iterable[str]) -> bool:
        """Whether one of the old surrogates stands in a text in an encoding, where it is not replaced."""
        return any(self._encoded.encoded(text.encode("utf-8", "surrogatepass")) is not None for text in texts)


def told_by(trace: Trace) -> Iterator[tuple[Kind, str, str]]:
    """Kind, surrogate and tag of what a recorder says of a trace, where it can be true: anybody may have written it.

    One recorder gives a value one surrogate, and two values never the same: of what contradicts that, the first.
    """
    cores: set[str] = set()
    tags: set[tuple[str, str]] = set()
    for name, told in trace.surrogates.items():
        kind = cast("Kind", name)
        for core, tag in told.items() if name in KINDS else ():
            known = core in cores or (kind, tag) in tags
            if not known and _TAG.fullmatch(tag) and is_core(kind, core):
                cores.add(core)
                tags.add((kind, tag))
                yield kind, core, tag


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
        if kind == "postcode" and "-" in old and "-" in new:  # as a JSON number, without leading zeros
            yield _alone(str(int(old.replace("-", ""))), str(int(new.replace("-", ""))), old)


def _alone(pattern: str, new: str, old: str) -> Spot[None]:
    return Spot(pattern, "", True, _spelled(new), old)


def _always(new: str) -> Callable[[None], str]:
    return lambda _: new


def _spelled(new: str) -> Callable[[None, str], str]:
    return lambda _, __: new
