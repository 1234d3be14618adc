"""One replay of an agent in another process: its session behind a gateway, for as long as the agent runs."""

from __future__ import annotations

import os
import secrets

from evalkit.canonical import Json
from evalkit.capture.seam import Session
from evalkit.playback.fixtures import Frozen
from evalkit.playback.gateway.forward import Upstream
from evalkit.playback.gateway.gateway import Gateway
from evalkit.playback.targets.protocol import OutsideTarget, Surroundings, TargetUnavailable
from evalkit.trace.model import Trace

__all__ = ["run_outside"]


def run_outside(
    target: OutsideTarget,
    given: Json,
    session: Session,
    frozen: Frozen,
    incident: Trace,
    *,
    endpoint: str | None,
    timeout_s: float,
    seed: int,
) -> Json:
    """The agent's answer.

    Args:
        endpoint: of a live model; it is shown the keys of this process's environment.

    Raises:
        ConfigError: the port that the target needs can't be had.
        TargetUnavailable: there is nobody to start, or the gateway itself failed.
        BaseException: how the agent failed, or why it was stopped.
    """
    upstream = None
    if endpoint is not None:
        keys = (os.environ.get(f"{name}_API_KEY", "") for name in ("OPENAI", "ANTHROPIC"))
        upstream = Upstream(endpoint, *keys)
    gateway = Gateway(session, incident, upstream, lambda: len(frozen.misses))
    port, token = target.place
    with gateway.serving(port, token or ("" if port else secrets.token_urlsafe(12))) as address:
        around = Surroundings(address, gateway, timeout_s, incident.started_at or 0.0, seed)
        try:
            return target.run_outside(given, around)
        finally:
            if gateway.faults:
                raise TargetUnavailable(f"the gateway failed: {gateway.faults[0]}")
