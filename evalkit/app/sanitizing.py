"""`evalkit sanitize`: load -> sanitize -> verify -> show what changes -> write. For trying a project's rules."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit.app.keys import make_sanitizer
from evalkit.app.masking import excerpt, masked
from evalkit.app.settings import Settings
from evalkit.canonical import exact_text
from evalkit.case.look import look_over
from evalkit.errors import InputError
from evalkit.sanitize.changes import Change, changes
from evalkit.sanitize.model import SanitizationRecord
from evalkit.sanitize.verify import Harvested, verify_strings
from evalkit.trace.file import encode_trace
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces
from evalkit.trace.visible import visible

__all__ = ["Paint", "Sanitized", "sanitize_source", "sanitized_json", "sanitized_lines", "write_sanitized"]

Paint = Callable[[str, str], str]
"""Colours a text: ``red`` for before, ``green`` for after, or leaves it."""


@dataclass(frozen=True, slots=True)
class Sanitized:
    """One trace, sanitized, with what that changed."""

    trace: Trace
    record: SanitizationRecord
    changes: tuple[Change, ...]


def sanitize_source(
    source: str, settings: Settings, *, format: str | None = None, tags: Sequence[str] = ()
) -> tuple[list[Sanitized], Harvested]:
    """All traces of a source, sanitized as one batch, and the originals that must not be written.

    Raises:
        UnreadableTrace: the source can't be read.
        SanitizationFailed: an original would be left.
    """
    traces = list(load_traces(source, format=format))
    sanitizer = make_sanitizer(settings, source, tags)
    done = sanitizer.sanitize(traces)
    told = sanitizer.surrogates if len(done) == 1 else {}  # a file holds one trace
    found = [
        Sanitized(replace(one.trace, surrogates=told), one.record, tuple(changes(raw, one.trace)))
        for raw, one in zip(traces, done, strict=True)
    ]
    verify_strings((line.decode() for one in found for line in encode_trace(one.trace)), sanitizer.harvested, source)
    return found, sanitizer.harvested


def write_sanitized(found: Sequence[Sanitized], harvested: Harvested, out: Path) -> None:
    """Writes the one trace to a native file: under a temporary name, looked over, then renamed.

    Raises:
        InputError: there are several traces, or the file exists.
        SanitizationFailed: an original would be in the file.
    """
    if len(found) != 1:
        raise InputError(f"{len(found)} traces, one wanted: a trace file holds one", str(out), "leave --out away")
    fresh = out.with_name(f".writing-{secrets.token_hex(8)}.trace")
    try:
        with open(fresh, "xb") as file:
            file.writelines(encode_trace(found[0].trace))
        look_over(fresh, harvested)
        os.link(fresh, out)
    except FileExistsError:
        raise InputError("the file exists", str(out), "write to another path") from None
    except OSError as error:
        raise InputError(f"can't be written: {error.strerror}", str(out), "write to another path") from None
    finally:
        fresh.unlink(missing_ok=True)


def sanitized_json(one: Sanitized, *, show_raw: bool) -> dict[str, Any]:
    """A trace's record and changes with stable keys; what stood there before is masked unless `show_raw`."""
    return {
        "trace": one.trace.id,
        "sanitization": one.record.as_json(),
        "changes": [
            {
                "step": change.step,
                "path": change.path,
                "before": change.before if show_raw else masked(_text(change.before), _text(change.after)),
                "after": change.after,
            }
            for change in one.changes
        ],
    }


def sanitized_lines(one: Sanitized, paint: Paint, *, show_raw: bool) -> Iterator[str]:
    """The same for people: place, before, after; only what differs and a little around it.

    A chat's requests repeat all messages before: what changes in one of them is shown once, with how often it comes.
    """
    yield f"trace {visible(one.trace.id)}"
    again: dict[tuple[str, str, str], list[int | None]] = {}
    for change in one.changes:
        again.setdefault((change.path, _text(change.before), _text(change.after)), []).append(change.step)
    for (path, before, after), steps in again.items():
        old, new = excerpt(before, after, show_raw=show_raw)
        later = ("", " (and once later)")[len(steps) - 1] if len(steps) < 3 else f" (and {len(steps) - 1} times later)"
        yield f"  {'run' if steps[0] is None else f'step {steps[0]}'}: {visible(path)}{later}"
        yield paint("red", f"    - {visible(old)}")
        yield paint("green", f"    + {visible(new)}")
    record = one.record
    yield f"  {len(one.changes)} texts changed: " + (_counts(record.counts) or "nothing to hide")
    if record.rules:
        yield f"  found by: {_counts(record.rules)}"
    for name in record.unsure:
        yield f"  perhaps no name: {visible(name)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else exact_text(value).decode()


def _counts(counts: Any) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
