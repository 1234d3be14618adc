"""LangSmith runs: a list of them, nested ``child_runs``, an SDK's batches ``{"post", "patch"}``, or one a line.

``dotted_order`` (``<start>Z<run id>.<start>Z<run id>...``) holds the way from the root to a run and sorts a trace's
runs. A batch names a run when it starts (``post``) and adds what was known at its end (``patch``). Feedback and the
reference example are labels and never enter a trace. What a run means: `langsmith_steps`.
Source: https://docs.langchain.com/langsmith/run-data-format and https://github.com/langchain-ai/langsmith-sdk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dicts
from evalkit.trace.formats.documents import documents, first_document
from evalkit.trace.formats.langsmith_steps import run_step
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.span_tree import SpanStep, trace_of_spans
from evalkit.trace.model import Step, Trace

__all__ = ["FORMAT"]

_RUN_TYPES = frozenset({"llm", "chain", "tool", "retriever", "embedding", "prompt", "parser"})
_LABELS = ("feedback_stats", "reference_example_id", "reference_dataset_id", "feedback")
_MAX_DEPTH = 200


class LangSmithFormat:
    """Runs as the SDKs send them and the API gives them."""

    name = "langsmith"

    def detect(self, source: Source) -> bool:
        """Whether the document, or the first of the lines, holds a run."""
        return any(_is_run(item) for item in _items(first_document(source))[:1])

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace for each trace id, in the order in which they appear.

        Raises:
            UnreadableTrace: an item is no run, or has no id.
        """
        runs: dict[str, dict[str, Any]] = {}
        for where, line in documents(source):
            for item in _items(line):
                if not isinstance(item, dict):
                    raise UnreadableTrace("an item is no LangSmith run", where, "pass exported runs only")
                _gather(item, "", "", where, runs, report, 0)
        parents = {run_id: _parent(run) for run_id, run in runs.items()}
        traces: dict[str, dict[str, dict[str, Any]]] = {}
        for run_id, trace_id in _trace_ids(runs, parents).items():
            traces.setdefault(trace_id, {})[run_id] = runs[run_id]
        for trace_id, members in traces.items():
            yield _trace(trace_id, members, parents, report)


FORMAT = LangSmithFormat()


def _items(document: Json) -> list[Json]:
    """The runs of a line or document: one, a list, a page of the API (``runs``), or a batch."""
    if not isinstance(document, dict):
        return document if isinstance(document, list) else []
    batch = [document[key] for key in ("post", "patch") if isinstance(document.get(key), list)]
    if batch:
        return [item for part in batch for item in part]  # type: ignore[union-attr]  # narrowed to lists
    if isinstance(document.get("runs"), list) and "run_type" not in document:
        return document["runs"]  # type: ignore[return-value]  # narrowed to a list
    return [document]


def _is_run(item: Json) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("inputs", item.get("outputs", {})), dict | None):
        return False
    if str(item.get("run_type")) in _RUN_TYPES and _run_id(item):
        return True
    return isinstance(item.get("dotted_order"), str) and isinstance(item.get("trace_id"), str)


def _run_id(run: dict[str, Any]) -> str:
    """The run's id; a patch may hold it only as the last part of its dotted order."""
    if isinstance(run.get("id"), str) and run["id"]:
        return str(run["id"])
    order = run.get("dotted_order")
    return order.rpartition(".")[2].partition("Z")[2] if isinstance(order, str) else ""


