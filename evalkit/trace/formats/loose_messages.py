"""Messages out of whatever a tracing product was given: each library's own shape of a request or an answer.

Tracing products store what an instrumented library handed over, so that one export mixes OpenAI's chat and Responses
bodies, Anthropic's content blocks, Google's contents, LangChain's serialized messages, the parts of the GenAI
conventions, and the AI SDK's. What is none of these gives None, and stays the caller's to keep as it is.
Sources: the public API references of these libraries; LangChain's ``langchain_core.load.dump`` for ``{"lc": 1, ...}``.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

from evalkit.shapes import dicts
from evalkit.trace.formats.ai_sdk_messages import ai_sdk_call, ai_sdk_part
from evalkit.trace.formats.chat import call_of, message_of, tool_definition
from evalkit.trace.formats.otlp_messages import answer_of, messages_of, part_of
from evalkit.wire.body import dump_json

__all__ = ["answer_in", "messages_in", "messages_in_text", "tools_in"]

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant"}
_KNOWN_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "model"})
_LANGCHAIN_TYPES = frozenset({"human", "ai", "system", "tool", "function", "AIMessageChunk", "ToolMessage"})
_CONTENT_KEYS = ("content", "parts", "tool_calls", "text")
_CHUNK_KEYS = frozenset({"chunk_position", "tool_call_chunks"})
_BLOCKS = frozenset({"tool_use", "tool_result", "thinking"})
_AI_SDK_PARTS = frozenset({"tool-call", "tool-result", "reasoning"})
_RESPONSE_ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning"})
_TURN = re.compile(
    r"^(system|developer|user|assistant|tool|System|Human|AI|Tool|Function)(?:Message(?:Chunk)?)?: ?", re.MULTILINE
)
_TURN_ROLES = {"human": "user", "ai": "assistant", "developer": "system", "function": "tool"}
_NOTES = ("event.name", "gen_ai.system", "gen_ai.message.index")


def messages_in(value: Any) -> list[dict[str, Any]] | None:
    """The Messages that a request's `value` holds, the developer's instructions first; None when it holds none."""
    if isinstance(value, list):
        return _listed(value)
    if not isinstance(value, dict):
        return None
    if _is_message(value):
        return _messages(value)
    if isinstance(value.get("new_message"), dict):
        return messages_in(value["new_message"])
    listed = next((value[key] for key in ("messages", "contents", "input") if isinstance(value.get(key), list)), None)
    if listed is None and isinstance(value.get("input"), str) and ("model" in value or "instructions" in value):
        listed = [{"role": "user", "content": value["input"]}]
    if listed is None and isinstance(value.get("prompts"), list):
        return _from_prompts(value["prompts"])
    found = None if listed is None else _listed(listed)
    return None if found is None else [*_instructions(value), *found]


def answer_in(value: Any) -> dict[str, Any] | None:
    """The assistant's Message that an answer's `value` holds (the first choice); None when it holds none."""
    if isinstance(value, list):
        return _answer_in_list(value)
    if not isinstance(value, dict):
        return None
    for key in ("choices", "generations"):
        if isinstance(value.get(key), list):
            return _answer_in_list(value[key])
    if isinstance(value.get("message"), dict):
        return answer_in(value["message"])
    if isinstance(value.get("content"), dict) and "parts" in value["content"]:
        return _last(_messages({"role": "model", **value["content"]}))
    if isinstance(value.get("output"), list | dict):
        return answer_in(value["output"])
    if _is_message(value) or "tool_calls" in value:
        return _last(_messages({"role": "assistant", **value}))
    if isinstance(value.get("toolCalls"), list) or set(value) & {"text", "object"}:
        return _from_ai_sdk(value)
    return None


def tools_in(value: Any) -> list[Any]:
    """The tool definitions in a request's `value`."""
    if not isinstance(value, dict):
        return []
    config = value.get("config")
    raw = value.get("tools") or (config.get("tools") if isinstance(config, dict) else None)
    found: list[Any] = []
    for tool in dicts(raw):
        declared = dicts(tool.get("function_declarations", tool.get("functionDeclarations")))
        found += [tool_definition(each) for each in declared or [tool]]
    return found


def messages_in_text(text: str) -> list[dict[str, Any]] | None:
    """Messages out of text in which an instrumentation joined them as lines ``role: content``; None when it is none.

    The form is ambiguous (a message may itself hold such a line), so that the caller says that they were split.
    """
    starts = list(_TURN.finditer(text))
    if not starts or starts[0].start() != 0:
        return None
    ends = [start.start() for start in starts[1:]] + [len(text)]
    found: list[dict[str, Any]] = []
    for start, end in zip(starts, ends, strict=True):
        role = start.group(1).lower()
        content = text[start.end() : end].removesuffix("\n" if end < len(text) else "")
        found.append({"role": _TURN_ROLES.get(role, role), "content": None if content == "None" else content})
    return found


