"""Nothing lost, nothing leaked: counts what the corpora's files hold, straight from their JSON; prints JSON.

Usage: python ci/bench/audit_readers.py [--corpora FOLDER]

This is written against the formats' own documents and shares no code with the readers. Three questions for each file
that is a trace:

- ``counts``: does each element of the source (span, observation, message, event, line, tool call) stand in the steps,
  or in the report with its reason? Printed is each sum that does not come out, as source against trace.
- ``ids``: does each tool call's id stand in the trace?
- ``labels``: does a reward, a gold answer, a target, an annotation or a person's verdict stand in the trace, as a key
  or by its own words? Words that the run itself says (the agent found the gold answer) are no leak: only those are
  counted that stand nowhere in the source outside of its labels.
"""

from __future__ import annotations

import argparse
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from evalkit.errors import EvalkitError
from evalkit.trace.file import encode_trace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

_CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
_CALL_ID = re.compile(r"\b(?:call|toolu|chatcmpl-tool|tooluse)_[A-Za-z0-9]{6,}")
_WORDS = re.compile(r"[^\W_][\w ,.:-]{11,50}")
_LABELS = frozenset(
    "reward reward_info evaluation_criteria ground_truth mistake_agent mistake_step mistake_reason is_correct "
    "true_answer gt_data_hash feedback_stats reference_answer resolved root_cause nl_assertions action_checks "
    "db_check communicate_checks reward_basis reward_breakdown".split()
) | {"Final answer", "Annotator Metadata"}  # names that mean nothing else
_LABEL_PATHS = {  # what is a label only where it stands
    "tau-bench": re.compile(r"^\[\]\.(info|reward)\b"),
    "tau2-bench": re.compile(r"^(\.tasks|\.simulations\[\]\.reward_info)\b"),
    "who-and-when": re.compile(r"^\.(is_correct|level|ground_truth|mistake_\w+)\b"),
    "langfuse": re.compile(r"\.(scores|corrections)\b"),
    "langsmith": re.compile(r"\.feedback_stats\b"),
    "inspect": re.compile(r"\.(target|scores?|reductions|results)\b|^\.expected\b"),
    "trail": re.compile(r"\.(annotations|evaluations|errors)\b|\.(Annotator Metadata|Final answer|true_answer)\b"),
    "mini-swe-agent": re.compile(r"\.(resolved|report|patch)\b"),
}
Sums = Iterator[tuple[str, int, int]]


class Found:
    """A file's documents beside what was read of it."""

    def __init__(self, documents: list[Any], traces: list[Trace], report: ReadReport) -> None:
        self.documents, self.traces, self.report = documents, traces, report

    @cached_property
    def written(self) -> str:
        """All that the traces say, as their files would have it."""
        return "\n".join(b"".join(encode_trace(trace)).decode() for trace in self.traces)

    @cached_property
    def shown(self) -> str:
        """The same, with whitespace and escapes made spaces."""
        return _plain(self.written)

    def steps(self, *kinds: str) -> int:
        """How many steps there are; of some kinds, where these are named."""
        return sum(count for kind, count in self.report.steps.items() if not kinds or kind in kinds)

    def skipped(self, *starts: str) -> int:
        """How many elements the report counts under reasons that start so."""
        return sum(count for what, count in self.report.skipped.items() if what.startswith(starts))

    def made(self) -> int:
        """The steps that stand for an element of their own."""
        return sum("read_from" not in step.attributes for trace in self.traces for step in trace.steps)


def conversation(found: Found, runs: list[list[Any]]) -> Sums:
    """Chat messages: each is a step, part of a call, or kept in the model steps; each call is a tool step."""
    messages = [message for run in runs for message in run if isinstance(message, dict)]
    told = found.skipped("system message", "tool message", "exit message", "other message", "message:")
    printed = sum(step.name == "bash" and "tool_call_id" not in step.attributes for trace in found.traces
                  for step in trace.of_kind("tool"))  # fmt: skip
    yield "messages", len(messages), found.steps("other", "model") + told + printed
    calls = sum(len(message.get("tool_calls") or []) for message in messages)
    yield "tool calls", calls, found.steps("tool") - printed


def tau(found: Found) -> Sums:
    yield "runs", len(found.documents[0]), len(found.traces)
    yield from conversation(found, [run["traj"] for run in found.documents[0]])


def tau2(found: Found) -> Sums:
    runs = found.documents[0]["simulations"]
    yield "runs", len(runs), len(found.traces)
    yield from conversation(found, [run["messages"] for run in runs])


def messages(found: Found) -> Sums:
    held = found.documents[0]
    yield from conversation(found, [held if isinstance(held, list) else held["messages"]])


def swe_agent(found: Found) -> Sums:
    yield from conversation(found, [found.documents[0].get("history") or []])
    yield "trajectory entries", len(found.documents[0].get("trajectory") or []), found.skipped("trajectory entry")


def who_and_when(found: Found) -> Sums:
    yield "entries", len(found.documents[0]["history"]), found.steps()


