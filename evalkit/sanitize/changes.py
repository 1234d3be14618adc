"""What sanitizing changed in a trace, and where: by walking the raw and the sanitized one side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from evalkit.trace.model import StepError, Trace

__all__ = ["Change", "changes", "path_counts"]

_MAX_PATHS = 200
_REST = "(others)"


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
    yield from _differing(None, "run.id", raw.id, clean.id)
    yield from _differing(None, "run.name", raw.name, clean.name)
    yield from _differing(None, "run.input", raw.input, clean.input)
    for before, after in zip(raw.steps, clean.steps, strict=True):
        place = f"{after.kind} {after.name}"
        yield from _differing(after.seq, f"{place}.name", before.name, after.name)
        yield from _differing(after.seq, f"{place}.input", before.input, after.input)
        yield from _differing(after.seq, f"{place}.output", before.output, after.output)
        yield from _of_error(after.seq, place, before.error, after.error)
        yield from _differing(after.seq, f"{place}.attributes", dict(before.attributes), dict(after.attributes))
    yield from _differing(None, "run.output", raw.output, clean.output)
    yield from _of_error(None, "run", raw.error, clean.error)
    yield from _differing(None, "run.attributes", dict(raw.attributes), dict(clean.attributes))
    yield from _differing(None, "run.gaps", list(raw.gaps), list(clean.gaps))


def path_counts(raw: Trace, clean: Trace) -> dict[str, int]:
    """How many texts were changed at each place; beyond 200 places the rarest are counted together."""
    counts = Counter(change.path[:160] for change in changes(raw, clean))
    shown = sorted(counts, key=lambda path: (-counts[path], path))[:_MAX_PATHS]
    found = {path: counts[path] for path in sorted(shown)}
    rest = counts.total() - sum(found.values())
    return {**found, _REST: rest} if rest else found


def _of_error(step: int | None, place: str, raw: StepError | None, clean: StepError | None) -> Iterator[Change]:
    if raw is not None and clean is not None:
        yield from _differing(step, f"{place}.error.type", raw.type, clean.type)
        yield from _differing(step, f"{place}.error.message", raw.message, clean.message)
        yield from _differing(step, f"{place}.error.stack", raw.stack, clean.stack)


def _differing(step: int | None, path: str, raw: Any, clean: Any) -> Iterator[Change]:
    if raw is clean:
        return
    if type(raw) is dict and type(clean) is dict:
        for (old, before), (new, after) in zip(raw.items(), clean.items(), strict=True):
            if old != new:
                yield Change(step, f"{path}.(key)", old, new)
            if before is not after:
                yield from _differing(step, f"{path}.{new}", before, after)
    elif type(raw) is list and type(clean) is list:
        for before, after in zip(raw, clean, strict=True):
            yield from _differing(step, f"{path}.*", before, after)
    elif raw != clean:
        yield Change(step, path, raw, clean)
