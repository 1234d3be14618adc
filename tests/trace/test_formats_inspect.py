"""Inspect logs as traces: archives, JSON of several versions, single samples and transcripts."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Step, StepError, Trace, Usage
from evalkit.trace.read import load_traces
from tests.corpora import CORPORA, needs_corpora

INSPECT = CORPORA / "inspect-ai"
GOLD = "the gold answer"
LONG = "A long question. " * 10
USER = {"id": "m1", "role": "user", "content": "attachment://a1", "source": "input"}
CALL = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}
THOUGHT = {"type": "reasoning", "reasoning": "List it."}
ASKS = {
    "id": "m2",
    "role": "assistant",
    "content": [THOUGHT, {"type": "text", "text": "Let me see."}],
    "tool_calls": [CALL],
    "source": "generate",
}
TOLD = {"id": "m3", "role": "tool", "content": "a.txt", "tool_call_id": "c1", "function": "bash"}
SAID = {"id": "m4", "role": "assistant", "content": "a.txt"}
TOOL_INFO = {"name": "bash", "description": "Run.", "parameters": {"type": "object", "properties": {}}}


def at(second: int) -> str:
    """A time."""
    return f"2025-01-01T00:00:{second:02}+00:00"


def event(kind: str, second: int, span: str | None = "solve", **more: Any) -> dict[str, Any]:
    """An event of a transcript."""
    return {"event": kind, "timestamp": at(second), "working_start": 0.0, "span_id": span, **more}


def span(name: str, second: int, parent: str | None, kind: str | None, span_id: str) -> dict[str, Any]:
    """The begin of a span."""
    return event("span_begin", second, span_id, id=span_id, parent_id=parent, type=kind, name=name)


def model(second: int, refs: list[list[int]], message: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A model event whose input stands in the pool."""
    usage = {
        "input_tokens": 4,
        "output_tokens": 5,
        "total_tokens": 17,
        "input_tokens_cache_read": 6,
        "input_tokens_cache_write": 2,
        "reasoning_tokens": 3,
    }
    output = {"model": "m-1", "choices": [{"message": message, "stop_reason": "stop"}], "usage": usage}
    asked = {
        "model": "openai/m",
        "input": [],
        "input_refs": refs,
        "tools": [TOOL_INFO],
        "tool_choice": "any",
        "config": {"temperature": 0.5, "stop_seqs": ["x"], "max_connections": 9},
    }
    call: dict[str, Any] = {"request": {"messages": []}, "response": {}}
    return event("model", second, **{**asked, "output": output, "call": call, "completed": at(second + 1), **more})


def tool(second: int, **more: Any) -> dict[str, Any]:
    """A tool event."""
    done = {"result": "a.txt", "completed": at(second + 1), "events": []}
    return event("tool", second, id="c1", function="bash", arguments={"cmd": "ls"}, **{**done, **more})


EVENTS = [
    span("init", 0, None, "init", "init"),
    event("sample_init", 0, "init", sample={"input": "attachment://a1", "target": GOLD}, state={"metadata": GOLD}),
    event("span_end", 0, "init", id="init"),
    span("my_agent", 1, None, "agent", "solve"),
    event("state", 1, changes=[{"op": "add", "path": "/messages/0", "value": USER},
                               {"op": "add", "path": "/metadata/x", "value": GOLD}]),
    model(2, [[0, 1]], ASKS),
    event("approval", 3, message="Let me see.", call=CALL, approver="human", decision="approve", explanation="fine"),
    span("bash", 4, "solve", "tool", "call"),
    tool(4),
    event("sandbox", 4, "call", action="exec", cmd="ls", options={}, result=0, output="a.txt", completed=at(5)),
    event("store", 5, "call", changes=[{"op": "replace", "path": "/seen", "value": 1, "replaced": 0}]),
    event("span_end", 5, "call", id="call"),
    event("info", 6, source="me", data={"a": 1}),
    event("logger", 6, message={"level": "warning", "message": "slow"}),
    model(7, [[0, 1], [1, 3]], SAID),
    event("novel", 8, thing=1),
    event("span_end", 9, id="solve"),
    span("scorers", 10, None, "scorers", "score"),
    span("model_graded", 10, "score", "scorer", "score1"),
    model(10, [[0, 1]], {"role": "assistant", "content": GOLD}, span_id="score1"),
    event("score", 11, "score1", score={"value": "C", "explanation": GOLD}, target=GOLD),
    event("span_end", 12, "score1", id="score1"),
]  # fmt: skip


