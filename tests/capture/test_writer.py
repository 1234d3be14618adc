"""The trace file written as the agent runs."""

from __future__ import annotations

import errno
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.canonical import canonical
from evalkit.capture.encodable import encodable
from evalkit.capture.writer import TraceWriter
from evalkit.errors import InputError
from evalkit.trace.file import read_trace_lines
from evalkit.trace.model import Step, StepError, Trace

HEADER = Trace("t-1", "agent", "evalkit", (), input={"q": "hi"}, started_at=1.0)


def as_is(step: Step) -> Step:
    """No sanitizing."""
    return step


def read(path: Path) -> Trace:
    """The only trace of a file, its hash chain checked."""
    with path.open("rb") as file:
        (trace,) = read_trace_lines(file, str(path))
    return trace


def written(path: Path, *steps: Step, sanitize: Any = as_is) -> Trace:
    """`steps` written and read again."""
    writer = TraceWriter(path, HEADER, sanitize)
    for step in steps:
        writer.started(replace(step, output=None, error=None, ended_at=None, usage=None))
        writer.ended(step)
    writer.finish(output="done", error=None, status="completed", ended_at=9.0)
    return read(path)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Header, steps and end come back as they were."""
    steps = (
        Step(0, "tool", "find", {"id": 1}, {"found": True}, effect="read", effect_source="declared", started_at=2.0),
        Step(1, "model", "chat", {"messages": []}, None, StepError("Boom", "no"), parent=0, ended_at=3.0, model="m"),
    )
    trace = written(tmp_path / "a.trace", *steps)
    assert trace == replace(HEADER, steps=steps, output="done", ended_at=9.0)


def test_every_value_goes_through_the_sanitizer_first(tmp_path: Path) -> None:
    """Inputs, outputs and errors of steps and of the run itself are never written as they were."""

    def hide(step: Step) -> Step:
        found = step_with(step, "HIDDEN")
        return replace(found, error=None if step.error is None else StepError(step.error.type, "HIDDEN"))

    path = tmp_path / "a.trace"
    writer = TraceWriter(path, replace(HEADER, input="secret-0"), hide)
    writer.started(Step(0, "tool", "t", input="secret-1"))
    writer.ended(Step(0, "tool", "t", "secret-1", "secret-2", StepError("E", "secret-3")))
    writer.finish(output="secret-4", error=StepError("E", "secret-5"), status="failed", ended_at=1.0)
    assert b"secret" not in path.read_bytes()
    trace = read(path)
    assert trace.input == trace.output == trace.steps[0].input == trace.steps[0].output == "HIDDEN"
    assert trace.error == StepError("E", "HIDDEN")


def step_with(step: Step, value: str) -> Step:
    """`step` with `value` wherever it has one."""
    fill = {key: value for key in ("input", "output") if getattr(step, key) is not None}
    return replace(step, **fill)  # type: ignore[arg-type]  # only input and output


def test_a_sanitizer_that_fails_withholds_the_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The agent goes on, the step is written without its values, and says why."""

    def broken(step: Step) -> Step:
        raise ValueError(step.input)

    trace = written(tmp_path / "a.trace", Step(0, "tool", "t", "secret", "secret"), sanitize=broken)
    assert "secret" not in (tmp_path / "a.trace").read_text()
    assert trace.steps[0].input is None
    assert "sanitizing failed (ValueError)" in trace.steps[0].attributes["gaps"][0]


DEEP: Any = "bottom"
for _ in range(500):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "value",
    ["\ud800 lone", 10**5000, float("nan"), DEEP, {"k": [1, {"\udfff": "x"}]}, object()],
    ids=["surrogate", "huge", "nan", "deep", "key", "object"],
)
def test_a_value_that_no_file_can_hold_is_rendered(tmp_path: Path, value: Any) -> None:
    """The step is kept with a rendering, the gap is noted, and the lines after it still hold."""
    long = "x" * 5000
    odd = Step(0, "tool", "t", {"messages": [{"content": long}], "odd": value}, value)
    fine = Step(1, "tool", "t", {"messages": [{"content": long}], "odd": 1}, long)
    trace = written(tmp_path / "a.trace", odd, fine)
    assert "rendered" in trace.steps[0].attributes["gaps"][0]
    assert trace.steps[1] == fine


