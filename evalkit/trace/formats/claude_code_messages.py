"""Messages out of Anthropic's content blocks, as a Claude Code session holds them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalkit.canonical import Json, canonical
from evalkit.shapes import dicts, is_whole
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Usage

__all__ = ["answer_of", "content_of", "usage_of"]

_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")


def answer_of(blocks: Iterable[Any], report: ReadReport) -> dict[str, Any]:
    """The assistant's Message that the blocks of one answer make; a block that stands twice is taken once."""
    kept: list[dict[str, Any]] = []
    calls: dict[str, dict[str, Any]] = {}
    thoughts: list[str] = []
    seen: set[bytes] = set()
    for block in blocks:
        known = len(seen)
        seen.add(canonical(block))
        if len(seen) == known:
            report.skipped["content block: stands twice in one answer"] += 1
            continue
        kind = block.get("type")
        if kind == "tool_use" and isinstance(block.get("name"), str):
            call_id = str(block.get("id") or "")
            calls.setdefault(call_id, {"id": call_id, "name": block["name"], "arguments": block.get("input") or {}})
        elif kind == "thinking" and isinstance(block.get("thinking"), str):
            thoughts.append(block["thinking"])
            if block.get("signature"):
                report.skipped["signature of a thinking block: no part of a message"] += 1
        else:
            kept.append(_part(block))
    answer: dict[str, Any] = {"role": "assistant", "content": _joined(kept)}
    if calls:
        answer["tool_calls"] = [*calls.values()]
    if any(thoughts):
        answer["reasoning"] = "\n".join(filter(None, thoughts))
    return answer


def content_of(raw: Any) -> Any:
    """A Message's content from a string or blocks; one block of text is a string."""
    return _joined([_part(block) for block in dicts(raw)]) if isinstance(raw, list) else raw


def usage_of(raw: Any) -> Usage | None:
    """Token counts. Anthropic counts what was read from or written to a cache apart from ``input_tokens``.

    Source: https://docs.anthropic.com/en/api/messages (``usage``).
    """
    if not isinstance(raw, dict):
        return None
    given = [_count(raw.get(key)) for key in ("input_tokens", *_CACHED)]
    usage = Usage(
        input_tokens=None if given[0] is None else sum(filter(None, given)),
        output_tokens=_count(raw.get("output_tokens")),
        cached_tokens=given[2],
    )
    return None if usage == Usage() else usage


def _part(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    return block


def _joined(parts: list[dict[str, Any]]) -> Json:
    if len(parts) == 1 and parts[0].get("type") == "text" and isinstance(parts[0].get("text"), str):
        return parts[0]["text"]  # type: ignore[no-any-return]  # checked to be a string
    return [*parts] or None


def _count(value: Any) -> int | None:
    return value if is_whole(value) else None
