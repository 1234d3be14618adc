"""Changes whose outcome is not known: done again without asking first, they happen twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.canonical import canonical
from evalkit.check.model import Finding, Judge
from evalkit.check.outage import is_outage
from evalkit.check.params import known_only, texts
from evalkit.check.view import agent_calls, shown
from evalkit.errors import InputError
from evalkit.trace.effect import is_handover
from evalkit.trace.model import Step, Trace
from evalkit.trace.side_effect import side_effect_name

__all__ = ["UNKNOWN_RETRY", "blind_retries"]


_WHOLE = 10**6


class UnknownRetry:
    """A change whose outcome is unknown is not done again before somebody looked.

    Unknown is a write that ended with a lost answer (a timeout, a broken connection, a gateway's error), or a side
    effect noted as ``unknown``. Looking is a read between the two that was given one of the change's own values, or its
    side effect noted as ``reconciled``; where none was noted in the change, any. An idempotency key among the arguments
    (``idempotency`` in its name) makes a retry safe. ``names`` limits it to some tools.
    """

    name = "unknown_retry"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        names = params.get("names")
        what = " or ".join(names) if names else "a change"
        return f"The agent does not try {what} again while its outcome is unknown, before it has looked."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Follows each unknown change to its next try."""
        known_only(params, self.name, "names")
        names = frozenset(texts(params, "names", self.name))

        def judge(trace: Trace) -> Finding:
            found = [pair for pair in blind_retries(trace) if not names or pair[0].name in names]
            if not found:
                return Finding(True, "nothing of unknown outcome was tried again blindly")
            first, again = found[0]
            reason = (
                f"{again.name}({shown(again.input)}) was tried again while the outcome of step {first.seq} was unknown"
            )
            return Finding(False, reason, tuple(sorted({step.seq for pair in found for step in pair})))

        return judge


def blind_retries(trace: Trace) -> list[tuple[Step, Step]]:
    """The changes of unknown outcome, each with the same call made again without a look between."""
    calls = {step.seq for step in agent_calls(trace)}
    open_: dict[tuple[str, bytes], Step] = {}
    noted: dict[int | None, set[tuple[str, str]]] = {}
    found: list[tuple[Step, Step]] = []
    for step in trace.steps:
        effect, status = _side_effect(step)
        if status == "unknown":
            noted.setdefault(step.parent, set()).add(effect)
        elif status == "reconciled":
            open_ = {key: first for key, first in open_.items() if effect not in noted.get(first.seq, {effect})}
        if step.seq not in calls or is_handover(step.name):
            continue
        if step.effect == "read" and step.error is None:
            open_ = {key: first for key, first in open_.items() if not _shares_a_value(first, step)}
        elif step.effect == "write":
            key = (step.name, _key(step))
            if key in open_ and not _is_keyed(step):
                found.append((open_[key], step))
            if _is_unknown(step, trace):
                open_[key] = step
            else:
                open_.pop(key, None)
    return found


def _side_effect(step: Step) -> tuple[tuple[str, str], str]:
    """Name and key of the side effect that a step notes, and its status; empty texts for other steps."""
    name = side_effect_name(step)
    if name is None or not isinstance(step.input, dict):
        return ("", ""), ""
    return (name, shown(step.input.get("key"), _WHOLE)), str(step.input["status"])


def _is_unknown(step: Step, trace: Trace) -> bool:
    if step.error is not None:
        return is_outage(step.error)
    if isinstance(step.output, dict) and str(step.output.get("status", "")).lower() == "unknown":
        return True
    return any(
        side_effect_name(each) is not None
        and each.parent == step.seq
        and isinstance(each.input, dict)
        and each.input.get("status") == "unknown"
        for each in trace.of_kind("state")
    )


def _shares_a_value(write: Step, read: Step) -> bool:
    mine = {str(value) for value in _leaves(write.input) if len(str(value)) > 1}
    return bool(mine & {str(value) for value in _leaves(read.input)})


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [] if value is None or isinstance(value, bool) else [value]


def _is_keyed(step: Step) -> bool:
    return isinstance(step.input, dict) and any("idempotency" in key.lower() for key in step.input)


def _key(step: Step) -> bytes:
    try:
        return canonical(step.input)
    except InputError:  # no JSON: told apart by its place
        return str(step.seq).encode()


UNKNOWN_RETRY = UnknownRetry()
