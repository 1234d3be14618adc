"""The OpenAI Agents SDK's own export: items ``{"object": "trace" | "trace.span"}``, as JSON Lines or in ``data``.

A ``trace`` item names the workflow; each ``trace.span`` holds a ``span_data`` object of one type. A ``response`` span
(the Responses API, the SDK's default) holds only the id of the response and its usage, so that what was asked and
answered can't be rebuilt; a ``generation`` span (chat completions) holds the messages.
Source: https://github.com/openai/openai-agents-python (``src/agents/tracing/span_data.py``, ``spans.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dicts, is_whole
from evalkit.trace.effect import guess_effect
from evalkit.trace.formats.chat import arguments_of, tool_definition, unix_seconds
from evalkit.trace.formats.documents import documents, first_document
from evalkit.trace.formats.loose_messages import answer_in, messages_in
from evalkit.trace.formats.missing import note_missing
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.span_tree import SpanStep, trace_of_spans
from evalkit.trace.formats.trace_store import TraceStore
from evalkit.trace.json_input import json_or_text
from evalkit.trace.model import Step, StepError, Trace, Usage

__all__ = ["FORMAT"]

_OBJECTS = ("trace", "trace.span")
_ONLY_ID = "model steps hold only a response id: messages can't be rebuilt"
_ITEMS_AT_ONCE = 64


class OpenAIAgentsFormat:
    """What the SDK's trace exporter sends or writes."""

    name = "openai-agents"

    def detect(self, source: Source) -> bool:
        """Whether the document, or the first of the lines, is an item of the SDK."""
        return any(_is_item(item) for item in _items(first_document(source))[:1])

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace for each trace id, in the order in which they appear.

        Raises:
            UnreadableTrace: an item is none of the SDK's.
        """
        store: TraceStore[dict[str, Any]] = TraceStore(source.where)
        with store:
            found = (_sorted(item, where) for where, line in documents(source) for item in _items(line))
            while items := [*islice(found, _ITEMS_AT_ONCE)]:
                store.add(items)
            for trace_id, held in store.traces():
                yield _trace(trace_id, _run(held, report), report)


FORMAT = OpenAIAgentsFormat()


@dataclass(slots=True)
class _Run:
    """The items of one trace."""

    header: dict[str, Any] = field(default_factory=dict)
    spans: dict[str, dict[str, Any]] = field(default_factory=dict)


def _items(document: Json) -> list[Json]:
    """The items of a line or document: one, a list, or the body of an ingest request (``data``)."""
    if isinstance(document, dict) and "object" not in document and isinstance(document.get("data"), list):
        return document["data"]  # type: ignore[return-value]  # narrowed to a list
    return document if isinstance(document, list) else [document]


def _is_item(item: Json) -> bool:
    if not isinstance(item, dict) or item.get("object") not in _OBJECTS or not isinstance(item.get("id"), str):
        return False
    return "workflow_name" in item or isinstance(item.get("span_data"), dict)


def _sorted(item: Json, where: str) -> tuple[str, dict[str, Any]]:
    """An item with the id of its trace."""
    if not isinstance(item, dict) or not _is_item(item):
        raise UnreadableTrace("no item of the OpenAI Agents SDK", where, "pass what the SDK's exporter wrote")
    trace_id = item["id"] if item["object"] == "trace" else item.get("trace_id")
    if not isinstance(trace_id, str):
        raise UnreadableTrace("a span lacks trace_id", where, "export the trace again")
    return trace_id, item


def _run(items: list[dict[str, Any]], report: ReadReport) -> _Run:
    run = _Run()
    for item in items:
        if item["object"] == "trace":
            report.skipped["trace item: it is the trace's header"] += 1
            run.header = run.header or item
            continue
        if item["id"] in run.spans:
            report.skipped["span: sent twice, the last one is kept"] += 1
        run.spans[item["id"]] = item
    return run


def _trace(trace_id: str, run: _Run, report: ReadReport) -> Trace:
    spans = [_span(raw) for raw in run.spans.values()]
    report.unknown.update(f"span {kind[:60]}" for kind in _kinds(run) if kind not in _MAKERS and kind != "custom")
    hollow = any(span.step.kind == "model" and "response_id" in span.step.attributes for span in spans)
    hollow = hollow and any("input" in span.step.attributes.get("missing", ()) for span in spans)
    kept = {key: run.header[key] for key in ("group_id", "metadata") if run.header.get(key)}
    gaps = [] if run.header else ["the trace's header is missing"]
    if not spans:
        gaps.append("the trace has no spans")
    if hollow:
        gaps.append(_ONLY_ID)
    trace = trace_of_spans(trace_id, OpenAIAgentsFormat.name, spans, report, attributes=kept, gaps=tuple(gaps))
    named = run.header.get("workflow_name")
    return replace(trace, name=named) if isinstance(named, str) and named else trace


def _span(raw: dict[str, Any]) -> SpanStep:
    data = raw["span_data"]
    left = {key: value for key, value in data.items() if value not in (None, [], {})}
    error = _error(raw.get("error"))
    kind = left.pop("type", "")
    step = _MAKERS.get(kind if isinstance(kind, str) else "", _other)(left, error)
    attributes = {"span_type": kind, **step.attributes}
    started, ended = unix_seconds(raw.get("started_at")), unix_seconds(raw.get("ended_at"))
    if ended is None and started is not None:
        attributes["unfinished"] = True
    parent = raw.get("parent_id")
    parent = parent if isinstance(parent, str) else ""
    step = replace(step, started_at=started, ended_at=ended, attributes=attributes)
    return SpanStep(str(raw["id"]), parent, step)


def _kinds(run: _Run) -> Iterator[str]:
    """The kinds of a run's spans."""
    for raw in run.spans.values():
        kind = raw["span_data"].get("type")
        yield kind if isinstance(kind, str) else "without a type"