def _listed(items: list[Any]) -> list[dict[str, Any]] | None:
    if len(items) == 1 and isinstance(items[0], list):
        return _listed(items[0])  # LangChain gives a batch of conversations, of one
    if not items or not all(isinstance(item, dict) and _is_message(item) for item in items):
        return None
    messages = [message for item in items for message in _messages(item)]
    if any(_kind(item) in _RESPONSE_ITEMS and "role" not in item for item in items):
        return _turns_merged(messages)
    return messages


def _turns_merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages of the Responses API's items with one Message for each answer, as `wire.openai_items` has them."""
    found: list[dict[str, Any]] = []
    for is_answer, group in groupby(messages, key=lambda message: bool(message["role"] == "assistant")):
        each = list(group)
        merged = _merged(each) if is_answer else None
        found += each if merged is None else [merged]
    return found


def _from_prompts(prompts: list[Any]) -> list[dict[str, Any]] | None:
    found: list[dict[str, Any]] = []
    for prompt in prompts:
        if not isinstance(prompt, str):
            return None
        found += messages_in_text(prompt) or [{"role": "user", "content": prompt}]
    return found or None


def _instructions(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The instructions that some requests hold beside their messages."""
    config = value.get("config")
    named = config.get("system_instruction", config.get("systemInstruction")) if isinstance(config, dict) else None
    raw = value.get("system") or value.get("instructions") or named
    if isinstance(raw, dict) and isinstance(raw.get("parts"), list):
        return _messages({"role": "system", "parts": raw["parts"]})
    return [{"role": "system", "content": raw}] if isinstance(raw, str | list) and raw else []


def _is_message(item: dict[str, Any]) -> bool:
    if _constructed(item) is not None or _kind(item) in _RESPONSE_ITEMS:
        return True
    if isinstance(item.get("role"), str):
        return item["role"] in _KNOWN_ROLES and any(key in item for key in _CONTENT_KEYS)
    return _kind(item) in _LANGCHAIN_TYPES and "content" in item


def _messages(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The Messages of one item of any of the shapes."""
    item = _constructed(item) or item
    if _kind(item) in _RESPONSE_ITEMS and item.get("type") != "message":
        return _response_item(item)
    if _kind(item) in _LANGCHAIN_TYPES and "role" not in item:
        kept = {key: value for key, value in item.items() if key not in _CHUNK_KEYS}
        item = {**kept, "type": str(item["type"]).removesuffix("Chunk").removesuffix("Message").lower()}
    role = item.get("role", item.get("type"))
    role = _ROLES.get(role.lower(), role) if isinstance(role, str) else role
    plain = {key: value for key, value in item.items() if key not in _NOTES}
    if isinstance(item.get("parts"), list):
        parts = [_google_part(part) for part in dicts(item["parts"])]
        return messages_of({"role": role, "parts": parts})
    if "content" not in item and isinstance(item.get("text"), str):  # BeeAI
        plain = {key: value for key, value in plain.items() if key != "text"} | {"content": item["text"]}
    blocks = dicts(item.get("content"))
    if any(_kind(block) in _BLOCKS for block in blocks):
        return messages_of({"role": role, "parts": [part_of(block) for block in item["content"]]})
    if any(_kind(block) in _AI_SDK_PARTS for block in blocks):
        return messages_of({"role": role, "parts": [ai_sdk_part(block) for block in blocks]})
    if item.get("type") == "message" or any(_kind(block) in ("input_text", "output_text") for block in blocks):
        plain = {"role": role, "content": [_plain_text(block) for block in blocks] or item.get("content")}
    if "role" in plain:
        plain["role"] = role
    message = message_of(_without_raw_calls(plain))
    message["content"] = _joined(message.get("content"))
    return [{key: value for key, value in message.items() if key != "type"}]


def _without_raw_calls(plain: dict[str, Any]) -> dict[str, Any]:
    """A LangChain message whose calls stand only in the raw answer of its provider, with these in their place."""
    raw = plain.get("additional_kwargs")
    if not isinstance(raw, dict):
        return plain
    calls = {key: raw[key] for key in ("tool_calls", "function_call") if raw.get(key) and not plain.get("tool_calls")}
    return {**plain, **calls}


def _constructed(item: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments of a serialized LangChain message ``{"lc": 1, "type": "constructor", "id": [..., class]}``."""
    path, kwargs = item.get("id"), item.get("kwargs")
    if item.get("lc") != 1 or not isinstance(path, list) or not path or not isinstance(kwargs, dict):
        return None
    kind = str(path[-1]).removesuffix("Chunk").removesuffix("Message").lower()
    if kind not in ("human", "ai", "system", "tool", "function", "chat"):
        return None
    return {"type": kind, **{key: value for key, value in kwargs.items() if key != "type"}}


def _response_item(item: dict[str, Any]) -> list[dict[str, Any]]:
    """An item of OpenAI's Responses API that is no message."""
    if item["type"] == "function_call_output":
        output = item.get("output")
        text = output if isinstance(output, str) else dump_json(output).decode()
        return [{"role": "tool", "content": text, "tool_call_id": str(item.get("call_id") or "")}]
    if item["type"] == "function_call":
        call = call_of({**item, "id": item.get("call_id") or item.get("id")})
        return [{"role": "assistant", "content": None, "tool_calls": [call]}]
    texts = [block["text"] for block in dicts(item.get("summary")) if isinstance(block.get("text"), str)]
    return [{"role": "assistant", "content": None, "reasoning": "\n\n".join(texts)}] if texts else []


def _google_part(part: dict[str, Any]) -> dict[str, Any]:
    """A part of Google's contents in the form of the GenAI conventions; a part of these stays as it is."""
    if "type" in part:
        return part
    call = part.get("function_call", part.get("functionCall"))
    if isinstance(call, dict):
        given = {"id": call.get("id"), "name": call.get("name"), "arguments": call.get("args")}
        return {"type": "tool_call", **given}
    answer = part.get("function_response", part.get("functionResponse"))
    if isinstance(answer, dict):
        return {"type": "tool_call_response", "id": answer.get("id"), "response": answer.get("response")}
    if isinstance(part.get("text"), str):
        return {"type": "reasoning" if part.get("thought") is True else "text", "content": part["text"]}
    return {"type": "other", **part}


def _from_ai_sdk(value: dict[str, Any]) -> dict[str, Any]:
    """The AI SDK's result ``{"text", "toolCalls", "reasoning"}``."""
    text = value.get("text")
    message: dict[str, Any] = {"role": "assistant", "content": text if isinstance(text, str) and text else None}
    if text is None and "object" in value:
        message["content"] = dump_json(value["object"]).decode()
    calls = [call_of(ai_sdk_call(call)) for call in dicts(value.get("toolCalls"))]
    if calls:
        message["tool_calls"] = calls
    if isinstance(value.get("reasoning"), str) and value["reasoning"]:
        message["reasoning"] = value["reasoning"]
    return message


def _answer_in_list(items: list[Any]) -> dict[str, Any] | None:
    found = dicts(items)
    if not found:
        return answer_in(items[0]) if items and isinstance(items[0], list) else None
    if all("toolName" in item for item in found):
        return _from_ai_sdk({"toolCalls": found})
    if "message" in found[0]:
        return answer_in(found[0])
    if isinstance(found[0].get("text"), str) and "role" not in found[0] and "parts" not in found[0]:
        return {"role": "assistant", "content": found[0]["text"]}
    if any(_kind(item) in _RESPONSE_ITEMS and "role" not in item for item in found):
        return _merged([message for item in found if _is_message(item) for message in _messages(item)])
    if not _is_message(found[-1]):
        return None
    if isinstance(found[-1].get("parts"), list) and found[-1].get("role") != "model":
        return answer_of(found[-1])
    return _last(_messages(found[-1]))


def _merged(messages: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The items of one answer of the Responses API as one Message."""
    spoken = [message for message in messages if message["role"] == "assistant"]
    if not spoken:
        return None
    contents = [message["content"] for message in spoken if message.get("content") is not None]
    parts = [part for content in contents for part in (content if isinstance(content, list) else [_as_part(content)])]
    merged: dict[str, Any] = {"role": "assistant", "content": contents[0] if len(contents) == 1 else parts or None}
    calls = [call for message in spoken for call in message.get("tool_calls", ())]
    reasoning = [message["reasoning"] for message in spoken if isinstance(message.get("reasoning"), str)]
    if calls:
        merged["tool_calls"] = calls
    return {**merged, "reasoning": "\n\n".join(reasoning)} if reasoning else merged


def _as_part(content: Any) -> Any:
    return {"type": "text", "text": content} if isinstance(content, str) else content


def _last(messages: list[dict[str, Any]]) -> dict[str, Any] | None:
    return {**messages[-1], "role": "assistant"} if messages else None


def _kind(item: dict[str, Any]) -> str:
    kind = item.get("type")
    return kind if isinstance(kind, str) else ""


def _plain_text(block: dict[str, Any]) -> dict[str, Any]:
    known = _kind(block) in ("input_text", "output_text") and isinstance(block.get("text"), str)
    return {"type": "text", "text": block["text"]} if known else block


def _joined(content: Any) -> Any:
    """Content of one text part as a string."""
    only = content[0] if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict) else None
    if only is not None and only.get("type") == "text" and isinstance(only.get("text"), str) and len(only) == 2:
        return only["text"]
    return content
