"""The tools of a recorded run, for callers that are not the agent's own code: the built-in loop and the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.canonical import Json
from evalkit.capture.definition import DEFINITION
from evalkit.capture.seam import Call
from evalkit.trace.model import Effect, Kind, Step, Trace
from evalkit.wire.mcp import RESULT_TYPE

__all__ = ["KnownTools"]


class KnownTools:
    """What a run says of its tools.

    Args:
        trace: the run, whole: steps that only answer and those on the path to the failure.
    """

    def __init__(self, trace: Trace) -> None:
        self._known: dict[str, tuple[Kind, Effect | None, Mapping[str, Any]]] = {}
        self._defined: dict[str, dict[str, Any]] = {}
        for step in trace.steps:
            if step.kind == "model":
                self._learn(step.input.get("tools") if isinstance(step.input, dict) else None)
            elif step.kind in ("tool", "retrieval"):
                declared = step.effect if step.effect_source == "declared" else None
                self._known.setdefault(step.name, (step.kind, declared, _defaults(step)))
                self._learn([step.attributes.get(DEFINITION)])

    def call(self, name: str, arguments: dict[str, Any]) -> Call:
        """The call as the agent's own tool would have made it: its kind and effect, and its defaults filled in."""
        kind, effect, defaults = self._known.get(name, ("tool", None, {}))
        return Call(kind, name, {**defaults, **arguments}, effect)

    def definitions(self) -> list[dict[str, Any]]:
        """Name, description and JSON Schema of every tool, those first that the model was shown."""
        called = [name for name in self._known if not name.startswith("mcp.")]
        for name in called:
            self._defined.setdefault(name, {"name": name, "description": "", "parameters": None})
        return list(self._defined.values())

    def _learn(self, tools: Any) -> None:
        for tool in tools if isinstance(tools, list) else ():
            if (
                isinstance(tool, dict)
                and isinstance(tool.get("name"), str)
                and tool.get("type", "function") == "function"
            ):
                self._defined.setdefault(tool["name"], tool)  # another type is run by the model's provider


def _defaults(step: Step) -> dict[str, Json]:
    """The parameters' defaults where the tool's definition is recorded: recorded arguments hold them filled in.

    Those of a call over MCP do not: they are what the client sent.
    """
    definition = step.attributes.get(DEFINITION)
    parameters = definition.get("parameters") if isinstance(definition, dict) else None
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    if not isinstance(properties, dict) or RESULT_TYPE in step.attributes:
        return {}
    return {name: each["default"] for name, each in properties.items() if isinstance(each, dict) and "default" in each}
