"""`evalkit inspect`: what people see of a trace, and what scripts get."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from evalkit.report.timeline import clock_text, plain
from evalkit.report.trace_page import trace_lines
from evalkit.report.whole_step import value_lines, whole_step
from evalkit.trace.file import encode_trace
from evalkit.trace.model import Step, StepError, Trace, Usage
from evalkit.trace.visible import visible
from tests.build import BOUGHT_AT, a_trace, tool_step
from tests.project import REPOSITORY, Project, incident
from tests.strategies import json_values, traces

TOOLS: list[Any] = [{"name": "refund", "parameters": {}}]


def a_run(**fields: Any) -> Trace:
    """An agent that asks a model, refunds, fails to mail, and answers."""
    calls: Any = [{"id": "c1", "name": "refund", "arguments": {"order": 7}}]
    asked: Any = {"messages": [{"role": "user", "content": "Refund order 7"}], "tools": TOOLS, "params": {}}
    steps = (
        Step(0, "agent", "support", "Refund order 7", "Done.", started_at=BOUGHT_AT, ended_at=BOUGHT_AT + 75),
        Step(
            1, "model", "chat", asked, {"role": "assistant", "content": None, "tool_calls": calls}, None, 0,
            started_at=BOUGHT_AT + 0.5, ended_at=BOUGHT_AT + 2, model="gpt-4o",
            usage=Usage(1234, 56, cached_tokens=1000, cost_usd=0.0125),
        ),
        Step(
            2, "tool", "refund", {"order": 7}, {"ok": True}, None, 0, "write", "guessed",
            BOUGHT_AT + 2, BOUGHT_AT + 2.25, attributes={"tool_call_id": "c1"},
        ),
        Step(
            3, "tool", "mail", {"to": "lena"}, None, StepError("Timeout", "no answer"), 2, "write", "declared",
            BOUGHT_AT + 3, BOUGHT_AT + 63,
        ),
    )  # fmt: skip
    return a_trace(*steps, id="run-7", name="support", ended_at=BOUGHT_AT + 75, **fields)


def test_a_timeline_is_read_at_a_glance(project: Project) -> None:
    """Totals above, a line a step by parent, then suspects, evidence and replay modes: as docs/reading.md shows it."""
    project.write("run.trace", a_run())
    done = project.run("inspect", "run.trace")
    shown = (REPOSITORY / "docs" / "reading.md").read_text("utf-8").partition("## What `inspect` shows\n")[2]
    wanted = [line[4:] for line in shown.partition("\nA line a step")[0].splitlines()]
    assert done.code == 0
    assert done.out.splitlines() == [*wanted[1:], ""]


def test_a_range_of_steps_and_one_whole_step(project: Project) -> None:
    """--steps shortens the timeline; --step shows everything of one, texts line by line."""
    project.write("run.trace", a_run())
    done = project.run("inspect", "run.trace", "--steps", "2-3")
    assert [name for name in ("support:", "gpt-4o:", "refund(", "mail failed") if name in done.out] == [
        "refund(",
        "mail failed",
    ]
    whole = project.run("inspect", "run.trace", "--step", "1").out.splitlines()
    assert whole[0] == "step 1: model chat"
    assert "  inside of: step 0 (agent support)" in whole
    assert "  usage: input_tokens 1234, output_tokens 56, cached_tokens 1000, cost_usd 0.0125" in whole
    assert "        content: Refund order 7" in whole
    missing = project.run("inspect", "run.trace", "--step", "9")
    assert (missing.code, "no step 9" in missing.err) == (2, True)
    for options in (["a-b"], ["3-2"], ["2-3", "--step", "1"], ["2-3", "--json"], ["2-3", "--snapshot"]):
        assert project.run("inspect", "run.trace", "--steps", *options).code == 2
    assert project.run("inspect", "run.trace", "--step", "1", "--json").code == 2


def test_several_sources_and_a_bad_one(project: Project) -> None:
    """Each is shown under its name; the bad one is named with its cure, and the exit code says so."""
    project.write("a.trace", incident(1))
    project.write("bad.json", '{"half": ')
    project.write("traces/b.trace", incident(2))
    project.write("traces/README.md", "# Runs")
    done = project.run("inspect", "a.trace", "bad.json", "missing.trace", "traces")
    assert done.code == 2
    for said in ("incident-1", "incident-2", "no format reads it", "no such file", "README.md: text, no JSON", "cure:"):
        assert said in done.out


def test_of_very_many_bad_files_some_are_named(project: Project) -> None:
    """What could be read is not lost above them; --json has them all."""
    project.write("traces/a.trace", incident(1))
    for number in range(50):
        project.write(f"traces/bad-{number:02d}.json", '{"half": ')
    done = project.run("inspect", "traces")
    assert (done.code, done.out.count("no format reads it")) == (2, 20)
    assert "and 30 more (--json lists all)" in done.out
    (only,) = project.run("inspect", "traces", "--json").json()
    assert len(only["report"]["unreadable"]) == 50


def test_a_broken_chain_is_an_integrity_error(project: Project) -> None:
    """Graver than an unreadable file: exit code 4, and the other file is still shown."""
    broken = b"".join(encode_trace(incident(1))).replace(b'"amount"', b'"amounts"')
    project.write("a.trace", broken)
    project.write("b.trace", incident(2))
    done = project.run("inspect", "a.trace", "b.trace")
    assert (done.code, "incident-2" in done.out) == (4, True)


def test_many_traces_are_listed(project: Project) -> None:
    """A line a trace; one is shown by its id, or the start of it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for order in range(10, 16):
            archive.writestr(f"{order}.trace", b"".join(encode_trace(incident(order))))
    project.write("runs.zip", packed.getvalue())
    lines = project.run("inspect", "runs.zip").out.splitlines()
    assert [line.split()[0] for line in lines] == [f"incident-{order}" for order in range(10, 16)]
    assert "refund(order=12)" in project.run("inspect", "runs.zip", "--trace", "incident-12").out
    none = project.run("inspect", "runs.zip", "--trace", "nope")
    assert (none.code, "no trace with id 'nope'" in none.err) == (2, True)


