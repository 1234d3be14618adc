"""Spans of Pydantic AI and of Logfire's integrations, in all versions of their instrumentation.

Version 1 keeps messages as a list of events in one attribute (``events``, ``all_messages_events``); from 2 on they are
those of the GenAI conventions, with ``pydantic_ai.all_messages`` on the agent's span, where ``new_message_index`` says
how many stood there before the run. Tool spans hold ``tool_arguments`` and ``tool_response`` up to version 2. Logfire's
own integrations of model libraries keep the bodies in ``request_data`` and ``response_data``.
Sources: https://github.com/pydantic/pydantic-ai (``models/instrumented.py``, ``_instrumentation.py``) and
https://github.com/pydantic/logfire (``integrations/llm_providers``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts
from evalkit.trace.formats import otlp_events, otlp_genai
from evalkit.trace.formats.attributes import Attributes, json_value
from evalkit.trace.formats.otlp_messages import answer_of, messages_of
from evalkit.trace.formats.otlp_spans import Span, SpanEvent, error_of
from evalkit.trace.json_input import json_or_text
from evalkit.trace.model import Step

__all__ = ["claims", "interpret"]

_CONVERSATIONS = ("pydantic_ai.all_messages", "all_messages_events", "all_messages")
_MARKS = (*_CONVERSATIONS, "model_request_parameters", "tool_arguments", "tool_response")
_COUNTS = {
    "gen_ai.usage.cache_read.input_tokens": ("cache_read_tokens", "cached_tokens", "cache_read_input_tokens"),
    "gen_ai.usage.reasoning.output_tokens": ("reasoning_tokens", "thoughts_tokens"),
}


def claims(span: Span) -> bool:
    """Whether it is one of an agent, a model or a tool; Logfire's other spans (a web request) are no dialect's."""
    if any(mark in span.attributes for mark in _MARKS):
        return True
    logfire = any(name.startswith("logfire.") for name in span.attributes)
    return logfire and (_body(span, "request_data") is not None or otlp_genai.claims(span))


def interpret(span: Span) -> Step:
    """The span as a step; its number, parent and times are set by the caller."""
    taken = Attributes(span.attributes)
    if taken.rest.get("logfire.span_type") == "pending_span":  # announces a span, which comes with all of this again
        return Step(0, "other", span.name, error=error_of(span, taken), attributes=taken.left())
    operation = _operation(span)
    if operation == "invoke_agent":
        return _agent(span, taken)
    if operation == "execute_tool":
        return _tool(span, taken)
    if operation is None:
        return otlp_genai.interpret(span)
    return _model(operation, span, taken)


def _operation(span: Span) -> str | None:
    """The operation, which the first versions did not name; None where otlp_genai may say it."""
    stated = span.attributes.get("gen_ai.operation.name")
    if isinstance(stated, str):
        return stated
    if any(name in span.attributes for name in _CONVERSATIONS):
        return "invoke_agent"
    if "tool_arguments" in span.attributes or "tool_response" in span.attributes:
        return "execute_tool"
    request = _body(span, "request_data")
    asks = request is not None and any(key in request for key in ("messages", "input", "prompt"))
    response = _body(span, "response_data")
    asks = asks or (response is not None and ("message" in response or "combined_chunk_content" in response))
    return "chat" if asks or "model_request_parameters" in span.attributes else None


def _agent(span: Span, taken: Attributes) -> Step:
    said = _conversation(span, taken)
    start = taken.count("pydantic_ai.new_message_index") or 0
    turns = [at for at, message in enumerate(said) if message["role"] == "assistant" and at >= start]
    asked = said[: turns[0]] if turns else said
    if "gen_ai.agent.name" not in taken.rest and "agent_name" in taken.rest:
        taken.rest["gen_ai.agent.name"] = taken.rest["agent_name"]
    result = taken.take("final_result")
    _counts(taken)
    step = otlp_genai.step_as("invoke_agent", replace(span, attributes=taken.rest))
    given: Json = step.input
    if "gen_ai.input.messages" not in taken.rest:
        instructed = [each for each in dicts(step.input) if each not in asked[:1]]
        given = [*instructed, *asked] or None
    output = json_or_text(result) if isinstance(result, str) else result
    if output is None and step.output is None and turns and step.error is None:
        output = said[turns[-1]]
    attributes = dict(step.attributes)
    if said:
        attributes["conversation"] = [*said]
    return replace(step, input=given, output=step.output if output is None else output, attributes=attributes)


def _conversation(span: Span, taken: Attributes) -> list[dict[str, Any]]:
    """The Messages of the whole run, from whichever attribute holds them."""
    for name in _CONVERSATIONS:
        listed = taken.listed(name)
        if listed is None:
            continue
        if any("event.name" in item for item in listed):
            return _from_events(span, listed)
        return [message for item in listed for message in messages_of(item)]
    return []


def _from_events(span: Span, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages that stand as events, in their order: an answer is an assistant's message here, no choice."""
    found: list[dict[str, Any]] = []
    for event in _events(listed):
        read = otlp_events.content(replace(span, events=(event,)), Attributes({}))
        if read is not None:
            found += [message for raw in read.given for message in messages_of(raw)]
            found += [answer_of(raw) for raw in read.answered]
    return found