def trail(found: Found) -> Sums:
    spans = [*_below(found.documents[0]["spans"], "child_spans")]
    logs = [log for span in spans for log in span.get("logs") or []]
    events = [event for span in spans for event in span.get("events") or []]
    kept = sum(len(step.attributes.get("logs") or []) for trace in found.traces for step in trace.steps)
    yield "spans", len(spans), found.made() + found.skipped("span: ")
    yield "log records", len(logs), kept + found.skipped("log record")
    yield "span events", len(events), found.skipped("span event")


def langfuse(found: Found) -> Sums:
    held = found.documents[0]
    beside, inside = held["observations"], held["trace"].get("observations") or []
    again = found.skipped("observation in the trace", "observation: its id")
    yield "observations", len(beside) + len(inside), found.made() + again
    for label in ("scores", "corrections"):
        yield label, len(held["trace"].get(label) or []), found.skipped(label)


def langsmith(found: Found) -> Sums:
    runs = [run for document in found.documents for run in _runs(document)]
    events = sum(len(run.get("events") or []) for run in runs)
    yield "runs", len(runs), found.made() + found.skipped("patch", "run: ")
    yield "run events", events, found.skipped("run event")


def _runs(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict) and ("post" in document or "patch" in document):
        document = [*(document.get("post") or []), *(document.get("patch") or [])]
    yield from _below(document if isinstance(document, list) else [document], "child_runs")


def openai_agents(found: Found) -> Sums:
    kinds = Counter(item["object"] for item in found.documents)
    yield "spans", kinds["trace.span"], found.made() + found.skipped("span: sent twice")
    yield "headers", kinds["trace"], found.skipped("trace item")


def sdk_spans(found: Found) -> Sums:
    held = found.documents[0]
    groups = [*held.values()] if isinstance(held, dict) and "spanContext" not in held else [held]
    spans = [span for group in groups for span in (group if isinstance(group, list) else [group])]
    yield "spans", len(spans), found.made() + found.skipped("span: ")


def otlp(found: Found) -> Sums:
    spans, records = [], []
    for request in found.documents:
        for resource in request.get("resourceSpans") or []:
            spans += [span for scope in resource.get("scopeSpans") or [] for span in scope.get("spans") or []]
        for resource in request.get("resourceLogs") or []:
            records += [log for scope in resource.get("scopeLogs") or [] for log in scope.get("logRecords") or []]
    yield "spans", len(spans), found.made() + found.skipped("span: ")
    ids = {span["spanId"] for span in spans}
    named = [record for record in records if record.get("spanId") in ids]
    only = [record for record in records if not record.get("spanId")]  # they belong to the only call, if there is one
    held = [record for record in (*named, *only) if _text_in(record.get("body"))]
    texts = [_text_in(record.get("body")) for record in held]
    homeless = sum(
        count for what, count in found.report.skipped.items() if what.endswith("its span is not in the source")
    )
    yield "messages in log records", len(texts), sum(_stands(text, found.shown) for text in texts) + homeless


def _text_in(body: Any) -> str:
    """The longest words of a log record's body."""
    words = [word for value in _leaves(body) if isinstance(value[1], str) for word in _WORDS.findall(value[1])]
    return max(words, key=len, default="")


def stepfork(found: Found) -> Sums:
    yield (
        "events",
        len(found.documents),
        found.made() + found.skipped(*{f"{each['type']}:" for each in found.documents}),
    )


def anthropic_session(found: Found) -> Sums:
    events = [item for item in found.documents if isinstance(item, dict) and "type" in item]
    sent = [item for item in found.documents if not (isinstance(item, dict) and "type" in item)]
    told = found.skipped("session", "agent.", "span.", "user.", "tool result", "outcome")
    yield "events", len(events) + len(sent), found.made() + told + found.skipped("sent event", "call ", "item")


def autogen(found: Found) -> Sums:
    held = found.documents[0]
    if isinstance(held, list):
        yield "records", sum(record.get("mode") == "create" for record in held), found.steps("model")
        return
    results = sum(len(each["content"]) for each in held["messages"] if each["type"] == "FunctionExecutionResultMessage")
    plain = [each for each in held["messages"] if each["type"] != "FunctionExecutionResultMessage"]
    yield "tool results", results, found.skipped("tool result")
    yield "messages", len(plain), found.steps("other", "model") + found.skipped("system message")


def inspect(found: Found) -> Sums:
    document = found.documents[0]
    samples = document.get("samples") or ([document] if document.get("events") is not None else [])
    yield "samples", len(samples), len(found.traces)
    tool_spans = changes = others = 0
    state = [step for trace in found.traces for step in trace.of_kind("state")]
    asked = sum(step.name == "user_message" for trace in found.traces for step in trace.of_kind("other"))
    for sample in samples:
        events = sample.get("events") or (sample.get("transcript") or {}).get("events") or []
        if not events:
            yield from conversation(found, [sample.get("messages") or []])
        for event in events:
            kind = event["event"]
            if kind == "span_end" or (kind == "step" and event.get("action") == "end"):
                continue
            tool_spans += kind == "span_begin" and event.get("type") == "tool"
            changes += len(event.get("changes") or []) if kind in ("state", "store") else 0
            others += kind not in ("state", "store")
    if others:
        told = found.skipped("scoring", "sample_init", "state change", "tool span")
        merged = tool_spans - found.skipped("tool span")
        held = sum(len(step.input) for step in state if isinstance(step.input, list)) - len(state)
        yield "events and changes", others + changes, found.steps() - asked + held + told + merged


