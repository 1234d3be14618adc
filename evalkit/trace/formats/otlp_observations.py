"""Spans that hold whatever a traced function was given and gave: Langfuse's SDK, MLflow and Google's ADK.

Their inputs and outputs have the shape of the library that was traced. That is what Langfuse's exports hold too, so
such a span is read as the observation that Langfuse would make of it (`langfuse_steps`).
Sources: https://github.com/langfuse/langfuse-python (``_client/attributes.py``, SDK 3 and later),
https://github.com/mlflow/mlflow (``tracing/constant.py``, ``entities/span.py``) and
https://github.com/google/adk-python (``telemetry``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.trace.formats.attributes import Attributes
from evalkit.trace.formats.chat import tool_definition
from evalkit.trace.formats.langfuse_observation import Observation, decoded
from evalkit.trace.formats.langfuse_steps import observation_step
from evalkit.trace.formats.otlp_spans import Span, error_of
from evalkit.trace.model import Step

__all__ = ["adk_step", "is_adk", "is_langfuse", "is_mlflow", "langfuse_step", "mlflow_step"]

_LANGFUSE = "langfuse.observation."
_MLFLOW_TYPE = "mlflow.spanType"
_MLFLOW_TYPES = {
    **{"LLM": "GENERATION", "CHAT_MODEL": "GENERATION", "TOOL": "TOOL", "AGENT": "AGENT"},
    **{"RETRIEVER": "RETRIEVER", "RERANKER": "RETRIEVER", "GUARDRAIL": "GUARDRAIL"},
}
_ADK = "gcp.vertex.agent."
_ADK_NAMES = {"call_llm": "GENERATION", "generate_content": "GENERATION", "invoke_agent": "AGENT", "agent_run": "AGENT"}
_ADK_MERGED = "(merged tools)"
_SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "stop", "presence_penalty", "frequency_penalty", "n")


def is_langfuse(span: Span) -> bool:
    """Whether Langfuse's SDK made the span; one that it only passed on has none of these attributes."""
    return any(f"{_LANGFUSE}{name}" in span.attributes for name in ("type", "input", "output"))


def langfuse_step(span: Span) -> Step:
    """A span of Langfuse's SDK as a step."""
    taken = Attributes(span.attributes)
    found = {
        "type": taken.text(f"{_LANGFUSE}type").upper(),
        "input": taken.take(f"{_LANGFUSE}input"),
        "output": taken.take(f"{_LANGFUSE}output"),
        "model": taken.take(f"{_LANGFUSE}model.name"),
        "modelParameters": decoded(taken.take(f"{_LANGFUSE}model.parameters")),
        "usageDetails": decoded(taken.take(f"{_LANGFUSE}usage_details")),
        "costDetails": decoded(taken.take(f"{_LANGFUSE}cost_details")),
        "level": taken.take(f"{_LANGFUSE}level"),
        "statusMessage": taken.take(f"{_LANGFUSE}status_message"),
    }
    if found["type"] in ("EMBEDDING", "CHAIN", "EVALUATOR", "EVENT"):
        taken.rest["observation_type"], found["type"] = found["type"], "SPAN"
    return _step(span, taken, found)


def is_mlflow(span: Span) -> bool:
    """Whether MLflow made the span."""
    return _MLFLOW_TYPE in span.attributes or "mlflow.spanInputs" in span.attributes


def mlflow_step(span: Span) -> Step:
    """A span of MLflow as a step. All its attributes are JSON text."""
    taken = Attributes(span.attributes)
    kind = decoded(taken.take(_MLFLOW_TYPE))
    given, answered = taken.take("mlflow.spanInputs"), taken.take("mlflow.spanOutputs")
    tools = decoded(taken.take("mlflow.chat.tools"))
    cost = decoded(taken.take("mlflow.llm.cost"))
    found: dict[str, Json] = {
        "type": _MLFLOW_TYPES.get(kind, "SPAN") if isinstance(kind, str) else "SPAN",
        "input": given,
        "output": answered,
        "model": decoded(taken.take("mlflow.llm.model")),
        "usageDetails": decoded(taken.take("mlflow.chat.tokenUsage")),
        "costDetails": {"total": cost.get("total_cost")} if isinstance(cost, dict) else None,
    }
    asked = decoded(given)
    if isinstance(asked, dict):
        found["modelParameters"] = {key: asked[key] for key in _SAMPLING if key in asked}
        found["model"] = found["model"] or asked.get("model")
    if found["type"] == "SPAN" and isinstance(kind, str):
        taken.rest[_MLFLOW_TYPE] = kind
    return _with_tools(_step(span, taken, found), tools)


def is_adk(span: Span) -> bool:
    """Whether Google's ADK made the span; its newest version writes the conventions' messages, read elsewhere."""
    held = any(name.startswith(_ADK) for name in span.attributes)
    return held and "gen_ai.input.messages" not in span.attributes


def adk_step(span: Span) -> Step:
    """A span of Google's ADK as a step."""
    taken = Attributes(span.attributes)
    request, response = taken.take(f"{_ADK}llm_request"), taken.take(f"{_ADK}llm_response")
    asks = request not in (None, "", "{}")  # a tool's span has them too, empty
    named = taken.rest.get("gen_ai.tool.name")
    if named == _ADK_MERGED:  # the answers of parallel calls in one, each of which has its own span
        answers = decoded(taken.take(f"{_ADK}tool_response"))
        return Step(0, "other", span.name, output=answers, error=error_of(span, taken), attributes=taken.left())
    kind = "TOOL" if named else "GENERATION" if asks else _ADK_NAMES.get(span.name.partition(" ")[0], "SPAN")
    found: dict[str, Json] = {"type": kind, "input": request if asks else None, "output": response if asks else None}
    if asks:
        found |= _adk_request(decoded(request), decoded(response))
    return _step(span, taken, found)


def _adk_request(request: Any, response: Any) -> dict[str, Json]:
    config = request.get("config") if isinstance(request, dict) else None
    used = response.get("usage_metadata") if isinstance(response, dict) else None
    used = used if isinstance(used, dict) else {}
    counts = {
        "input_tokens": used.get("prompt_token_count"),
        "output_tokens": used.get("candidates_token_count"),
        "input_cached_tokens": used.get("cached_content_token_count"),
        "output_reasoning_tokens": used.get("thoughts_token_count"),
    }
    settings = config if isinstance(config, dict) else {}
    names = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_output_tokens": "max_tokens"}
    return {
        "usageDetails": {key: value for key, value in counts.items() if value is not None},
        "modelParameters": {name: settings[key] for key, name in names.items() if key in settings},
    }


def _step(span: Span, taken: Attributes, found: dict[str, Any]) -> Step:
    """The step of the observation with these fields; what nobody took are its attributes."""
    error = error_of(span, taken)
    raw = {**found, "id": span.span_id, "name": span.name, "metadata": {"attributes": taken.rest}}
    if error is not None:
        raw |= {"level": "ERROR", "statusMessage": error.message}
    step = observation_step(Observation.of(raw))
    return step if error is None else replace(step, error=error)


def _with_tools(step: Step, tools: Any) -> Step:
    if not isinstance(tools, list) or not isinstance(step.input, dict) or step.kind != "model":
        return step
    return replace(step, input={**step.input, "tools": [tool_definition(tool) for tool in tools]})