def test_json_has_stable_keys(project: Project) -> None:
    """A source an object: its traces, and what reading it came to."""
    project.write("a.trace", a_run())
    project.write("bad.json", "{}")
    done = project.run("inspect", "a.trace", "bad.json", "--json")
    first, second = done.json()
    assert (done.code, "bad.json" in done.err) == (2, True)
    assert set(first) == set(second) == {"source", "traces", "report"}
    assert set(first["report"]) == {"steps", "skipped", "unknown", "passed_over", "unreadable"}
    assert set(first["traces"][0]) == {
        "id", "name", "dialect", "status", "input", "output", "error", "attributes", "totals", "evidence", "modes",
        "suspects", "steps",
    }  # fmt: skip
    assert first["traces"][0]["totals"]["input_tokens"] == 1234
    assert first["traces"][0]["modes"]["exact"] is None
    assert [error["where"] for error in second["report"]["unreadable"]] == ["bad.json"]


def test_settings_say_what_tools_do(project: Project) -> None:
    """The project's word on a tool's effect counts here, too."""
    project.write("evalkit.toml", '[tools."refund"]\neffect = "read"\n')
    project.write("run.trace", a_run())
    assert 'r  refund(order=7) -> {"ok":true}' in project.run("inspect", "run.trace").out


@pytest.mark.parametrize("name", ["inspect", "sanitize"])
@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colours_are_for_terminals_that_want_them(project: Project, name: str, no_color: str, coloured: bool) -> None:
    """None in a pipe; some on a terminal; none there with NO_COLOR."""
    written = replace(a_run(), output="write to jane.doe@shop.example")
    project.write("run.trace", written)
    assert "\x1b" not in project.run(name, "run.trace").out
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": no_color, "PYTHONPATH": str(REPOSITORY)}
    with os.fdopen(ours, "rb", buffering=0) as screen:
        command = [sys.executable, "-m", "evalkit", name, "run.trace"]
        subprocess.run(command, cwd=project.root, stdout=theirs, env=environment, check=True)
        os.close(theirs)
        shown = screen.read(100_000)
    assert (b"support" if name == "inspect" else b"email") in shown
    assert (b"\x1b[" in shown) is coloured


HOSTILE = "\x1b]0;owned\x07\u202egpj.exe\r\n\u200b"


def test_a_hostile_trace_reaches_no_terminal(project: Project) -> None:
    """Control and bidi characters are shown, in every place where a trace may hold them."""
    step = tool_step(0, HOSTILE, {HOSTILE: HOSTILE}, [HOSTILE], error=StepError(HOSTILE, HOSTILE, stack=HOSTILE),
                     attributes={HOSTILE: HOSTILE})  # fmt: skip
    trace = a_trace(step, id=HOSTILE, name=HOSTILE, gaps=(HOSTILE,), error=StepError(HOSTILE, HOSTILE))
    project.write("x.trace", trace)
    for options in ([], ["--step", "0"]):
        out = project.run("inspect", "x.trace", *options).out
        assert "\\x1b" in out
        assert visible(out.replace("\n", "")) == out.replace("\n", "")


def cells(text: str) -> int:
    """How many terminal cells a text takes."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(traces())
def test_every_line_fits_and_is_safe(trace: Trace) -> None:
    """Whatever a trace holds: 80 cells, no control character, and every step in a line of its own."""
    lines = [plain(line) for line in trace_lines(trace, width=80)]
    assert all(cells(line) <= 80 and visible(line) == line for line in lines), lines
    for step in trace.steps:
        assert all(visible(plain(line)) == plain(line) for line in whole_step(trace, step))


@given(json_values)
def test_a_value_is_shown_whole(value: Any) -> None:
    """Every text in it stands in its lines, escaped; scalars are JSON."""
    text = "\n".join(value_lines(value))

    def strings(item: Any) -> Iterator[str]:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            for inner in [*item, *item.values()] if isinstance(item, dict) else item:
                yield from strings(inner)

    for string in strings(value):
        assert all(visible(line) in text or json.dumps(string) in text for line in string.split("\n"))


def test_steps_inside_of_themselves_are_shown_once() -> None:
    """A broken source may make two steps each other's parents."""
    looped = a_trace(tool_step(0, "a", parent=1), tool_step(1, "b", parent=0))
    assert sum(" tool " in plain(line) for line in trace_lines(looped)) == 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0ms"), (0.9994, "999ms"), (1, "1.0s"), (59.96, "1m00s"), (3599.6, "1h00m"), (-2, "-2.0s"), (86400 * 9, "9d"),
     (1e308, ">999d")],
)  # fmt: skip
def test_durations_are_short(seconds: float, text: str) -> None:
    """Seven characters hold any of them."""
    assert clock_text(seconds) == text
