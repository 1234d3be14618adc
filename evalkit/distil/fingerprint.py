"""A digest of what a run did, whoever recorded it: the same run from two exporters has one fingerprint.

It holds the calls with their arguments and results, in any order, and the last thing that the agent said; for a run
without calls all that was said. Ids, times, step numbers, spans around the calls and the form of JSON (text or object,
`1` or `1.0`) are no part of it. It is taken from sanitized traces, in which one value has one surrogate.
"""

from __future__ import annotations

import orjson

from evalkit.canonical import Json, digest
from evalkit.check.view import spoken
from evalkit.errors import InputError
from evalkit.trace.model import Step, Trace

__all__ = ["fingerprint"]


def fingerprint(trace: Trace) -> str:
    """The fingerprint, hex SHA-256; empty for a run in which nothing was called or said."""
    calls = sorted(_call(step) for step in trace.of_kind("tool", "retrieval"))
    said = [" ".join(text.split()) for _, text in spoken(trace)]
    if not calls and not said:
        return ""
    return digest([[*calls], [*(said[-1:] if calls else said)]])


def _call(step: Step) -> str:
    answer: Json = "failed" if step.error is not None else _plain(step.output)
    try:
        return digest([step.name, _plain(step.input), answer])
    except InputError:  # no JSON: as it prints
        return repr((step.name, step.input, answer))


def _plain(value: Json) -> Json:
    """A value with the JSON inside of its texts taken out."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return _plain(orjson.loads(value))
        except orjson.JSONDecodeError:
            return value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