def sample(**more: Any) -> dict[str, Any]:
    """A sample with events, a pool and an attachment."""
    return {
        "id": "s1",
        "epoch": 1,
        "input": LONG,
        "target": GOLD,
        "messages": [USER, ASKS, TOLD, SAID],
        "output": {"model": "m-1", "choices": [{"message": SAID, "stop_reason": "stop"}]},
        "scores": {"match": {"value": "C", "answer": GOLD}},
        "metadata": {"answer": GOLD},
        "store": {},
        "events": EVENTS,
        "events_data": {"messages": [USER, ASKS, TOLD], "calls": []},
        "attachments": {"a1": LONG},
        "uuid": "u1",
        **more,
    }


def log(*samples: dict[str, Any]) -> dict[str, Any]:
    """A log."""
    spec = {"task": "lister", "run_id": "r1", "created": at(0), "model": "openai/m", "dataset": {}, "config": {}}
    return {"version": 2, "status": "success", "eval": spec, "samples": [*samples]}


def archive(samples: dict[str, Any], header: str = "header.json") -> bytes:
    """An ``.eval`` file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in samples.items():
            file.writestr(f"samples/{name}", json.dumps(content))
        file.writestr(header, json.dumps({key: value for key, value in log().items() if key != "samples"}))
    return packed.getvalue()


def read(tmp_path: Path, content: Any, report: ReadReport | None = None) -> list[Trace]:
    """The traces of a document or of bytes."""
    path = tmp_path / "log"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return list(load_traces(path, report=report))


def of(trace: Trace, kind: Any) -> list[Step]:
    """The steps of a kind."""
    return list(trace.of_kind(kind))


def test_events_become_steps_in_their_order(tmp_path: Path) -> None:
    """Spans are parents; the span around a call is the call; what isn't known is kept."""
    (trace,) = read(tmp_path, log(sample()))
    assert [(step.kind, step.name, step.parent) for step in trace.steps] == [
        ("other", "init", None),
        ("other", "user_message", 0),
        ("agent", "my_agent", None),
        ("model", "chat", 2),
        ("approval", "human", 2),
        ("tool", "bash", 2),
        ("other", "sandbox.exec", 5),
        ("state", "store", 5),
        ("other", "info", 2),
        ("other", "logger", 2),
        ("model", "chat", 2),
        ("other", "novel", 2),
    ]
    assert trace.steps[11].attributes == {"thing": 1}
    assert (trace.id, trace.name, trace.dialect, trace.status) == ("s1/epoch-1", "lister", "inspect", "completed")
    assert (trace.input, trace.output) == (LONG, "a.txt")


def test_a_model_event_holds_what_was_sent_and_answered(tmp_path: Path) -> None:
    """The pool, attachments, reasoning, parameters, cached and reasoning tokens."""
    (trace,) = read(tmp_path, log(sample()))
    first, second = of(trace, "model")
    call = {"id": "c1", "name": "bash", "arguments": {"cmd": "ls"}}
    answer = {"role": "assistant", "content": "Let me see.", "tool_calls": [call], "reasoning": "List it."}
    asked = {"role": "user", "content": LONG}
    assert first.input == {
        "messages": [asked],
        "tools": [TOOL_INFO],
        "params": {"temperature": 0.5, "stop": ["x"], "tool_choice": "any"},
    }
    assert first.output == answer
    assert first.usage == Usage(12, 5, 6, 3)
    assert (first.model, first.started_at, first.ended_at) == ("m-1", 1735689602.0, 1735689603.0)
    assert first.attributes["config"] == {"max_connections": 9}
    assert isinstance(second.input, dict)
    told = {"role": "tool", "content": "a.txt", "tool_call_id": "c1", "name": "bash"}
    assert second.input["messages"] == [asked, answer, told]


