"""What every trace must be like, whoever read it: the model's types, and values that everything later can hold.

A reader of a foreign format, a third party's reader among them, is the one door for hostile data. What it gives is
looked at once, here, so that no check, no report and no case file has to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from operator import is_
from typing import Any, get_args

from evalkit.errors import UnreadableTrace
from evalkit.trace.ancestry import circular
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import KINDS, Effect, EffectSource, Status, Step, StepError, Trace, Usage

__all__ = ["sound"]

_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999, which dates can show."""
_MAX_COUNT = 2**63 - 1
_MAX_NUMBER = 2**31 - 1
_EFFECTS = frozenset({None, *get_args(Effect)})
_SOURCES = frozenset({None, *get_args(EffectSource)})
_STATUSES = frozenset(get_args(Status))
_TEXT_OR_NONE = str | None
_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


def sound(trace: Trace, where: str, report: ReadReport) -> Trace:
    """`trace`, with times and counts that can't be true left out and counted.

    Raises:
        UnreadableTrace: a field is of a type that the model has not, a number stands twice or out of order, or a step
            lies inside of itself.
    """
    _refuse_wrong_run(trace, where)
    before = -1
    for step in trace.steps:
        _refuse_wrong_step(step, where)
        if step.seq <= before:
            raise _wrong(f"step {step.seq} comes after step {before}", where)
        before = step.seq
    numbers = {step.seq for step in trace.steps}
    inside = circular({str(step.seq): str(step.parent) for step in trace.steps if step.parent in numbers})
    if inside:
        raise _wrong(f"step {min(map(int, inside))} lies inside of itself", where)
    steps = tuple(_possible_step(step, report) for step in trace.steps)
    started, ended = _time(trace.started_at, report), _time(trace.ended_at, report)
    if started is trace.started_at and ended is trace.ended_at and all(map(is_, steps, trace.steps)):
        return trace
    return replace(trace, steps=steps, started_at=started, ended_at=ended)


def _refuse_wrong_run(trace: Trace, where: str) -> None:
    for name in ("id", "name", "dialect"):
        _want(getattr(trace, name), str, where, "the trace's {}", name)
    if not isinstance(trace.status, str) or trace.status not in _STATUSES:
        raise _wrong(f"the trace's status is {_shown(trace.status)}, wanted one of {sorted(_STATUSES)}", where)
    _want(trace.attributes, Mapping, where, "the trace's attributes")
    for gap in trace.gaps:
        _want(gap, str, where, "a gap")
    if trace.error is not None:
        _refuse_wrong_error(trace.error, "the trace", where)


def _refuse_wrong_step(step: Step, where: str) -> None:
    seq = step.seq
    _want_number(seq, where, "a step's number")
    if step.parent is not None:
        _want_number(step.parent, where, "step {}: its parent", seq)
    if not isinstance(step.kind, str) or step.kind not in KINDS:
        raise _wrong(f"step {seq}: its kind is {_shown(step.kind)}, wanted one of {sorted(KINDS)}", where)
    _want(step.name, str, where, "step {}: its name", seq)
    _want(step.model, _TEXT_OR_NONE, where, "step {}: its model", seq)
    _want(step.effect, _TEXT_OR_NONE, where, "step {}: its effect", seq)
    _want(step.effect_source, _TEXT_OR_NONE, where, "step {}: its effect's source", seq)
    if step.effect not in _EFFECTS or step.effect_source not in _SOURCES:
        raise _wrong(f"step {seq}: its effect is {_shown(step.effect)} ({_shown(step.effect_source)})", where)
    _want(step.attributes, Mapping, where, "step {}: its attributes", seq)
    if step.error is not None:
        _refuse_wrong_error(step.error, f"step {seq}", where)


def _refuse_wrong_error(error: StepError, whose: str, where: str) -> None:
    for name in ("type", "message"):
        _want(getattr(error, name), str, where, "{}: its error's {}", whose, name)
    for name in ("module", "stack"):
        _want(getattr(error, name), _TEXT_OR_NONE, where, "{}: its error's {}", whose, name)


def _possible_step(step: Step, report: ReadReport) -> Step:
    started, ended = _time(step.started_at, report), _time(step.ended_at, report)
    usage = None if step.usage is None else _usage(step.usage, report)
    if started is step.started_at and ended is step.ended_at and usage is step.usage:
        return step
    return replace(step, started_at=started, ended_at=ended, usage=usage)


def _time(seconds: Any, report: ReadReport) -> float | None:
    if seconds is None or (_is_number(seconds) and _FIRST_S <= seconds <= _LAST_S):
        return seconds  # type: ignore[no-any-return]  # narrowed by _is_number
    report.skipped["time: outside of the years 1 to 9999"] += 1
    return None


def _usage(usage: Usage, report: ReadReport) -> Usage | None:
    wrong: dict[str, None] = {}
    for name in _COUNTS:
        count = getattr(usage, name)
        if count is not None and not (type(count) is int and 0 <= count <= _MAX_COUNT):
            wrong[name] = None
    cost = usage.cost_usd
    if cost is not None and not _is_number(cost):
        wrong["cost_usd"] = None
    if not wrong:
        return usage
    report.skipped["usage: a count that no model call has"] += len(wrong)
    left = replace(usage, **wrong)
    return None if left == Usage() else left


def _is_number(value: Any) -> bool:
    """Whether a value is a number that a double can hold; NaN and infinity are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _want_number(value: Any, where: str, what: str, *of: object) -> None:
    if type(value) is not int or not 0 <= value <= _MAX_NUMBER:
        raise _wrong(f"{what.format(*of)} is {_shown(value)}, wanted a whole number from 0", where)


def _want(value: Any, wanted: Any, where: str, what: str, *of: object) -> None:
    if not isinstance(value, wanted):
        raise _wrong(f"{what.format(*of)} is {_shown(value)}, wanted {getattr(wanted, '__name__', wanted)}", where)


def _shown(value: Any) -> str:
    return type(value).__name__ if isinstance(value, dict | list) else f"{str(value)[:40]!r}"


def _wrong(what: str, where: str) -> UnreadableTrace:
    return UnreadableTrace(what, where, "export or record the trace again")
