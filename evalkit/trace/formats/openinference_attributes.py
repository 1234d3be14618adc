"""OpenInference: what the attributes of one span mean, however the span was carried (OTLP, Phoenix, a nested taken).

Attributes come flat (``llm.input_messages.0.message.role``), nested (``{"llm": {"input_messages": [...]}}``), or mixed;
indexes are numbers and sort as such. What no field of a step takes stays in the step's attributes, as it was given.
Source: https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of, dicts
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.attributes import Attributes, items_of, number_of, spread, text_at
from evalkit.trace.formats.chat import arguments_of, message_of, request_of, text_of, tool_definition
from evalkit.trace.json_input import json_or_text
from evalkit.trace.model import Kind, Step, StepError, Usage

__all__ = ["SPAN_KIND", "is_openinference", "openinference_step"]

SPAN_KIND = "openinference.span.kind"
"""The attribute that every OpenInference span has."""

_OF_RESPONSE = ("id", "object", "created_at", "completed_at", "status", "instructions", "metadata")
_ROLES = {
    **{"developer": "system", "human": "user", "ai": "assistant", "model": "assistant", "function": "tool"},
    **{"tool-call": "assistant", "tool-response": "user"},  # as smolagents sends them (its tool_role_conversions)
}
_TOOL_WRAPPER = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})


def is_openinference(attributes: Mapping[str, Json]) -> bool:
    """Whether a span's attributes are in this convention."""
    nested = dict_of(dict_of(attributes.get("openinference")).get("span")).get("kind")
    return SPAN_KIND in attributes or isinstance(nested, str)


def openinference_step(attributes: Mapping[str, Json], span_name: str, error: StepError | None = None) -> Step:
    """One span as a step; its number, parent and times are the caller's to set.

    Args:
        attributes: the span's, flat or nested.
        span_name: names the step where no attribute does.
        error: what failed the span, when its status says so.
    """
    taken = Attributes(spread(attributes))
    kind = taken.tree(SPAN_KIND)
    maker = _MAKERS.get(kind.upper() if isinstance(kind, str) else "", _other)
    if maker is _other and kind is not None:
        taken.rest[SPAN_KIND] = kind
    return maker(taken, span_name, error)


def _model(taken: Attributes, span_name: str, error: StepError | None) -> Step:
    del span_name
    request, response = _value(taken, "input"), _value(taken, "output")
    messages = [_message(item) for item in items_of(taken.tree("llm.input_messages"))]
    answers = [_message(item, "assistant") for item in items_of(taken.tree("llm.output_messages"))]
    params = _params(dict_of(_parsed(taken.tree("llm.invocation_parameters"))), messages, taken)
    given = _request(request, messages, params, items_of(taken.tree("llm.tools")), taken)
    answer = answers[0] if answers else _answer(response, taken)
    if response is not None and not _says(answer, response):
        taken.rest["output.value"] = response
    if answers[1:]:
        taken.rest["other_choices"] = [*answers[1:]]
    if not given["messages"]:
        taken.missing.append("input")
    if answer is None and error is None:
        taken.missing.append("output")
    model = taken.tree("llm.model_name") or params.get("model")
    return Step(
        seq=0,
        kind="model",
        name="chat",
        input=given,
        output=answer,
        error=error,
        model=model if isinstance(model, str) else None,
        usage=_usage(taken),
        attributes=taken.left(),
    )


def _params(stated: dict[str, Any], messages: list[dict[str, Any]], taken: Attributes) -> dict[str, Any]:
    """The parameters by their OpenAI names, without what the tracer of OpenAI Agents adds of the response."""
    system = [text_of(message) for message in messages if message.get("role") == "system"]
    about = {key: stated[key] for key in _OF_RESPONSE if key in stated}
    if about.get("instructions") in (None, *system):
        about.pop("instructions", None)
    if about:
        taken.rest["response"] = about
    names = {"max_output_tokens": "max_tokens"} if "max_tokens" not in stated else {}
    return {names.get(key, key): value for key, value in stated.items() if key not in _OF_RESPONSE}


