"""GenAI spans as steps: one reading of operations, models, tools, usage and errors for all styles of content.

The conventions changed how a span holds its messages: as JSON in attributes, as events beside it, as numbered
attributes. A style (`otlp_messages`, `otlp_events`, `otlp_indexed`) brings them into the form of the newest one; the
rest is read here. A span without content (content capture is off by default) is still read: its step names in
``attributes["missing"]`` what was not captured.
Sources: https://opentelemetry.io/docs/specs/semconv/gen-ai/ and, for ``traceloop.*`` and ``llm.request.type``,
https://github.com/traceloop/openllmetry (opentelemetry-semantic-conventions-ai).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.canonical import Json, same
from evalkit.shapes import is_number
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats import otlp_events, otlp_indexed, otlp_messages
from evalkit.trace.formats.attributes import Attributes
from evalkit.trace.formats.chat import arguments_of, keywords_of, tool_definition
from evalkit.trace.formats.otlp_messages import Content, answer_of, messages_of
from evalkit.trace.formats.otlp_spans import Span, error_of
from evalkit.trace.json_input import json_or_text
from evalkit.trace.model import Step, Usage

__all__ = ["asks_model", "claims", "interpret", "step_as"]

_STYLES: tuple[Callable[[Span, Attributes], Content | None], ...] = (
    otlp_messages.content,
    otlp_events.content,
    otlp_indexed.content,
)
"""In the order in which they are asked; the first that finds messages is the span's."""

_PARAMS = {
    "gen_ai.request.temperature": "temperature",
    "gen_ai.request.top_p": "top_p",
    "gen_ai.request.top_k": "top_k",
    "gen_ai.request.max_tokens": "max_tokens",
    "gen_ai.request.seed": "seed",
    "gen_ai.request.stop_sequences": "stop",
    "gen_ai.request.presence_penalty": "presence_penalty",
    "gen_ai.request.frequency_penalty": "frequency_penalty",
    "gen_ai.request.choice.count": "n",
    "llm.presence_penalty": "presence_penalty",
    "llm.frequency_penalty": "frequency_penalty",
    "llm.top_k": "top_k",
}
_OPERATION = "gen_ai.operation.name"
_MARKS = (_OPERATION, "traceloop.span.kind", "llm.request.type")
_WRAPPED = frozenset({"input_str", "tags", "metadata", "inputs", "kwargs"})


def claims(span: Span) -> bool:
    """Whether the span is of a generative AI call, or of what runs around one."""
    return (
        any(mark in span.attributes for mark in _MARKS)
        or any(name.startswith(("gen_ai.request.", "gen_ai.prompt", "gen_ai.usage.")) for name in span.attributes)
        or any(otlp_events.is_message(event) for event in span.events)
    )


def interpret(span: Span) -> Step:
    """The span as a step; its number, parent and times are set by the caller."""
    return step_as(_operation(span), span)


def step_as(operation: str, span: Span) -> Step:
    """The span as the step of an operation that it may not name itself; for dialects that are rewritten into this one.

    Args:
        operation: as in ``gen_ai.operation.name``; an unknown one gives an `other` step.
    """
    return _MAKERS.get(operation, _other)(span, Attributes(span.attributes, span.seen))


def asks_model(span: Span) -> bool:
    """Whether the span is a model call."""
    return _MAKERS.get(_operation(span)) is _model


def _operation(span: Span) -> str:
    """The operation by its newest name; spans older than the operation's attribute say it in others."""
    stated = span.attributes.get(_OPERATION)
    if isinstance(stated, str):
        return stated
    kind = span.attributes.get("traceloop.span.kind")
    if isinstance(kind, str):
        return {"tool": "execute_tool", "agent": "invoke_agent"}.get(kind, kind)
    request = span.attributes.get("llm.request.type")
    if isinstance(request, str):
        return {"completion": "text_completion"}.get(request, request)
    asks = any(name.startswith(("gen_ai.prompt", "gen_ai.completion")) for name in span.attributes)
    asks = asks or "gen_ai.input.messages" in span.attributes or any(map(otlp_events.is_message, span.events))
    return "chat" if asks else ""


def _content(span: Span, taken: Attributes) -> Content:
    for style in _STYLES:
        found = style(span, taken)
        if found is not None:
            return found
    return Content()


def _model(span: Span, taken: Attributes) -> Step:
    found = _content(span, taken)
    messages = _asked(found, taken)
    tools = [*(taken.listed("gen_ai.tool.definitions") or found.tools), *otlp_indexed.functions(taken)]
    defined = [taken.seen.made(tool_definition, tool) for tool in tools]
    params = {name: taken.take(key) for key, name in _PARAMS.items() if key in taken.rest}
    error = error_of(span, taken)
    choices = [answer_of(raw) for raw in found.answered]
    if not found.given:
        taken.missing.append("input")
    if not choices and error is None:
        taken.missing.append("output")
    if choices[1:]:
        taken.rest["other_choices"] = [*choices[1:]]
    asked = taken.take("gen_ai.request.model")
    model = taken.take("gen_ai.response.model") or asked
    return Step(
        seq=0,
        kind="model",
        name="chat",
        input={"messages": [*messages], "tools": [*defined], "params": params},
        output=choices[0] if choices else None,
        error=error,
        model=model if isinstance(model, str) else None,
        usage=_usage(taken),
        attributes=taken.left(),
    )


