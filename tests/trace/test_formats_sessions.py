"""Session files of coding agents and span trees: TRAIL, SWE-agent, mini-swe-agent, Who&When."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.errors import EvalkitError
from evalkit.trace.file import encode_trace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces
from tests.corpora import CORPORA, needs_corpora
from tests.trace.test_formats_hostile import damaged

SPAN = {
    "span_id": "1",
    "parent_span_id": None,
    "span_name": "answer",
    "timestamp": "2025-03-19T16:43:00Z",
    "duration": "PT2.5S",
    "status_code": "Ok",
    "span_attributes": {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m-1",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "how many?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "three",
        "llm.token_count.prompt": "7",
        "llm.token_count.completion": 2,
    },
    "logs": [],
    "child_spans": [
        {
            "span_id": "2",
            "parent_span_id": "1",
            "span_name": "search",
            "timestamp": "2025-03-19T16:43:01Z",
            "span_attributes": {
                "openinference.span.kind": "TOOL",
                "tool.name": "search",
                "input.value": '{"query": "x"}',
                "output.value": "found",
            },
            "child_spans": [],
        }
    ],
}
TRAIL = {"trace_id": "t", "spans": [SPAN]}
SWE = {
    "history": [
        {"role": "system", "content": "solve it", "agent": "primary", "message_type": "system_prompt"},
        {"role": "user", "content": "the bug", "agent": "primary"},
        {
            "role": "assistant",
            "content": "I look.\n```\nls\n```",
            "agent": "primary",
            "action": "ls",
            "thought": "I look.",
        },
        {"role": "user", "content": "a.py", "agent": "primary"},
    ],
    "trajectory": [{"action": "ls", "observation": "a.py", "response": "I look.\n```\nls\n```", "thought": "I look."}],
    "info": {"exit_status": "submitted", "model_stats": {"tokens_sent": 5, "tokens_received": 3}},
}
MINI = {
    "trajectory_format": "mini-swe-agent-1",
    "info": {"exit_status": "Submitted", "submission": "diff", "mini_version": "1.0"},
    "messages": [
        {"role": "system", "content": "solve it"},
        {"role": "user", "content": "the bug"},
        {"role": "assistant", "content": "look\n```bash\nls\n```"},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"},
    ],
}
WHO = {
    "question": "how many?",
    "question_ID": "q",
    "ground_truth": "three",
    "mistake_agent": "Coder",
    "mistake_step": "1",
    "mistake_reason": "SECRET-LABEL",
    "is_correct": False,
    "history": [
        {"role": "user", "name": "Planner", "content": "count them"},
        {"role": "assistant", "name": "Coder", "content": "two"},
    ],
}
DOCUMENTS: dict[str, Any] = {"trail": TRAIL, "swe-agent": SWE, "mini-swe-agent": MINI, "who-and-when": WHO}


def read(document: Any, folder: Path, report: ReadReport | None = None) -> Trace:
    """The one trace of a document, found by its content."""
    path = folder / "document.json"
    path.write_text(json.dumps(document), "utf-8")
    (found,) = load_traces(path, report=report)
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_document_is_found_by_its_content(name: str, tmp_path: Path) -> None:
    """The file's name says nothing; exactly one reader claims it."""
    trace = read(DOCUMENTS[name], tmp_path)
    assert trace.dialect == name
    assert trace.steps


def test_a_span_tree_keeps_models_tools_and_parents(tmp_path: Path) -> None:
    """Messages, tokens, arguments and results stand in the normal form."""
    trace = read(TRAIL, tmp_path)
    model, tool = trace.steps
    assert (model.kind, model.model, model.output) == ("model", "m-1", {"role": "assistant", "content": "three"})
    assert model.usage is not None
    assert (model.usage.input_tokens, model.usage.output_tokens) == (7, 2)
    assert (tool.kind, tool.name, tool.input, tool.output, tool.parent) == (
        "tool",
        "search",
        {"query": "x"},
        "found",
        model.seq,
    )


@pytest.mark.parametrize("name", ["swe-agent", "mini-swe-agent"])
def test_a_command_in_a_text_is_a_tool_call_with_its_observation(name: str, tmp_path: Path) -> None:
    """What the agent ran and what it saw, though the model only wrote text."""
    trace = read(DOCUMENTS[name], tmp_path)
    tools = list(trace.of_kind("tool"))
    assert len(tools) == 1
    assert "ls" in json.dumps(tools[0].input)
    assert "a.py" in json.dumps(tools[0].output)
    assert len(list(trace.of_kind("model"))) == 1


def test_labels_stay_outside(tmp_path: Path) -> None:
    """Who failed, when and why is for scoring only; that it was left out is counted."""
    report = ReadReport()
    trace = read(WHO, tmp_path, report)
    text = b"".join(encode_trace(trace)).decode()
    assert "SECRET-LABEL" not in text
    assert "ground_truth" not in text
    assert any("label" in reason for reason in report.skipped)


@pytest.mark.parametrize("name", DOCUMENTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
@given(data=st.data())
def test_junk_gives_a_trace_or_a_typed_error(name: str, data: st.DataObject, tmp_path: Path) -> None:
    """No damage to a document makes a reader crash, and what it makes can be written."""
    path = tmp_path / "document.json"
    path.write_text(json.dumps(damaged(DOCUMENTS[name], data)), "utf-8")
    with suppress(EvalkitError):
        for trace in load_traces(path, format=name):
            list(encode_trace(trace))


@needs_corpora
@pytest.mark.corpus
@pytest.mark.parametrize(
    ("folder", "pattern", "dialect"),
    [
        ("trail", "**/*.json", "trail"),
        ("swe-agent", "**/*.traj", "swe-agent"),
        ("mini-swe-agent", "[rs]*/*.traj.json", "mini-swe-agent"),
        ("who-and-when", "**/*.json", "who-and-when"),
    ],
)
def test_the_corpora_are_read_whole(folder: str, pattern: str, dialect: str) -> None:
    """Every run of the folder reads by its own reader; annotations are no runs and are refused."""
    read_files = 0
    for path in sorted((CORPORA / folder).glob(pattern)):
        try:
            traces = list(load_traces(path))
        except EvalkitError as error:
            assert "no format reads it" in error.what or "not JSON" in error.what, path  # noqa: PT017
            continue
        read_files += 1
        assert {trace.dialect for trace in traces} == {dialect}, path
        assert all(trace.steps for trace in traces), path
    assert read_files >= 10
