"""What one record of a log of raw model calls holds: a request, its response, or both, or the messages of a whole run.

Gateways, batch files and home-made logs spell the two sides in many ways; the bodies inside are a provider's own, and
it is they that tell what a record is. Of what stands around them only ids, times, cost and errors are read: the rest
is counted, since it may hold labels.
Sources: https://platform.openai.com/docs/guides/batch, https://docs.anthropic.com/en/api/creating-message-batches,
https://docs.litellm.ai/docs/proxy/logging_spec (also the proxy's spend logs), https://docs.helicone.ai (exports),
https://portkey.ai/docs/product/observability/logs-export, https://docs.openpipe.ai/features/request-logs,
https://docs.aws.amazon.com/bedrock/latest/userguide/model-invocation-logging.html.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from evalkit.canonical import Json
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.attributes import number_of
from evalkit.trace.formats.chat import unix_seconds, usage_of
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.formats.provider import Answered, Asked, Provider
from evalkit.trace.formats.provider_anthropic import MESSAGES
from evalkit.trace.formats.provider_bedrock import CONVERSE
from evalkit.trace.formats.provider_google import GENERATE_CONTENT
from evalkit.trace.formats.provider_openai import CHAT, RESPONSES, plain_message
from evalkit.trace.formats.seen import SeenItems
from evalkit.trace.json_input import json_or_text
from evalkit.trace.model import StepError, Usage

__all__ = ["Record", "dialect_of", "record_of"]

_PROVIDERS: tuple[Provider, ...] = (CONVERSE, GENERATE_CONTENT, MESSAGES, CHAT, RESPONSES)
_REQUESTS = ("request_body", "requestBody", "request", "req", "proxy_server_request", "params", "body", "kwargs",
             "prompt_messages", "input")  # fmt: skip
_RESPONSES = ("response_body", "responseBody", "response", "resp", "result", "completion", "completion_message",
              "output")  # fmt: skip
_ENVELOPES = ("body", "json", "data", "inputBodyJson", "outputBodyJson", "message", "content")
_SETTINGS = ("model_parameters", "optional_params", "model_params")
_ASKING = frozenset(
    "messages contents input model modelId system systemInstruction system_instruction instructions tools functions "
    "temperature top_p top_k max_tokens max_completion_tokens max_output_tokens n stop stop_sequences seed tool_choice "
    "presence_penalty frequency_penalty logit_bias parallel_tool_calls response_format reasoning_effort reasoning "
    "thinking text generationConfig toolConfig inferenceConfig previous_response_id anthropic_version".split()
)
_IDS = ("custom_id", "request_id", "requestId", "litellm_call_id", "id", "uuid")
_SESSIONS = ("session_id", "sessionId", "trace_id", "conversation_id", "thread_id")
_BEGINS = ("startTime", "start_time", "started_at", "request_created_at", "timestamp", "created_at")
_ENDS = ("endTime", "end_time", "ended_at", "completed_at", "response_created_at")
_COSTS = ("response_cost", "spend", "cost_usd", "costUSD", "cost")
_FAILURES = ("error", "error_information", "error_str", "error_message", "exception")
_COUNTS = ("usage", "prompt_tokens", "completion_tokens", "total_tokens")
_READ = frozenset((*_REQUESTS, *_RESPONSES, *_SETTINGS, *_IDS, *_SESSIONS, *_BEGINS, *_ENDS, *_COSTS, *_FAILURES,
                   *_COUNTS, "object", "method", "url", "status", "status_code", "call_type"))  # fmt: skip
_FOREIGN = frozenset(
    "trajectory_format trajectory traj history run_type dotted_order resourceSpans resourceLogs simulations "
    "observations traceId span_data samples eval question_ID parentUuid mini_version events".split()
)
_AUTOGEN = frozenset({"source", "type", "tool_responses"})
"""Keys of AutoGen's messages, whose roles are seen from one of the agents."""
_ITEMS = frozenset({"function_call", "function_call_output", "reasoning"})
"""Types of items of the Responses API that are no messages: a list with any of them is a list of items."""
_MILLISECONDS = 1e11
_MAX_NAME = 60

_Found: TypeAlias = "tuple[Provider, dict[str, Any]]"