def _tool(span: Span, taken: Attributes) -> Step:
    name = taken.text("gen_ai.tool.name", "traceloop.entity.name") or span.name.removeprefix("execute_tool ")
    given = _both(taken, "gen_ai.tool.call.arguments", "traceloop.entity.input")
    result = _both(taken, "gen_ai.tool.call.result", "traceloop.entity.output")
    error = error_of(span, taken)
    if given is None:
        taken.missing.append("input")
    if result is None and error is None:
        taken.missing.append("output")
    if "gen_ai.tool.call.id" in taken.rest:
        taken.rest["tool_call_id"] = taken.take("gen_ai.tool.call.id")
    arguments, output = None if given is None else arguments_of(given), _read(result)
    if "traceloop.span.kind" in taken.rest:
        arguments, output = _unwrapped(arguments, output)
    return Step(
        seq=0,
        kind="tool",
        name=name,
        input=arguments,
        output=output,
        error=error,
        effect=guess_effect(name),
        effect_source="guessed",
        attributes=taken.left(),
    )


def _agent(span: Span, taken: Attributes) -> Step:
    found = _content(span, taken)
    answers = [answer_of(raw) for raw in found.answered]
    given: Json = [*_asked(found, taken)]
    given = given or _read(_both(taken, "traceloop.entity.input"))
    output: Json = answers[-1] if answers else _read(_both(taken, "traceloop.entity.output"))
    return Step(
        seq=0,
        kind="agent",
        name=taken.text("gen_ai.agent.name", "traceloop.entity.name") or span.name.removeprefix("invoke_agent "),
        input=given,
        output=output,
        error=error_of(span, taken),
        usage=_usage(taken),
        attributes=taken.left(),
    )


def _retrieval(span: Span, taken: Attributes) -> Step:
    query = taken.take("gen_ai.retrieval.query.text")
    documents = taken.listed("gen_ai.retrieval.documents")
    error = error_of(span, taken)
    if query is None:
        taken.missing.append("input")
    if documents is None and error is None:
        taken.missing.append("output")
    return Step(
        seq=0,
        kind="retrieval",
        name=taken.text("gen_ai.data_source.id") or span.name,
        input={"query": query},
        output=None if documents is None else [*documents],
        error=error,
        attributes=taken.left(),
    )


def _other(span: Span, taken: Attributes) -> Step:
    """Whatever else ran: a chain's task, an embedding, a request on the web."""
    found = _content(span, taken)
    given: Json = [message for raw in found.given for message in taken.seen.made(messages_of, raw)]
    given = given or _read(_both(taken, "traceloop.entity.input", "gen_ai.task.input"))
    answers: Json = [answer_of(raw) for raw in found.answered]
    output = answers or _read(_both(taken, "traceloop.entity.output", "gen_ai.task.output"))
    return Step(0, "other", span.name, input=given, output=output, error=error_of(span, taken), attributes=taken.left())


def _handoff(span: Span, taken: Attributes) -> Step:
    """OpenLLMetry's; it often does not know to whom."""
    given = {name: taken.take(f"gen_ai.handoff.{name}") for name in ("from_agent", "to_agent")}
    return Step(0, "other", "handoff", given, error=error_of(span, taken), attributes=taken.left())


_MAKERS: dict[str, Callable[[Span, Attributes], Step]] = {
    "chat": _model,
    "text_completion": _model,
    "generate_content": _model,
    "execute_tool": _tool,
    "invoke_agent": _agent,
    "retrieval": _retrieval,
    "handoff": _handoff,
}


def _asked(found: Content, taken: Attributes) -> list[dict[str, Any]]:
    """The messages that a model or agent was given, the developer's instructions first."""
    parts = taken.listed("gen_ai.system_instructions") or found.system
    system = messages_of({"role": "system", "parts": parts}) if parts else []
    messages = [*system, *(message for raw in found.given for message in taken.seen.made(messages_of, raw))]
    if len(messages) > 1 and messages[0]["role"] == messages[1]["role"] == "system" and same(*messages[:2]):
        del messages[0]  # the instructions stand in both attributes
    return messages


def _both(taken: Attributes, *names: str) -> Json:
    """The value of the first of some attributes that is there; the others go with it where they repeat it."""
    value = taken.take(*names)
    for name in names:
        if name in taken.rest and taken.rest[name] == value:
            del taken.rest[name]
    return value


def _unwrapped(given: Json, result: Json) -> tuple[Json, Json]:
    """A tool's arguments and result out of what OpenLLMetry's decorators and its LangChain handler put around them."""
    given = keywords_of(given)
    if isinstance(given, dict) and "input_str" in given and given.keys() <= _WRAPPED:
        inputs = given.get("inputs")
        given = inputs if isinstance(inputs, dict) else arguments_of(given["input_str"])
    if isinstance(result, dict) and "output" in result and result.keys() <= {"output", "kwargs"}:
        result = _read(result["output"])
    return given, result


def _read(value: Json) -> Json:
    return json_or_text(value) if isinstance(value, str) else value


def _usage(taken: Attributes) -> Usage | None:
    cost = taken.rest.get("gen_ai.usage.cost")
    usage = Usage(
        input_tokens=taken.count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        output_tokens=taken.count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        cached_tokens=taken.count("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
        reasoning_tokens=taken.count("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
        cost_usd=float(cost) if is_number(cost) else None,
    )
    return None if usage == Usage() else usage
