"""Items of a Codex session: what the model made, and what it was given back, as Messages, calls and results.

An item is one of OpenAI's Responses API: a response is several of them, one after another.
Source: https://github.com/openai/codex (``codex-rs/protocol/src/models.rs``: ``ResponseItem``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of, dicts, is_whole
from evalkit.trace.formats.attributes import text_at
from evalkit.trace.formats.chat import arguments_of
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.json_input import json_or_text
from evalkit.trace.model import StepError, Usage
from evalkit.wire.body import dump_json

__all__ = ["CALLS", "HOSTED", "RESULTS", "answer_of", "content_of", "result_of_item", "usage_of"]

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
"""Items by which the model calls a tool that the agent runs."""
HOSTED = frozenset({"web_search_call", "image_generation_call"})
"""Items by which the model's provider ran a tool itself; the result is not recorded with them."""
RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
"""Items that answer a call."""

_TEXTS = frozenset({"input_text", "output_text", "text"})
_EXITED = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d{1,10})\s*$", re.MULTILINE)


def answer_of(items: Sequence[dict[str, Any]], report: ReadReport) -> dict[str, Any]:
    """The assistant's Message that the items of one response make."""
    parts: list[Json] = []
    thoughts: list[str] = []
    calls: list[Json] = []
    for item in items:
        kind = text_at(item, "type")
        if kind == "message":
            content = content_of(item.get("content"))
            parts += content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
        elif kind == "reasoning":
            shown = [*dicts(item.get("summary")), *dicts(item.get("content"))]
            thoughts += [part["text"] for part in shown if isinstance(part.get("text"), str)]
            if item.get("encrypted_content"):
                report.skipped["encrypted reasoning: not readable"] += 1
        elif kind in CALLS:
            calls.append(_call(item))
    first = parts[0] if len(parts) == 1 else None
    text = first.get("text") if isinstance(first, dict) and first.get("type") == "text" else None
    answer: dict[str, Any] = {"role": "assistant", "content": text if isinstance(text, str) else parts or None}
    if calls:
        answer["tool_calls"] = calls
    if thoughts:
        answer["reasoning"] = "\n".join(thoughts)
    return answer


def content_of(raw: Any) -> Any:
    """A Message's content from content items: a string where they are one text."""
    if not isinstance(raw, list):
        return raw
    parts = [{"type": "text", "text": each["text"]} if _is_text(each) else each for each in dicts(raw)]
    return parts[0]["text"] if len(parts) == 1 and _is_text(parts[0]) else parts or None


def result_of_item(item: dict[str, Any], failed: bool | None) -> tuple[Any, Json, StepError | None]:
    """The content that the model saw, and the step's output and error.

    Args:
        item: one of `RESULTS`.
        failed: what an event said of the call; None where none did, and the result decides.
    """
    raw = item.get("output", item.get("tools"))
    if isinstance(raw, dict) and "content" in raw:
        failed = raw.get("success") is False if failed is None else failed
        raw = raw["content"]
    content = content_of(raw)
    output = json_or_text(content) if isinstance(content, str) else content
    if failed is None:
        failed = item.get("status") in ("failed", "incomplete") or _exit_code(output) not in (None, 0)
    if failed:
        said = dict_of(output).get("output", content)
        return content, None, StepError("ToolError", said if isinstance(said, str) else dump_json(said).decode())
    return content, output, None


def usage_of(raw: Any) -> Usage | None:
    """Token counts of one response (``TokenUsage``): cached input and reasoning output are parts of the others."""
    if not isinstance(raw, dict):
        return None
    names = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_output_tokens")
    counts = [raw.get(name) for name in names]
    usage = Usage(*(each if is_whole(each) else None for each in counts))
    return None if usage == Usage() else usage


def _call(item: dict[str, Any]) -> dict[str, Json]:
    call_id = item.get("call_id") or item.get("id")
    name, given = item.get("name"), item.get("arguments", item.get("input", item.get("action")))
    if isinstance(item.get("namespace"), str):
        name = f"{item['namespace']}{name}"
    if not isinstance(name, str):
        name = str(item.get("type")).removesuffix("_call")
    return {"id": str(call_id or ""), "name": name, "arguments": arguments_of(given)}


def _exit_code(output: Json) -> int | None:
    """The exit code of a command, from the older result (an object) or the head of the newer one (a text)."""
    if isinstance(output, str):
        found = _EXITED.search(output.partition("\nOutput:")[0]) if "\nOutput:" in output else None
        return int(found.group(1)) if found else None
    code = dict_of(dict_of(output).get("metadata")).get("exit_code")
    return code if isinstance(code, int) else None


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and text_at(part, "type") in _TEXTS and isinstance(part.get("text"), str)
