"""One Langfuse observation: its fields decoded, its kind, its tool definitions, parameters, usage and error.

The observation's type says most about its kind; a plain span's OpenTelemetry attributes say what it was. Token counts
are in ``usageDetails``, where ``input`` is without the parts that have names of their own (``input_cached_tokens``).
Source: https://langfuse.com/docs/observability/features/observation-types,
https://langfuse.com/docs/observability/features/token-and-cost-tracking, and Langfuse's OpenTelemetry mapping
(https://langfuse.com/integrations/native/opentelemetry).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dicts, is_number, is_whole, text_of
from evalkit.trace.formats.attributes import json_value
from evalkit.trace.formats.chat import tool_definition
from evalkit.trace.formats.loose_messages import tools_in
from evalkit.trace.formats.openinference_attributes import openinference_step
from evalkit.trace.json_input import json_or_text
from evalkit.trace.model import Kind, StepError, Usage

__all__ = ["Observation", "decoded", "error_of", "kind_of", "left_over", "params_of", "tools_of", "usage_of"]

_TYPES: dict[str, Kind] = {
    "GENERATION": "model",
    "TOOL": "tool",
    "AGENT": "agent",
    "RETRIEVER": "retrieval",
    "GUARDRAIL": "policy",
}
_OPERATIONS: dict[str, Kind] = {
    "chat": "model",
    "text_completion": "model",
    "generate_content": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "retrieval": "retrieval",
    "LLM": "model",
    "TOOL": "tool",
    "AGENT": "agent",
    "RETRIEVER": "retrieval",
    "GUARDRAIL": "policy",
    "tool": "tool",
    "agent": "agent",
}
_SAYS_KIND = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind")
_AI_SDK_OUTER = re.compile(r"ai\.(generate|stream)(Text|Object)$")
_PARAMS = {
    **{name: name for name in ("temperature", "top_p", "top_k", "max_tokens", "seed", "n", "stop")},
    **{name: name for name in ("presence_penalty", "frequency_penalty", "reasoning_effort")},
    **{"stop_sequences": "stop", "maxTokens": "max_tokens", "topP": "top_p", "topK": "top_k"},
}
_READ = frozenset(
    "id traceId parentObservationId type name startTime endTime input output metadata model modelParameters level "
    "statusMessage usage usageDetails costDetails providedCostDetails totalCost inputCost outputCost inputUsage "
    "outputUsage totalUsage calculatedTotalCost calculatedInputCost calculatedOutputCost promptTokens "
    "completionTokens totalTokens toolDefinitions".split()
)
_HOUSEKEEPING = frozenset(
    "projectId createdAt updatedAt environment internalModelId internalModel modelId latency toolCalls toolCallNames "
    "usagePricingTierId usagePricingTierName inputPrice outputPrice totalPrice unit".split()
)


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation.

    Attributes:
        parent: empty for a root.
        given, answered: input and output, decoded.
        metadata: decoded, without the attributes.
        attributes: those of the OpenTelemetry span, empty when there was none.
        raw: as it came.
    """

    id: str
    parent: str
    type: str
    name: str
    given: Any
    answered: Any
    metadata: dict[str, Any]
    attributes: dict[str, Any]
    raw: dict[str, Any]

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Observation:
        """The observation in one object of an export."""
        found = decoded(raw.get("metadata"))
        metadata = found if isinstance(found, dict) else {"metadata": found} if found else {}
        attributes = decoded(metadata.get("attributes"))
        held = isinstance(attributes, dict)
        return cls(
            id=raw["id"],
            parent=text_of(raw.get("parentObservationId")),
            type=text_of(raw.get("type")).upper(),
            name=text_of(raw.get("name")),
            given=decoded(raw.get("input")),
            answered=decoded(raw.get("output")),
            metadata={key: value for key, value in metadata.items() if key != "attributes" or not held},
            attributes=attributes if isinstance(attributes, dict) else {},
            raw=raw,
        )


def decoded(value: Any) -> Any:
    """`value`, or what its JSON text says, at most two texts deep; other text as it is."""
    for _ in range(2):
        if not isinstance(value, str) or not value.lstrip().startswith(("{", "[", '"')):
            break
        value = _unquoted(value) if value.lstrip().startswith('"') else json_or_text(value)
    return value


def kind_of(observation: Observation) -> Kind:
    """What kind of step it is."""
    attributes = observation.attributes
    operation = attributes.get("ai.operationId", observation.name)
    if isinstance(operation, str) and _AI_SDK_OUTER.match(operation):
        return "agent"
    if observation.type in _TYPES:
        return _TYPES[observation.type]
    for name in _SAYS_KIND:
        stated = attributes.get(name)
        if isinstance(stated, str) and stated in _OPERATIONS:
            return _OPERATIONS[stated]
    if any(name in attributes for name in ("gen_ai.tool.name", "ai.toolCall.name")):
        return "tool"
    return "agent" if "gen_ai.agent.name" in attributes or "agent_name" in attributes else "other"


