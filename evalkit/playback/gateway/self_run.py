"""Tools that an agent ran itself, told from its next request: the gateway could not answer in their place.

An agent whose tools are its own functions, and not served over MCP, runs their real bodies. Its requests show it: the
results of calls that the model made here. Each becomes a step, so that checks see what was done, and counts as a body
that was executed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evalkit.canonical import Json, canonical
from evalkit.errors import EvalkitError
from evalkit.trace.message import calls_in

__all__ = ["SelfRun", "ToolCall"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that was run, and what its agent told the model of it."""

    name: str
    arguments: Json
    said: Json


class SelfRun:
    """Which of the calls that the model made in one session were answered by whom."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[str, Json]] = {}
        self._told: dict[str, int] = {}
        self._served: list[tuple[str, bytes]] = []

    def model_said(self, message: Any) -> None:
        """The model's answer: the calls in it are to be carried out."""
        for call in calls_in(message):
            if isinstance(call.get("id"), str) and isinstance(call.get("name"), str):
                self._asked[call["id"]] = (call["name"], call.get("arguments"))

    def served(self, name: str, arguments: Json) -> None:
        """A tool was called over MCP."""
        self._served.append((name, _text(arguments)))

    def found_in(self, messages: Any) -> list[ToolCall]:
        """The calls that a request shows to have been carried out elsewhere since the last one."""
        results: dict[str, list[Any]] = {}
        for message in messages if isinstance(messages, list) else ():
            call_id = message.get("tool_call_id") if isinstance(message, dict) else None
            if isinstance(call_id, str):
                results.setdefault(call_id, []).append(message.get("content"))
        found = []
        for call_id, said in results.items():
            before = self._told.get(call_id, 0)
            self._told[call_id] = max(before, len(said))
            if len(said) > before and call_id in self._asked:
                name, arguments = self._asked.pop(call_id)
                if not self._was_served(name, arguments):
                    found.append(ToolCall(name, arguments, said[-1]))
        return found

    def _was_served(self, name: str, arguments: Json) -> bool:
        """Takes the served call that this is: of the same tool, and with the same arguments if there is such a one."""
        fits = [call for call in self._served if _is_named(name, call[0])]
        if not fits:
            return False
        text = _text(arguments)
        self._served.remove(next((call for call in fits if call[1] == text), fits[0]))  # agents fill arguments in
        return True


def _is_named(name: str, tool: str) -> bool:
    """Whether the model's name of a tool means it: agents put the server's name before the tool's."""
    before = name.removesuffix(tool)
    return name.endswith(tool) and not before[-1:].isalnum()


def _text(value: Json) -> bytes:
    try:
        return canonical(value)
    except EvalkitError:
        return repr(value).encode("utf-8", "replace")
