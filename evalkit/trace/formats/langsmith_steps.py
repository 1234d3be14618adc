"""What one LangSmith run means: model, tool, retriever and other runs, with LangChain's serialized values read.

LangChain's tracer gives a chat model's messages in ``inputs["messages"]`` (a batch of one) or as one text in
``inputs["prompts"]``, and its answer in ``outputs["generations"]``; the wrapped SDKs give request and response bodies.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json, canonical
from evalkit.errors import InputError
from evalkit.shapes import dict_of, dicts, is_number
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.chat import arguments_of, result_of, tool_definition, unix_seconds, usage_of
from evalkit.trace.formats.loose_messages import answer_in, messages_in, tools_in
from evalkit.trace.formats.missing import note_missing
from evalkit.trace.json_input import json_or_text
from evalkit.trace.model import Kind, Step, StepError, Usage

__all__ = ["run_step"]

_PARAMS = frozenset(
    "temperature top_p top_k max_tokens max_completion_tokens seed n stop presence_penalty frequency_penalty "
    "tool_choice parallel_tool_calls response_format reasoning_effort".split()
)
_READ = frozenset(
    "id name run_type start_time end_time inputs outputs error trace_id dotted_order parent_run_id parent_run_ids "
    "session_name session_id child_run_ids direct_child_run_ids tags status prompt_tokens completion_tokens "
    "total_tokens total_cost app_path manifest_id in_dataset first_token_time execution_order events serialized".split()
)
_USUAL_ENDS = ("stop", "tool_calls", "function_call", "end_turn", "tool_use", "STOP")
_ERROR = re.compile(r"(?P<type>[A-Za-z_][\w.]*)(?:\((?P<shown>.*?)\)(?=Traceback|\n|$)|: (?P<said>.*))", re.DOTALL)
_SHORT = 20_000


def run_step(run: dict[str, Any], *, is_agent: bool) -> Step:
    """The run as a step with its times; its number and parent are set by the caller.

    Args:
        run: the run, without labels.
        is_agent: whether it is the root of its trace: a chain there is the agent itself.
    """
    run_type = run.get("run_type")
    left = {key: value for key, value in run.items() if key not in _READ and value not in (None, "", [], {})}
    left |= {"run_type": run_type} if isinstance(run_type, str) else {}
    if isinstance(run.get("tags"), list) and run["tags"]:
        left["tags"] = run["tags"]
    error = _error(run.get("error"))
    inputs, outputs = dict_of(run.get("inputs")), dict_of(run.get("outputs"))
    name = run["name"] if isinstance(run.get("name"), str) else ""
    started, ended = _seconds(run.get("start_time")), _seconds(run.get("end_time"))
    if run.get("end_time") is None and error is None:
        left["unfinished"] = True
    if run_type == "llm":
        step = _model(run, inputs, outputs, left, error)
    elif run_type == "tool":
        step = _tool(name, inputs, outputs, left, error)
    elif run_type == "retriever":
        step = _retrieval(name, inputs, outputs, left, error)
    else:
        kind: Kind = "agent" if is_agent else "other"
        step = Step(0, kind, name, _only(inputs, "input"), _only(outputs, "output"), error, attributes=left)
    return replace(step, started_at=started, ended_at=ended)


def _model(
    run: dict[str, Any], inputs: dict[str, Any], outputs: dict[str, Any], left: dict[str, Any], error: StepError | None
) -> Step:
    extra = dict_of(run.get("extra"))
    invocation, metadata = dict_of(extra.get("invocation_params")), dict_of(extra.get("metadata"))
    left["run_name"] = run.get("name")
    messages, answer = messages_in(inputs), answer_in(outputs)
    if messages is not None and "prompts" in inputs and "messages" not in inputs and metadata.get("ls_model_type"):
        left["text_messages"] = True
    if messages is None and inputs:
        left["inputs"] = inputs
    if outputs and (answer is None or _has_more(outputs)):
        left["outputs"] = outputs
    note_missing(left, asked=bool(messages), answered=answer is not None or error is not None)
    ended = dict_of(next(iter(_generations(outputs)), {}).get("generation_info")).get("finish_reason")
    if isinstance(ended, str) and ended not in _USUAL_ENDS:
        left["finish_reason"] = ended
    settings = {**inputs, **invocation}
    tools: list[Json] = tools_in(inputs) or [tool_definition(tool) for tool in _definitions(invocation)]
    params = {key: value for key, value in settings.items() if key in _PARAMS and value is not None}
    model = (
        outputs.get("model")
        or dict_of(outputs.get("llm_output")).get("model_name")
        or invocation.get("model")
        or invocation.get("model_name")
        or metadata.get("ls_model_name")
        or inputs.get("model")
    )
    return Step(
        seq=0,
        kind="model",
        name="chat",
        input={"messages": [*(messages or [])], "tools": tools, "params": params},
        output=answer,
        error=error,
        model=model if isinstance(model, str) else None,
        usage=_usage(run, outputs, metadata),
        attributes=left,
    )


def _has_more(outputs: dict[str, Any]) -> bool:
    """Whether the outputs hold more answers than the one that became the step's."""
    return len(_generations(outputs)) > 1 or any(
        isinstance(outputs.get(key), list) and len(outputs[key]) > 1 for key in ("choices", "generations")
    )