def left_over(observation: Observation) -> dict[str, Any]:
    """All that no field of the step takes, and that says something."""
    raw = observation.raw
    read = _READ | _HOUSEKEEPING
    left = {key: value for key, value in raw.items() if key not in read and value not in (None, "", [], {})}
    left |= {key: value for key, value in observation.metadata.items() if value not in (None, "", [], {})}
    if observation.type not in ("SPAN", ""):
        left["observation_type"] = observation.type
    level = raw.get("level")
    if level not in (None, "DEFAULT"):
        left["level"] = level
    if raw.get("statusMessage") and level != "ERROR":
        left["status_message"] = raw["statusMessage"]
    return {
        **left,
        **{key: value for key, value in observation.attributes.items() if not _repeats(key, value, observation)},
    }


def _repeats(name: str, value: Any, observation: Observation) -> bool:
    """Whether an attribute says again what the observation's input or output says."""
    if name == "input.value":
        return bool(decoded(value) == observation.given)
    return bool(name == "output.value" and decoded(value) == observation.answered)


def tools_of(observation: Observation) -> list[Json]:
    """The tool definitions, wherever the instrumentation put them: the first place that has any."""
    attributes = observation.attributes
    requested = decoded(attributes.get("model_request_parameters"))
    functions = dicts(requested.get("function_tools")) if isinstance(requested, dict) else []
    outputs = dicts(requested.get("output_tools")) if isinstance(requested, dict) else []
    places: list[list[Any]] = [
        tools_in(observation.given),
        _definitions(attributes.get("gen_ai.tool.definitions")),
        _definitions(attributes.get("ai.prompt.tools")),
        [_pydantic_tool(tool) for tool in (*functions, *outputs)],
        _openinference_tools(attributes),
        _definitions(observation.metadata.get("tools")),
        _named_definitions(decoded(observation.raw.get("toolDefinitions"))),
    ]
    return next((place for place in places if place), [])


def _definitions(value: Any) -> list[Any]:
    value = decoded(value)
    items = [decoded(item) for item in value] if isinstance(value, list) else []
    return [tool_definition(item) for item in items if isinstance(item, dict)]


def _named_definitions(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        return []
    found = [(name, decoded(item)) for name, item in value.items()]
    return [tool_definition({"name": name, **item}) for name, item in found if isinstance(item, dict)]


def _pydantic_tool(tool: dict[str, Any]) -> dict[str, Any]:
    named = {"name": tool.get("name"), "description": tool.get("description")}
    return {**named, "parameters": tool.get("parameters_json_schema")}


def _openinference_tools(attributes: dict[str, Any]) -> list[Any]:
    held = {key: value for key, value in attributes.items() if key.startswith("llm.tools.")}
    if not held:
        return []
    step = openinference_step({**held, "openinference.span.kind": "LLM"}, "")
    tools = step.input.get("tools") if isinstance(step.input, dict) else None
    return tools if isinstance(tools, list) else []


def params_of(raw: Any) -> tuple[dict[str, Json], dict[str, Json]]:
    """Sampling parameters by their OpenAI names, and what else was set; empty values mean that nothing was."""
    items = {key: decoded(value) for key, value in raw.items()} if isinstance(raw, dict) else {}
    stated = {key: value for key, value in items.items() if value not in (None, "", "null", {}, [])}
    known = {_PARAMS[key]: value for key, value in stated.items() if key in _PARAMS}
    return known, {key: value for key, value in stated.items() if key not in _PARAMS}


def usage_of(raw: dict[str, Any]) -> Usage | None:
    """Tokens and cost of a model call; None when nothing is known."""
    details = decoded(raw.get("usageDetails")) or decoded(raw.get("usage"))
    details = details if isinstance(details, dict) else {}
    counts = {key: value for key, value in details.items() if is_whole(value)}
    costs = decoded(raw.get("costDetails"))
    cost = costs.get("total") if isinstance(costs, dict) else None
    cost = raw.get("calculatedTotalCost") if cost is None else cost
    usage = Usage(
        input_tokens=_sum(counts, "input", ("promptTokens", "prompt_tokens"), ("cache_read_", "cache_creation_")),
        output_tokens=_sum(counts, "output", ("completionTokens", "completion_tokens"), ()),
        cached_tokens=_named(counts, "input_cached_tokens", "input_cache_read", "cache_read_input_tokens"),
        reasoning_tokens=_named(counts, "output_reasoning_tokens", "output_reasoning"),
        cost_usd=float(cost) if is_number(cost) else None,
    )
    return None if usage == Usage() else usage


def _sum(counts: dict[str, int], side: str, olds: tuple[str, ...], parts: tuple[str, ...]) -> int | None:
    """All tokens of one side: its own count is without the parts that are counted under names of their own."""
    if side not in counts:
        return _named(counts, f"{side}_tokens", *olds)
    named = sum(count for key, count in counts.items() if key.startswith((f"{side}_", *parts)))
    return counts[side] + named


def _named(counts: dict[str, int], *names: str) -> int | None:
    return next((counts[name] for name in names if name in counts), None)


def error_of(raw: dict[str, Any]) -> StepError | None:
    """The error of an observation of level ERROR."""
    if raw.get("level") != "ERROR":
        return None
    said = text_of(raw.get("statusMessage"))
    kind, _, rest = said.partition(": ")
    return StepError(kind, rest) if rest and kind.isidentifier() else StepError("Error", said)


def _unquoted(text: str) -> Json:
    value = json_value(text)
    return text if value is None else value