@dataclass(frozen=True, slots=True)
class Record:
    """One record in normal form.

    Attributes:
        is_whole: its messages are a whole run, not the request of one call.
        error: the call failed with it.
        began, ended: seconds since 1970.
        attributes: the ids of the session that it names.
    """

    asked: Asked | None = None
    answered: Answered | None = None
    is_whole: bool = False
    error: StepError | None = None
    id: str | None = None
    began: float | None = None
    ended: float | None = None
    usage: Usage | None = None
    model: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The two bodies of a record, each with the provider whose it is; the answer may be a bare Message instead."""

    request: _Found | None
    response: _Found | None
    said: dict[str, Any] | None = None
    is_whole: bool = False
    failed_for: Provider | None = None

    @property
    def name(self) -> str | None:
        """The dialect's name: the response's, which a gateway doesn't disguise, else the request's."""
        found = self.response or self.request
        provider = found[0] if found else self.failed_for
        return provider.name if provider else None


def dialect_of(item: Json) -> str | None:
    """The name of the dialect of a record; None for what is no record of model calls, or another format's."""
    sides = _sides(item)
    return sides.name if sides else None


def record_of(item: Json, report: ReadReport, seen: SeenItems) -> Record | None:
    """A record in normal form; None for what is none.

    Args:
        seen: what the log's other records held.
    """
    sides = _sides(item)
    if sides is None:
        return None
    asked = sides.request[0].asked(sides.request[1], seen) if sides.request else None
    answered = sides.response[0].answered(sides.response[1]) if sides.response else None
    if answered is None and sides.said is not None:
        answered = Answered(plain_message({"role": "assistant", **sides.said}))
    envelope = item if isinstance(item, dict) else {}
    if sides.response is None or sides.response[1] is not item:
        left = [key for key, value in envelope.items() if key not in _READ and key not in _ASKING and value]
        report.skipped.update(f"field {key[:_MAX_NAME]} of a record: not read" for key in left)
    cost = next((envelope[key] for key in _COSTS if number_of(envelope.get(key)) is not None), None)
    usage = answered.usage if answered else None
    stated = usage_of(envelope.get("usage") or envelope, cost)
    named = (answered.model if answered else None) or (asked.model if asked else None) or envelope.get("model")
    return Record(
        asked,
        answered,
        sides.is_whole,
        None if answered else _failure(envelope),
        _first_text(envelope, _IDS) or (answered.id if answered else None),
        _time(envelope, _BEGINS),
        _time(envelope, _ENDS),
        replace(usage, cost_usd=usage.cost_usd or (stated.cost_usd if stated else None)) if usage else stated,
        named if isinstance(named, str) and named else None,
        {key: envelope[key] for key in _SESSIONS if isinstance(envelope.get(key), str) and envelope[key]},
    )


def _sides(item: Json) -> _Sides | None:
    if isinstance(item, list):
        return _run({"messages": item}) or _run({"contents": item}) or _run_of_items(item)
    if not isinstance(item, dict) or item.keys() & _FOREIGN or isinstance(item.get("info"), dict):
        return None
    response = _first(item, _RESPONSES, _answers) or _recognised(item, _answers)
    request = _first(item, _REQUESTS, _asks)
    is_own = request is None
    if request is None:
        own = {key: json_or_text(value) if isinstance(value, str) else value for key, value in item.items()
               if key in _ASKING}  # fmt: skip
        settings: dict[str, Any] = {}
        for key in _SETTINGS:
            settings |= dict_of(item.get(key))
        request = _recognised({**settings, **own}, _asks)
    if request is not None and response is not None and response[0].asks(request[1]):
        request = (response[0], request[1])  # a body of plain messages may be of several APIs
    said = _said(item) if request is not None and response is None else None
    if response is None and said is None and _failure(item) is None and "custom_id" not in item:
        return _run(request[1]) if request is not None and is_own else None
    if request is None and response is None:
        return _failed_in_a_batch(item)
    return _Sides(request, response, said)


def _failed_in_a_batch(item: dict[str, Any]) -> _Sides | None:
    """A batch's line for a request that failed: neither side is in it."""
    if "custom_id" not in item or _failure(item) is None:
        return None
    return _Sides(None, None, failed_for=MESSAGES if "result" in item else CHAT)


def _run(body: dict[str, Any]) -> _Sides | None:
    """Messages that are a whole run: asked and answered, and of no framework of agents."""
    found = _recognised(body, _asks)
    if found is None or "input" in body:
        return None
    messages = dicts(body.get("messages", body.get("contents")))
    asking = any(message.get("role") in ("user", "system", "developer") for message in messages)
    spoken = [message for message in messages if message.get("role") in ("assistant", "model")]
    if not asking or not spoken or all(message.get("name") for message in spoken):
        return None
    if any(message.keys() & _AUTOGEN for message in messages):
        return None
    return _Sides(found, None, is_whole=True)


