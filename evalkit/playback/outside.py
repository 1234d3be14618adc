"""One replay of an agent in another process: its session behind a gateway, for as long as the agent runs."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from evalkit.canonical import Json
from evalkit.capture.seam import Session
from evalkit.playback.fixtures import Frozen
from evalkit.playback.gateway.gateway import Gateway
from evalkit.playback.targets.protocol import OutsideTarget, Surroundings, TargetUnavailable
from evalkit.trace.model import Kind, Trace

__all__ = ["run_outside"]

_ASKED: frozenset[Kind] = frozenset({"model", "tool", "retrieval"})
_UNSEEN = (
    "the agent asked the gateway nothing, so nobody saw what it did: lead its clients there by the variables "
    "(OPENAI_BASE_URL, ANTHROPIC_BASE_URL, EVALKIT_MCP_URL), or have it ask for /v1/models where it needs neither"
)


def run_outside(
    target: OutsideTarget,
    given: Json,
    session: Session,
    frozen: Frozen,
    incident: Trace,
    *,
    endpoint: str | None,
    give_up: Callable[[], None],
    timeout_s: float,
    seed: int,
) -> tuple[Json, str]:
    """The agent's answer, and why nobody saw what it did; empty where somebody could.

    Args:
        endpoint: base URL of a live model, which the session's caller asks; None where none is asked.
        give_up: ends what waits for it.

    Raises:
        ConfigError: the port that the target needs can't be had.
        TargetUnavailable: there is nobody to start, or the gateway itself failed.
        BaseException: how the agent failed, or why it was stopped.
    """
    gateway = Gateway(session, incident, endpoint, lambda: len(frozen.misses), give_up)
    port, token = target.place
    with gateway.serving(port, token or ("" if port else secrets.token_urlsafe(12))) as address:
        around = Surroundings(address, gateway, timeout_s, incident.started_at or 0.0, seed)
        try:
            output = target.run_outside(given, around)
            if gateway.stopped is not None:
                raise gateway.stopped
            unseen = not gateway.asked and any(step.kind in _ASKED for step in incident.steps)
            return output, _UNSEEN if unseen else ""
        finally:
            if gateway.faults:
                raise TargetUnavailable(f"the gateway failed: {gateway.faults[0]}")
