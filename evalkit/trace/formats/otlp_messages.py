"""The GenAI semantic conventions in their message style: a span holds its messages as JSON in attributes.

``gen_ai.input.messages`` and ``gen_ai.output.messages`` are lists of ``{"role", "parts": [...]}``,
``gen_ai.system_instructions`` is a list of parts. A span without them (content capture is off by default) is still
read: its step names in ``attributes["missing"]`` what was not captured.
Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/ and its JSON schemas of the messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.canonical import Json, same
from evalkit.errors import UnreadableTrace
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.chat import arguments_of, call_of, dicts, message_of, tool_definition
from evalkit.trace.formats.otlp_spans import Span
from evalkit.trace.json_input import json_or_text, parse_json
from evalkit.trace.model import Step, StepError, Usage
from evalkit.wire.body import dump_json

__all__ = ["claims", "interpret"]

_CONTENT = ("gen_ai.input.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
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
}
_ROLES = frozenset({"system", "user", "assistant", "tool"})


def claims(span: Span) -> bool:
    """Whether the span holds what a model or a tool was asked, in this dialect."""
    return any(key in span.attributes for key in _CONTENT)


def interpret(span: Span) -> Step:
    """The span as a step; its number, parent and times are set by the caller."""
    taken = _Attributes(span.attributes)
    operation = taken.take("gen_ai.operation.name")
    maker = _MAKERS.get(operation if isinstance(operation, str) else "", _other)
    return maker(span, taken)


class _Attributes:
    """A span's attributes; what no field takes stays over for the step's own attributes."""

    def __init__(self, attributes: dict[str, Json]) -> None:
        self.rest = dict(attributes)
        self.missing: list[Json] = []

    def take(self, *names: str) -> Json:
        """The first of some attributes that is there, taken out."""
        for name in names:
            if name in self.rest:
                return self.rest.pop(name)
        return None

    def text(self, *names: str) -> str:
        value = self.take(*names)
        return value if isinstance(value, str) else ""

    def count(self, *names: str) -> int | None:
        value = self.take(*names)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def listed(self, name: str) -> list[dict[str, Any]] | None:
        """A list of objects, given as such or as JSON text; None (and left where it is) when it is neither."""
        value = self.rest.get(name)
        if isinstance(value, str):
            try:
                value = parse_json(value.encode(), "")
            except (UnreadableTrace, UnicodeEncodeError):  # an exporter's length limit cuts JSON in the middle
                return None
        if not isinstance(value, list):
            return None
        del self.rest[name]
        return dicts(value)

    def left(self) -> dict[str, Json]:
        return {**self.rest, "missing": self.missing} if self.missing else self.rest


def _model(span: Span, taken: _Attributes) -> Step:
    given, answered = taken.listed("gen_ai.input.messages"), taken.listed("gen_ai.output.messages")
    messages = [*_system(taken), *(message for raw in given or [] for message in _messages(raw))]
    if len(messages) > 1 and messages[0]["role"] == messages[1]["role"] == "system" and same(*messages[:2]):
        del messages[0]  # the instructions stand in both attributes
    tools = [tool_definition(tool) for tool in taken.listed("gen_ai.tool.definitions") or []]
    params = {name: taken.take(key) for key, name in _PARAMS.items() if key in taken.rest}
    error = _error(span, taken)
    choices = [_answer(raw) for raw in answered or []]
    if not given:
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
        input={"messages": [*messages], "tools": tools, "params": params},
        output=choices[0] if choices else None,
        error=error,
        model=model if isinstance(model, str) else None,
        usage=_usage(taken),
        attributes=taken.left(),
    )


def _tool(span: Span, taken: _Attributes) -> Step:
    name = taken.text("gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
    given = taken.take("gen_ai.tool.call.arguments")
    result = taken.take("gen_ai.tool.call.result")
    error = _error(span, taken)
    if given is None:
        taken.missing.append("input")
    if result is None and error is None:
        taken.missing.append("output")
    if "gen_ai.tool.call.id" in taken.rest:
        taken.rest["tool_call_id"] = taken.take("gen_ai.tool.call.id")
    return Step(
        seq=0,
        kind="tool",
        name=name,
        input=None if given is None else arguments_of(given),
        output=json_or_text(result) if isinstance(result, str) else result,
        error=error,
        effect=guess_effect(name),
        effect_source="guessed",
        attributes=taken.left(),
    )


def _agent(span: Span, taken: _Attributes) -> Step:
    given, answered = taken.listed("gen_ai.input.messages"), taken.listed("gen_ai.output.messages")
    messages = [*_system(taken), *(message for raw in given or [] for message in _messages(raw))]
    answers = [_answer(raw) for raw in answered or []]
    return Step(
        seq=0,
        kind="agent",
        name=taken.text("gen_ai.agent.name") or span.name.removeprefix("invoke_agent "),
        input=[*messages] or None,
        output=answers[-1] if answers else None,
        error=_error(span, taken),
        usage=_usage(taken),
        attributes=taken.left(),
    )


def _retrieval(span: Span, taken: _Attributes) -> Step:
    query = taken.take("gen_ai.retrieval.query.text")
    documents = taken.listed("gen_ai.retrieval.documents")
    error = _error(span, taken)
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


def _other(span: Span, taken: _Attributes) -> Step:
    if "gen_ai.operation.name" in span.attributes:
        taken.rest["gen_ai.operation.name"] = span.attributes["gen_ai.operation.name"]
    return Step(seq=0, kind="other", name=span.name, error=_error(span, taken), attributes=taken.left())


_MAKERS: dict[str, Callable[[Span, _Attributes], Step]] = {
    "chat": _model,
    "text_completion": _model,
    "generate_content": _model,
    "execute_tool": _tool,
    "invoke_agent": _agent,
    "retrieval": _retrieval,
}


def _system(taken: _Attributes) -> list[dict[str, Any]]:
    parts = taken.listed("gen_ai.system_instructions")
    return _messages({"role": "system", "parts": parts}) if parts else []


def _messages(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """The Messages of one source message: each tool response in it is a Message of its own, before the rest."""
    if not isinstance(raw.get("parts"), list):
        return [message_of(raw)]
    parts = dicts(raw["parts"])
    answers = [_tool_message(part) for part in parts if part.get("type") == "tool_call_response"]
    rest = [part for part in parts if part.get("type") != "tool_call_response"]
    return [*answers, _message(_role(raw.get("role"), rest), rest)] if rest or not answers else answers


def _answer(raw: dict[str, Any]) -> dict[str, Any]:
    """An output message: an assistant's, whatever role the source gives it."""
    if not isinstance(raw.get("parts"), list):
        return message_of({**raw, "role": "assistant"})
    return _message("assistant", dicts(raw["parts"]))