def test_what_is_rendered_is_told_beside_what_was_lacking_before(tmp_path: Path) -> None:
    """A line may lack something and hold a strange value: a step's, the run's input, the run's output."""
    path = tmp_path / "a.trace"
    writer = TraceWriter(path, replace(HEADER, input="\ud800", gaps=("the start was lost",)), as_is)
    writer.ended(Step(0, "tool", "t", {}, "\ud800", effect="read", attributes={"gaps": ["cut off"]}))
    writer.finish(output="\ud800", error=None, status="completed", ended_at=9.0)
    trace = read(path)
    rendered = "a value that no JSON file can hold is rendered as text"
    assert trace.gaps == ("the start was lost", rendered, rendered)
    assert trace.steps[0].attributes["gaps"] == ["cut off", rendered]


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=8,
)


@given(JSON_LIKE)
def test_encodable_values_are_canonical_json(value: Any) -> None:
    """Whatever Python takes for JSON has a rendering that a file can hold."""
    assert canonical(encodable(value))


def test_an_existing_file_is_refused(tmp_path: Path) -> None:
    """Nothing is ever written over; the message names the file and the cure."""
    path = tmp_path / "a.trace"
    path.write_text("precious")
    with pytest.raises(InputError, match="exists") as caught:
        TraceWriter(path, HEADER, as_is)
    assert str(path) in caught.value.where
    assert path.read_text() == "precious"


def test_a_full_disk_stops_the_recording_and_not_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One warning, no exception, and a readable file with what was written until then."""
    path = tmp_path / "a.trace"
    writer = TraceWriter(path, HEADER, as_is)
    writer.started(Step(0, "tool", "t"))
    real_write = os.write
    room = [10]

    def short_write(fd: int, data: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_write(fd, data[: room.pop()])

    monkeypatch.setattr(os, "write", short_write)
    for seq in range(1, 4):
        writer.started(Step(seq, "tool", "t"))
    writer.finish(output=None, error=None, status="completed", ended_at=1.0)
    warning = capsys.readouterr().err
    assert warning.count("evalkit:") == 1
    assert "No space left" in warning
    trace = read(path)
    assert [step.seq for step in trace.steps] == [0]
    assert trace.status == "unfinished"


def test_a_write_that_falls_short_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a line follows; no line is lost or written twice."""
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(fd, data[:7]))
    assert written(tmp_path / "a.trace", Step(0, "tool", "t", "in", "out")).steps[0].output == "out"


