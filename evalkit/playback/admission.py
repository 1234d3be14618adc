"""Whether a case holds enough for a way of replaying it; a refusal says what is missing, and what would work."""

from __future__ import annotations

from evalkit.case.model import Case
from evalkit.errors import ReplayRefused
from evalkit.playback.modes import Mode
from evalkit.playback.overrides import Overrides
from evalkit.trace.modes import fork_refusal, has_prompt

__all__ = ["check_open"]

_NEEDS_OF: tuple[str, str] = ("exact", "live-model")
"""What a trace must hold, by `trace.modes`: with a frozen model, and with a live one."""


def check_open(case: Case, mode: Mode, from_step: int | None, overrides: Overrides, *, live: bool) -> None:
    """Refuses a mode that the incident holds too little for.

    Args:
        from_step: where a fork starts.
        live: whether the model is live.

    Raises:
        ReplayRefused: with the first thing that is missing.
    """
    if mode == "fork":
        _check_fork(case, from_step or 0, overrides)
        return
    frozen, with_model = _NEEDS_OF
    needed = with_model if live else frozen
    if needed in case.closed:
        others = [name for name in _NEEDS_OF if name not in case.closed]
        raise ReplayRefused(
            f"mode {mode} is refused: {case.closed[needed]}",
            f"case {case.id}",
            f"use --mode {others[0]}" if others else "record the incident again with what is missing",
        )


def _check_fork(case: Case, seq: int, overrides: Overrides) -> None:
    """Refuses a step that a fork can't start at."""
    incident = case.trace.trace
    try:
        reason = fork_refusal(incident, seq)
    except KeyError:
        reason = f"there is no step {seq}"
    if reason is None and overrides.system_prompt is not None and not has_prompt(incident.step(seq)):
        reason = f"step {seq}: no system prompt in the messages"
    if reason is None:
        return
    forkable = [step.seq for step in incident.of_kind("model") if fork_refusal(incident, step.seq) is None]
    shown = ", ".join(map(str, forkable[:8])) + (", ..." if forkable[8:] else "")
    cure = f"use --from-step with one of {shown}" if forkable else "record the incident again with what is missing"
    raise ReplayRefused(f"fork is refused: {reason}", f"case {case.id}", cure)
