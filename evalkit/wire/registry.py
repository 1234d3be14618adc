"""Which model APIs there are. A new one is a module, a line here, and a test."""

from __future__ import annotations

from evalkit.registry import Registry
from evalkit.wire.protocol import Wire

__all__ = ["WIRES", "find_wire"]

WIRES: Registry[Wire] = Registry(
    "wire",
    "evalkit.wires",
    {
        "openai_chat": "evalkit.wire.openai_chat:WIRE",
        "openai_responses": "evalkit.wire.openai_responses:WIRE",
        "anthropic": "evalkit.wire.anthropic:WIRE",
    },
)


def find_wire(method: str, url: str) -> Wire | None:
    """The API that a request speaks; None when nobody knows it.

    Raises:
        ConfigError: a registered wire failed to load.
    """
    return next((wire for _, wire in WIRES.items() if wire.matches(method, url)), None)
