"""What one Langfuse observation means, whichever framework's instrumentation wrote it: the step it becomes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evalkit.shapes import text_of
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.chat import arguments_of, keywords_of, unix_seconds
from evalkit.trace.formats.langfuse_observation import (
    Observation,
    decoded,
    error_of,
    kind_of,
    left_over,
    params_of,
    tools_of,
    usage_of,
)
from evalkit.trace.formats.loose_messages import answer_in, messages_in, messages_in_text
from evalkit.trace.formats.missing import note_missing
from evalkit.trace.formats.openinference_attributes import is_openinference, openinference_step
from evalkit.trace.formats.span_tree import SpanStep
from evalkit.trace.model import Step, StepError

__all__ = ["observation_step", "once_a_call"]

_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "tool_name")
_CALL_IDS = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id")
_ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "tool.parameters",
    "ai.toolCall.args",
    "gcp.vertex.agent.tool_call_args",
)
_RESULTS = (
    "gen_ai.tool.call.result",
    "tool_response",
    "ai.toolCall.result",
    "gcp.vertex.agent.tool_response",
)
_SAID = frozenset("choices message content role tool_calls output text toolCalls parts generations type".split())
_GIVEN = frozenset("messages contents prompts tools system instructions new_message role content parts type".split())
_TOOL_PREFIX = re.compile(r"(execute_tool|running tool:) ")


def observation_step(observation: Observation) -> Step:
    """The observation as a step with its times; its number and parent are set by the caller."""
    kind = kind_of(observation)
    left = left_over(observation)
    error = error_of(observation.raw)
    if kind == "model":
        step = _model(observation, left, error)
    elif kind == "tool":
        step = _tool(observation, left, error)
    elif kind == "agent":
        step = _agent(observation, left, error)
    elif kind == "retrieval":
        step = _retrieval(observation, left, error)
    else:
        step = Step(0, kind, observation.name, observation.given, observation.answered, error, attributes=left)
    started, ended = unix_seconds(observation.raw.get("startTime")), unix_seconds(observation.raw.get("endTime"))
    if ended is None and observation.type == "EVENT":
        ended = started
    if ended is None and started is not None:
        left["unfinished"] = True
    return replace(step, started_at=started, ended_at=ended)


def once_a_call(spans: Sequence[SpanStep]) -> list[SpanStep]:
    """The spans, with each model call once: two instrumentations may have recorded it, one inside the other.

    Of an outer and a single inner one the outer is kept when only it has real messages; the other becomes an `other`
    step whose ``same_call_as`` names the kept span. A model step around several calls was an agent.
    """
    known = {span.span_id: span for span in spans}
    inner: dict[str, list[str]] = defaultdict(list)
    looked_at: dict[str, str | None] = {}
    for span in spans:
        if span.step.kind == "model":
            above = _model_above(span, known, looked_at)
            if above:
                inner[above].append(span.span_id)
    for outer, below in inner.items():
        if len(below) > 1:
            known[outer] = replace(known[outer], step=replace(known[outer].step, kind="agent"))
            continue
        kept, other = (outer, below[0]) if _is_poorer(known[below[0]].step, known[outer].step) else (below[0], outer)
        step = known[other].step
        step = replace(step, kind="other", usage=None, attributes={**step.attributes, "same_call_as": kept})
        known[other] = replace(known[other], step=step)
    return list(known.values())


def _model_above(span: SpanStep, known: dict[str, SpanStep], looked_at: dict[str, str | None]) -> str | None:
    """The nearest model step around a span, with no agent and no tool between; `looked_at` keeps what was found."""
    passed: dict[str, None] = {}
    found: str | None = None
    parent = span.parent_id
    while parent in known and parent not in passed:
        if parent in looked_at:
            found = looked_at[parent]
            break
        if known[parent].step.kind in ("model", "agent", "tool"):
            found = parent if known[parent].step.kind == "model" else None
            break
        passed[parent] = None
        parent = known[parent].parent_id
    looked_at.update(dict.fromkeys(passed, found))
    return None if found == span.span_id else found


def _is_poorer(step: Step, than: Step) -> bool:
    return _poverty(step) > _poverty(than)


def _poverty(step: Step) -> int:
    missing = step.attributes.get("missing")
    return 2 * len(missing if isinstance(missing, list) else []) + ("text_messages" in step.attributes)


def _model(observation: Observation, left: dict[str, Any], error: StepError | None) -> Step:
    left["span_name"] = observation.name
    messages, answer = _asked(observation, left), _answered(observation, left)
    note_missing(left, asked=bool(messages), answered=answer is not None or error is not None)
    params, others = params_of(decoded(observation.raw.get("modelParameters")))
    if others:
        left["model_parameters"] = others
    model = observation.raw.get("model") or left.get("gen_ai.response.model") or left.get("gen_ai.request.model")
    return Step(
        seq=0,
        kind="model",
        name="chat",
        input={"messages": [*messages], "tools": tools_of(observation), "params": params},
        output=answer,
        error=error,
        model=model if isinstance(model, str) else None,
        usage=usage_of(observation.raw),
        attributes=left,
    )


def _asked(observation: Observation, left: dict[str, Any]) -> list[dict[str, Any]]:
    given = observation.given
    found = messages_in(given)
    if found is None and isinstance(given, dict) and isinstance(given.get("prompt"), str | list):
        prompt = decoded(given["prompt"])
        found = messages_in(prompt) or ([{"role": "user", "content": prompt}] if isinstance(prompt, str) else None)
    if isinstance(given, dict) and found:
        _keep_rest("input_rest", given, _GIVEN, left)
    if found is None:
        found = _openinference(observation, "messages", left)
        if found and given is not None and not isinstance(given, str):
            left["input.value"] = given
    if found is None and isinstance(given, str):
        found = messages_in_text(given)
        if found is not None:
            left["text_messages"] = True
        elif given:
            found = [{"role": "user", "content": given}]
    if found is None and given is not None:
        left["input.value"] = given
    return found or []


def _answered(observation: Observation, left: dict[str, Any]) -> dict[str, Any] | None:
    answered = observation.answered
    found = answer_in(answered)
    if isinstance(answered, dict) and found:
        _keep_rest("output_rest", answered, _SAID, left)
    if found is None:
        found = _openinference(observation, "answer", left)
    if found is None and isinstance(answered, str) and (answered != "None" or "text_messages" not in left):
        found = {"role": "assistant", "content": answered} if answered else None
    if found is None and answered is not None:
        left["output.value"] = answered
    return found


def _keep_rest(name: str, value: dict[str, Any], said: frozenset[str], left: dict[str, Any]) -> None:
    """Keep of a request or answer what the messages do not say (finish reason, settings, further choices)."""
    rest = {key: item for key, item in value.items() if key not in said and item not in (None, "", [], {})}
    choices = value.get("choices")
    if isinstance(choices, list) and len(choices) > 1:
        rest["other_choices"] = choices[1:]
    if rest:
        left[name] = rest


def _openinference(observation: Observation, what: str, left: dict[str, Any]) -> Any:
    """Messages or answer from attributes that Langfuse left in place; None when they are not there."""
    side = "llm.input_messages." if what == "messages" else "llm.output_messages."
    held = {key: value for key, value in observation.attributes.items() if key.startswith(side)}
    numbers = {key.removeprefix(side).partition(".")[0] for key in held}
    if not is_openinference(observation.attributes) or "0" not in numbers:
        return None  # chunks of a stream are written like choices, from some later number on
    step = openinference_step({**held, "openinference.span.kind": "LLM"}, observation.name)
    if what == "answer":
        return step.output
    if str(len(numbers) - 1) not in numbers:
        left["messages_left_out"] = True
    return step.input["messages"] if isinstance(step.input, dict) else None


def _tool(observation: Observation, left: dict[str, Any], error: StepError | None) -> Step:
    left["span_name"] = observation.name
    given = _first(observation.given, left, _ARGUMENTS)
    answered = _first(observation.answered, left, _RESULTS)
    name = text_of(_first(None, left, _TOOL_NAMES)) or _TOOL_PREFIX.sub("", observation.name, count=1)
    call_id = _first(None, left, _CALL_IDS)
    if call_id is not None:
        left["tool_call_id"] = call_id
    note_missing(left, asked=given is not None, answered=answered is not None or error is not None)
    return Step(
        seq=0,
        kind="tool",
        name=name,
        input=None if given is None else keywords_of(arguments_of(given)),
        output=answered,
        error=error,
        effect=guess_effect(name),
        effect_source="guessed",
        attributes=left,
    )


def _agent(observation: Observation, left: dict[str, Any], error: StepError | None) -> Step:
    name = text_of(left.get("gen_ai.agent.name")) or text_of(left.get("agent_name")) or observation.name
    asked, said = messages_in(observation.given), messages_in(observation.answered)
    answer = answer_in(observation.answered)
    if said and len(said) > 1:
        left["conversation"] = said
        asked = asked or _opening(said)
    given: Any = asked or observation.given
    if answer is not None and isinstance(observation.answered, dict):
        _keep_rest("output_rest", observation.answered, _SAID, left)
    if asked and isinstance(observation.given, dict):
        _keep_rest("input_rest", observation.given, _GIVEN, left)
    return Step(0, "agent", name, given, observation.answered if answer is None else answer, error, attributes=left)


def _opening(messages: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The messages before the first answer: what a recorded conversation was opened with."""
    at = next((at for at, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
    return messages[:at] or None


def _retrieval(observation: Observation, left: dict[str, Any], error: StepError | None) -> Step:
    given, answered = observation.given, observation.answered
    query = given["query"] if isinstance(given, dict) and set(given) == {"query"} else given
    note_missing(left, asked=query is not None, answered=answered is not None or error is not None)
    documents = answered.get("documents") if isinstance(answered, dict) and set(answered) == {"documents"} else answered
    return Step(0, "retrieval", observation.name, {"query": query}, documents, error, attributes=left)


def _first(value: Any, left: dict[str, Any], names: tuple[str, ...]) -> Any:
    """`value`, else the first of some attributes; those are taken out of `left` where they repeat what is used."""
    for name in names:
        held = decoded(left[name]) if name in left else None
        if held is not None and value in (None, {}, held):  # Google's ADK fills an empty object in
            value = held
            del left[name]
    return value
