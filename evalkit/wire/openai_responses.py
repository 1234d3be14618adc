"""OpenAI's Responses API, as spoken by OpenAI, Azure and vLLM.

Source: https://platform.openai.com/docs/api-reference/responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from evalkit.wire.answer import (
    count_of,
    error_of,
    json_headers,
    kept_headers,
    laid_out,
    read_answer,
    recorded_response,
    stream_fault,
)
from evalkit.wire.body import dump_json, parse_json
from evalkit.wire.openai_items import items_of, layout_of, message_of, messages_of
from evalkit.wire.openai_message import tool_from_openai
from evalkit.wire.openai_responses_form import FORM, plain_script
from evalkit.wire.openai_responses_stream import merge_response
from evalkit.wire.protocol import WireAnswer, WireError, WireRequest, WireUsage
from evalkit.wire.script import play_script, write_script
from evalkit.wire.sse import encode_event, event_name

__all__ = ["WIRE", "OpenAIResponses"]

_NOT_ASKED = frozenset(
    "stream stream_options user metadata store service_tier prompt_cache_key prompt_cache_retention "
    "prompt_cache_options safety_identifier include background background_options".split()
)
_NOT_PARAMS = _NOT_ASKED | {"input", "instructions", "tools", "model"}
_KEPT_ELSEWHERE = ("previous_response_id", "conversation", "prompt")
_NAMES: dict[Any, str] = {"max_output_tokens": "max_tokens"}
_DEFAULTS: dict[str, Any] = {
    "created_at": 0,
    "object": "response",
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}


class OpenAIResponses:
    """The wire of ``POST .../responses``.

    Keys of `WireAnswer.extra`: ``top`` (id, status and other fields of the response), ``layout`` (see
    `wire.openai_items`), ``usage`` (as reported), ``headers``; of a stream ``script`` (see `wire.script`),
    ``dropped_events``, ``first_number`` and ``stream_error``; ``body`` of an error, or of a body that is no response.
    """

    name = "openai_responses"

    def matches(self, method: str, url: str) -> bool:
        """Whether a request creates a response, at whatever host and prefix."""
        return method == "POST" and "/responses" in url and urlsplit(url).path.endswith("/responses")

    def request(self, body: bytes) -> WireRequest | None:
        """The plain form; None for a body that is no JSON object asking a model."""
        try:
            raw = parse_json(body)
        except ValueError:
            return None
        if not isinstance(raw, dict) or not ("input" in raw or any(raw.get(key) for key in _KEPT_ELSEWHERE)):
            return None
        model, tools = raw.get("model"), raw.get("tools")
        params = {str(_NAMES.get(key, key)): value for key, value in raw.items() if key not in _NOT_PARAMS}
        return WireRequest(
            asked={
                "messages": [*_messages(raw.get("instructions"), "system"), *_messages(raw.get("input"), "user")],
                "tools": [_tool(tool) for tool in tools] if isinstance(tools, list) else [],
                "params": {key: value for key, value in params.items() if value is not None},
            },
            model=model if isinstance(model, str) else None,
            stream=raw.get("stream") is True,
            extra={key: raw[key] for key in raw if key in _NOT_ASKED and key != "stream"},
            partial=any(raw.get(key) for key in _KEPT_ELSEWHERE) or _refers(raw.get("input")),
        )

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> WireAnswer:
        """The plain form of a response or of an error."""

        def answered(raw: Any, extra: dict[str, Any]) -> WireAnswer | None:
            if not isinstance(raw, dict) or not isinstance(raw.get("output"), list):
                return None
            return _answered(raw, extra, _failure(raw), status)

        return read_answer(status, headers, body, answered, "response")

    def answer_from_stream(self, chunks: Iterable[bytes], headers: Mapping[str, str]) -> WireAnswer:
        """The plain form of a stream; one that broke off has the error `STREAM_CUT` or the server's own."""
        merged = merge_response(chunks)
        extra: dict[str, Any] = {"headers": kept_headers(headers)}
        script, dropped = write_script(merged.events, merged.response, FORM)
        extra |= {"script": script, "first_number": merged.first_number}
        if dropped:
            extra["dropped_events"] = dropped
        error = stream_fault(merged.error, extra, done=merged.done) or _failure(merged.response)
        return _answered(merged.response, extra, error, 200)

    def response(self, answer: WireAnswer, request: WireRequest) -> tuple[int, dict[str, str], bytes]:
        """The response as the API would send it."""
        recorded = recorded_response(answer)
        if recorded is not None:
            return recorded
        headers = json_headers(answer)
        broken = answer.extra.get("stream_error")
        if answer.error is not None and (answer.status >= 400 or broken is not None):
            status = answer.status if answer.status >= 400 else 500  # an error amid a stream, asked for without one
            error = broken.get("error") or broken if isinstance(broken, dict) else None
            plain = {"message": answer.error.message, "type": answer.error.type, "param": None, "code": None}
            return status, headers, dump_json({"error": error or plain})
        return answer.status, headers, dump_json(_response(answer, request)[0])

    def stream(self, answer: WireAnswer, request: WireRequest) -> list[bytes]:
        """The server-sent events; a broken answer ends where it did."""
        response, as_recorded = _response(answer, request)
        script, number = answer.extra.get("script"), answer.extra.get("first_number", 0)
        if not as_recorded or not isinstance(script, list):
            number = 0
            script = plain_script(response, ended=answer.error is None or response.get("status") == "failed")
            if isinstance(answer.extra.get("stream_error"), dict):
                script.append({"event": answer.extra["stream_error"]})
        events = play_script(script, response, FORM)
        if type(number) is int:
            events = [{**event, "sequence_number": number + at} for at, event in enumerate(events)]
        return [encode_event(dump_json(event), event_name(event)) for event in events]