def test_tools_approvals_and_state_are_read(tmp_path: Path) -> None:
    """Each in its kind's form."""
    (trace,) = read(tmp_path, log(sample()))
    (ran,), (approved,), (stored,) = of(trace, "tool"), of(trace, "approval"), of(trace, "state")
    assert (ran.input, ran.output, ran.attributes["tool_call_id"]) == ({"cmd": "ls"}, "a.txt", "c1")
    assert (ran.started_at, ran.ended_at) == (1735689604.0, 1735689605.0)
    assert approved.output == {"decision": "approve", "approver": "human", "explanation": "fine"}
    assert stored.input == [{"op": "replace", "path": "/seen", "value": 1}]
    assert stored.output == {"/seen": 0}


@pytest.mark.parametrize("document", [log(sample()), sample(), log(sample(events=[])), {"events": EVENTS}])
def test_gold_answers_never_enter_a_trace(tmp_path: Path, document: Any) -> None:
    """Neither target, scores and metadata nor the model calls of a scorer, which are told the target."""
    if "events" in document and "id" not in document:
        document = {"events": [each for each in EVENTS if each["event"] != "model" or each["span_id"] == "score1"]}
    report = ReadReport()
    (trace,) = read(tmp_path, document, report)
    assert GOLD not in repr(trace)
    assert any("label" in reason for reason in report.skipped)


def test_failures_and_limits_are_said(tmp_path: Path) -> None:
    """A tool's error by its type, a model's, a cancelled call, a sample's, and a limit."""
    failed = tool(1, error={"type": "timeout", "message": "too slow"}, result="")
    broken = model(2, [[0, 1]], {}, error="no quota", traceback="tb", output={"choices": []})
    stopped = model(3, [[0, 1]], {}, error="Cancelled by operator", output={"choices": []})
    error = {"message": "ValueError('bad')", "traceback": "tb", "traceback_ansi": "x"}
    (trace,) = read(tmp_path, log(sample(events=[failed, broken, stopped], error=error)))
    assert [step.error for step in trace.steps] == [
        StepError("timeout", "too slow"),
        StepError("ModelError", "no quota", stack="tb"),
        StepError("Cancelled", "Cancelled by operator"),
    ]
    assert (trace.status, trace.error) == ("failed", StepError("ValueError", "bad", stack="tb"))
    limited = log(sample(limit={"type": "token", "limit": 5}))
    assert read(tmp_path, limited)[0].error == StepError("LimitExceeded", "token limit of 5")
    cancelled = log(sample(error={"message": "CancelledError()", "traceback": ""}))
    assert read(tmp_path, cancelled)[0].status == "unfinished"


def test_a_pending_call_is_unfinished(tmp_path: Path) -> None:
    """The log stopped while the tool ran."""
    (trace,) = read(tmp_path, log(sample(events=[model(1, [[0, 1]], ASKS), tool(2, pending=True, completed=None)])))
    assert (trace.status, trace.steps[1].output, trace.steps[1].attributes["unfinished"]) == ("unfinished", None, True)


def test_a_sample_without_events_is_read_from_its_messages(tmp_path: Path) -> None:
    """The oldest logs, and those written without a transcript; the trace says so."""
    told = {**TOLD, "error": {"type": "permission", "message": "no"}}
    (trace,) = read(tmp_path, log(sample(events=[], messages=[USER, ASKS, told, SAID])))
    assert [(step.kind, step.name) for step in trace.steps] == [
        ("other", "user_message"),
        ("model", "chat"),
        ("tool", "bash"),
        ("model", "chat"),
    ]
    assert trace.steps[2].error == StepError("permission", "no")
    assert any("no events" in gap for gap in trace.gaps)


