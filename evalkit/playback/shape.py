"""The final answer of a run whose agent did not say it itself, made of the model's last text."""

from __future__ import annotations

from evalkit.canonical import Json
from evalkit.trace.model import Trace

__all__ = ["shaped_as"]


def shaped_as(trace: Trace, text: Json) -> Json:
    """The final text as a run gave it: alone, or under the one key where its own last text stands."""
    last = next((step for step in reversed(trace.steps) if step.kind == "model"), None)
    said = last.output.get("content") if last is not None and isinstance(last.output, dict) else None
    output = trace.output
    if isinstance(output, dict) and len(output) == 1 and said is not None and said in output.values():
        return dict.fromkeys(output, text)
    return text
