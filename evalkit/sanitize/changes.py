"""What sanitizing changed in a trace, and where: by walking the raw and the sanitized one side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import is_
from typing import Any, NamedTuple

from evalkit.trace.model import StepError, Trace
from evalkit.trace.prefixes import Prefixes

__all__ = ["Change", "changes", "path_counts"]

_MAX_PATHS = 200
_REST = "(others)"
_Within = tuple[tuple[str, Any, Any], ...]
"""What changed in an object: the rest of the path, before, after."""


class Change(NamedTuple):
    """One changed text or number.

    Attributes:
        step: the step's number; None for the run's own values.
        path: its place: ``tool find.output.user.email``; list items are ``*``; keys as they are after sanitizing.
    """

    step: int | None
    path: str
    before: Any
    after: Any


def changes(raw: Trace, clean: Trace) -> Iterator[Change]:
    """The changes from `raw` to `clean`, its sanitized form, in the order of the trace."""
    within = _Differences().of
    for step, place, before, after in _places(raw, clean):
        for path, old, new in within(before, after):
            yield Change(step, place + path, old, new)


def _places(raw: Trace, clean: Trace) -> Iterator[tuple[int | None, str, Any, Any]]:
    """The values of two traces side by side: step, place, raw, clean."""
    yield None, "run.id", raw.id, clean.id
    yield None, "run.name", raw.name, clean.name
    yield None, "run.input", raw.input, clean.input
    for before, after in zip(raw.steps, clean.steps, strict=True):
        place = f"{after.kind} {after.name}"
        yield after.seq, f"{place}.name", before.name, after.name
        yield after.seq, f"{place}.input", before.input, after.input
        yield after.seq, f"{place}.output", before.output, after.output
        yield from _of_error(after.seq, place, before.error, after.error)
        if after.attributes:
            yield after.seq, f"{place}.attributes", dict(before.attributes), dict(after.attributes)
    yield None, "run.output", raw.output, clean.output
    yield from _of_error(None, "run", raw.error, clean.error)
    yield None, "run.attributes", dict(raw.attributes), dict(clean.attributes)
    yield None, "run.gaps", list(raw.gaps), list(clean.gaps)


def path_counts(raw: Trace, clean: Trace) -> dict[str, int]:
    """How many texts were changed at each place; beyond 200 places the rarest are counted together."""
    within = _Differences().of
    paths = ((place + path)[:160] for _, place, old, new in _places(raw, clean) for path, _, _ in within(old, new))
    counts = Counter(paths)
    shown = sorted(counts, key=lambda path: (-counts[path], path))[:_MAX_PATHS]
    found = {path: counts[path] for path in sorted(shown)}
    rest = counts.total() - sum(found.values())
    return {**found, _REST: rest} if rest else found


def _of_error(
    step: int | None, place: str, raw: StepError | None, clean: StepError | None
) -> Iterator[tuple[int | None, str, Any, Any]]:
    if raw is not None and clean is not None:
        yield step, f"{place}.error.type", raw.type, clean.type
        yield step, f"{place}.error.message", raw.message, clean.message
        yield step, f"{place}.error.stack", raw.stack, clean.stack


class _Differences:
    """Compares values; objects that stand side by side again, as a chat's messages do, are compared once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Any, Any, _Within]] = {}
        self._lists: Prefixes[tuple[list[Any], _Within]] = Prefixes()

    def of(self, raw: Any, clean: Any) -> _Within:
        """What differs."""
        if raw is clean:
            return ()
        in_objects = type(raw) is dict and type(clean) is dict
        if not in_objects and not (type(raw) is list and type(clean) is list):
            return () if raw == clean else (("", raw, clean),)
        mark = id(raw), id(clean)
        known = self._known.get(mark)
        if known is None:
            if in_objects:
                found = () if raw == clean else tuple(self._in_object(raw, clean))
            else:
                found = self._in_list(raw, clean)
            known = self._known[mark] = (raw, clean, found)  # held, so that no others get their ids
        return known[2]

    def _in_object(self, raw: dict[str, Any], clean: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
        for (old, before), (new, after) in zip(raw.items(), clean.items(), strict=True):
            if old != new:
                yield ".(key)", old, new
            if before is not after:
                for path, was, became in self.of(before, after):
                    yield f".{new}{path}", was, became

    def _in_list(self, raw: list[Any], clean: list[Any]) -> _Within:
        count, known = self._lists.of(raw)
        if known is None or not all(map(is_, known[0], clean)):
            count, known = 0, (clean, ())
        found = list(known[1])
        for before, after in zip(raw[count:], clean[count:], strict=True):
            if before is not after:
                found += ((f".*{path}", was, became) for path, was, became in self.of(before, after))
        self._lists.keep(raw, (clean, tuple(found)))
        return tuple(found)
