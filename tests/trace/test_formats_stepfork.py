"""stepfork's bundles as traces."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import IntegrityError, UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import StepError, Trace, Usage
from evalkit.trace.read import load_traces

STEPFORK = Path(__file__).parents[3] / "shared" / "corpora" / "stepfork"


def event(number: int, kind: str, parent: int | None = None, **body: Any) -> dict[str, Any]:
    """An event of a bundle, a second after the one before it."""
    time = f"2026-01-01T00:00:{number:02}Z"
    above = None if parent is None else f"evt_{parent}"
    return {"id": f"evt_{number}", "parent_id": above, "type": kind, "timestamp": time, "status": "ok", **body}


def bundle(tmp_path: Path, *events: dict[str, Any], tail: bytes = b"", **manifest: Any) -> Path:
    """A bundle on disk."""
    folder = tmp_path / "run"
    folder.mkdir()
    about = {"format": "stepfork", "run_id": "r", "agent_name": "triage", "status": "completed", **manifest}
    (folder / "manifest.json").write_text(json.dumps(about), "utf-8")
    lines = b"".join(json.dumps(each).encode() + b"\n" for each in events)
    (folder / "events.jsonl").write_bytes(lines + tail)
    return folder


def read(tmp_path: Path, *events: dict[str, Any], report: ReadReport | None = None, **more: Any) -> Trace:
    """The trace of a bundle of these events."""
    (trace,) = load_traces(bundle(tmp_path, *events, **more), report=report)
    return trace


def test_a_call_and_its_result_are_one_step(tmp_path: Path) -> None:
    """The step has the call's arguments and the result's output; start and end of the run frame the trace."""
    report = ReadReport()
    trace = read(
        tmp_path,
        event(0, "run_start", input={"q": 1}),
        event(1, "tool_call", 0, name="get_weather", input={"city": "Oslo"}),
        event(2, "tool_result", 1, name="get_weather", output={"t": 3}),
        event(3, "state_change", 0, key="stage", before="a", after="b"),
        event(4, "run_end", run_status="completed", output="cold"),
        report=report,
    )
    tool, state = trace.steps
    assert (tool.name, tool.input, tool.output, tool.effect) == ("get_weather", {"city": "Oslo"}, {"t": 3}, "read")
    assert tool.ended_at is not None
    assert tool.started_at is not None
    assert tool.ended_at - tool.started_at == 1
    assert (state.kind, state.name, state.input, state.output) == ("state", "stage", "b", "a")
    assert (trace.input, trace.output, trace.status, trace.gaps) == ({"q": 1}, "cold", "completed", ())
    assert report.skipped.total() + report.steps.total() == 5


def test_results_without_parent_go_to_the_open_call_of_their_name(tmp_path: Path) -> None:
    """A bundle whose results name no call is paired by name, the innermost open call first."""
    trace = read(
        tmp_path,
        event(0, "tool_call", name="f", input={"n": 1}),
        event(1, "tool_call", name="g", input={}),
        event(2, "tool_result", name="f", output="one"),
        event(3, "tool_result", name="g", output="two"),
        event(4, "tool_result", name="h", output="orphan"),
    )
    assert [(step.kind, step.output) for step in trace.steps] == [("tool", "one"), ("tool", "two"), ("other", "orphan")]


def test_a_nested_call_names_its_parent(tmp_path: Path) -> None:
    """What ran inside a tool has the tool's step as parent; what followed a result has not."""
    trace = read(
        tmp_path,
        event(0, "run_start", input=None),
        event(1, "tool_call", 0, name="outer", input={}),
        event(2, "tool_call", 1, name="inner", input={}),
        event(3, "tool_result", 2, name="inner", output=1),
        event(4, "tool_result", 1, name="outer", output=2),
        event(5, "tool_call", 4, name="after", input={}),
    )
    assert [(step.name, step.parent) for step in trace.steps] == [("outer", None), ("inner", 0), ("after", None)]


def test_an_escaping_error_is_counted_once(tmp_path: Path) -> None:
    """The tool's failure is the tool step's, the exception that left the agent is the run's: no third error."""
    trace = read(
        tmp_path,
        event(0, "run_start", input=None),
        event(1, "tool_call", 0, name="pay", input={}),
        event(2, "tool_result", 1, name="pay", status="error", output={"error_type": "Timeout", "message": "late"}),
        event(3, "error", 2, error_type="Timeout", message="late"),
        event(4, "error", 0, error_type="Timeout", message="late"),
        event(5, "run_end", run_status="failed"),
        status="failed",
        failure={"type": "Timeout", "message": "late", "step": 4},
    )
    assert [step.name for step in trace.steps] == ["pay"]
    assert (trace.steps[0].error, trace.steps[0].output) == (StepError("Timeout", "late"), None)
    assert (trace.error, trace.status) == (StepError("Timeout", "late"), "failed")


def test_openais_payload_is_a_model_step(tmp_path: Path) -> None:
    """Request and completion come to normal form, tokens from the payload's usage and never from its total."""
    request = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9, "model": "m"}
    usage = {"prompt_tokens": 854, "completion_tokens": 311, "total_tokens": 1584}
    answer = {"role": "assistant", "content": "yes", "tool_calls": None}
    trace = read(
        tmp_path,
        event(0, "llm_request", model="m", input={"method": "chat.completions.create", "request": request}),
        event(1, "llm_response", 0, model="m-1", output={"choices": [{"message": answer}], "usage": usage}),
    )
    (step,) = trace.steps
    assert step.input == {"messages": request["messages"], "tools": [], "params": {"max_tokens": 9}}
    assert step.output == {"role": "assistant", "content": "yes"}
    assert (step.model, step.usage) == ("m-1", Usage(input_tokens=854, output_tokens=311))


