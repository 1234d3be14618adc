"""Whether a case's checks pass a run in which nothing was done: a gate that such an agent opens says little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.trace.model import Trace

__all__ = ["passes_idle"]


def passes_idle(checks: Sequence[Check], incident: Trace) -> bool:
    """Whether all gating checks hold on a run that was asked what the incident was, and called and said nothing."""
    idle = replace(incident, steps=(), output=None, error=None, status="completed", ended_at=incident.started_at)
    gating = [check for check in checks if check.gating]
    try:
        return bool(gating) and all(result.passed for result in judge_checks(gating, idle))
    except Exception:  # noqa: BLE001  # somebody's own check, which knows no run without an answer
        return False
