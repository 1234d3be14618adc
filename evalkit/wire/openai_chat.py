"""OpenAI's chat completions API, as spoken by OpenAI, Azure, vLLM, llama.cpp, OpenRouter and many more.

Source: https://platform.openai.com/docs/api-reference/chat. Of several choices (``n`` > 1) the first is taken, and
``extra["dropped_choices"]`` says how many were not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from evalkit.shapes import dicts
from evalkit.wire.answer import (
    count_of,
    json_headers,
    kept_headers,
    mark_of,
    read_answer,
    recorded_response,
    stream_fault,
)
from evalkit.wire.body import dump_json, parse_json
from evalkit.wire.openai_chat_form import FORM, script_for
from evalkit.wire.openai_message import (
    LEGACY_CALL_ID,
    REASONING_KEYS,
    message_from_openai,
    message_to_openai,
    spellings_in,
    tool_from_openai,
)
from evalkit.wire.openai_stream import completion_chunks, frames, merge_stream
from evalkit.wire.protocol import WireAnswer, WireError, WireRequest, WireUsage
from evalkit.wire.script import play_script, write_script

__all__ = ["WIRE", "OpenAIChat"]

_NOT_ASKED = frozenset(
    {
        "stream",
        "stream_options",
        "user",
        "metadata",
        "store",
        "service_tier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "prompt_cache_options",
        "safety_identifier",
    }
)
_NOT_PARAMS = _NOT_ASKED | {"messages", "tools", "functions", "model"}
_NOT_TOP = frozenset({"choices", "usage", "model", "object"})
_NOT_CHOICE = frozenset({"index", "message"})


class OpenAIChat:
    """The wire of ``POST .../chat/completions``.

    Keys of `WireAnswer.extra`: ``top`` (id, created, system_fingerprint and other fields of the completion),
    ``choice`` (finish_reason, logprobs), ``usage`` (as reported), ``reasoning_key``, ``spellings`` (of arguments, see
    `wire.json_text`), ``headers``, ``dropped_choices``; of a stream ``script`` (see `wire.script`) and
    ``stream_error``; ``body`` of an error, or of a body that is no completion.
    """

    name = "openai_chat"

    def matches(self, method: str, url: str) -> bool:
        """Whether a request goes to a chat completions endpoint, at whatever host and prefix."""
        return method == "POST" and "/chat/completions" in url and urlsplit(url).path.endswith("/chat/completions")

    def request(self, body: bytes) -> WireRequest | None:
        """The plain form; None for a body that is no JSON object with messages."""
        try:
            raw = parse_json(body)
        except ValueError:
            return None
        if not isinstance(raw, dict) or not isinstance(raw.get("messages"), list):
            return None
        model = raw.get("model")
        return WireRequest(
            asked={
                "messages": [message_from_openai(message) for message in raw["messages"]],
                "tools": _tools(raw),
                "params": {key: value for key, value in raw.items() if key not in _NOT_PARAMS and value is not None},
            },
            model=model if isinstance(model, str) else None,
            stream=raw.get("stream") is True,
            extra={key: raw[key] for key in raw if key in _NOT_ASKED and key != "stream"},
        )

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> WireAnswer:
        """The plain form of a completion or of an error."""

        def answered(raw: Any, extra: dict[str, Any]) -> WireAnswer | None:
            if not isinstance(raw, dict) or not _choices(raw):
                return None
            return _completed(raw, status, extra)

        return read_answer(status, headers, body, answered, "chat completion")

    def answer_from_stream(self, chunks: Iterable[bytes], headers: Mapping[str, str]) -> WireAnswer:
        """The plain form of a stream; one that broke off has the error `STREAM_CUT` or the server's own."""
        merged = merge_stream(chunks)
        extra: dict[str, Any] = {"headers": kept_headers(headers)}
        error = stream_fault(merged.error, extra, done=merged.done)
        answer = _completed(merged.completion, 200, extra, error)
        script, dropped = write_script(merged.chunks, _completion(answer, WireRequest({})), FORM)
        if not dropped:  # else it is cut as other answers are
            extra["script"] = script
        return answer

    def response(self, answer: WireAnswer, request: WireRequest) -> tuple[int, dict[str, str], bytes]:
        """The response as the API would send it."""
        recorded = recorded_response(answer)
        if recorded is not None:
            return recorded
        headers = json_headers(answer)
        if answer.error is not None and (answer.status >= 400 or "stream_error" in answer.extra):
            status = answer.status if answer.status >= 400 else 500  # an error amid a stream, asked for without one
            error = {"message": answer.error.message, "type": answer.error.type, "param": None, "code": None}
            return status, headers, dump_json({"error": answer.extra.get("stream_error", error)})
        return answer.status, headers, dump_json(_completion(answer, request))

    def stream(self, answer: WireAnswer, request: WireRequest) -> list[bytes]:
        """The server-sent events; a broken answer ends without finish reason or mark, as it did."""
        options = request.extra.get("stream_options")
        wants_usage = isinstance(options, dict) and options.get("include_usage") is True
        completion = _completion(answer, request)
        script = script_for(answer.extra.get("script"), completion, include_usage=wants_usage)
        if script is not None:
            return frames(play_script(script, completion, FORM), done=answer.error is None)
        chunks = completion_chunks(completion, include_usage=wants_usage)
        if "stream_error" in answer.extra:
            chunks.append({"error": answer.extra["stream_error"]})
        return frames(chunks, done=answer.error is None)


