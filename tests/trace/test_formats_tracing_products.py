"""What holds for the exports of Langfuse, LangSmith and the OpenAI Agents SDK alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.trace.formats.registry import FORMATS
from evalkit.trace.read import load_traces
from tests.trace.test_formats_langfuse import ASKED, CALL, GOOGLE_CALL, LANGCHAIN_CALL, PARTS, export, observation
from tests.trace.test_formats_langsmith import AGENT, MODEL, TOOL, batch, nested
from tests.trace.test_formats_openai_agents import HEADER, span

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
ATTRIBUTES = {
    "openinference.span.kind": "LLM",
    "llm.input_messages.0.message.role": "user",
    "llm.tools.0.tool.json_schema": '{"name": "f"}',
    "model_request_parameters": {"function_tools": [{"name": "f"}]},
}
GENERATION = {
    "modelParameters": {"temperature": "0.5"},
    "usageDetails": {"input": 1, "output": 2},
    "costDetails": {"total": 1.5},
    "metadata": {"attributes": ATTRIBUTES},
}
DOCUMENTS: list[tuple[str, Any]] = [
    (
        "langfuse",
        export(
            observation(1, "AGENT", input=PARTS, output=[*PARTS, {"role": "assistant", "content": "x"}]),
            observation(2, "GENERATION", 1, input=ASKED, output={"choices": [{"message": {"tool_calls": [CALL]}}]}),
            observation(3, "GENERATION", 1, input={"contents": PARTS}, output={"content": {"parts": [GOOGLE_CALL]}}),
            observation(4, "GENERATION", 3, output={"generations": [[{"message": LANGCHAIN_CALL}]]}, **GENERATION),
            observation(5, "TOOL", 1, input={"a": 1}, output="[1]", level="ERROR", statusMessage="E: x"),
            scores=[{}],
        ),
    ),
    ("langsmith", [AGENT, MODEL, TOOL]),
    ("langsmith", nested()),
    ("langsmith", batch()),
    (
        "openai-agents",
        [
            HEADER,
            span(1, 0, type="agent", name="a", tools=["f"]),
            span(2, 1, type="generation", input=ASKED, output=[{"role": "assistant", "tool_calls": [CALL]}], usage={}),
            span(3, 1, type="function", name="f", input="{}", output="x", error={"message": "m", "data": {}}),
        ],
    ),
]


@pytest.mark.parametrize(("name", "document"), DOCUMENTS)
def test_whole_documents_are_claimed_once(tmp_path: Path, name: str, document: Any) -> None:
    """Each is detected as its own format and no other, and read without a change to the document."""
    path = tmp_path / "document.json"
    path.write_text(json.dumps(document), "utf-8")
    assert {trace.dialect for trace in load_traces(path)} == {name}


@pytest.mark.corpus
@pytest.mark.skipif(not CORPORA.is_dir(), reason="the shared corpora are not beside this checkout")
def test_real_files_are_claimed_by_their_own_format_only() -> None:
    """The three formats claim the files of their own folders, and none of any other tool's."""
    from evalkit.trace.places import disk_place, file_source

    owners = {"langfuse": "langfuse", "langsmith": "langsmith", "openai-agents-sdk": "openai-agents"}
    formats = {name: FORMATS.get(name) for name in owners.values()}
    for folder in sorted(path for path in CORPORA.iterdir() if path.is_dir()):
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            place = disk_place(path, str(path))
            source = file_source(place, place.content())
            claimed = {name for name, each in formats.items() if each.detect(source)}
            expected = {owners[folder.name]} if folder.name in owners and _is_trace(path) else set()
            assert claimed == expected, path


def _is_trace(path: Path) -> bool:
    """Whether a file of the three folders is an export: not a licence, ground truth, or a log of API calls."""
    return path.suffix in (".json", ".jsonl") and "chatml" not in path.name and "managed" not in path.name