WIRE = OpenAIResponses()


def _messages(given: Any, role: str) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"role": role, "content": given}]
    return messages_of(given) if isinstance(given, list) else []


def _tool(raw: Any) -> Any:
    """A function without its type, as in the normal form; any other tool as it is."""
    if isinstance(raw, dict) and raw.get("type") == "function" and isinstance(raw.get("name"), str):
        return {key: value for key, value in raw.items() if key != "type" and value is not None}
    return tool_from_openai(raw)


def _refers(given: Any) -> bool:
    """Whether the input names items that only the provider holds, or can read."""
    items = given if isinstance(given, list) else []
    return any(isinstance(item, dict) and item.get("type") in ("item_reference", "compaction") for item in items)


def _answered(raw: dict[str, Any], extra: dict[str, Any], error: WireError | None, status: int) -> WireAnswer:
    output = raw["output"]
    return laid_out(
        raw,
        "output",
        extra,
        output=message_of(output),
        layout=layout_of(output),
        usage=_usage(raw.get("usage")),
        error=error,
        status=status,
    )


def _response(answer: WireAnswer, request: WireRequest) -> tuple[dict[str, Any], bool]:
    """A response that says `answer`, and whether it is laid out as the recorded one was."""
    extra = answer.extra
    output, as_recorded = items_of(answer.output, extra.get("layout"))
    top = extra["top"] if isinstance(extra.get("top"), dict) else _plain_top(answer, output)
    body = {**top, "model": answer.model or request.model or "", "output": output}
    usage = extra.get("usage", _usage_body(answer.usage))
    return body | ({} if usage is None and isinstance(extra.get("top"), dict) else {"usage": usage}), as_recorded


def _plain_top(answer: WireAnswer, output: list[dict[str, Any]]) -> dict[str, Any]:
    mark = next((str(item.get("id", "")).partition("_")[2] for item in output), "") or "empty"
    status = "completed" if answer.error is None else "in_progress"
    return {"id": f"resp_{mark}", **_DEFAULTS, "status": status}


def _failure(raw: dict[str, Any]) -> WireError | None:
    """The error of a response that failed, which comes with an HTTP status of 200."""
    error = raw.get("error")
    if raw.get("status") != "failed":
        return None
    return error_of({"error": error if isinstance(error, dict) else {"message": "the response failed"}}, 200, b"")


def _usage(raw: Any) -> WireUsage | None:
    if not isinstance(raw, dict):
        return None
    return WireUsage(
        input_tokens=count_of(raw, "input_tokens"),
        output_tokens=count_of(raw, "output_tokens"),
        cached_tokens=count_of(raw.get("input_tokens_details"), "cached_tokens"),
        reasoning_tokens=count_of(raw.get("output_tokens_details"), "reasoning_tokens"),
    )


def _usage_body(usage: WireUsage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    asked, answered = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens or 0},
        "output_tokens": answered,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": asked + answered,
    }