def _gather(
    run: dict[str, Any],
    parent: str,
    root: str,
    where: str,
    runs: dict[str, dict[str, Any]],
    report: ReadReport,
    depth: int,
) -> None:
    """Put `run` and the runs below it among the others; what is there already is completed."""
    run_id = _run_id(run)
    if not run_id or depth > _MAX_DEPTH:
        raise UnreadableTrace("a run has no id", where, "export runs with their ids")
    named = run.get("trace_id")
    root = root or (named if isinstance(named, str) and named else "")
    own = {key: value for key, value in run.items() if key != "child_runs"}
    own |= {"id": run_id} | ({"trace_id": root} if root else {})
    if parent and not own.get("parent_run_id"):
        own["parent_run_id"] = parent
    if run_id in runs:
        report.skipped["patch: merged into its run"] += 1
        known = runs[run_id]
        runs[run_id] = {**known, **{key: value for key, value in own.items() if value not in (None, {}, [])}}
    else:
        runs[run_id] = own
    children = run.get("child_runs")
    below = dicts(children)
    if isinstance(children, list) and len(below) < len(children):
        report.skipped["child run: no object"] += len(children) - len(below)
    for child in below:
        _gather(child, run_id, root or run_id, where, runs, report, depth + 1)


def _parent(run: dict[str, Any]) -> str:
    """The id of the run that this one ran inside of: stated, or the last but one part of its dotted order."""
    stated = run.get("parent_run_id")
    if isinstance(stated, str) and stated:
        return stated
    order = run.get("dotted_order")
    parts = order.split(".") if isinstance(order, str) else []
    return parts[-2].partition("Z")[2] if len(parts) > 1 else ""


def _trace_ids(runs: dict[str, dict[str, Any]], parents: dict[str, str]) -> dict[str, str]:
    """Each run's trace: the one that it names, else that of its parent, else its own id."""
    found: dict[str, str] = {}
    for start in runs:
        way: dict[str, None] = {}
        at = start
        while at not in found and not isinstance(runs[at].get("trace_id"), str) and at not in way:
            way[at] = None
            if parents[at] not in runs:
                break
            at = parents[at]
        named = runs[at].get("trace_id")
        found |= dict.fromkeys([*way, at], found.get(at) or (named if isinstance(named, str) else at))
    return {run_id: found[run_id] for run_id in runs}


def _trace(trace_id: str, members: dict[str, dict[str, Any]], parents: dict[str, str], report: ReadReport) -> Trace:
    ordered = sorted(members.values(), key=_order)
    spans: list[SpanStep] = []
    for run in ordered:
        labels = [name for name in _LABELS if run.get(name)]
        report.skipped.update(f"{name}: a label, not part of the run" for name in labels)
        report.skipped.update(
            f"run event {str(event.get('name'))[:60]}: not read" for event in dicts(run.get("events"))
        )
        plain = {key: value for key, value in run.items() if key not in _LABELS}
        parent = parents[run["id"]]
        step = run_step(plain, is_agent=not parent)
        if str(run.get("run_type")) not in _RUN_TYPES:
            report.unknown[f"run type {str(run.get('run_type'))[:60]}"] += 1
        spans.append(SpanStep(run["id"], parent, step))
    trace = trace_of_spans(trace_id, LangSmithFormat.name, spans, report, gaps=_gaps(spans))
    root = next((run for run in ordered if run["id"] == trace_id), ordered[0])
    kept = {key: root[key] for key in ("session_name", "tags") if root.get(key)}
    step = spans[ordered.index(root)].step
    if step.kind == "model":
        return replace(trace, attributes=kept, name=_name(root), status=_status(trace, step))
    return replace(
        trace, attributes=kept, name=_name(root), input=step.input, output=step.output, status=_status(trace, step)
    )


def _gaps(spans: list[SpanStep]) -> tuple[str, ...]:
    count = sum(1 for span in spans if "text_messages" in span.step.attributes)
    if not count:
        return ()
    return (f"the messages of {count} model steps were one text, split at the roles' names; tool calls are not in it",)


def _status(trace: Trace, root: Step) -> Any:
    if root.attributes.get("unfinished"):
        return "unfinished"
    return "failed" if root.error else trace.status


def _name(run: dict[str, Any]) -> str:
    return run["name"] if isinstance(run.get("name"), str) else ""


def _order(run: dict[str, Any]) -> tuple[str, str]:
    order, start = run.get("dotted_order"), run.get("start_time")
    return (order if isinstance(order, str) else "", start if isinstance(start, str) else "")
