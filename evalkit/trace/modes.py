"""Which ways of replaying a trace it holds enough for, and why not the others.

================= ====================================================================================================
mode              needs
================= ====================================================================================================
``exact``         the arguments and results of all tool and retrieval calls, the messages and answers of all model calls
                  (but messages that the provider held: the agent sends none of them in the replay, either)
``live-model``    the arguments and results of all tool and retrieval calls but the last: the model really runs
``fork``          a model step with its full messages and tool definitions
``prompt-swap``   the same, with a system prompt in the messages
================= ====================================================================================================

A call in the very last model answer that nobody carried out closes no mode: the run ended with it. In a fork, a call
whose result is not known is a miss when it is made.
"""

from __future__ import annotations

from collections.abc import Callable

from evalkit.trace.evidence import (
    MESSAGES_MISSING,
    Lacks,
    definitions_missing,
    find_lacks,
    step_numbers,
    tools_undefined,
)
from evalkit.trace.message import messages_of
from evalkit.trace.model import Step, Trace

__all__ = ["closed_modes", "fork_refusal", "has_prompt", "open_modes"]


def open_modes(trace: Trace, lacks: Lacks | None = None) -> dict[str, str | None]:
    """Each mode with the reason for which it is closed; None for an open one.

    Args:
        lacks: of `trace`, by `find_lacks`, where it is at hand.
    """
    needs = _Needs(trace, lacks)
    models = [*trace.of_kind("model")]
    return {
        "exact": _first(sorted([*needs.calls, *needs.answers])),
        "live-model": _first([item for item in needs.calls if item[0] != needs.last_call]),
        "fork": _unless_one(models, needs.to_fork),
        "prompt-swap": _unless_one(models, needs.to_swap),
    }


def closed_modes(trace: Trace, lacks: Lacks | None = None) -> dict[str, str]:
    """The modes that are closed, with the reasons; `lacks` as for `open_modes`."""
    return {mode: reason for mode, reason in open_modes(trace, lacks).items() if reason is not None}


def fork_refusal(trace: Trace, seq: int) -> str | None:
    """Why a replay can't start at a step; None when it can.

    Raises:
        KeyError: there is no such step.
    """
    step = trace.step(seq)
    if step.kind != "model":
        return f"step {seq} is a {step.kind} step: a fork starts at a model step"
    return _first(_Needs(trace).to_fork(step))


def has_prompt(step: Step) -> bool:
    """Whether a model step's messages hold a system prompt."""
    return any(message.get("role") in ("system", "developer") for message in messages_of(step))


class _Needs:
    """What is missing in a trace, as (step number, words), by what needs it.

    Attributes:
        calls: of tool and retrieval calls.
        answers: of model calls.
        last_call: number of the last tool or retrieval step, unless the record breaks off: a run that ended with a call
            shows no result.
    """

    def __init__(self, trace: Trace, lacks: Lacks | None = None) -> None:
        lacks = lacks or find_lacks(trace)
        models = [*trace.of_kind("model")]
        numbers = {step.seq for step in models}
        last = max(numbers, default=-1)
        stray = [(seq, f"no step for the call of {name or 'a tool without a name'}") for seq, name in lacks.stray]
        missing = [(seq, what) for seq, each in lacks.by_step.items() for what in each]
        as_sent = {step.seq for step in models if _is_known_as_sent(step)}
        self.answers = [
            (seq, what)
            for seq, what in missing
            if seq in numbers and not (seq in as_sent and what.startswith(MESSAGES_MISSING))
        ]
        self.calls = sorted(
            [item for item in missing if item[0] not in numbers] + [item for item in stray if item[0] != last]
        )
        steps = [*trace.of_kind("tool", "retrieval")]
        self.last_call = steps[-1].seq if steps and trace.status != "unfinished" else -1
        self._lacks = lacks
        self._undefined = tools_undefined(models, lacks)

    def to_fork(self, step: Step) -> list[tuple[int, str]]:
        """What a model step lacks so that the run can go on from there."""
        found = [(step.seq, what) for what in self._lacks.by_step.get(step.seq, ()) if "messages" in what]
        if step.seq in self._undefined:
            found.append((step.seq, definitions_missing(self._undefined[step.seq])))
        return found

    def to_swap(self, step: Step) -> list[tuple[int, str]]:
        """What a model step lacks so that the run can go on from there with another system prompt."""
        found = self.to_fork(step)
        return found if has_prompt(step) else [(step.seq, "no system prompt in the messages"), *found]


def _is_known_as_sent(step: Step) -> bool:
    """Whether a model call was seen on the wire, so that it is whole even where it only refers to earlier messages."""
    return "wire" in step.attributes and isinstance(step.input, dict)


def _first(missing: list[tuple[int, str]]) -> str | None:
    """The first thing that is missing, and how many more there are."""
    if not missing:
        return None
    seq, what = missing[0]
    return f"step {seq}: {what}" + (f", and {len(missing) - 1} more" if missing[1:] else "")


def _unless_one(models: list[Step], needed: Callable[[Step], list[tuple[int, str]]]) -> str | None:
    """None when a model step lacks nothing; else what most of them lack first."""
    if not models:
        return "there is no model step"
    steps: dict[str, list[int]] = {}
    for step in models:
        missing = needed(step)
        if not missing:
            return None
        steps.setdefault(missing[0][1], []).append(missing[0][0])
    what, numbers = max(steps.items(), key=lambda item: len(item[1]))
    return f"{step_numbers(numbers)}: {what}"