COUNTS: dict[str, Callable[[Found], Sums]] = {
    "tau-bench": tau,
    "tau2-bench": tau2,
    "mini-swe-agent": messages,
    "openai-chat": messages,
    "swe-agent": swe_agent,
    "who-and-when": who_and_when,
    "trail": trail,
    "langfuse": langfuse,
    "langsmith": langsmith,
    "openai-agents": openai_agents,
    "otel-sdk-spans": sdk_spans,
    "otlp": otlp,
    "stepfork": stepfork,
    "anthropic-session": anthropic_session,
    "autogen": autogen,
    "inspect": inspect,
}


def _below(items: Any, key: str) -> Iterator[dict[str, Any]]:
    for item in items or []:
        yield item
        yield from _below(item.get(key), key)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, f"{path}[]")
    else:
        yield path, value


def _plain(text: str) -> str:
    return re.sub(r"(?:\\+[nrtbf\"\\]?|[\s\"'])+", " ", text)


def _stands(text: str, shown: str) -> bool:
    return not text or _plain(text).strip() in shown


def leaks(held: Found, dialect: str) -> dict[str, int]:
    """How often a label's own words stand in the traces, by the label's path, and labels' names among keys."""
    path_of = _LABEL_PATHS.get(dialect)
    found: Counter[str] = Counter()
    if path_of is not None:
        leaves = [leaf for document in held.documents for leaf in _leaves(document)]
        labels = {path for path in {path for path, _ in leaves} if path_of.search(path)}
        said = [(path, value) for path, value in leaves if path in labels and isinstance(value, str)]
        words = {value: max(_WORDS.findall(value), key=len, default="") for value in {value for _, value in said}}
        standing = {text for text in words.values() if text and _stands(text, held.shown)}
        if standing:
            run = _plain(" ".join(str(value) for path, value in leaves if path not in labels))
            standing = {text for text in standing if not _stands(text, run)}
        found.update(path for path, value in said if words[value] in standing)
    for trace in held.traces:
        about: list[Any] = [trace.attributes, *(step.attributes for step in trace.steps)]
        about += [part for step in trace.steps for part in (step.input, step.output) if step.kind == "other"]
        for key in (key for each in about for key in _keys(each)):
            found[f"key {key}"] += key in _LABELS
    return dict(+found)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def audit(path: Path, documents: list[Any]) -> tuple[str, dict[str, Any]]:
    """The dialect of a file, and what does not come out; an empty dialect for a file that is no trace."""
    report = ReadReport()
    try:
        traces = list(load_traces(path, report=report))
    except EvalkitError:
        return "", {}
    dialect = traces[0].dialect if traces else ""
    found = Found(documents, traces, report)
    wrong: dict[str, Any] = {}
    if dialect in COUNTS:
        sums = COUNTS[dialect](found)
        wrong["counts"] = {
            what: f"{source} in the source, {read} read" for what, source, read in sums if source != read
        }
    source = json.dumps(documents, ensure_ascii=False)
    wrong["ids"] = sorted(set(_CALL_ID.findall(source)) - set(_CALL_ID.findall(found.written)))
    wrong["labels"] = leaks(found, dialect)
    return dialect, {key: value for key, value in wrong.items() if value}


def sources(corpora: Path) -> Iterator[tuple[Path, list[Any]]]:
    """The files of the corpora with their JSON; a bundle is its events, an archive its samples."""
    for path in sorted(path for path in corpora.rglob("*") if path.is_file()):
        if path.name == "events.jsonl":
            yield path.parent, _parsed(path.read_text("utf-8"))
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if name.startswith("samples/")]
                yield path, [{"samples": [json.loads(archive.read(name)) for name in names]}]
        elif not path.parent.name.endswith(".sftrace"):
            documents = _parsed(path.read_text("utf-8-sig", errors="replace"))
            if documents:
                yield path, documents


def _parsed(text: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return []


def main(corpora: Path) -> dict[str, Any]:
    """Each format: how many files were audited, and those in which something does not come out."""
    result: dict[str, Any] = {}
    for path, documents in sources(corpora):
        dialect, wrong = audit(path, documents)
        if not dialect:
            continue
        held = result.setdefault(dialect, {"files": 0, "come_out": 0, "differ": {}})
        held["files"] += 1
        held["come_out"] += not wrong
        if wrong:
            held["differ"][str(path.relative_to(corpora))] = wrong
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=_CORPORA)
    print(json.dumps(main(parser.parse_args().corpora), indent=1, ensure_ascii=False))
