"""The content blocks of Anthropic's Messages API: to the normal form of `trace.model`, and back.

An assistant's blocks are one Message, in a response as in the request that it is sent back with. Signatures and the
markers of prompt caching are the provider's marks and no part of what was said; a response's are kept in its layout.
What the provider did itself (``server_tool_use``, ``web_search_tool_result`` ...) and what it hides
(``redacted_thinking``) are parts of the content. A tool's result is a Message of its own.

Source: https://docs.anthropic.com/en/api/messages and ``anthropic.types``.
"""

from __future__ import annotations

from typing import Any

from evalkit.shapes import dicts, text_of
from evalkit.wire.answer import mark_of
from evalkit.wire.layout import LayoutMismatch, Supply, given_content, is_text, joined, paragraphs

__all__ = [
    "blocks_of",
    "content_of",
    "input_spellings",
    "layout_of",
    "message_of",
    "messages_of",
    "without_cache_marks",
]

_CACHE_MARK = "cache_control"
_OWN_PLACES = frozenset({"text", "thinking", "tool_use"})


def messages_of(raw: Any) -> list[dict[str, Any]]:
    """The Messages that one message of a request stands for: tool results each have their own."""
    if not isinstance(raw, dict):
        return [{"role": "other", "content": raw}]
    role, content = text_of(raw.get("role")) or "user", without_cache_marks(raw.get("content"))
    if role == "assistant":
        return [message_of(content)]
    if not isinstance(content, list):
        return [{"role": role, "content": content}]
    results = [_result(block) for block in content if _kind(block) == "tool_result"]
    rest = [block for block in content if _kind(block) != "tool_result"]
    return [*results, {"role": role, "content": content_of(rest)}] if rest or not results else results


def message_of(content: Any) -> dict[str, Any]:
    """The assistant Message that content blocks come to."""
    parts: list[dict[str, Any]] = []
    annotations: list[Any] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[str] = []
    for block in _blocks(content):
        kind = _kind(block)
        if kind == "text":
            parts.append(_part(block))
            citations = block.get("citations")
            annotations += citations if isinstance(citations, list) else []
        elif kind == "thinking":
            thoughts.append(text_of(block.get("thinking")))
        elif kind == "tool_use":
            given = block.get("input")
            call = {"id": text_of(block.get("id")), "name": text_of(block.get("name"))}
            calls.append({**call, "arguments": {} if given is None else given})
        else:
            parts.append(block)
    message: dict[str, Any] = {"role": "assistant", "content": parts or None}
    if len(parts) == 1 and is_text(parts[0]):
        message["content"] = parts[0]["text"]
    if calls:
        message["tool_calls"] = calls
    if thoughts and (reasoning := joined(thoughts)):
        message["reasoning"] = reasoning
    return message | ({"annotations": annotations} if annotations else {})


def layout_of(content: Any, spellings: dict[int, Any] | None = None) -> list[dict[str, Any]]:
    """What is left of blocks without what their Message says.

    Args:
        spellings: how the JSON text of each block's input was written, where it streamed (see `wire.json_text`).
    """
    found = []
    for at, block in enumerate(_blocks(content)):
        left = _layout(block)
        spelling = (spellings or {}).get(at)
        found.append(left if spelling is None else {**left, "input": spelling})
    return found


def blocks_of(message: Any, layout: Any) -> tuple[list[dict[str, Any]], bool]:
    """The blocks that say `message`, and whether `layout` was used; without a layout that fits, plain ones."""
    if isinstance(layout, list):
        try:
            return _filled(message, _blocks(layout)), True
        except LayoutMismatch:
            pass
    message = _refusal_as_text(message)
    return _filled(message, _plain_layout(message)), False


def input_spellings(layout: Any) -> dict[int, Any]:
    """The spellings that a layout holds, by the place of their block."""
    blocks = layout if isinstance(layout, list) else []
    return {at: block["input"] for at, block in enumerate(blocks) if isinstance(block, dict) and "input" in block}


def without_cache_marks(content: Any) -> Any:
    """Blocks, or tools, without the markers of prompt caching, which decide no answer."""
    if isinstance(content, list):
        return [without_cache_marks(block) for block in content]
    if not isinstance(content, dict):
        return content
    kept = {key: value for key, value in content.items() if key != _CACHE_MARK}
    if isinstance(kept.get("content"), list):
        kept["content"] = without_cache_marks(kept["content"])
    return kept


def _filled(message: Any, layout: list[dict[str, Any]]) -> list[dict[str, Any]]:
    supply = Supply(message)
    blocks = [_block(block, supply) for block in layout]
    supply.check_spent()
    return blocks


def _block(layout: dict[str, Any], supply: Supply) -> dict[str, Any]:
    kind = _kind(layout)
    if kind == "text":
        count = layout.get("citations")
        citations = {"citations": supply.annotations(count)} if type(count) is int and count >= 0 else {}
        return {**layout, "text": supply.text(), **citations}
    if kind == "thinking":
        return {**layout, "thinking": supply.joined("reasoning", layout.get("thinking"))}
    if kind != "tool_use":
        return supply.part()
    call = supply.call()
    said = {"id": text_of(call.get("id")) or text_of(layout.get("id")), "name": text_of(call.get("name"))}
    return {**layout, **said, "input": call.get("arguments")}


def _layout(block: dict[str, Any]) -> dict[str, Any]:
    kind = _kind(block)
    if kind == "text":
        left = {key: value for key, value in block.items() if key != "text"}
        citations = block.get("citations")
        return {**left, "citations": len(citations)} if isinstance(citations, list) else left
    if kind == "thinking":
        return {**block, "thinking": paragraphs(text_of(block.get("thinking")))}
    if kind == "tool_use":
        return {key: value for key, value in block.items() if key not in ("id", "name", "input")}
    return {"type": kind}


def _plain_layout(message: Any) -> list[dict[str, Any]]:
    """The layout of an answer that never was this API's."""
    supply, mark = Supply(message), mark_of(message)
    said = message if isinstance(message, dict) else {}
    layout: list[dict[str, Any]] = []
    if said.get("reasoning"):
        layout.append({"type": "thinking", "thinking": paragraphs(str(said["reasoning"])), "signature": ""})
    for part in supply.parts:
        kind = "text" if is_text(part) else _kind(part)
        layout.append({"type": "part" if kind in _OWN_PLACES and not is_text(part) else kind})
    return layout + [{"type": "tool_use", "id": f"toolu_{mark}_{at}"} for at in range(len(supply.calls))]


def _refusal_as_text(message: Any) -> Any:
    """A Message whose refusal stands in its content: this API has no place of its own for it."""
    if not isinstance(message, dict) or not message.get("refusal"):
        return message
    content = message.get("content")
    before = content if isinstance(content, list) else [] if content is None else [content]
    return {**message, "content": [*before, str(message["refusal"])], "refusal": None}


def content_of(given: Any) -> Any:
    """Content that the agent gave, see `layout.given_content`."""
    return given_content(given, _part)


def _result(block: dict[str, Any]) -> dict[str, Any]:
    content = content_of(block.get("content"))
    message = {"role": "tool", "content": content, "tool_call_id": text_of(block.get("tool_use_id"))}
    return {**message, "is_error": True} if block.get("is_error") is True else message


def _part(block: Any) -> Any:
    if _kind(block) == "text":
        return {"type": "text", "text": text_of(block.get("text"))}
    return block


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return dicts(content)


def _kind(block: Any) -> str:
    return text_of(block.get("type")) if isinstance(block, dict) else ""