def _run_of_items(items: list[Json]) -> _Sides | None:
    """Items of the Responses API that are a whole run, as the OpenAI Agents SDK keeps them for the next turn."""
    body: dict[str, Any] = {"input": items}
    kinds = {str(item.get("type")) for item in dicts(items)}
    asking = any(item.get("role") == "user" for item in dicts(items))
    return (
        _Sides((RESPONSES, body), None, is_whole=True) if asking and kinds & _ITEMS and RESPONSES.asks(body) else None
    )


def _first(
    item: dict[str, Any], names: tuple[str, ...], says: Callable[[Provider, dict[str, Any]], bool]
) -> _Found | None:
    for name in names:
        if name in item and (found := _unwrapped(item[name], says, 2)) is not None:
            return found
    return None


def _unwrapped(value: Any, says: Callable[[Provider, dict[str, Any]], bool], levels: int) -> _Found | None:
    """The body in a value: the value, its JSON text, a list that is the main part of one, or what an envelope holds."""
    value = json_or_text(value) if isinstance(value, str) else value
    if isinstance(value, list):
        bodies: list[dict[str, Any]] = [{key: value} for key in ("messages", "contents", "input", "choices", "output")]
        return next((found for body in bodies if (found := _recognised(body, says))), None)
    if not isinstance(value, dict):
        return None
    found = _recognised(value, says)
    inner = [value[key] for key in _ENVELOPES if levels and isinstance(value.get(key), str | dict | list)]
    return found or next((found for each in inner if (found := _unwrapped(each, says, levels - 1))), None)


def _recognised(body: dict[str, Any], says: Callable[[Provider, dict[str, Any]], bool]) -> _Found | None:
    return next(((provider, body) for provider in _PROVIDERS if says(provider, body)), None)


def _asks(provider: Provider, body: dict[str, Any]) -> bool:
    return provider.asks(body)


def _answers(provider: Provider, body: dict[str, Any]) -> bool:
    return provider.answers(body)


def _said(item: dict[str, Any]) -> dict[str, Any] | None:
    """An answer that is no body of an API: a bare message, a list with one, or its text."""
    for name in _RESPONSES:
        value = item.get(name)
        value = json_or_text(value) if isinstance(value, str) else value
        value = value[-1] if isinstance(value, list) and value else value
        if _http_failure(value) is not None:
            return None
        if (
            isinstance(value, dict)
            and value.get("role", "assistant") == "assistant"
            and value.keys() & {"content", "tool_calls"}
        ):
            return value
        if isinstance(value, str) and value:
            return {"content": value}
    return None


def _failure(item: dict[str, Any]) -> StepError | None:
    """The error of a record: its own, or in place of a response."""
    for key in (*_FAILURES, *_RESPONSES):
        value = item.get(key)
        for inner in ("body", "error", "error"):
            value = value[inner] if isinstance(value, dict) and isinstance(value.get(inner), dict | str) else value
        if isinstance(value, str) and key in _FAILURES and value:
            return StepError("Error", value)
        if isinstance(value, dict) and (key in _FAILURES or value is not item.get(key)) and value:
            kind = next(
                (value[name] for name in ("type", "code", "error_class") if isinstance(value.get(name), str)), ""
            )
            said = next((value[name] for name in ("message", "error_message") if isinstance(value.get(name), str)), "")
            if kind or said:
                return StepError(kind or "Error", said)
    broken = next((found for key in _RESPONSES if (found := _http_failure(item.get(key)))), None)
    if broken is not None:
        return broken
    kind = dict_of(item.get("result")).get("type")
    return StepError(kind, "the batch did not run it") if kind in ("canceled", "expired") else None


def _http_failure(response: Any) -> StepError | None:
    """The error that the status of a logged HTTP response tells of."""
    held = dict_of(response)
    status = next((held[key] for key in ("status_code", "status", "statusCode") if isinstance(held.get(key), int)), 0)
    if not 400 <= status < 600:
        return None
    return StepError(
        f"http_{status}", next((held[key] for key in ("content", "body") if isinstance(held.get(key), str)), "")
    )


def _first_text(item: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((item[name] for name in names if isinstance(item.get(name), str) and item[name]), None)


def _time(item: dict[str, Any], names: tuple[str, ...]) -> float | None:
    """Seconds since 1970 of the first of some fields: ISO 8601 text, seconds, or milliseconds."""
    for name in names:
        value = item.get(name)
        number = number_of(value) if isinstance(value, int | float) else None
        if number is not None and 0 < number < _MILLISECONDS * 100:
            return number / 1000 if number > _MILLISECONDS else number
        moment = unix_seconds(value)
        if moment is not None:
            return moment
    return None