WIRE = OpenAIChat()


def _tools(raw: dict[str, Any]) -> list[Any]:
    tools, functions = raw.get("tools"), raw.get("functions")
    if isinstance(tools, list):
        return [tool_from_openai(tool) for tool in tools]
    return list(functions) if isinstance(functions, list) else []


def _completed(raw: dict[str, Any], status: int, extra: dict[str, Any], error: WireError | None = None) -> WireAnswer:
    choices = _choices(raw)
    choice = choices[0]
    message = choice.get("message")
    extra["top"] = {key: value for key, value in raw.items() if key not in _NOT_TOP and value is not None}
    extra["choice"] = {key: value for key, value in choice.items() if key not in _NOT_CHOICE and value is not None}
    if spellings := spellings_in(message):
        extra["spellings"] = spellings
    if isinstance(raw.get("usage"), dict):
        extra["usage"] = raw["usage"]
    if isinstance(message, dict) and message.get(REASONING_KEYS[1]) and not message.get(REASONING_KEYS[0]):
        extra["reasoning_key"] = REASONING_KEYS[1]
    if len(choices) > 1:
        extra["dropped_choices"] = len(choices) - 1
    model = raw.get("model")
    return WireAnswer(
        output=message_from_openai({**message, "role": "assistant"} if isinstance(message, dict) else {}),
        model=model if isinstance(model, str) else None,
        usage=_usage(raw.get("usage")),
        error=error,
        status=status,
        extra=extra,
    )


def _completion(answer: WireAnswer, request: WireRequest) -> dict[str, Any]:
    """A chat completion that says `answer`."""
    extra = answer.extra
    reasoning_key = REASONING_KEYS[extra.get("reasoning_key") == REASONING_KEYS[1]]
    spellings = extra.get("spellings")
    message = message_to_openai(answer.output, reasoning_key, spellings if isinstance(spellings, list) else ())
    choice: dict[str, Any] = {"logprobs": None, "finish_reason": None, **_part(answer, "choice")}
    choice |= {"index": 0, "message": message}
    if choice["finish_reason"] is None and answer.error is None:
        choice["finish_reason"] = _finish_reason(message)
    top = {"id": f"chatcmpl-{mark_of(answer.output)}", "created": 0, **_part(answer, "top")}
    completion = {**top, "object": "chat.completion", "model": answer.model or request.model or "", "choices": [choice]}
    usage = _part(answer, "usage") or _usage_body(answer.usage)
    return completion if usage is None else {**completion, "usage": usage}


def _finish_reason(message: dict[str, Any]) -> str:
    if "function_call" in message:
        return LEGACY_CALL_ID
    return "tool_calls" if message.get("tool_calls") else "stop"


def _choices(raw: dict[str, Any]) -> list[dict[str, Any]]:
    return dicts(raw.get("choices"))


def _usage(raw: Any) -> WireUsage | None:
    if not isinstance(raw, dict):
        return None
    return WireUsage(
        input_tokens=count_of(raw, "prompt_tokens"),
        output_tokens=count_of(raw, "completion_tokens"),
        cached_tokens=count_of(raw.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=count_of(raw.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _usage_body(usage: WireUsage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    asked, answered = usage.input_tokens or 0, usage.output_tokens or 0
    body: dict[str, Any] = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
    if usage.cached_tokens is not None:
        body["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    if usage.reasoning_tokens is not None:
        body["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return body


def _part(answer: WireAnswer, key: str) -> dict[str, Any]:
    """An object of `extra`, which comes from a recorded file and may hold anything."""
    part = answer.extra.get(key)
    return part if isinstance(part, dict) else {}
