"""`evalkit record -- command`: agents recorded without a change to them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from evalkit.capture.launch import launch
from evalkit.errors import InputError, UsageError
from evalkit.sanitize.policy import Policy
from tests.capture.scripted_server import ScriptedServer, completion, json_reply
from tests.capture.test_writer import read

ROOT = Path(__file__).parents[2]
TOOL = """
import os, subprocess, sys
from evalkit.capture.tools import tool

@tool(effect="read")
def find(order):
    return {"order": order}
"""


@pytest.fixture
def env() -> dict[str, str]:
    """An environment with this evalkit and a key of the test's own."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONPATH": path, "EVALKIT_PSEUDONYM_KEY": "ab" * 32}


def run(tmp_path: Path, env: dict[str, str], code: str, name: str | None = None) -> int:
    """The exit code of an agent with `code`, recorded to ``run.trace``."""
    script = tmp_path / "agent.py"
    script.write_text(TOOL + code)
    return launch([sys.executable, str(script), "--order", "7"], tmp_path / "run.trace", name, env)


def test_an_agent_is_recorded_from_its_start(tmp_path: Path, env: dict[str, str]) -> None:
    """Tools, arguments of the command and a good end stand in the trace; the exit code is passed on."""
    assert run(tmp_path, env, "find(order=7)", name="refunds") == 0
    trace = read(tmp_path / "run.trace")
    assert (trace.name, trace.status, trace.error, trace.gaps) == ("refunds", "completed", None, ())
    assert [(step.name, step.output) for step in trace.steps] == [("find", {"order": 7})]
    assert isinstance(trace.input, dict)
    assert trace.input["argv"][-2:] == ["--order", "7"]  # type: ignore[index]  # JSON


def test_calls_in_a_context_of_their_own_are_recorded(tmp_path: Path, env: dict[str, str]) -> None:
    """The whole process is the run, as it is in a replay: threads of C code and some frameworks' tasks start empty."""
    code = """
import _thread, contextvars
contextvars.Context().run(find, 7)
lock = _thread.allocate_lock()
lock.acquire()
_thread.start_new_thread(lambda: (find(8), lock.release()), ())
lock.acquire()
"""
    assert run(tmp_path, env, code) == 0
    assert [step.output for step in read(tmp_path / "run.trace").steps] == [{"order": 7}, {"order": 8}]


def test_model_calls_of_an_unchanged_agent_are_recorded(
    tmp_path: Path, env: dict[str, str], server: ScriptedServer
) -> None:
    """An agent that never heard of evalkit and uses the SDK as usual."""
    server.will(json_reply(completion()))
    code = f"""
import openai
with openai.OpenAI(base_url={server.url!r}, api_key="sk-x") as client:
    print(client.chat.completions.create(model="m", messages=[{{"role": "user", "content": "hi"}}]).id)
"""
    assert run(tmp_path, env, code) == 0
    (step,) = read(tmp_path / "run.trace").steps
    assert (step.kind, step.model) == ("model", "gpt-test-2025")
    assert step.usage is not None


@pytest.mark.parametrize(
    ("code", "exit_code", "kind", "message"),
    [
        ("find(1); raise LookupError('lost')", 1, "LookupError", "lost"),
        ("find(1); sys.exit(3)", 3, "SystemExit", "3"),
        ("find(1); raise SystemExit(4)", 4, "SystemExit", "4"),
        ("find(1); sys.excepthook = lambda *a: None; raise LookupError('lost')", 1, "LookupError", "lost"),
    ],
)
def test_a_bad_end_is_recorded(
    tmp_path: Path, env: dict[str, str], code: str, exit_code: int, kind: str, message: str
) -> None:
    """Unhandled exceptions and exit codes are the run's error, and the command's exit code is passed on."""
    assert run(tmp_path, env, code) == exit_code
    trace = read(tmp_path / "run.trace")
    assert trace.status == "failed"
    assert trace.error is not None
    assert (trace.error.type, trace.error.message) == (kind, message)
    assert len(trace.steps) == 1


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_killed_agent_leaves_an_unfinished_trace(tmp_path: Path, env: dict[str, str]) -> None:
    """Nobody writes an end that did not happen; the exit code is the shell's for that signal."""
    code = f"find(1); os.kill(os.getpid(), {int(signal.SIGKILL)})"
    assert run(tmp_path, env, code) == 128 + signal.SIGKILL
    trace = read(tmp_path / "run.trace")
    assert trace.status == "unfinished"
    assert [step.output for step in trace.steps] == [{"order": 1}]