def _definitions(invocation: dict[str, Any]) -> list[dict[str, Any]]:
    return dicts(invocation.get("tools")) or dicts(invocation.get("functions"))


def _usage(run: dict[str, Any], outputs: dict[str, Any], metadata: dict[str, Any]) -> Usage | None:
    """The first place that states the tokens: the answer's own, LangChain's summary, the run's totals."""
    message = next((_kwargs(generation.get("message")) for generation in _generations(outputs)), {})
    places = (
        outputs.get("usage_metadata"),
        outputs.get("usage"),
        message.get("usage_metadata"),
        dict_of(outputs.get("llm_output")).get("token_usage"),
        metadata.get("usage_metadata"),
        {key: run.get(key) for key in ("prompt_tokens", "completion_tokens")},
    )
    cost = run.get("total_cost")
    return next((usage for place in places if (usage := usage_of(place, cost)) is not None), None)


def _generations(outputs: dict[str, Any]) -> list[dict[str, Any]]:
    found = outputs.get("generations")
    first = found[0] if isinstance(found, list) and found and isinstance(found[0], list) else found
    return dicts(first)


def _kwargs(message: Any) -> dict[str, Any]:
    held = dict_of(message)
    return dict_of(held.get("kwargs")) or held


def _tool(
    name: str, inputs: dict[str, Any], outputs: dict[str, Any], left: dict[str, Any], error: StepError | None
) -> Step:
    given = _only(inputs, "input")
    if isinstance(given, str):
        given = _python_object(given)
    result = _only(outputs, "output")
    message = _kwargs(result)
    if "content" in message and ("tool_call_id" in message or message.get("type") == "tool"):
        if message.get("tool_call_id"):
            left["tool_call_id"] = message["tool_call_id"]
        failed = message["status"] == "error" if isinstance(message.get("status"), str) else None
        result, told = result_of(message["content"], failed)
        error = error or told
    elif isinstance(result, str):
        result = json_or_text(result)
    note_missing(left, asked=bool(inputs), answered=bool(outputs) or error is not None)
    return Step(
        seq=0,
        kind="tool",
        name=name,
        input=arguments_of(given) if inputs else None,
        output=None if error else result,
        error=error,
        effect=guess_effect(name),
        effect_source="guessed",
        attributes=left,
    )


def _retrieval(
    name: str, inputs: dict[str, Any], outputs: dict[str, Any], left: dict[str, Any], error: StepError | None
) -> Step:
    query = _only(inputs, "query")
    documents = _only(outputs, "documents")
    note_missing(left, asked=bool(inputs), answered=bool(outputs) or error is not None)
    found: Json = [_document(item) for item in documents] if isinstance(documents, list) else documents
    return Step(0, "retrieval", name, {"query": query}, found, error, attributes=left)


def _document(item: Any) -> Json:
    held = _kwargs(item)
    if not held:
        return item  # type: ignore[no-any-return]  # a JSON value from a parsed document
    content = {"content": held["page_content"]} if "page_content" in held else {}
    others = {key: value for key, value in held.items() if key != "page_content" and value not in (None, {})}
    return {**content, **others}


def _only(values: dict[str, Any], name: str) -> Any:
    """The value of the only key where that is `name`, else all of them; None for nothing."""
    if set(values) == {name}:
        return values[name]
    return values or None


def _python_object(text: str) -> Json:
    """Arguments that LangChain wrote as a Python literal (``{'city': 'Oslo'}``); other text as it is."""
    value = json_or_text(text)
    if value is not text or not text.startswith("{") or len(text) > _SHORT:
        return value
    try:
        found = ast.literal_eval(text)
        canonical(found)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, InputError):
        return text
    return found if isinstance(found, dict) else text


def _error(raw: Any) -> StepError | None:
    """LangChain writes ``repr(error)`` and the traceback into one text."""
    if not isinstance(raw, str) or not raw:
        return None
    shown, trace, rest = raw.partition("Traceback (most recent call last)")
    stack = f"{trace}{rest}" if trace else None
    found = _ERROR.match(shown.strip())
    if found is None:
        return StepError("Error", shown.strip(), stack=stack)
    module, _, kind = found["type"].rpartition(".")
    said = found["shown"] if found["shown"] is not None else found["said"]
    return StepError(kind, said.strip().strip("'\""), module or None, stack)


def _seconds(value: Any) -> float | None:
    """Seconds since 1970: ISO 8601 text, or milliseconds, which the JavaScript SDK sends."""
    if is_number(value) and 0 < value < 1e14:
        return value / 1000
    return unix_seconds(value)
