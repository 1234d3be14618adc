"""What a model step was asked by the agent's developer: its system prompt and its tools, and their fingerprints.

A fingerprint is 16 hex digits of a digest. Equal ones mean equal text, or equal schemas whatever the order of keys and
of tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from evalkit.canonical import Json, canonical, digest
from evalkit.trace.model import Step

__all__ = ["prompt_fingerprint", "schemas_of", "system_prompt", "tool_schemas", "tools_fingerprint"]

_PROMPT_ROLES = ("system", "developer")
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")


def system_prompt(step: Step) -> str | None:
    """The text of a model step's system messages, in their order; None where it has none, or none is known."""
    asked = step.input if isinstance(step.input, Mapping) else {}
    messages = asked.get("messages")
    if not isinstance(messages, list):
        return None
    given = [
        _text(message.get("content"))
        for message in messages
        if isinstance(message, Mapping) and message.get("role") in _PROMPT_ROLES
    ]
    return "\n\n".join(given) if given else None


def prompt_fingerprint(prompt: str) -> str:
    """The fingerprint of a system prompt; white space at its ends and the form of its line ends don't count."""
    return _of_text(prompt)


def tool_schemas(step: Step) -> dict[str, dict[str, Json]]:
    """What a model step was told of its tools: name to description and parameters, whatever API it was told in."""
    asked = step.input if isinstance(step.input, Mapping) else {}
    tools = asked.get("tools")
    return schemas_of(tools) if isinstance(tools, list) else {}


def schemas_of(tools: Iterable[Any]) -> dict[str, dict[str, Json]]:
    """The schemas of tools as OpenAI, Anthropic or MCP define them, by name; what has no name is left out."""
    found: dict[str, dict[str, Json]] = {}
    for tool in tools:
        inner = tool.get("function") if isinstance(tool, Mapping) else None
        body = inner if isinstance(inner, Mapping) else tool
        if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
            continue
        schema: Json = next((body[key] for key in _SCHEMA_KEYS if body.get(key) is not None), {})
        found[body["name"]] = {"description": str(body.get("description") or ""), "parameters": schema}
    return found


def tools_fingerprint(schemas: Mapping[str, Json]) -> str:
    """The fingerprint of tool schemas."""
    return _of_schemas(canonical(dict(schemas)))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and "text" in part)
    return ""


@lru_cache(maxsize=256)
def _of_text(prompt: str) -> str:
    return digest("\n".join(prompt.split("\r\n")).strip())[:16]


@lru_cache(maxsize=256)
def _of_schemas(text: bytes) -> str:
    return digest(text.decode())[:16]
