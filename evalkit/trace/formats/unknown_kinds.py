"""Spans whose kind no reader knows: they are kept as `other` steps, and counted by this name."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.canonical import Json

__all__ = ["NO_CONVENTION", "unknown_kind"]

NO_CONVENTION = "span of no generative AI convention"

_WITHOUT_STEP_KIND: dict[str, frozenset[str]] = {
    "gen_ai.operation.name": frozenset({"embeddings", "create_agent", "invoke_workflow", "handoff", "execute_task"}),
    "openinference.span.kind": frozenset({"CHAIN", "EMBEDDING", "EVALUATOR", "PROMPT", "TOOL"}),
    "traceloop.span.kind": frozenset({"workflow", "task", "handoff", "unknown"}),
}
"""Known kinds that are neither model call nor tool call nor another kind of step; a handoff is written as TOOL."""


def unknown_kind(attributes: Mapping[str, Json], claimed: bool) -> str:
    """What the kind of a span that became an `other` step is called, when it is not known; else nothing.

    Args:
        claimed: whether a convention claims the span.
    """
    if not claimed:
        return NO_CONVENTION
    for name, known in _WITHOUT_STEP_KIND.items():
        stated = attributes.get(name)
        if isinstance(stated, str):
            return "" if stated in known else f"{name} {stated[:60]}"
    return ""
