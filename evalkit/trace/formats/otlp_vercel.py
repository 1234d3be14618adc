"""Spans of the Vercel AI SDK (versions 3 to 6), which say in ``ai.operationId`` what they are.

``ai.generateText`` and its like run the whole loop and are the agent; ``ai.generateText.doGenerate`` is one model call,
``ai.toolCall`` one tool call, inside of it. The ``gen_ai.*`` attributes beside repeat a part. Prompts, tools and
results are JSON text. From version 7 on the SDK writes the GenAI conventions, which `otlp_genai` reads.
Source: https://github.com/vercel/ai, ``packages/ai/src/telemetry`` and the ``recordSpan`` calls around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts, is_whole
from evalkit.trace.formats import otlp_genai
from evalkit.trace.formats.ai_sdk_messages import ai_sdk_answer, ai_sdk_messages
from evalkit.trace.formats.attributes import Attributes, json_value
from evalkit.trace.formats.otlp_spans import Span, error_of
from evalkit.trace.model import Step, Usage

__all__ = ["claims", "interpret"]

_CALL = re.compile(r"ai\.(?:generate|stream)(?:Text|Object)\.do(?:Generate|Stream)")
_LOOP = re.compile(r"ai\.(?:generate|stream)(?:Text|Object)")
_SETTINGS = {
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "maxTokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
    "seed": "seed",
    "stopSequences": "stop_sequences",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}
_COUNTS = {
    "input_tokens": ("inputTokens", "promptTokens"),
    "output_tokens": ("outputTokens", "completionTokens"),
    "cache_read.input_tokens": ("cachedInputTokens", "inputTokenDetails.cacheReadTokens"),
    "reasoning.output_tokens": ("reasoningTokens", "outputTokenDetails.reasoningTokens"),
}
_TEXTS = ("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")


def claims(span: Span) -> bool:
    """Whether the AI SDK wrote the span."""
    return _operation(span).startswith("ai.")


def interpret(span: Span) -> Step:
    """The span as a step; its number, parent and times are set by the caller."""
    operation, taken = _operation(span), Attributes(span.attributes)
    if _CALL.fullmatch(operation):
        return _call(span, taken)
    if _LOOP.fullmatch(operation):
        return _loop(span, taken)
    makers: dict[str, Callable[[Span, Attributes], Step]] = {"ai.toolCall": _tool, "ai.rerank.doRerank": _ranking}
    return makers.get(operation, _other)(span, taken)


def _operation(span: Span) -> str:
    """What the span is: its own attribute says it, before that ``operation.name`` with the function's name after it."""
    named = span.name if any(name.startswith("ai.") for name in span.attributes) else None
    for stated in (span.attributes.get("ai.operationId"), span.attributes.get("operation.name"), named):
        if isinstance(stated, str) and stated.startswith("ai."):
            return stated.partition(" ")[0]
    return ""


def _call(span: Span, taken: Attributes) -> Step:
    tools = [_decoded(each) for each in _list(taken.rest.get("ai.prompt.tools"))]
    if tools and len(dicts(tools)) == len(tools):
        taken.rest["gen_ai.tool.definitions"] = tools
        del taken.rest["ai.prompt.tools"]
    _settings(taken)
    _renamed(taken, "gen_ai.request.model", "ai.model.id")
    _renamed(taken, "gen_ai.response.model", "ai.response.model")
    _renamed(taken, "gen_ai.response.id", "ai.response.id")
    reason = taken.take("ai.response.finishReason")
    reason = taken.take("ai.finishReason") or reason
    if reason is not None:
        taken.rest.setdefault("gen_ai.response.finish_reasons", [reason])
    return _as("chat", span, taken)


def _loop(span: Span, taken: Attributes) -> Step:
    named = taken.rest.get("ai.telemetry.functionId")
    if isinstance(named, str) and named:
        taken.rest["gen_ai.agent.name"] = named
    step = _as("invoke_agent", span, taken)
    return step if step.input else replace(step, input=taken.rest.get("ai.prompt"))


def _as(operation: str, span: Span, taken: Attributes) -> Step:
    """The step of a GenAI operation, the messages and counts having been brought into that convention."""
    given, answered = _given(taken), _answered(taken)
    if given:
        taken.rest["gen_ai.input.messages"] = [*given]
    if answered is not None:
        taken.rest["gen_ai.output.messages"] = [answered]
    for name, spelled in _COUNTS.items():
        for each in spelled:
            _renamed(taken, f"gen_ai.usage.{name}", f"ai.usage.{each}")
    return otlp_genai.step_as(operation, replace(span, attributes=taken.rest))