def _message(role: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": _content(parts)}
    calls = [call_of(part) for part in parts if part.get("type") == "tool_call"]
    if calls:
        message["tool_calls"] = calls
    for kind in ("reasoning", "refusal"):
        texts = [str(part.get("content") or "") for part in parts if part.get("type") == kind]
        if texts:
            message[kind] = "\n".join(texts)
    return message


def _content(parts: list[dict[str, Any]]) -> Json:
    """The content: a string for one text part, None for none, else the list of parts."""
    kept = [part for part in parts if part.get("type") not in ("tool_call", "reasoning", "refusal")]
    if not kept:
        return None
    if len(kept) == 1 and kept[0].get("type") == "text" and isinstance(kept[0].get("content"), str):
        return str(kept[0]["content"])
    return [{"type": "text", "text": part.get("content")} if part.get("type") == "text" else part for part in kept]


def _tool_message(part: dict[str, Any]) -> dict[str, Any]:
    response = part.get("response", part.get("result"))
    text = response if isinstance(response, str) else dump_json(response).decode()
    return {"role": "tool", "content": text, "tool_call_id": str(part.get("id") or "")}


def _role(role: Any, parts: list[dict[str, Any]]) -> str:
    if isinstance(role, str) and role in _ROLES:
        return role
    return "assistant" if any(part.get("type") == "tool_call" for part in parts) else "user"


def _usage(taken: _Attributes) -> Usage | None:
    usage = Usage(
        input_tokens=taken.count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        output_tokens=taken.count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        cached_tokens=taken.count("gen_ai.usage.cache_read.input_tokens"),
        reasoning_tokens=taken.count("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
    )
    return None if usage == Usage() else usage


def _error(span: Span, taken: _Attributes) -> StepError | None:
    """The error that failed the span: its exception event says most, then ``error.type``, then the status."""
    code = taken.text("error.type")
    if not span.failed and not code:
        return None
    raised = next((event.attributes for event in span.events if event.name == "exception"), {})
    module, _, kind = str(raised.get("exception.type") or code or "Error").rpartition(".")
    stack = raised.get("exception.stacktrace")
    return StepError(
        type=kind,
        message=str(raised.get("exception.message") or span.status_message or taken.text("error.message")),
        module=module or None,
        stack=stack if isinstance(stack, str) else None,
    )
