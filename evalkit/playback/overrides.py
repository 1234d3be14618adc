"""What a replay asks of the live model in place of what the agent asks: another model, prompt, temperature, tools.

The agent's code stays as it is: its request is changed on its way, in the form of the API that it speaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalkit.canonical import Json

__all__ = ["NO_OVERRIDES", "Overrides", "chat_tool"]

_PROMPT_ROLES = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Overrides:
    """Changes to every request of a live model; what is None stays as the agent has it.

    Attributes:
        system_prompt: takes the place of all system messages.
        tools: definitions ``{"name", "description", "parameters"}``, with or without OpenAI's envelope.
        extra_body: further fields of the request by name; they win over all else.
    """

    model: str | None = None
    system_prompt: str | None = None
    temperature: float | None = None
    tools: tuple[Mapping[str, Json], ...] | None = None
    extra_body: Mapping[str, Json] = field(default_factory=dict)

    def json(self) -> dict[str, Json]:
        """What is changed, by name; empty for nothing."""
        found: dict[str, Json] = {"model": self.model, "system_prompt": self.system_prompt}
        found["temperature"] = self.temperature
        found["tools"] = None if self.tools is None else [dict(tool) for tool in self.tools]
        found["extra_body"] = dict(self.extra_body) or None
        return {name: value for name, value in found.items() if value is not None}

    def applied(self, wire: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A request's body with the changes.

        Args:
            wire: the API, by the name of its wire (``openai_chat``, ``openai_responses``, ``anthropic``).
        """
        changed = dict(body)
        if self.model is not None:
            changed["model"] = self.model
        if self.temperature is not None:
            changed["temperature"] = self.temperature
        if self.system_prompt is not None:
            _set_prompt(wire, changed, self.system_prompt)
        if self.tools is not None:
            changed["tools"] = [_tool_for(wire, tool) for tool in self.tools]
            if not self.tools:
                del changed["tools"]
        changed.update(self.extra_body)
        return changed


NO_OVERRIDES = Overrides()


def chat_tool(tool: Any) -> Any:
    """A tool's definition in OpenAI's envelope; a tool of another type as it is."""
    if (
        not isinstance(tool, Mapping)
        or "function" in tool
        or tool.get("type", "function") not in ("function", "custom")
    ):
        return tool
    if tool.get("type") == "custom":
        return {"type": "custom", "custom": {key: value for key, value in tool.items() if key != "type"}}
    return {"type": "function", "function": _bare(tool)}


def _bare(tool: Mapping[str, Any]) -> dict[str, Any]:
    inner = tool.get("function")
    found = dict(inner) if isinstance(inner, Mapping) else {key: tool[key] for key in tool if key != "type"}
    for other in ("input_schema", "inputSchema"):
        if other in found:
            found.setdefault("parameters", found.pop(other))
    return found


def _tool_for(wire: str, tool: Mapping[str, Any]) -> Any:
    if wire == "openai_chat":
        return chat_tool(tool)
    bare = _bare(tool)
    if wire == "anthropic":
        return {("input_schema" if key == "parameters" else key): value for key, value in bare.items()}
    return {"type": "function", **bare}


def _set_prompt(wire: str, body: dict[str, Any], prompt: str) -> None:
    if wire == "anthropic":
        body["system"] = prompt
        return
    key = "messages" if wire == "openai_chat" else "input"
    given = body.get(key)
    others = [each for each in given if not _is_prompt(each)] if isinstance(given, list) else given
    if key == "input":
        body["instructions"] = prompt
        if others is not None:
            body["input"] = others
        return
    body[key] = [{"role": "system", "content": prompt}, *(others or [])]


def _is_prompt(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role") in _PROMPT_ROLES
