"""Waiting for an agent in another process: for its end, a miss, or the time limit."""

from __future__ import annotations

import time
from collections.abc import Callable

from evalkit.playback.deadline import ReplayTimeout
from evalkit.playback.fixtures import ReplayHalt
from evalkit.playback.targets.protocol import Surroundings

__all__ = ["MOST_SAID", "wait_for"]

MOST_SAID = 64 << 20
"""Bytes that an agent may say."""

_GRACE_S = 3.0
"""Seconds that it may go on after a miss, to say so and end."""

_LOOK_S = 0.5


def wait_for(done: Callable[[], bool], around: Surroundings) -> BaseException | None:
    """Waits until ``done()``; why it was given up, if it was.

    Whoever makes ``done()`` true sets the gateway's `stirred`.
    """
    stirred, gateway = around.gateway.stirred, around.gateway
    until = time.monotonic() + around.timeout_s
    halted = False
    while not done():
        if time.monotonic() >= until + (0.0 if halted else gateway.waited_s):
            if halted:
                return ReplayHalt("a call had no recorded answer, and the agent went on")
            return ReplayTimeout(f"stopped after {around.timeout_s:g} s")
        stirred.wait(min(max(until - time.monotonic(), 0.01), _LOOK_S))
        stirred.clear()
        if gateway.stopped is not None:
            return gateway.stopped
        if gateway.missed and not halted:
            halted = True
            until = min(until, time.monotonic() + _GRACE_S)
    return None
