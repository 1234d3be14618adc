"""The real traces, counted by a program that knows nothing of the readers."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.read import load_traces
from tests.corpora import CORPORA, needs_corpora

BENCH = Path(__file__).parents[2] / "ci" / "bench"


@pytest.mark.corpus
@needs_corpora
def test_every_element_of_every_real_file_is_a_step_or_counted_and_no_label_gets_in() -> None:
    """Spans, messages, events, calls and their ids come out; labels stand in no trace."""
    found = runpy.run_path(str(BENCH / "audit_readers.py"))["main"](CORPORA)
    assert {dialect: held["differ"] for dialect, held in found.items() if held["differ"]} == {}
    assert sum(held["files"] for held in found.values()) > 350


@pytest.mark.corpus
@needs_corpora
def test_one_run_is_one_trace_whoever_exported_it() -> None:
    """Whatever two exports of a run both hold is equal: kinds, order, messages, calls, results, definitions, usage."""
    compare = runpy.run_path(str(BENCH / "otlp_pairs.py"))["compare"]
    found = compare([CORPORA / "otlp-genai", CORPORA / "openai-agents-sdk"])
    assert found["different"] == {}
    assert found["equal"] == found["comparable"] > 25


def test_the_audit_sees_a_loss_and_a_leak(tmp_path: Path) -> None:
    """A sum that does not come out and a label in a trace are both told: the audit can fail."""
    audit = runpy.run_path(str(BENCH / "audit_readers.py"))
    document = [{"task_id": 1, "reward": 1.0, "info": {"task": {"instruction": "You want a refund of 42 euros"}},
                 "traj": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]}]  # fmt: skip
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(document), "utf-8")
    report = ReadReport()
    traces = list(load_traces(path, report=report))
    more = [{**document[0], "traj": [*document[0]["traj"], {"role": "user", "content": "lost"}]}]  # type: ignore[misc]
    sums = {what: (source, read) for what, source, read in audit["tau"](audit["Found"]([more], traces, report))}
    assert sums["messages"] == (3, 2)
    leaking = [{"task_id": 1, "info": {"task": {"instruction": "Hello there, this is a label"}}, "traj": []}]
    said = [{"task_id": 1, "traj": [{"role": "user", "content": "Hello there, this is a label"}]}]
    path.write_text(json.dumps(said), "utf-8")
    held = audit["Found"]([leaking], list(load_traces(path)), report)
    assert audit["leaks"](held, "tau-bench") == {"[].info.task.instruction": 1}
    assert audit["audit"](path, [said]) == ("tau-bench", {})