def _request(
    request: Json, messages: list[dict[str, Any]], params: dict[str, Any], tools: list[Any], taken: Attributes
) -> dict[str, Json]:
    """The normal input of a model step from the message attributes, else from the raw request in ``input.value``."""
    defined = [tool_definition(_parsed(_schema(tool))) for tool in tools]
    sampling: dict[str, Json] = {key: value for key, value in params.items() if key not in ("tools", "model")}
    defined = defined or [tool_definition(tool) for tool in dicts(params.get("tools"))]
    raw = request if isinstance(request, dict) else {"messages": request}
    listed = dicts(raw.get("messages"))
    if not messages and listed:
        body = request_of({**raw, "messages": listed})
        return {
            "messages": body["messages"],
            "tools": [*defined] or body.get("tools", []),
            "params": sampling or body.get("params", {}),
        }
    if not messages:
        messages = _prompts(taken)
    if not messages and isinstance(request, str) and request:
        messages = [{"role": "user", "content": request}]
    elif request is not None:
        _keep_rest(request, listed, messages, taken)
    return {"messages": [*messages], "tools": [*defined], "params": sampling}


def _keep_rest(request: Json, listed: list[dict[str, Any]], messages: list[dict[str, Any]], taken: Attributes) -> None:
    """Keep of a raw request what the message attributes do not say."""
    twice = len(listed) == len(messages) and all(
        text_of(message_of(raw)) == text_of(message) for raw, message in zip(listed, messages, strict=True)
    )
    if not twice or not listed:
        taken.rest["input.value"] = request
    elif isinstance(request, dict) and len(request) > 1:
        taken.rest["input.value"] = {key: value for key, value in request.items() if key != "messages"}


def _prompts(taken: Attributes) -> list[dict[str, Any]]:
    """The prompts of a text completion, as user messages."""
    texts = [text_at(item, "prompt.text") for item in items_of(taken.tree("llm.prompts"))]
    return [{"role": "user", "content": text} for text in texts if text]


def _answer(response: Json, taken: Attributes) -> dict[str, Any] | None:
    """The answer where no message attribute holds it: a completion's text, a response body, or plain text."""
    texts = [text_at(item, "completion.text") for item in items_of(taken.tree("llm.choices"))]
    if texts:
        return {"role": "assistant", "content": texts[0]}
    if isinstance(response, str):
        return {"role": "assistant", "content": response} if response else None
    body = dict_of(response)
    message = next((dict_of(choice.get("message")) for choice in dicts(body.get("choices"))), body)
    return message_of({**message, "role": "assistant"}) if "content" in message or "tool_calls" in message else None


def _says(answer: dict[str, Any] | None, response: Json) -> bool:
    """Whether a raw response adds nothing to the answer that was read."""
    if answer is None:
        return False
    if isinstance(response, str):
        return text_of(answer) == response
    body = dict_of(response)
    return set(body) <= {"role", "content", "tool_calls", "raw"} and text_of(message_of(body)) == text_of(answer)


def _message(raw: Any, role: str = "user") -> dict[str, Any]:
    """A Message from ``{"message": {"role", "content" | "contents", "tool_calls", ...}}``."""
    held = dict_of(raw)
    inner = dict_of(held.get("message")) or held
    parts = [_part(item) for item in items_of(inner.get("contents"))]
    reasoning = [
        part["text"] for part in parts if part.get("type") == "reasoning" and isinstance(part.get("text"), str)
    ]
    kept = [part for part in parts if part.get("type") != "reasoning" or not isinstance(part.get("text"), str)]
    plain: dict[str, Any] = {
        "role": _role(inner.get("role")) or role,
        "content": inner.get("content", kept or None),
        "tool_call_id": inner.get("tool_call_id"),
        "name": inner.get("name"),
        "reasoning": "\n".join(reasoning),
        "tool_calls": [_call(item) for item in items_of(inner.get("tool_calls"))],
    }
    if isinstance(inner.get("function_call_name"), str):
        plain["function_call"] = {
            "name": inner["function_call_name"],
            "arguments": inner.get("function_call_arguments_json"),
        }
    return message_of(plain)


def _role(stated: Any) -> Any:
    return _ROLES.get(stated, stated) if isinstance(stated, str) else stated


def _part(raw: Any) -> dict[str, Any]:
    held = dict_of(raw)
    part = dict_of(held.get("message_content")) or held
    url = text_at(part, "image.image.url")
    if part.get("type") == "image" and url:
        return {"type": "image_url", "image_url": {"url": url}}
    return part


def _call(raw: Any) -> dict[str, Any]:
    held = dict_of(raw)
    return dict_of(held.get("tool_call")) or held


def _schema(raw: Any) -> Any:
    held = dict_of(raw)
    tool = dict_of(held.get("tool")) or held
    return tool.get("json_schema", tool)