def _given(taken: Attributes) -> list[dict[str, Any]]:
    """The prompt's messages: those of a model call, or the loop's system text, prompt and messages."""
    messages = taken.listed("ai.prompt.messages")
    if messages is not None:
        return ai_sdk_messages(messages)
    prompt = taken.rest.get("ai.prompt")
    value = json_value(prompt) if isinstance(prompt, str) else prompt
    if not isinstance(value, dict):
        return []
    found: list[dict[str, Any]] = []
    for key, role in (("system", "system"), ("prompt", "user"), ("messages", "user")):
        said = value.get(key)
        if isinstance(said, list):
            found += ai_sdk_messages(said)
        elif isinstance(said, dict):
            found += ai_sdk_messages([said])
        elif said is not None:
            found += ai_sdk_messages([{"role": role, "content": said}])
    if found and value.keys() <= {"system", "prompt", "messages"}:
        del taken.rest["ai.prompt"]
    return found


def _answered(taken: Attributes) -> dict[str, Any] | None:
    """The answer; None where no attribute holds one. Version 3 wrote each attribute under two names."""
    texts = [taken.take(name) for name in _TEXTS]
    text = next((each for each in texts if each is not None), None)
    lists = [taken.listed(name) for name in ("ai.response.toolCalls", "ai.result.toolCalls")]
    calls = next((each for each in lists if each is not None), None)
    reasoning = taken.take("ai.response.reasoning")
    if text is None and calls is None and not reasoning:
        return None
    return ai_sdk_answer(text, calls, _thought(reasoning))


def _thought(reasoning: Json) -> Json:
    """Reasoning as text, which a span may hold as a list of parts."""
    value = json_value(reasoning) if isinstance(reasoning, str) and reasoning.startswith("[") else reasoning
    texts = [part["text"] for part in dicts(value) if isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else reasoning


def _settings(taken: Attributes) -> None:
    for name, spelled in _SETTINGS.items():
        _renamed(taken, f"gen_ai.request.{spelled}", f"ai.settings.{name}")


def _renamed(taken: Attributes, name: str, old: str) -> None:
    """Move an attribute to the convention's name; what is there already keeps its value, and is not said twice."""
    if old in taken.rest and taken.rest.setdefault(name, taken.rest[old]) == taken.rest[old]:
        del taken.rest[old]


def _tool(span: Span, taken: Attributes) -> Step:
    for name, old in (
        ("gen_ai.tool.name", "ai.toolCall.name"),
        ("gen_ai.tool.call.id", "ai.toolCall.id"),
        ("gen_ai.tool.call.arguments", "ai.toolCall.args"),
        ("gen_ai.tool.call.result", "ai.toolCall.result"),
    ):
        _renamed(taken, name, old)
    result = taken.rest.get("gen_ai.tool.call.result")
    if isinstance(result, str):
        taken.rest["gen_ai.tool.call.result"] = _decoded(result)
    return otlp_genai.step_as("execute_tool", replace(span, attributes=taken.rest))


def _ranking(span: Span, taken: Attributes) -> Step:
    """A call of a ranking model: the span holds what was ranked and in which order, but not for which question."""
    documents = [_decoded(each) for each in _list(taken.take("ai.documents"))]
    ranked: list[Json] = []
    for entry in dicts([_decoded(each) for each in _list(taken.take("ai.ranking"))]):
        at = entry.get("index")
        known = is_whole(at) and 0 <= at < len(documents)
        document = documents[at] if known and isinstance(at, int) else None
        ranked.append({"id": str(at), "content": document, "score": entry.get("relevanceScore")})
    error = error_of(span, taken)
    taken.missing = ["input"] if ranked or error else ["input", "output"]
    given: dict[str, Json] = {"query": None, "documents": documents}
    return Step(0, "retrieval", span.name, given, ranked or None, error, attributes=taken.left())


def _other(span: Span, taken: Attributes) -> Step:
    """Embeddings, the outer span of a ranking, and whatever a later version adds."""
    given = taken.take("ai.value", "ai.values", "ai.documents")
    output = taken.take("ai.embedding", "ai.embeddings")
    tokens = taken.count("ai.usage.tokens")
    return Step(
        seq=0,
        kind="other",
        name=span.name,
        input=_decoded(given),
        output=_decoded(output),
        error=error_of(span, taken),
        usage=None if tokens is None else Usage(input_tokens=tokens),
        attributes=taken.left(),
    )


def _decoded(value: Json) -> Json:
    """The value of JSON text, also in a list; text that is no JSON (or says ``null``) as it is."""
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    decoded = json_value(value) if isinstance(value, str) else None
    return value if decoded is None else decoded


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