def _agent(left: dict[str, Any], error: StepError | None) -> Step:
    return Step(0, "agent", _name(left, "agent"), error=error, attributes=left)


def _function(left: dict[str, Any], error: StepError | None) -> Step:
    name = _name(left, "function")
    given, output = left.pop("input", None), left.pop("output", None)
    if error is None:
        note_missing(left, asked=given is not None, answered=output is not None)
    elif output is not None:
        left["answered"] = output  # what the SDK told the model about the failure
    return Step(
        seq=0,
        kind="tool",
        name=name,
        input=None if given is None else arguments_of(given),
        output=None if error else _read(output),
        error=error,
        effect=guess_effect(name),
        effect_source="guessed",
        attributes=left,
    )


def _model(left: dict[str, Any], error: StepError | None) -> Step:
    messages, answer = messages_in(left.get("input")), answer_in(left.get("output"))
    if messages is not None:
        del left["input"]
    if answer is not None:
        del left["output"]
    config = left.pop("model_config", None)
    config = config if isinstance(config, dict) else {}
    note_missing(left, asked=bool(messages), answered=answer is not None or error is not None)
    model = left.pop("model", None)
    tools: list[Json] = [tool_definition(tool) for tool in dicts(left.pop("tools", None))]
    params = {key: value for key, value in config.items() if value is not None}
    return Step(
        seq=0,
        kind="model",
        name="chat",
        input={"messages": [*(messages or [])], "tools": tools, "params": params},
        output=answer,
        error=error,
        model=model if isinstance(model, str) else None,
        usage=_usage(left.pop("usage", None)),
        attributes=left,
    )


def _guardrail(left: dict[str, Any], error: StepError | None) -> Step:
    name, triggered = _name(left, "guardrail"), left.pop("triggered", False)
    return Step(0, "policy", name, output={"triggered": triggered}, error=error, attributes=left)


def _handoff(left: dict[str, Any], error: StepError | None) -> Step:
    given = {key: left.pop(key, None) for key in ("from_agent", "to_agent")}
    return Step(0, "other", "handoff", input=given, error=error, attributes=left)


def _other(left: dict[str, Any], error: StepError | None) -> Step:
    given, output = left.pop("input", None), left.pop("output", None)
    return Step(0, "other", _name(left, "span"), input=given, output=output, error=error, attributes=left)


_MAKERS: dict[str, Callable[[dict[str, Any], StepError | None], Step]] = {
    "agent": _agent,
    "function": _function,
    "generation": _model,
    "guardrail": _guardrail,
    "handoff": _handoff,
    "response": _model,
}


def _name(left: dict[str, Any], default: str) -> str:
    return str(left.pop("name")) if isinstance(left.get("name"), str) else default


def _read(value: Any) -> Any:
    return json_or_text(value) if isinstance(value, str) else value


def _error(raw: Any) -> StepError | None:
    """The error of a span: ``{"message", "data"}``; the data often holds the exception's text."""
    if not isinstance(raw, dict) or not raw:
        return None
    data = raw.get("data")
    details = data.get("error") if isinstance(data, dict) else None
    said = str(raw.get("message") or "")
    return StepError("Error", f"{said}: {details}" if isinstance(details, str) else said)


def _usage(raw: Any) -> Usage | None:
    raw = raw if isinstance(raw, dict) else {}
    usage = Usage(
        input_tokens=_count(raw, "input_tokens", "prompt_tokens"),
        output_tokens=_count(raw, "output_tokens", "completion_tokens"),
        cached_tokens=_count(raw.get("input_tokens_details"), "cached_tokens"),
        reasoning_tokens=_count(raw.get("output_tokens_details"), "reasoning_tokens"),
    )
    return None if usage == Usage() else usage


def _count(raw: Any, *names: str) -> int | None:
    values = [raw.get(name) for name in names] if isinstance(raw, dict) else []
    return next((value for value in values if is_whole(value)), None)
