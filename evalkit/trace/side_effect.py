"""The life of a side effect, from its plan to the proof that it happened: `state` steps of one form.

Each change of its status is a step of kind `state` named ``side_effect:<name>``. Its input is ``{"status": ...}`` with,
where told, ``key`` (the idempotency key), ``receipt`` (what proves it: a payment's id), ``reason`` and, for
``reconciled``, ``outcome`` (``confirmed`` or ``failed``); its output is the status before, None at first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from evalkit.canonical import Json, canonical
from evalkit.trace.model import Step, Trace

__all__ = ["SIDE_EFFECT", "STATUSES", "Life", "SideEffectStatus", "lives", "side_effect_name"]

SideEffectStatus: TypeAlias = Literal["planned", "executing", "confirmed", "failed", "unknown", "reconciled"]
STATUSES: tuple[SideEffectStatus, ...] = get_args(SideEffectStatus)
SIDE_EFFECT = "side_effect:"
"""What the name of a step begins with that is about a side effect's life."""


@dataclass(frozen=True, slots=True)
class Life:
    """One side effect in a trace.

    Attributes:
        name: what it does, such as ``refund``.
        key: its idempotency key; None when there is none (then all of that name are one).
        steps: its steps, in order.
        statuses: what they say, in order.
        receipt: the last one told.
    """

    name: str
    key: Json
    steps: tuple[int, ...]
    statuses: tuple[SideEffectStatus, ...]
    receipt: Json = None

    @property
    def status(self) -> SideEffectStatus:
        """Where it stands."""
        return self.statuses[-1]


def side_effect_name(step: Step) -> str | None:
    """The side effect that a step is about; None for other steps."""
    if step.kind != "state" or not step.name.startswith(SIDE_EFFECT) or not isinstance(step.input, dict):
        return None
    return step.name.removeprefix(SIDE_EFFECT) if step.input.get("status") in STATUSES else None


def lives(trace: Trace) -> list[Life]:
    """The side effects of a trace, in the order of their first steps; one life a name and key."""
    found: dict[tuple[str, bytes], list[Step]] = {}
    for step in trace.steps:
        name = side_effect_name(step)
        if name is not None:
            found.setdefault((name, canonical(_told(step).get("key"))), []).append(step)
    return [_life(name, steps) for (name, _), steps in found.items()]


def _life(name: str, steps: Sequence[Step]) -> Life:
    receipts = [told["receipt"] for told in map(_told, steps) if told.get("receipt") is not None]
    return Life(
        name,
        _told(steps[0]).get("key"),
        tuple(step.seq for step in steps),
        tuple(_told(step)["status"] for step in steps),
        receipts[-1] if receipts else None,
    )


def _told(step: Step) -> dict[str, Any]:
    return step.input if isinstance(step.input, dict) else {}