def test_an_interrupted_write_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C amid a write reaches the agent, and the chain of lines still holds afterwards."""
    path = tmp_path / "a.trace"
    writer = TraceWriter(path, HEADER, as_is)
    real_write = os.write

    def interrupted(fd: int, data: bytes) -> int:
        real_write(fd, data[:5])
        monkeypatch.setattr(os, "write", real_write)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        writer.started(Step(0, "tool", "t"))
    writer.ended(Step(0, "tool", "t", output="out"))
    writer.finish(output=None, error=None, status="completed", ended_at=1.0)
    assert read(path).steps[0].output == "out"
    assert read(path).status == "completed"


def test_threads_write_whole_lines_in_one_chain(tmp_path: Path) -> None:
    """Many threads at once leave a file whose chain holds and which lacks nothing."""
    writer = TraceWriter(tmp_path / "a.trace", HEADER, as_is)

    def work(base: int) -> None:
        for seq in range(base, base + 50):
            writer.started(Step(seq, "tool", "t", {"seq": seq}))
            writer.ended(Step(seq, "tool", "t", {"seq": seq}, seq))

    threads = [threading.Thread(target=work, args=(number * 50,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.finish(output=None, error=None, status="completed", ended_at=1.0)
    trace = read(tmp_path / "a.trace")
    assert [step.output for step in trace.steps] == list(range(400))


def test_a_call_from_inside_of_a_write_waits_its_turn(tmp_path: Path) -> None:
    """A step that ends in a finalizer, while another line is being written, neither deadlocks nor tears it."""
    writer = TraceWriter(tmp_path / "a.trace", HEADER, lambda step: nested(step))

    def nested(step: Step) -> Step:
        if step.seq == 0 and step.output is None:
            writer.started(Step(1, "tool", "inner"))
            writer.ended(Step(1, "tool", "inner", output="late"))
        return step

    writer.started(Step(0, "tool", "outer"))
    writer.ended(Step(0, "tool", "outer", output="out"))
    writer.finish(output=1, error=None, status="completed", ended_at=1.0)
    assert [step.output for step in read(tmp_path / "a.trace").steps] == ["out", "late"]


def test_steps_after_the_end_are_not_written(tmp_path: Path) -> None:
    """A thread that outlives the run changes nothing and meets no error."""
    writer = TraceWriter(tmp_path / "b.trace", HEADER, as_is)
    writer.finish(output=None, error=None, status="completed", ended_at=1.0)
    size = (tmp_path / "b.trace").stat().st_size
    writer.started(Step(5, "tool", "late"))
    assert (tmp_path / "b.trace").stat().st_size == size


def test_a_lazy_file_is_made_by_its_first_step(tmp_path: Path) -> None:
    """A process that records nothing leaves no file."""
    path = tmp_path / "a.trace"
    idle = TraceWriter(path, HEADER, as_is, lazily=True)
    idle.finish(output=None, error=None, status="completed", ended_at=1.0)
    assert not path.exists()
    busy = TraceWriter(path, HEADER, as_is, lazily=True)
    busy.started(Step(0, "tool", "t"))
    assert [step.name for step in read(path).steps] == ["t"]
    busy.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_writes_a_file_of_its_own(tmp_path: Path) -> None:
    """Parent and child each leave a file that holds; a step begun before the fork ends in both."""
    path = tmp_path / "a.trace"
    writer = TraceWriter(path, HEADER, as_is)
    writer.started(Step(0, "tool", "before"))
    pid = os.fork()
    if pid == 0:
        writer.ended(Step(0, "tool", "before", output="child"))
        writer.started(Step(1, "tool", "in child"))
        os._exit(0)
    os.waitpid(pid, 0)
    writer.ended(Step(0, "tool", "before", output="parent"))
    writer.finish(output=None, error=None, status="completed", ended_at=1.0)
    assert [step.output for step in read(path).steps] == ["parent"]
    child = read(path.with_name(f"a.trace.{pid}"))
    assert [(step.name, step.output) for step in child.steps] == [("before", "child"), ("in child", None)]
    assert "forked" in child.gaps[0]


AGENT = """
import sys
from pathlib import Path
from evalkit.capture.writer import TraceWriter
from evalkit.trace.model import Step, Trace
writer = TraceWriter(Path(sys.argv[1]), Trace("t", "a", "evalkit", ()), lambda step: step)
print("go", flush=True)
history = []
for seq in range(10**9):
    history = [*history[-40:], {"role": "user", "content": str(seq) * 1000}]
    writer.started(Step(seq, "model", "chat", {"messages": history}))
    writer.ended(Step(seq, "model", "chat", output="y" * 5000))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_killed_recorder_leaves_a_readable_file(tmp_path: Path) -> None:
    """SIGKILL at random moments: the chain holds, steps are without gaps, at most the last has no end."""
    moments = random.Random(7)
    for attempt in range(8):
        path = tmp_path / f"{attempt}.trace"
        child = subprocess.Popen(
            [sys.executable, "-c", AGENT, str(path)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
        with child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(moments.uniform(0.001, 0.1))
            child.send_signal(signal.SIGKILL)
        trace = read(path)
        assert trace.status == "unfinished"
        assert [step.seq for step in trace.steps] == list(range(len(trace.steps)))
        assert sum("unfinished" in step.attributes for step in trace.steps) <= 1
    gc.collect()
