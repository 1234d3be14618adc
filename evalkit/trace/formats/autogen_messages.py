"""Messages of AutoGen in the normal form.

Sources: https://github.com/microsoft/autogen (``autogen_core.models._types``: what a model is given;
``autogen_agentchat.messages``: what agents tell each other; 0.2: ``ConversableAgent.chat_messages``).
"""

from __future__ import annotations

from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of, dicts, is_whole
from evalkit.trace.formats.chat import arguments_of
from evalkit.trace.model import Usage
from evalkit.wire.body import dump_json

__all__ = [
    "EVENTS",
    "MODEL_MESSAGES",
    "TALK",
    "answer_of",
    "calls_of",
    "content_of",
    "is_typed",
    "results_of",
    "usage_of",
]

MODEL_MESSAGES = frozenset({"SystemMessage", "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage"})
"""What a model is given or answers."""
TALK = frozenset({"TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage", "ToolCallSummaryMessage"})
"""What agents tell each other."""
EVENTS = frozenset({"ToolCallRequestEvent", "ToolCallExecutionEvent", "MemoryQueryEvent", "UserInputRequestedEvent",
                    "ModelClientStreamingChunkEvent", "ThoughtEvent", "SelectSpeakerEvent", "SelectorEvent",
                    "CodeGenerationEvent", "CodeExecutionEvent"})  # fmt: skip
"""What an agent does by itself."""


def is_typed(item: Any) -> bool:
    """Whether `item` is a message of AutoGen 0.4 or later."""
    kind = dict_of(item).get("type")
    if kind in ("SystemMessage", "FunctionExecutionResultMessage"):
        return "content" in item
    known = isinstance(kind, str) and (kind in MODEL_MESSAGES | TALK | EVENTS or kind.startswith("StructuredMessage"))
    return known and isinstance(item.get("source"), str)


def content_of(raw: Any) -> Any:
    """A Message's content: texts and images in a list become parts, a structured content its JSON text."""
    if isinstance(raw, list) and len(raw) == 1 and isinstance(raw[0], str):
        return raw[0]
    if isinstance(raw, list):
        return [_part(each) for each in raw]
    return dump_json(raw).decode() if isinstance(raw, dict) else raw


def calls_of(raw: Any) -> list[Json]:
    """Function calls ``{"id", "arguments", "name"}`` as tool calls of a Message."""
    return [_call(call) for call in dicts(raw)]


def answer_of(raw: dict[str, Any], thought: str | None = None) -> dict[str, Any]:
    """A model's answer, a text or function calls, as the assistant's Message."""
    content = raw.get("content")
    called = isinstance(content, list) and all("arguments" in each for each in dicts(content))
    answer: dict[str, Any] = {"role": "assistant", "content": None if called else content_of(content)}
    if called and content:
        answer["tool_calls"] = calls_of(content)
    thought = raw["thought"] if isinstance(raw.get("thought"), str) else thought
    return {**answer, "reasoning": thought} if thought else answer


def results_of(raw: Any) -> list[tuple[str, str, Any, bool]]:
    """Function results: the call's id, the function's name, the content, whether it failed."""
    return [
        (str(each.get("call_id") or ""), str(each.get("name") or ""), each.get("content"), bool(each.get("is_error")))
        for each in dicts(raw)
    ]


def usage_of(raw: Any) -> Usage | None:
    """Token counts (``RequestUsage``)."""
    counts = [dict_of(raw).get(name) for name in ("prompt_tokens", "completion_tokens")]
    usage = Usage(*(each if is_whole(each) else None for each in counts))
    return None if usage == Usage() else usage


def _call(raw: dict[str, Any]) -> Json:
    call_id, name = str(raw.get("id") or ""), str(raw.get("name") or "")
    return {"id": call_id, "name": name, "arguments": arguments_of(raw.get("arguments"))}


def _part(raw: Any) -> dict[str, Any]:
    return {"type": "text", "text": raw} if isinstance(raw, str) else {"type": "image", **dict_of(raw)}
