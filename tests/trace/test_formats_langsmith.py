"""LangSmith runs as traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import StepError, Trace, Usage
from evalkit.trace.read import load_traces

LANGSMITH = Path(__file__).parents[3] / "shared" / "corpora" / "langsmith"


def run(number: int, run_type: str, parent: str = "", **more: Any) -> dict[str, Any]:
    """A run that starts at second `number`; `parent` is the dotted order of the one around it."""
    order = f"20250101T0000{number:02}000000Zr{number}"
    return {
        "id": f"r{number}",
        "trace_id": "r1",
        "name": f"name {number}",
        "run_type": run_type,
        "start_time": f"2025-01-01T00:00:{number:02}",
        "end_time": f"2025-01-01T00:00:{number + 1:02}",
        "dotted_order": f"{parent}.{order}" if parent else order,
        "inputs": {},
        "outputs": {},
        **more,
    }


ROOT = "20250101T000001000000Zr1"
CALL = {"name": "get_weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}


def lc(kind: str, **kwargs: Any) -> dict[str, Any]:
    """A message as LangChain serializes it."""
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", f"{kind}Message"],
        "kwargs": kwargs,
    }


MODEL = run(
    2,
    "llm",
    ROOT,
    inputs={"messages": [[lc("System", content="Be brief."), lc("Human", content="Weather in Oslo?", type="human")]]},
    outputs={
        "generations": [[{"text": "", "message": lc("AI", content="", tool_calls=[CALL])}]],
        "llm_output": {"token_usage": {"prompt_tokens": 7, "completion_tokens": 3}, "model_name": "m-1"},
    },
    extra={
        "invocation_params": {
            "temperature": 0.5,
            "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {}}}],
        }
    },
)
ANSWER = lc("Tool", content='{"t": 3}', tool_call_id="c1", status="success")
TOOL = run(3, "tool", ROOT, name="get_weather", inputs={"input": "{'city': 'Oslo'}"}, outputs={"output": ANSWER})
AGENT = run(1, "chain", name="LangGraph", inputs={"input": "Weather in Oslo?"}, outputs={"output": "3 degrees"})


def read(tmp_path: Path, document: Any, report: ReadReport | None = None) -> list[Trace]:
    """The traces of a document."""
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(document), "utf-8")
    return list(load_traces(path, report=report))


def nested() -> dict[str, Any]:
    """The three runs as a tree without dotted orders."""
    plain = [{key: value for key, value in each.items() if key != "dotted_order"} for each in (AGENT, MODEL, TOOL)]
    return {**plain[0], "child_runs": [plain[2], plain[1]]}


def batch() -> dict[str, Any]:
    """The three runs as an SDK sends them: begun, and later completed."""
    ends = ("outputs", "end_time")
    posts = [{key: value for key, value in each.items() if key not in ends} for each in (AGENT, MODEL, TOOL)]
    patches = [{key: each[key] for key in ("dotted_order", "trace_id", *ends)} for each in (AGENT, MODEL, TOOL)]
    return {"post": posts, "patch": patches}


@pytest.mark.parametrize(
    "document",
    [[TOOL, MODEL, AGENT], nested(), batch(), {"runs": [AGENT, TOOL, MODEL]}],
    ids=["list", "tree", "batch", "page"],
)
def test_every_shape_of_runs_is_one_trace(tmp_path: Path, document: Any) -> None:
    """A list in any order, a tree, a batch of starts and ends, and a page of the API give the same steps."""
    (trace,) = read(tmp_path, document)
    agent, model, tool = trace.steps
    assert [(step.kind, step.name, step.parent) for step in trace.steps] == [
        ("agent", "LangGraph", None),
        ("model", "chat", 0),
        ("tool", "get_weather", 0),
    ]
    assert model.input == {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}],
        "tools": [{"name": "get_weather", "parameters": {}}],
        "params": {"temperature": 0.5},
    }
    assert model.output == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}],
    }
    assert (model.model, model.usage) == ("m-1", Usage(7, 3))
    assert (tool.input, tool.output, tool.attributes["tool_call_id"]) == ({"city": "Oslo"}, {"t": 3}, "c1")
    assert (agent.input, trace.input, trace.output) == ("Weather in Oslo?", "Weather in Oslo?", "3 degrees")
    assert (trace.id, trace.name, trace.status, trace.started_at) == ("r1", "LangGraph", "completed", 1735689601.0)


def test_runs_of_one_line_each_are_read(tmp_path: Path) -> None:
    """Two traces in JSON Lines stay two traces."""
    path = tmp_path / "runs.jsonl"
    other = {**run(9, "llm"), "trace_id": "r9"}
    path.write_text("\n".join(json.dumps(each) for each in (AGENT, other, MODEL)), "utf-8")
    assert [(trace.id, len(trace.steps)) for trace in load_traces(path)] == [("r1", 2), ("r9", 1)]


def test_a_wrapped_sdks_call_is_read(tmp_path: Path) -> None:
    """A run of the wrapped OpenAI client holds request and response bodies; JavaScript writes milliseconds."""
    inputs = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 0, "stream": True}
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hello"}}
    outputs = {"model": "m-2", "choices": [choice], "usage_metadata": {"input_tokens": 4, "output_tokens": 1}}
    (trace,) = read(tmp_path, [run(1, "llm", inputs=inputs, outputs=outputs, start_time=1000, end_time=2500)])
    (model,) = trace.steps
    assert model.input == {"messages": inputs["messages"], "tools": [], "params": {"temperature": 0}}
    assert model.output == choice["message"]
    assert (model.model, model.usage, model.started_at, model.ended_at) == ("m-2", Usage(4, 1), 1.0, 2.5)


def test_an_answer_that_was_cut_off_says_so(tmp_path: Path) -> None:
    """LangChain keeps why a generation ended; the usual ends say nothing."""
    for ended, wanted in (("length", {"finish_reason": "length"}), ("stop", {})):
        outputs = {"generations": [[{"text": "Hello", "generation_info": {"finish_reason": ended}}]]}
        (trace,) = read(tmp_path, [run(1, "llm", inputs={"prompts": ["Hi"]}, outputs=outputs)])
        assert {
            key: trace.steps[0].attributes[key] for key in ("finish_reason",) if key in trace.steps[0].attributes
        } == wanted


def test_a_prompt_in_one_text_is_split_and_said(tmp_path: Path) -> None:
    """LangChain's older tracer joins the messages; the roles are found again, and the gaps say so."""
    extra = {"metadata": {"ls_model_type": "chat"}}
    prompts = {"prompts": ["System: Be brief.\nHuman: Hi"]}
    (trace,) = read(tmp_path, [run(1, "llm", inputs=prompts, extra=extra)])
    given = trace.steps[0].input
    assert isinstance(given, dict)
    assert given["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert any("one text" in gap for gap in trace.gaps)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("KeyError('id')Traceback (most recent call last):\n  x", ("KeyError", "id", None)),
        ("openai.RateLimitError: slow down", ("RateLimitError", "slow down", "openai")),
        ("it broke", ("Error", "it broke", None)),
    ],
)
def test_errors_are_taken_apart(tmp_path: Path, text: str, wanted: tuple[str, str, str | None]) -> None:
    """The text of an error holds its class, its message and, after it, the traceback."""
    (trace,) = read(tmp_path, [run(1, "tool", error=text, outputs=None)])
    error = trace.steps[0].error
    assert isinstance(error, StepError)
    assert (error.type, error.message, error.module) == wanted
    assert (error.stack is not None) == ("Traceback" in text)
    assert trace.status == "failed"


