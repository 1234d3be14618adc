"""Anthropic's Messages API, as spoken by Anthropic, Vertex AI, Foundry and, without streaming, Bedrock.

Source: https://docs.anthropic.com/en/api/messages; the paths of the clouds are those of ``anthropic.lib``. What Bedrock
streams is Amazon's binary event stream and no server-sent events: such calls are not captured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from evalkit.wire.answer import (
    count_of,
    json_headers,
    kept_headers,
    laid_out,
    mark_of,
    read_answer,
    recorded_response,
    stream_fault,
)
from evalkit.wire.anthropic_blocks import (
    blocks_of,
    content_of,
    input_spellings,
    layout_of,
    message_of,
    messages_of,
    without_cache_marks,
)
from evalkit.wire.anthropic_stream import MessageForm, merge_message, plain_script
from evalkit.wire.body import dump_json, parse_json
from evalkit.wire.protocol import WireAnswer, WireError, WireRequest, WireUsage
from evalkit.wire.script import play_script, write_script
from evalkit.wire.sse import encode_event, event_name

__all__ = ["WIRE", "Anthropic"]

_ENDINGS = ("/messages", "/invoke")
_VERTEX = re.compile(r"/publishers/anthropic/models/[^/]+:(?:rawPredict|streamRawPredict)\Z")
_NOT_ASKED = frozenset(
    "stream metadata service_tier speed container cache_control inference_geo anthropic_version diagnostics "
    "billing_policy fallback_credit_token user_profile_id workspace_id".split()
)
_NOT_PARAMS = _NOT_ASKED | {"messages", "system", "tools", "model"}
_NAMES: dict[Any, str] = {"stop_sequences": "stop"}
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")


class Anthropic:
    """The wire of ``POST .../v1/messages``.

    Keys of `WireAnswer.extra`: ``top`` (id, stop_reason and other fields of the message), ``layout`` (see
    `wire.anthropic_blocks`), ``usage`` (as reported), ``headers``; of a stream ``script`` (see `wire.script`),
    ``dropped_events`` and ``stream_error``; ``body`` of an error, or of a body that is no message.
    """

    name = "anthropic"

    def matches(self, method: str, url: str) -> bool:
        """Whether a request creates a message, at whatever host and prefix."""
        if method != "POST":
            return False
        path = urlsplit(url).path
        return path.endswith(_ENDINGS) or _VERTEX.search(path) is not None

    def request(self, body: bytes) -> WireRequest | None:
        """The plain form; None for a body that is no JSON object with messages and a limit of tokens."""
        try:
            raw = parse_json(body)
        except ValueError:
            return None
        if not isinstance(raw, dict) or not isinstance(raw.get("messages"), list) or "max_tokens" not in raw:
            return None
        if "model" not in raw and "anthropic_version" not in raw:  # another vendor's model on a cloud
            return None
        model, tools = raw.get("model"), without_cache_marks(raw.get("tools"))
        system = content_of(without_cache_marks(raw.get("system")))
        params = {str(_NAMES.get(key, key)): value for key, value in raw.items() if key not in _NOT_PARAMS}
        return WireRequest(
            asked={
                "messages": [
                    *([{"role": "system", "content": system}] if system else []),
                    *(message for each in raw["messages"] for message in messages_of(each)),
                ],
                "tools": [_tool(tool) for tool in tools] if isinstance(tools, list) else [],
                "params": {key: value for key, value in params.items() if value is not None},
            },
            model=model if isinstance(model, str) else None,
            stream=raw.get("stream") is True,
            extra={key: raw[key] for key in raw if key in _NOT_ASKED and key != "stream"},
            partial=_goes_on(raw.get("thread")),
        )

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> WireAnswer:
        """The plain form of a message or of an error."""

        def answered(raw: Any, extra: dict[str, Any]) -> WireAnswer | None:
            if not isinstance(raw, dict) or not isinstance(raw.get("content"), list):
                return None
            return _answered(raw, extra, None, status)

        return read_answer(status, headers, body, answered, "message")

    def answer_from_stream(self, chunks: Iterable[bytes], headers: Mapping[str, str]) -> WireAnswer:
        """The plain form of a stream; one that broke off has the error `STREAM_CUT` or the server's own."""
        merged = merge_message(chunks)
        extra: dict[str, Any] = {"headers": kept_headers(headers)}
        extra["script"], dropped = write_script(merged.events, merged.message, MessageForm(merged.spellings))
        if dropped:
            extra["dropped_events"] = dropped
        error = stream_fault(merged.error, extra, done=merged.done)
        return _answered(merged.message, extra, error, 200, merged.spellings)

    def response(self, answer: WireAnswer, request: WireRequest) -> tuple[int, dict[str, str], bytes]:
        """The response as the API would send it."""
        recorded = recorded_response(answer)
        if recorded is not None:
            return recorded
        headers = json_headers(answer)
        broken = answer.extra.get("stream_error")
        if answer.error is not None and (answer.status >= 400 or broken is not None):
            status = answer.status if answer.status >= 400 else 500  # an error amid a stream, asked for without one
            error = {"type": answer.error.type, "message": answer.error.message}
            return status, headers, dump_json(broken or {"type": "error", "error": error})
        return answer.status, headers, dump_json(_message(answer, request)[0])

    def stream(self, answer: WireAnswer, request: WireRequest) -> list[bytes]:
        """The server-sent events; a broken answer ends where it did."""
        message, as_recorded = _message(answer, request)
        script = answer.extra.get("script")
        spellings = input_spellings(answer.extra.get("layout")) if as_recorded else {}
        if not as_recorded or not isinstance(script, list):
            script, spellings = plain_script(message, ended=answer.error is None), {}
            if isinstance(answer.extra.get("stream_error"), dict):
                script.append({"event": answer.extra["stream_error"]})
        events = play_script(script, message, MessageForm(spellings))
        return [encode_event(dump_json(event), event_name(event)) for event in events]


