"""A trace as a timeline for a terminal: a line a step, indented by parent, cut to the width.

Lines are made of `Span`s: a text that is safe to show and what it is; whoever prints decides on colours. Nothing here
depends on a terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evalkit.canonical import Json
from evalkit.distil.locate import Suspect
from evalkit.report.text import json_text
from evalkit.report.trajectory import step_texts
from evalkit.trace.model import USER_MESSAGE, Step, Trace
from evalkit.trace.visible import one_line

__all__ = ["LEAST_SUSPECT", "Line", "Role", "Span", "clock_text", "plain", "tally_text", "timeline"]

Role: TypeAlias = Literal["", "faint", "strong", "model", "tool", "write", "error", "suspect"]

_MAX_INDENT = 12
_LONG = 2000
"""Characters of a value that are looked at before it is cut to the line."""
_EFFECTS = {"write": "W", "read": "r", "pure": "p"}
LEAST_SUSPECT = 0.6
"""Weaker candidates stand in every run (the first act, the last change, the last step): no mark for them."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line: text without control characters, and its role."""

    text: str
    role: Role = ""


Line: TypeAlias = tuple[Span, ...]


def plain(line: Line) -> str:
    """A line without roles."""
    return "".join(span.text for span in line).rstrip()


def timeline(
    trace: Trace, suspects: Sequence[Suspect], *, width: int = 80, only: range | None = None
) -> Iterator[Line]:
    """The lines of a trace's steps, with a heading above and a key to the marks below.

    Args:
        suspects: where it may have gone wrong, likeliest first: marked by rank.
        width: terminal cells that a line may take.
        only: the numbers of the steps that are shown; None for all.
    """
    shown = [step for step in trace.steps if only is None or step.seq in only]
    if not shown:
        return
    page = _Page(trace, shown, suspects, width)
    yield page.heading()
    for step in shown:
        yield page.line(step)
    yield from page.key()


class _Page:
    """What is the same for all lines: the columns there are, and how deep each step lies."""

    def __init__(self, trace: Trace, shown: Sequence[Step], suspects: Sequence[Suspect], width: int) -> None:
        self._width = width
        self._shown = shown
        self._depth = _depths(trace)
        self._ranks = {each.step: rank for rank, each in enumerate(suspects, 1) if each.weight >= LEAST_SUSPECT}
        times = [step.started_at for step in trace.steps if step.started_at is not None]
        self._start = trace.started_at if trace.started_at is not None else min(times, default=None)
        self._timed = bool(times)
        self._counted = any(_tokens(step) for step in shown)
        self._number_width = max(len(str(shown[-1].seq)), 3)
        self._kind_width = max(len(step.kind) for step in shown) + 1

    def heading(self) -> Line:
        left = (f"{'at':>7}" if self._timed else "") + f"{'step':>{self._number_width + 3}} "
        right = (f"{'tokens':>12}" if self._counted else "") + (f"{'took':>7}" if self._timed else "")
        return (Span((left + "what").ljust(self._width - len(right)) + right, "faint"),)

    def line(self, step: Step) -> Line:
        suspect = step.seq in self._ranks
        mark = ("!" if suspect else " ") + ("x" if step.error is not None else " ")
        at = f"{self._offset(step):>7}" if self._timed else ""
        number = f" {mark}{step.seq:>{self._number_width}} "
        tokens = f" {_tokens(step)}" if _tokens(step) else ""
        took = f"{_took(step):>7}" if self._timed else ""
        indent = " " * min(self._depth[step.seq], _MAX_INDENT)
        effect = _EFFECTS.get(step.effect or "", " ") + ("?" if step.effect_source == "guessed" else " ")
        room = self._width - len(at) - len(number) - len(tokens) - len(took) - len(indent) - self._kind_width - 3
        what = one_line(_what(step), max(room, 10))
        return (
            Span(at, "faint"),
            Span(number, "suspect" if suspect else "error" if step.error is not None else ""),
            Span(indent + f"{step.kind:<{self._kind_width}}", _kind_role(step)),
            Span(f"{effect} ", "write" if step.effect == "write" else "faint"),
            Span(_padded(what, room), "error" if step.error is not None else ""),
            Span(tokens + took, "faint"),
        )

    def key(self) -> Iterator[Line]:
        effects = {step.effect for step in self._shown}
        marks = [f"{mark} {name}s" for name, mark in _EFFECTS.items() if name in effects and name != "pure"]
        marks += ["p changes nothing"] if "pure" in effects else []
        if any(step.effect_source == "guessed" for step in self._shown):
            marks.append("? guessed")
        if any(step.error is not None for step in self._shown):
            marks.append("x failed")
        if any(step.seq in self._ranks for step in self._shown):
            marks.append("! look here first")
        if marks:
            yield (Span("  " + ", ".join(marks), "faint"),)

    def _offset(self, step: Step) -> str:
        if step.started_at is None or self._start is None:
            return ""
        return clock_text(step.started_at - self._start)


