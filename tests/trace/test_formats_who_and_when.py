"""Who&When failure logs as traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

LOGS = Path(__file__).parents[3] / "shared" / "corpora" / "who-and-when"
LABEL = "SECRET-LABEL"
DOCUMENT = {
    "is_correct": False,
    "question": "How many?",
    "question_ID": "q-1",
    "level": LABEL,
    "ground_truth": LABEL,
    "mistake_agent": LABEL,
    "mistake_step": "1",
    "mistake_reason": LABEL,
    "system_prompt": {"Counter": "You count."},
    "history": [
        {"content": "Solve: how many?", "role": "assistant", "name": "Counter"},
        {"content": "Run:\n```python\nprint(3)\n```", "role": "user", "name": "Counter"},
        {"content": "exitcode: 0 (execution succeeded)\nCode output: 3", "role": "user", "name": "Computer_terminal"},
        {"content": "It is 3.", "role": "assistant", "name": "Checker"},
        {"content": "There is no code to execute.", "role": "user", "name": "Computer_terminal"},
    ],
}


def read(tmp_path: Path, document: Any, report: ReadReport | None = None) -> Trace:
    """The one trace of a document, through the front door."""
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document), "utf-8")
    (trace,) = load_traces(path, report=report)
    return trace


def test_each_entry_is_one_step(tmp_path: Path) -> None:
    """The task, the agents' turns and the terminal's answers, in order, one step an entry."""
    trace = read(tmp_path, DOCUMENT)
    assert [(step.kind, step.name) for step in trace.steps] == [
        ("other", "user_message"),
        ("model", "chat"),
        ("tool", "execute_code"),
        ("model", "chat"),
        ("other", "terminal_message"),
    ]
    assert [step.attributes["message"] for step in trace.steps] == [0, 1, 2, 3, 4]
    assert (trace.id, trace.input, trace.output) == ("q-1", "How many?", "It is 3.")


def test_an_agent_sees_its_prompt_and_the_others_as_users(tmp_path: Path) -> None:
    """Each model step holds the history from its own agent's side."""
    trace = read(tmp_path, DOCUMENT)
    first: Any = trace.steps[1].input
    last: Any = trace.steps[3].input
    assert [message["role"] for message in first["messages"]] == ["system", "assistant"]
    assert [message["role"] for message in last["messages"]] == ["user", "user", "user"]
    assert last["messages"][2]["name"] == "Computer_terminal"


def test_the_terminal_runs_the_code_before_it(tmp_path: Path) -> None:
    """Code and output are the tool's; another exit code than 0 is an error."""
    tool = read(tmp_path, DOCUMENT).steps[2]
    assert (tool.input, tool.error) == ({"code": ["print(3)\n"]}, None)
    history: Any = json.loads(json.dumps(DOCUMENT["history"]))
    history[2]["content"] = "exitcode: 1 (execution failed)\nCode output: boom"
    failed = read(tmp_path, {**DOCUMENT, "history": history}).steps[2]
    assert failed.output is None
    assert failed.error is not None
    assert failed.error.type == "ExecutionFailed"


def test_labels_never_enter_a_trace(tmp_path: Path) -> None:
    """Neither answer nor mistake is carried over; each is counted."""
    report = ReadReport()
    trace = read(tmp_path, DOCUMENT, report)
    assert LABEL not in repr(trace)
    assert "mistake" not in repr(trace)
    assert "ground_truth" not in repr(trace)
    assert report.skipped["label mistake_step: not part of the run"] == 1


def test_prompts_of_agents_that_said_nothing_are_counted(tmp_path: Path) -> None:
    """They stand in no model step, so the report has them."""
    report = ReadReport()
    read(tmp_path, {**DOCUMENT, "system_prompt": {"Checker": "You check.", "Idle": "You wait."}}, report)
    assert report.skipped["system prompt: of an agent that said nothing"] == 1


def test_a_hand_crafted_log_names_agents_in_the_role(tmp_path: Path) -> None:
    """The human asks; what stands in brackets beside an agent's name is kept apart."""
    history = [{"content": "Q", "role": "human"}, {"content": "Ask him", "role": "Orchestrator (-> WebSurfer)"}]
    trace = read(tmp_path, {"question": "Q", "mistake_step": "1", "history": history})
    assert trace.steps[0].name == "user_message"
    assert (trace.steps[1].kind, trace.steps[1].attributes) == (
        "model",
        {"message": 1, "agent": "Orchestrator", "aside": "-> WebSurfer"},
    )


@pytest.mark.corpus
@pytest.mark.skipif(not LOGS.is_dir(), reason="the Who&When corpus is not beside this checkout")
def test_every_real_log_keeps_its_entries_in_place() -> None:
    """Step numbers are the entries' positions, so that a labelled step can be found."""
    for path in sorted(LOGS.glob("*.json")):
        source = json.loads(path.read_bytes())
        (trace,) = load_traces(path)
        assert [step.attributes["message"] for step in trace.steps] == list(range(len(source["history"])))
        assert source["mistake_reason"] not in repr(trace)