def test_old_steps_and_nested_events_are_parents(tmp_path: Path) -> None:
    """Steps close in the order of a stack; a subtask held its events inside; ``transcript`` held all of them."""
    inner = {"event": "info", "timestamp": at(3), "data": "in"}
    events = [
        {"event": "step", "action": "begin", "name": "solve", "type": "solver", "timestamp": at(0)},
        {"event": "subtask", "name": "sub", "input": {"a": 1}, "result": 2, "events": [inner], "timestamp": at(1)},
        {"event": "step", "action": "end", "name": "solve", "type": "solver", "timestamp": at(4)},
        {"event": "step", "action": "begin", "name": "score", "type": "scorer", "timestamp": at(5)},
        {"event": "info", "data": GOLD, "timestamp": at(6)},
    ]
    transcript = {"events": events, "content": {"a1": LONG}}
    old = {"id": 1, "epoch": 1, "input": "tc://a1", "target": GOLD, "messages": [], "transcript": transcript}
    (trace,) = read(tmp_path, log(old))
    assert [(step.kind, step.name, step.parent) for step in trace.steps] == [
        ("other", "solve", None),
        ("agent", "sub", 0),
        ("other", "info", 1),
    ]
    assert trace.steps[0].ended_at == 1735689604.0
    assert trace.input == LONG
    assert GOLD not in repr(trace)


@pytest.mark.parametrize("packed", [False, True], ids=["on disk", "gzipped"])
@pytest.mark.parametrize("header", ["header.json", "_journal/start.json"])
def test_an_archive_gives_a_trace_for_each_sample_and_epoch(tmp_path: Path, header: str, packed: bool) -> None:
    """Also of a run that was still going on, which has no header yet."""
    data = archive({"s1_epoch_1.json": sample(), "s1_epoch_2.json": sample(epoch=2)}, header)
    traces = read(tmp_path, gzip.compress(data) if packed else data)
    assert [(trace.id, trace.name, len(trace.steps)) for trace in traces] == [
        ("s1/epoch-1", "lister", 12),
        ("s1/epoch-2", "lister", 12),
    ]


def chunked() -> dict[str, Any]:
    """A large sample in pieces."""
    left = ("messages", "events", "events_data", "attachments", "metadata")
    shell = {key: value for key, value in sample().items() if key not in left}
    renamed = json.loads(json.dumps({"pool": [USER, ASKS, TOLD, SAID], "events": EVENTS}).replace("//a1", "//0"))
    folder = "s1_epoch_1"
    return {
        f"{folder}/sample.json": {**shell, "message_refs": [[0, 4]]},
        f"{folder}/metadata.json": {"answer": GOLD},
        f"{folder}/messages/0.json": renamed["pool"][:2],
        f"{folder}/messages/2.json": renamed["pool"][2:],
        f"{folder}/events/10.json": renamed["events"][10:],
        f"{folder}/events/0.json": renamed["events"][:10],
        f"{folder}/events/stats.json": {},
        f"{folder}/attachments/0.json": [LONG],
    }


def test_a_sample_in_pieces_is_the_same_trace(tmp_path: Path) -> None:
    """Chunks are put together by their numbers; a missing one is refused."""
    (whole,) = read(tmp_path, log(sample()))
    (joined,) = read(tmp_path, archive(chunked()))
    assert joined == whole
    pieces = chunked()
    del pieces["s1_epoch_1/events/0.json"]
    with pytest.raises(UnreadableTrace, match="a chunk is missing"):
        read(tmp_path, archive(pieces))


def zstandard_archive(damage: bool = False) -> bytes:
    """An archive whose sample is compressed with Zstandard, in two frames, as newer versions of Inspect write it."""
    data = json.dumps(sample()).encode()
    halves = [pyarrow.compress(half, "zstd", asbytes=True) for half in (data[:500], data[500:])]
    body = b"".join(halves)
    if damage:
        body = body[:-20]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("samples/s1_epoch_1.json", body)
        file.writestr("header.json", json.dumps({"status": "success", "eval": {"task": "lister"}}))
    raw = bytearray(packed.getvalue())
    crc = zlib.crc32(data).to_bytes(4, "little")
    size = len(data).to_bytes(4, "little")
    for start, method, check, plain in ((raw.find(b"PK\x03\x04"), 8, 14, 22), (raw.find(b"PK\x01\x02"), 10, 16, 24)):
        raw[start + method : start + method + 2] = (93).to_bytes(2, "little")
        raw[start + check : start + check + 4] = crc
        raw[start + plain : start + plain + 4] = size
    return bytes(raw)