def test_a_failed_tool_message_is_an_error(tmp_path: Path) -> None:
    """The status of a tool message decides, not its text."""
    answer = lc("Tool", content="not today", tool_call_id="c1", status="error")
    (trace,) = read(tmp_path, [run(1, "tool", inputs={"a": 1}, outputs={"output": answer})])
    assert trace.steps[0].error == StepError("ToolError", "not today")


def test_documents_of_a_retriever_are_read(tmp_path: Path) -> None:
    """LangChain's documents become the results of a retrieval step."""
    document = {"page_content": "Cold.", "metadata": {"id": "d1"}, "type": "Document"}
    retriever = run(1, "retriever", inputs={"query": "Oslo"}, outputs={"documents": [document]})
    (step,) = read(tmp_path, [retriever])[0].steps
    assert (step.kind, step.input) == ("retrieval", {"query": "Oslo"})
    assert step.output == [{"content": "Cold.", "metadata": {"id": "d1"}, "type": "Document"}]


def test_labels_and_events_are_counted(tmp_path: Path) -> None:
    """Feedback never enters a trace; the events of a stream are counted, not lost."""
    report = ReadReport()
    labelled = run(1, "chain", feedback_stats={"score": 0.123}, events=[{"name": "new_token"}, {"name": "end"}])
    (trace,) = read(tmp_path, [labelled], report)
    assert "0.123" not in repr(trace)
    assert report.skipped == {
        "feedback_stats: a label, not part of the run": 1,
        "run event new_token: not read": 1,
        "run event end: not read": 1,
    }


def test_a_run_without_an_end_is_unfinished(tmp_path: Path) -> None:
    """A batch that holds only starts is a run that was still going on."""
    (trace,) = read(tmp_path, {"post": batch()["post"]})
    assert trace.status == "unfinished"
    assert all(step.attributes["unfinished"] for step in trace.steps)


def test_a_run_without_an_id_is_refused(tmp_path: Path) -> None:
    """It can't be placed in the tree."""
    with pytest.raises(UnreadableTrace, match="a run has no id"):
        read(tmp_path, [AGENT, {"run_type": "llm"}])


@pytest.mark.corpus
@pytest.mark.skipif(not LANGSMITH.is_dir(), reason="the shared corpora are not beside this checkout")
def test_real_runs_are_all_steps() -> None:
    """Every run of every file is one step, under its own id."""
    for path in sorted(LANGSMITH.rglob("*.json")):
        document = json.loads(path.read_text("utf-8"))
        runs = document if isinstance(document, list) else document["post"]
        steps = [step for trace in load_traces(path) for step in trace.steps]
        assert sorted(step.attributes["span_id"] for step in steps) == sorted(each["id"] for each in runs)
        assert all(step.input and step.output for step in steps if step.kind == "model")