def tally_text(counts: Mapping[str, int]) -> str:
    """``3 model, 2 tool``: the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count:,} {name}" for name, count in ranked)


def clock_text(seconds: float) -> str:
    """A duration for people, at most seven characters."""
    sign, size = ("-", -seconds) if seconds < 0 else ("", seconds)
    if size < 0.9995:
        return f"{sign}{size * 1000:.0f}ms"
    if size < 59.95:
        return f"{sign}{size:.1f}s"
    minutes, rest = divmod(round(min(size, 1e9)), 60)
    if minutes < 60:
        return f"{sign}{minutes}m{rest:02}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 100:
        return f"{sign}{hours}h{minutes:02}m"
    return f"{sign}{hours // 24}d" if hours < 24_000 else f"{sign}>999d"


def _what(step: Step) -> str:
    """What happened in a step, before it is cut to the line."""
    given, gave = step_texts(step)
    if step.error is not None:
        error = f"{step.error.type}: {step.error.message}" if step.error.message else step.error.type
        return f"{_called(step)} failed: {error}" + (f" <- {given}" if given else "")
    if step.kind in ("tool", "retrieval"):
        return f"{_call(step)} -> {gave or '(nothing)'}"
    if step.kind == "model":
        return f"{_called(step)}: {gave}" if gave else f"{_called(step)} gave no answer"
    if step.name == USER_MESSAGE:
        return f"user: {gave}"
    values = " -> ".join(text for text in (given, gave) if text)
    return f"{step.name}: {values}" if values else step.name


def _called(step: Step) -> str:
    return (step.model or step.name) if step.kind == "model" else step.name


def _call(step: Step) -> str:
    """A call as ``refund(order=7)``."""
    if isinstance(step.input, dict):
        inside = ", ".join(f"{name}={_short(value)}" for name, value in step.input.items())
    else:
        inside = _short(step.input) if step.input is not None else ""
    return f"{step.name}({inside})"


def _short(value: Json) -> str:
    text = f'"{value}"' if isinstance(value, str) else json_text(value) or "null"
    return text if len(text) <= _LONG else text[:_LONG]


def _took(step: Step) -> str:
    if step.started_at is None or step.ended_at is None:
        return ""
    return clock_text(step.ended_at - step.started_at)


def _tokens(step: Step) -> str:
    usage = step.usage
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return ""
    return f"{_count(usage.input_tokens)}>{_count(usage.output_tokens)}"


def _count(tokens: int | None) -> str:
    if tokens is None:
        return "?"
    if tokens < 1000:
        return str(tokens)
    return f"{tokens / 1000:.1f}k" if tokens < 99_950 else f"{min(tokens // 1000, 99_999)}k"


def _kind_role(step: Step) -> Role:
    if step.error is not None:
        return "error"
    if step.kind in ("model", "tool"):
        return step.kind
    return "" if step.kind == "agent" else "faint"


def _depths(trace: Trace) -> dict[int, int]:
    """How many steps each one lies inside of; a broken source's circles end at the step that closes them."""
    parents = {step.seq: step.parent for step in trace.steps}
    found: dict[int, int] = {}
    for step in trace.steps:
        way: list[int] = []
        at: int | None = step.seq
        while at is not None and at in parents and at not in found and at not in way:
            way.append(at)
            at = parents[at]
        depth = found[at] + 1 if at is not None and at in found else 0
        for seq in reversed(way):
            found[seq] = depth
            depth += 1
    return found


def _padded(text: str, cells: int) -> str:
    used = sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
    return text + " " * max(cells - used, 0)