def _tool(taken: Attributes, span_name: str, error: StepError | None) -> Step:
    name = taken.text("tool.name") or taken.text("tool_call.function.name") or span_name
    call_id = taken.text("tool_call.id") or taken.text("tool.id")
    given, output = _value(taken, "input"), _value(taken, "output")
    given = taken.tree("tool_call.function.arguments") if given is None else given
    if given is None:
        taken.missing.append("input")
    if output is None and error is None:
        taken.missing.append("output")
    if call_id:
        taken.rest["tool_call_id"] = call_id
    return Step(
        seq=0,
        kind="tool",
        name=name,
        input=None if given is None else _unwrapped(arguments_of(given), taken),
        output=output,
        error=error,
        effect=guess_effect(name),
        effect_source="guessed",
        attributes=taken.left(),
    )


def _unwrapped(given: Json, taken: Attributes) -> Json:
    """The arguments inside the call of a Python function: keywords, and positions by the names of its parameters."""
    if not isinstance(given, dict) or "kwargs" not in given or not set(given) <= _TOOL_WRAPPER:
        return given
    args, kwargs = given.get("args") or [], given["kwargs"]
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return given
    if len(args) == 1 and isinstance(args[0], dict) and not kwargs:
        return args[0]
    names = [*dict_of(_parsed(taken.rest.get("tool.parameters")))]
    if len(args) > len(names):
        return given if args else kwargs
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _agent(taken: Attributes, span_name: str, error: StepError | None) -> Step:
    name = taken.text("agent.name") or span_name
    asked, answered = _value(taken, "input"), _value(taken, "output")
    return Step(0, "agent", name, asked, answered, error, usage=_usage(taken), attributes=taken.left())


def _retrieval(taken: Attributes, span_name: str, error: StepError | None) -> Step:
    query, answered = _value(taken, "input"), _value(taken, "output")
    ranked = taken.tree("reranker.query")
    query = query if ranked is None else ranked
    found = items_of(taken.tree("retrieval.documents")) or items_of(taken.tree("reranker.output_documents"))
    documents = [_document(item) for item in found]
    if query is None:
        taken.missing.append("input")
    if not found and answered is None and error is None:
        taken.missing.append("output")
    if found and answered is not None:
        taken.rest["output.value"] = answered
    output: Json = [*documents] if found else answered
    return Step(0, "retrieval", span_name, {"query": query}, output, error, attributes=taken.left())


def _document(raw: Any) -> Json:
    held = dict_of(raw)
    document = dict_of(held.get("document")) or held
    return {**document, "metadata": _parsed(document["metadata"])} if "metadata" in document else document


def _policy(taken: Attributes, span_name: str, error: StepError | None) -> Step:
    return _plain("policy", taken, span_name, error)


def _other(taken: Attributes, span_name: str, error: StepError | None) -> Step:
    return _plain("other", taken, span_name, error)


def _plain(kind: Kind, taken: Attributes, span_name: str, error: StepError | None) -> Step:
    asked, answered = _value(taken, "input"), _value(taken, "output")
    return Step(0, kind, span_name, asked, answered, error, attributes=taken.left())


_MAKERS: dict[str, Callable[[Attributes, str, StepError | None], Step]] = {
    "LLM": _model,
    "TOOL": _tool,
    "AGENT": _agent,
    "RETRIEVER": _retrieval,
    "RERANKER": _retrieval,
    "GUARDRAIL": _policy,
}


def _value(taken: Attributes, side: str) -> Json:
    """``input.value`` or ``output.value``; objects and arrays in a string are parsed unless it is said to be text."""
    value = taken.tree(f"{side}.value")
    mime = taken.tree(f"{side}.mime_type")
    return value if mime == "text/plain" else _parsed(value)


def _parsed(value: Any) -> Any:
    return json_or_text(value) if isinstance(value, str) else value


def _usage(taken: Attributes) -> Usage | None:
    count = "llm.token_count"
    usage = Usage(
        input_tokens=_int(taken.tree(f"{count}.prompt")),
        output_tokens=_int(taken.tree(f"{count}.completion")),
        cached_tokens=_int(taken.tree(f"{count}.prompt_details.cache_read")),
        reasoning_tokens=_int(taken.tree(f"{count}.completion_details.reasoning")),
        cost_usd=number_of(taken.tree("llm.cost.total")),
    )
    return None if usage == Usage() else usage


def _int(value: Json) -> int | None:
    number = number_of(value)
    return int(number) if number is not None and number == int(number) else None
