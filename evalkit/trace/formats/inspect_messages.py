"""Messages, tools and usage of Inspect in the normal form of `trace.model`.

Ids, sources and metadata of messages are Inspect's own and stay out. A tool's message whose call failed holds the
error's text, as the model was told it.
Source: https://github.com/UKGovernmentBEIS/inspect_ai (``model/_chat_message.py``, ``_util/content.py``,
``model/_model_output.py``, ``model/_generate_config.py``).
"""

from __future__ import annotations

from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of, dicts, is_number, is_whole
from evalkit.trace.formats.chat import arguments_of, tool_definition
from evalkit.trace.model import Usage

__all__ = [
    "call_from_inspect",
    "failed_call",
    "message_from_inspect",
    "params_of",
    "result_content",
    "tools_from_inspect",
    "usage_from_inspect",
]

_PARAM_NAMES = {"stop_seqs": "stop", "num_choices": "n", "response_schema": "response_format"}
_NOT_SAMPLING = frozenset(
    "max_retries timeout attempt_timeout max_connections adaptive_connections cache batch cache_prompt system_message "
    "extra_headers max_tool_output fallback_models".split()
)


def message_from_inspect(raw: dict[str, Any]) -> dict[str, Any]:
    """A ChatMessage as a Message; one without a known role is a user's."""
    role = raw.get("role")
    message: dict[str, Any] = {"role": role if isinstance(role, str) and role else "user"}
    message["content"], reasoning = _content(raw.get("content"))
    calls = [call_from_inspect(call) for call in dicts(raw.get("tool_calls"))]
    if calls:
        message["tool_calls"] = calls
    if reasoning:
        message["reasoning"] = reasoning
    if message["role"] == "tool":
        message["tool_call_id"] = str(raw.get("tool_call_id") or "")
        if isinstance(raw.get("function"), str):
            message["name"] = raw["function"]
        failed = failed_call(raw)
        if failed and not message["content"]:
            message["content"] = failed[1]
    return message


def failed_call(raw: dict[str, Any]) -> tuple[str, str] | None:
    """The type and message of a tool error (older logs: ``tool_error``, a text); None where there is none."""
    error = raw.get("error") or raw.get("tool_error")
    if isinstance(error, dict):
        return str(error.get("type") or "unknown"), str(error.get("message") or "")
    return ("unknown", error) if isinstance(error, str) and error else None


def call_from_inspect(call: dict[str, Any]) -> dict[str, Any]:
    """A ToolCall as a call of a Message."""
    name = call.get("function")
    return {
        "id": str(call.get("id") or ""),
        "name": name if isinstance(name, str) else "",
        "arguments": arguments_of(call.get("arguments")),
    }


def result_content(result: Any) -> Json:
    """A tool's result: a plain value, or content items; one text item is its text."""
    if isinstance(result, dict):
        result = [result]
    content, _ = _content(result)
    return content


def params_of(event: dict[str, Any]) -> tuple[dict[str, Json], dict[str, Json]]:
    """The sampling parameters of a model event under OpenAI's names, and the rest of its configuration."""
    config = {key: value for key, value in dict_of(event.get("config")).items() if value is not None}
    params = {_PARAM_NAMES.get(key, key): value for key, value in config.items() if key not in _NOT_SAMPLING}
    choice = event.get("tool_choice")
    if choice not in (None, "auto"):
        params["tool_choice"] = choice
    return params, {key: value for key, value in config.items() if key in _NOT_SAMPLING}


def tools_from_inspect(raw: Any) -> list[Json]:
    """The definitions of ToolInfo objects."""
    kept = ("name", "description", "parameters")
    return [tool_definition({key: tool[key] for key in kept if key in tool}) for tool in dicts(raw)]


def usage_from_inspect(raw: Any) -> Usage | None:
    """ModelUsage as Usage.

    Inspect's ``input_tokens`` leaves out what was read from or written to a cache, where the provider tells; its
    ``total_tokens`` has all, so that it decides.
    """
    usage = dict_of(raw)
    given, answered, total = (_count(usage, f"{name}_tokens") for name in ("input", "output", "total"))
    read = _count(usage, "input_tokens_cache_read")
    written = _count(usage, "input_tokens_cache_write")
    if given is not None and (read or written):
        whole = given + (read or 0) + (written or 0)
        given = total - (answered or 0) if total is not None and given <= total - (answered or 0) <= whole else whole
    cost = usage.get("total_cost")
    found = Usage(
        input_tokens=given,
        output_tokens=answered,
        cached_tokens=read,
        reasoning_tokens=_count(usage, "reasoning_tokens"),
        cost_usd=float(cost) if is_number(cost) else None,
    )
    return None if found == Usage() else found


def _content(raw: Any) -> tuple[Json, str]:
    """Content without its reasoning, and the reasoning."""
    if not isinstance(raw, list):
        return raw, ""
    parts: list[Json] = []
    thoughts: list[str] = []
    for item in raw:
        if isinstance(item, dict) and item.get("type") == "reasoning":
            hidden = item.get("summary") if item.get("redacted") else item.get("reasoning") or item.get("summary")
            thoughts += [hidden] if isinstance(hidden, str) and hidden else []
        elif isinstance(item, dict) and item.get("type") == "text":
            parts.append({"type": "text", "text": item.get("text")})
        else:
            parts.append(item)
    only = parts[0] if len(parts) == 1 else None
    if isinstance(only, dict) and only.get("type") == "text" and isinstance(only.get("text"), str):
        return only["text"], "\n".join(thoughts)
    return parts or None, "\n".join(thoughts)


def _count(usage: dict[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if is_whole(value) and value >= 0 else None
