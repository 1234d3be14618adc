"""The process environment that an agent sees in a replay: where its model is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["NO_TELEMETRY", "environment_of"]

_NOWHERE = "http://model.evalkit.invalid/v1"
NO_TELEMETRY = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}
"""Frameworks that send traces of their own from a background thread, which the frozen world would take for a miss."""


@contextmanager
def environment_of(base_url: str | None) -> Iterator[None]:
    """While inside, the usual variables lead an OpenAI client to `base_url`; None leads it nowhere.

    Frameworks that would report the run elsewhere are told not to.
    A key is given where there is none, because clients refuse to start without one; frozen calls never send it.
    """
    wanted = {"OPENAI_BASE_URL": base_url or _NOWHERE, **NO_TELEMETRY}
    if "OPENAI_API_KEY" not in os.environ:
        wanted["OPENAI_API_KEY"] = "evalkit-replay"
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