def test_zstandard_entries_are_read(tmp_path: Path) -> None:
    """Python's zipfile can't before 3.14; a cut one is refused."""
    (trace,) = read(tmp_path, zstandard_archive())
    assert (trace.id, len(trace.steps)) == ("s1/epoch-1", 12)
    with pytest.raises(UnreadableTrace, match=r"Zstandard data is damaged|checksum"):
        read(tmp_path, zstandard_archive(damage=True))


@pytest.mark.parametrize("packed", [False, True], ids=["json", "archive"])
def test_scores_that_are_not_a_number_do_not_hide_a_log(tmp_path: Path, packed: bool) -> None:
    """Inspect writes NaN as such; scores are labels anyway, and the word in a text stays."""
    raw = sample(scores={"match": {"value": float("nan"), "answer": float("-inf")}}, output={"completion": "NaN, \\"})
    (trace,) = read(tmp_path, archive({"a/b_epoch_1.json": raw}) if packed else log(raw))
    assert (trace.id, len(trace.steps)) == ("s1/epoch-1", 12)
    with pytest.raises(UnreadableTrace):
        read(tmp_path, b'{"version": 2, "status": "success", "eval": {"task": NaN')


def test_broken_logs_are_refused(tmp_path: Path) -> None:
    """A cut archive, a pointer outside the pool, and a sample that is none."""
    data = archive({"s1_epoch_1.json": sample()})
    with pytest.raises(UnreadableTrace):
        read(tmp_path, data[: len(data) // 2])
    with pytest.raises(UnreadableTrace, match="outside the pool"):
        read(tmp_path, log(sample(events=[model(1, [[0, 9]], SAID)])))
    with pytest.raises(UnreadableTrace, match="a sample is no object"):
        read(tmp_path, {**log(), "samples": [5]})


def test_another_zip_is_not_claimed(tmp_path: Path) -> None:
    """A ``header.json`` alone makes no log."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("header.json", '{"a": 1}')
    with pytest.raises(UnreadableTrace) as refusal:
        read(tmp_path, packed.getvalue())
    assert "Inspect" not in refusal.value.what


def test_a_log_without_samples_is_counted(tmp_path: Path) -> None:
    """Its header is valid: nothing ran."""
    report = ReadReport()
    assert read(tmp_path, log(), report) == []
    assert report.skipped == {"Inspect log: it holds no samples (status success)": 1}


@pytest.mark.corpus
@needs_corpora
def test_real_logs_are_read_whole() -> None:
    """Every sample of every log is a trace; every model and tool event outside of scoring is a step."""
    for path in sorted(INSPECT.rglob("*.eval")):
        with zipfile.ZipFile(path) as file:
            names = [name for name in file.namelist() if name.startswith("samples/")]
            samples = [json.loads(file.read(name)) for name in names]
        for trace, raw in zip(load_traces(path), samples, strict=True):
            scorers = {
                each["id"] for each in raw["events"] if each["event"] == "span_begin" and each["type"] == "scorer"
            }
            inside = False
            wanted = 0
            for each in raw["events"]:
                if each["event"] == "step" and each.get("type") == "scorer":
                    inside = each["action"] == "begin"
                wanted += each["event"] in ("model", "tool") and not inside and each.get("span_id") not in scorers
            assert len(of(trace, "model")) + len(of(trace, "tool")) == wanted
            assert all(step.input["messages"] for step in of(trace, "model"))  # type: ignore[index,call-overload]  # an object
            assert "attachment://" not in repr(trace.steps)
