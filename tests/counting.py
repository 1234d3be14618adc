"""The demo's model, which counts what it is asked: what a budget let through."""

from __future__ import annotations

from typing import Any

from evalkit.app.demo.server import ScriptedModel

__all__ = ["CountingModel"]


class CountingModel(ScriptedModel):
    """The demo's model; never mistaken.

    Attributes:
        asked: requests that came to it.
    """

    def __init__(self) -> None:
        super().__init__(error_rate=0.0)
        self.asked = 0

    def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """As the demo's."""
        with self._lock:
            self.asked += 1
        return super().reply(messages)