WIRE = Anthropic()


def _goes_on(thread: Any) -> bool:
    """Whether a request goes on with a thread, whose messages the provider holds."""
    return isinstance(thread, dict) and bool(thread.get("previous_message_id"))


def _tool(raw: Any) -> Any:
    """A tool with its schema under the normal form's name; one that the provider runs stays as it is."""
    if not isinstance(raw, dict) or "input_schema" not in raw:
        return raw
    renamed = {("parameters" if key == "input_schema" else key): value for key, value in raw.items()}
    return {key: value for key, value in renamed.items() if value is not None and (key, value) != ("type", "custom")}


def _answered(
    raw: dict[str, Any],
    extra: dict[str, Any],
    error: WireError | None,
    status: int,
    spellings: dict[int, Any] | None = None,
) -> WireAnswer:
    content = raw["content"]
    return laid_out(
        raw,
        "content",
        extra,
        output=message_of(content),
        layout=layout_of(content, spellings),
        usage=_usage(raw.get("usage")),
        error=error,
        status=status,
    )


def _message(answer: WireAnswer, request: WireRequest) -> tuple[dict[str, Any], bool]:
    """A message that says `answer`, and whether it is laid out as the recorded one was."""
    extra = answer.extra
    content, as_recorded = blocks_of(answer.output, extra.get("layout"))
    top = extra["top"] if isinstance(extra.get("top"), dict) else _plain_top(answer, content)
    usage = extra.get("usage") or _usage_body(answer.usage)
    return {**top, "model": answer.model or request.model or "", "content": content, "usage": usage}, as_recorded


def _plain_top(answer: WireAnswer, content: list[dict[str, Any]]) -> dict[str, Any]:
    calls = any(block.get("type") == "tool_use" for block in content)
    refused = isinstance(answer.output, dict) and answer.output.get("refusal")
    reason = None if answer.error else "refusal" if refused else "tool_use" if calls else "end_turn"
    top = {"id": f"msg_{mark_of(answer.output)}", "type": "message", "role": "assistant"}
    return {**top, "stop_reason": reason, "stop_sequence": None}


def _usage(raw: Any) -> WireUsage | None:
    """Token counts; ``input_tokens`` as reported leaves out what went through the cache."""
    if not isinstance(raw, dict):
        return None
    asked = [count_of(raw, name) for name in ("input_tokens", *_CACHED)]
    return WireUsage(
        input_tokens=None if asked[0] is None else sum(count or 0 for count in asked),
        output_tokens=count_of(raw, "output_tokens"),
        cached_tokens=asked[2],
        reasoning_tokens=count_of(raw.get("output_tokens_details"), "thinking_tokens"),
    )


def _usage_body(usage: WireUsage | None) -> dict[str, Any]:
    usage = usage or WireUsage()
    asked, cached = usage.input_tokens or 0, usage.cached_tokens
    body: dict[str, Any] = {"input_tokens": max(asked - (cached or 0), 0), "output_tokens": usage.output_tokens or 0}
    return body if cached is None else {**body, "cache_read_input_tokens": cached}