def _events(listed: list[dict[str, Any]]) -> tuple[SpanEvent, ...]:
    return tuple(SpanEvent(str(item.get("event.name") or ""), {}, item) for item in listed)


def _tool(span: Span, taken: Attributes) -> Step:
    for name, old in (("arguments", "tool_arguments"), ("result", "tool_response")):
        if old in taken.rest and taken.rest.setdefault(f"gen_ai.tool.call.{name}", taken.rest[old]) is not None:
            del taken.rest[old]
    named = span.name.removeprefix("running tool: ")
    return otlp_genai.step_as("execute_tool", replace(span, name=named, attributes=taken.rest))


def _model(operation: str, span: Span, taken: Attributes) -> Step:
    events = span.events
    if "gen_ai.input.messages" not in taken.rest:
        events += _events(taken.listed("events") or [])
    if "gen_ai.tool.definitions" not in taken.rest:
        _tools(taken)
    _bodies(span, taken)
    _counts(taken)
    return otlp_genai.step_as(operation, replace(span, attributes=taken.rest, events=events))


def _tools(taken: Attributes) -> None:
    """The definitions of the tools that a request could call, where only Pydantic AI's own attribute has them."""
    held = taken.rest.get("model_request_parameters")
    parameters = json_value(held) if isinstance(held, str) else held
    if not isinstance(parameters, dict):
        return
    found: list[Json] = []
    for tool in (*dicts(parameters.get("function_tools")), *dicts(parameters.get("output_tools"))):
        schema = tool.get("parameters_json_schema")
        found.append({"name": tool.get("name"), "description": tool.get("description"), "parameters": schema})
    if found:
        taken.rest["gen_ai.tool.definitions"] = found


def _bodies(span: Span, taken: Attributes) -> None:
    """What the bodies of a model library's request and response say, where no attribute says it."""
    request, response = _body(span, "request_data") or {}, _body(span, "response_data") or {}
    if isinstance(request.get("messages"), list) and "gen_ai.input.messages" not in taken.rest:
        system = request.get("system")
        first = [] if system is None else [{"role": "system", "content": system}]
        taken.rest["gen_ai.input.messages"] = [*first, *request["messages"]]
        taken.rest.pop("request_data")
        for name in ("temperature", "top_p", "max_tokens", "seed"):
            if name in request:
                taken.rest.setdefault(f"gen_ai.request.{name}", request[name])
        rest = {key: value for key, value in request.items() if key not in ("messages", "system", "tools")}
        taken.rest["request_data"] = rest
    if isinstance(request.get("tools"), list):
        taken.rest.setdefault("gen_ai.tool.definitions", request["tools"])
    if isinstance(request.get("model"), str):
        taken.rest.setdefault("gen_ai.request.model", request["model"])
    said = response.get("message", response.get("combined_chunk_content", response.get("text")))
    if said is not None and "gen_ai.output.messages" not in taken.rest:
        message = said if isinstance(said, dict) else {"content": said}
        taken.rest["gen_ai.output.messages"] = [{"role": "assistant", **message}]
        del taken.rest["response_data"]
        if "usage" in response:
            taken.rest["response_data"] = {"usage": response["usage"]}
    usage = response.get("usage")
    for name, old in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
        if isinstance(usage, dict) and (name in usage or old in usage):
            taken.rest.setdefault(f"gen_ai.usage.{name}", usage.get(name, usage.get(old)))


def _body(span: Span, name: str) -> dict[str, Any] | None:
    held = span.attributes.get(name)
    value = json_value(held) if isinstance(held, str) else held
    return value if isinstance(value, dict) else None


def _counts(taken: Attributes) -> None:
    """Counts and cost under the conventions' names."""
    for name, spelled in _COUNTS.items():
        for each in spelled:
            if name not in taken.rest and f"gen_ai.usage.details.{each}" in taken.rest:
                taken.rest[name] = taken.rest.pop(f"gen_ai.usage.details.{each}")
    if "operation.cost" in taken.rest:
        taken.rest.setdefault("gen_ai.usage.cost", taken.rest["operation.cost"])