def test_langgraphs_payload_is_a_model_step(tmp_path: Path) -> None:
    """LangChain's messages, tool calls, stop words and usage come to the same normal form."""
    calls = [{"id": "c", "name": "find", "args": {"id": 2**66}, "type": "tool_call"}]
    asked = [{"type": "human", "content": "hi"}, {"type": "ai", "content": "", "tool_calls": calls}]
    told = {"type": "tool", "content": "x", "tool_call_id": "c", "name": "find", "status": "success"}
    counts = {"input_tokens": 5, "output_tokens": 2, "input_token_details": {"cache_read": 4}}
    answer = {"type": "ai", "content": "done", "tool_calls": [], "usage_metadata": counts}
    trace = read(
        tmp_path,
        event(0, "llm_request", model="m", input={"messages": [*asked, told], "stop": ["\n"], "kwargs": {}}),
        event(1, "llm_response", 0, output={"generations": [{"message": answer}], "llm_output": None}),
    )
    (step,) = trace.steps
    assert step.input == {
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c", "name": "find", "arguments": {"id": 2**66}}],
            },
            {"role": "tool", "content": "x", "tool_call_id": "c", "name": "find"},
        ],
        "tools": [],
        "params": {"stop": ["\n"]},
    }
    assert step.output == {"role": "assistant", "content": "done"}
    assert step.usage == Usage(input_tokens=5, output_tokens=2, cached_tokens=4)


def test_a_bundle_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """A run without end is unfinished, its open call is marked, and a torn last line is said."""
    trace = read(tmp_path, event(0, "tool_call", name="f", input={}), tail=b'{"id": "evt_1", "ty', status="running")
    assert (trace.status, trace.steps[0].attributes["unfinished"]) == ("unfinished", True)
    assert len(trace.gaps) == 3


@pytest.mark.parametrize("line", [b"{}\n", b"[1]\n", b'{"id": "x"}\n', b"{broken\n"])
def test_a_broken_line_in_the_middle_is_refused(tmp_path: Path, line: bytes) -> None:
    """Only the last line may be torn: any other is an error with its number."""
    with pytest.raises(UnreadableTrace) as caught:
        list(load_traces(bundle(tmp_path, tail=line + json.dumps(event(1, "run_end")).encode() + b"\n")))
    assert caught.value.where.endswith("events.jsonl:1")


def test_a_cycle_of_parents_ends(tmp_path: Path) -> None:
    """Hostile events that are each other's parents are read in finite time."""
    trace = read(tmp_path, event(0, "state_change", 1), event(1, "state_change", 0), event(2, "tool_call", 2, name="f"))
    assert [step.parent for step in trace.steps] == [None, None, None]


def test_an_id_that_is_used_twice_is_refused(tmp_path: Path) -> None:
    """Two events of one id can't be told apart by what points at them."""
    with pytest.raises(UnreadableTrace, match="two events have one id"):
        read(tmp_path, event(0, "tool_call", name="f"), event(0, "tool_call", name="g"))


def test_a_changed_bundle_is_an_integrity_error(tmp_path: Path) -> None:
    """What integrity.json does not name is not read: one changed byte is enough."""
    folder = bundle(tmp_path, event(0, "run_start", input=1))
    digest = hashlib.sha256((folder / "events.jsonl").read_bytes()).hexdigest()
    record = {"algorithm": "sha256", "files": {"events.jsonl": digest}}
    (folder / "integrity.json").write_text(json.dumps(record), "utf-8")
    assert len(list(load_traces(folder))) == 1
    with (folder / "events.jsonl").open("ab") as stream:
        stream.write(b"\n")
    with pytest.raises(IntegrityError, match=r"integrity\.json"):
        list(load_traces(folder))


def test_a_link_out_of_the_bundle_is_not_followed(tmp_path: Path) -> None:
    """A bundle can't have another file of the disk read as its events."""
    folder = bundle(tmp_path, event(0, "run_start", input=1))
    (folder / "events.jsonl").rename(tmp_path / "elsewhere")
    (folder / "events.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnreadableTrace):
        list(load_traces(folder))


@pytest.mark.corpus
@pytest.mark.skipif(not STEPFORK.is_dir(), reason="the stepfork corpus is not beside this checkout")
def test_every_real_bundle_is_read() -> None:
    """The counts of calls are those of the manifests, and the wrong answer of the real incident is in its trace."""
    for folder in sorted(STEPFORK.rglob("*.sftrace")):
        (trace,) = load_traces(folder)
        totals = trace.attributes["totals"]
        assert sum(1 for _ in trace.of_kind("tool")) == totals["tool_calls"]
        assert sum(1 for _ in trace.of_kind("model")) == totals["llm_calls"]
    (incident,) = load_traces(STEPFORK / "examples" / "real-llm-case-study" / "traces")
    expected = json.loads((STEPFORK / "examples" / "real-llm-case-study" / "expected.json").read_bytes())
    assert isinstance(incident.output, dict)
    assert incident.output["severity"] != expected["severity"]
    assert (incident.steps[-1].usage or Usage()).input_tokens == 854