def test_child_processes_write_next_to_it(
    tmp_path: Path, env: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    """A Python that the agent starts has a file of its own if it makes a step, which is told; else none."""
    code = """
if os.environ.get("CHILD"):
    find("child")
else:
    find("parent")
    subprocess.run([sys.executable, __file__], env={**os.environ, "CHILD": "1"}, check=True)
    subprocess.run([sys.executable, "-c", "pass"], check=True)
"""
    old = tmp_path / "run.trace.1"  # of an earlier run
    old.touch()
    assert run(tmp_path, env, code) == 0
    assert read(tmp_path / "run.trace").steps[0].output == {"order": "parent"}
    (child,) = set(tmp_path.glob("run.trace.*")) - {old}
    (gap,) = read(tmp_path / "run.trace").gaps
    for told in (gap, capfd.readouterr().err):
        assert child.name in told
        assert f"{old.name}," not in told
    assert read(child).steps[0].output == {"order": "child"}
    assert read(child).status == "completed"


def test_another_sitecustomize_still_runs(tmp_path: Path, env: dict[str, str]) -> None:
    """The environment's own module of that name is run, under its name."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import sys; sys.marker = __name__")
    env["PYTHONPATH"] = os.pathsep.join((str(tmp_path / "site"), env["PYTHONPATH"]))
    code = "find([sys.marker, sys.modules['sitecustomize'].__file__])"
    assert run(tmp_path, env, code) == 0
    output = read(tmp_path / "run.trace").steps[0].output
    assert output == {"order": ["sitecustomize", str(tmp_path / "site" / "sitecustomize.py")]}


def test_a_run_without_steps_says_so(tmp_path: Path, env: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    """An agent that calls nothing, and a command that is no Python, are each told apart from a recorded run."""
    assert run(tmp_path, env, "print('hello')") == 0
    assert "no step was recorded" in capfd.readouterr().err
    assert launch(["true"], tmp_path / "none.trace", None, env) == 0
    assert "nothing was recorded" in capfd.readouterr().err
    assert not (tmp_path / "none.trace").exists()


def test_secrets_of_an_agent_are_not_written(tmp_path: Path, env: dict[str, str]) -> None:
    """The built-in sanitizer is on by itself."""
    assert run(tmp_path, env, "find('ada.lovelace@example-mail.org')") == 0
    assert "lovelace" not in (tmp_path / "run.trace").read_text()


def test_the_projects_rules_and_key_hold_in_the_child(tmp_path: Path, env: dict[str, str]) -> None:
    """Its patterns, hints and allowed values, and its key file, wherever the agent works."""
    script = tmp_path / "agent.py"
    script.write_text(TOOL + "os.chdir('/')\nfind({'staff': 'EMP-123456', 'mail': 'help@shop-mail.org'})")
    policy = Policy(allow=frozenset({"help@shop-mail.org"}), patterns=(("custom", "EMP-[0-9]{6}"),))
    del env["EVALKIT_PSEUDONYM_KEY"]
    command = [sys.executable, str(script)]
    key_file = tmp_path / "own.key"
    assert launch(command, tmp_path / "run.trace", None, env, policy=policy, key_file=key_file) == 0
    text = (tmp_path / "run.trace").read_text()
    assert "EMP-123456" not in text
    assert "help@shop-mail.org" in text
    assert key_file.exists()


def test_an_agent_without_a_usable_key_runs_unrecorded(
    tmp_path: Path, env: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    """What keeps recording from starting is said; the agent runs all the same."""
    assert run(tmp_path, {**env, "EVALKIT_PSEUDONYM_KEY": "short"}, "print('ran')") == 0
    shown = capfd.readouterr()
    assert "ran" in shown.out
    assert "not recorded" in shown.err
    assert not (tmp_path / "run.trace").exists()


def test_wrong_commands_and_existing_files_are_refused(tmp_path: Path, env: dict[str, str]) -> None:
    """Before anything runs."""
    with pytest.raises(UsageError, match="can't be started"):
        launch([str(tmp_path / "missing")], tmp_path / "a.trace", None, env)
    with pytest.raises(UsageError, match="no command"):
        launch([], tmp_path / "a.trace", None, env)
    (tmp_path / "a.trace").touch()
    with pytest.raises(InputError, match="exists"):
        launch(["true"], tmp_path / "a.trace", None, env)
