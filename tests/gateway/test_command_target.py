"""Programs as targets: what they are given, how they answer and fail, and that nothing of them stays."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.case.model import Case
from evalkit.case.store import find_case
from evalkit.errors import ConfigError
from evalkit.playback.model import Replay
from evalkit.playback.replay import prepare
from evalkit.playback.targets.make import make_target
from tests.capture.scripted_server import completion, json_reply, scripted_server
from tests.gateway.agents import CALL, REFUNDS, program, table
from tests.project import Project


@pytest.fixture
def case(project: Project) -> Case:
    """An order that was refunded twice."""
    return evalkit.read_case(find_case(project.ingested(), project.root / "cases"))


def is_running(pid: int) -> bool:
    """Whether a process is there, and no mere entry that nobody has reaped (as in a container without an init)."""
    try:
        os.kill(pid, 0)
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it went just now, or this system has no /proc
        return sys.platform != "linux"


def assert_ends(pid: int) -> None:
    """It is gone soon."""
    for _ in range(600):
        if not is_running(pid):
            return
        time.sleep(0.05)
    pytest.fail("the program goes on")


def error_of(done: Replay) -> str:
    """How the agent failed."""
    assert done.trace.error is not None
    return f"{done.trace.error.type}: {done.trace.error.message}"


def test_a_program_is_judged_as_a_function_is(case: Case) -> None:
    """The mended one passes, the incident's fails; all calls are substituted."""
    mended = evalkit.replay(case, program(REFUNDS))
    assert (mended.status, mended.trace.output) == ("passed", {"done": {"ok": True}})
    assert (mended.counts.substituted, mended.counts.tool_bodies, mended.counts.live_model) == (2, 0, 0)
    twice = evalkit.replay(case, program(REFUNDS, env={"REFUNDS": "2"}))
    assert (twice.status, twice.counts.substituted, twice.recorded) == ("failed", 3, 3)


def test_a_command_line_is_split_as_a_shell_would(case: Case, project: Project) -> None:
    """Without a shell: what a shell would expand stays as it is."""
    project.write("my agent.py", CALL + REFUNDS + "\nassert sys.argv[1] == '$HOME', sys.argv")
    done = evalkit.replay(case, f"command: {shlex.quote(sys.executable)} 'my agent.py' $HOME")
    assert done.status == "passed", done.reason


def test_a_miss_names_the_path_whatever_the_program_makes_of_it(case: Case) -> None:
    """One that ends, and one that goes on, which is stopped soon."""
    stray = 'call("lookup", {"order": 8})'
    going_on = f"try:\n    {stray}\nexcept SystemExit:\n    time.sleep(60)"
    for code, ended in ((stray, "CommandFailed: exit code 1"), (going_on, "ReplayHalt: a call had no recorded answer")):
        done = evalkit.replay(case, program(code))
        assert done.status == "missed"
        assert "/order: recorded 7, got 8" in done.reason
        assert error_of(done).startswith(ended)


def test_an_exit_code_is_the_agents_failure(case: Case) -> None:
    """With what it said last."""
    done = evalkit.replay(case, program('sys.stderr.write("no such customer\\n"); sys.exit(3)'))
    assert done.status == "failed"
    assert error_of(done) == "CommandFailed: exit code 3; it said last: no such customer"


def test_equal_runs_are_equal(case: Case) -> None:
    """Folders, ports and tokens of a replay are not in its trace."""
    digests = {evalkit.replay(case, program(REFUNDS), sample=sample).digest for sample in range(2)}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ("sys.stdin.read()", {}),
        ("os.environ['TASK']", {"env": {"TASK": "{input}"}}),
        ("open(os.environ['TASK']).read()", {"env": {"TASK": "{input_file}"}}),
    ],
    ids=["stdin", "variable", "file"],
)
def test_the_input_gets_there(case: Case, given: str, keys: dict[str, Any]) -> None:
    """As JSON, on standard input unless a place says otherwise; then standard input is empty."""
    code = f"print(json.dumps([json.loads({given}), sys.stdin.read()]))"
    assert evalkit.replay(case, program(code, **keys)).trace.output == [{"order": 7}, ""]


def test_the_input_as_an_argument(case: Case) -> None:
    """Other braces stay as they are, and so do places inside of what is put in."""
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    done = evalkit.replay(case, table(sys.executable, "-c", code, "--task={input}", "{other}", "{}"))
    assert done.trace.output == ['--task={"order":7}', "{other}", "{}"]


@pytest.mark.parametrize(
    ("said", "keys", "answer"),
    [
        ("plain words", {}, "plain words\n"),
        ("42", {}, 42),
        ("42", {"output": "text"}, "42\n"),
        ('{"a": 1}', {"output": "json"}, {"a": 1}),
    ],
)
def test_what_it_prints_is_the_answer(case: Case, said: str, keys: dict[str, Any], answer: Any) -> None:
    """JSON where it is, else text; the newline of `print` is none of it."""
    done = evalkit.replay(case, program(f"print({said!r})\nif {answer!r} != 42: print()", **keys))
    assert done.trace.output == answer


def test_an_answer_that_no_file_can_hold(case: Case) -> None:
    """Is cut as a recording cuts it."""
    done = evalkit.replay(case, program("print('[' * 900 + ']' * 900)"))
    assert done.trace.error is None
    assert b'"type":"list"' in done.text


def test_an_answer_that_should_be_json(case: Case) -> None:
    """Is the agent's failure when it is not."""
    assert "the answer is not JSON" in error_of(evalkit.replay(case, program("print('x')", output="json")))


def test_an_answer_in_a_file(case: Case) -> None:
    """For programs that log to standard output; one that writes none has failed."""
    code = "print('log'); open(os.environ['OUT'], 'w').write('{\"done\": true}')"
    done = evalkit.replay(case, program(code, env={"OUT": "{output_file}"}))
    assert done.trace.output == {"done": True}
    done = evalkit.replay(case, program("print('log')", env={"OUT": "{output_file}"}))
    assert error_of(done) == "CommandFailed: it wrote no {output_file}"


def test_its_environment_is_made(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are dummies, credentials and homes are absent, what is asked for is passed on."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    monkeypatch.setenv("SHOP_REGION", "eu")
    keys = {"pass": ["SHOP_REGION", "ABSENT"], "env": {"EXTRA": "1"}}
    target = make_target(program("print(json.dumps(dict(os.environ)))", **keys))
    found = prepare(case).replay(target).trace.output
    assert isinstance(found, dict)
    assert not {"s3cret", "sk-real"} & set(map(str, found.values()))
    assert found["OPENAI_API_KEY"] == found["ANTHROPIC_API_KEY"] == "evalkit-replay"
    assert (found["SHOP_REGION"], found["EXTRA"], found["EVALKIT_TIME"]) == ("eu", "1", "2026-09-21T14:13:20+00:00")
    assert found["HOME"] != os.environ.get("HOME")
    assert str(found["OPENAI_BASE_URL"]).endswith("/v1")
    unknown = {name for name in found if name.startswith("EVALKIT_")}
    assert unknown == {"EVALKIT_MCP_URL", "EVALKIT_TIME", "EVALKIT_SEED"}


def test_a_live_model_answers_a_program(case: Case, project: Project) -> None:
    """It is asked by the gateway, at the endpoint of the flag; tools stay frozen."""
    code = """
call("lookup", {"order": 7})
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "refund?"}]}).encode()
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)
with urllib.request.urlopen(request) as response:
    print(json.dumps({"said": json.load(response)["choices"][0]["message"]["content"]}))
"""
    with scripted_server() as server:
        server.will(json_reply(completion("Yes.")))
        flags = ["--mode", "live-model", "--base-url", server.url, "--reason", "a test", "--json"]
        done = project.run("replay", case.id, "--target", program(code), *flags)
        assert done.code in (0, 1), done.err
        (request,) = server.requests
    (body,) = done.json()
    assert body["output"] == {"said": "Yes."}
    assert (body["counts"]["live_model"], body["counts"]["substituted"]) == (1, 1)
    assert request["body"]["messages"] == [{"role": "user", "content": "refund?"}]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no process groups")
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(128 + 9)"])
def test_a_program_that_a_signal_ended_is_told_as_such(case: Case, end: str) -> None:
    """Also where a shell says it by an exit code. What the machine ended may be equal twice, and is no proof."""
    done = evalkit.replay(case, program(f"import signal, sys\n{end}"))
    assert (done.status, done.pressed) == ("failed", True)
    assert error_of(done).startswith("TargetKilled: SIGKILL ended it")


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no process groups")
def test_a_time_limit_ends_the_whole_group(case: Case, tmp_path: Path) -> None:
    """Also what the program started, although it ignores signals that can be ignored."""
    mark = tmp_path / "pid"
    code = f"""
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"])
open({str(mark)!r}, "w").write(str(child.pid))
time.sleep(60)
"""
    done = evalkit.replay(case, program(code), timeout_s=2.0)
    assert (done.status, error_of(done)) == ("failed", "ReplayTimeout: stopped after 2 s")
    assert_ends(int(mark.read_text()))


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no process groups")
def test_what_a_program_leaves_running_ends_with_it(case: Case, tmp_path: Path) -> None:
    """A child that holds standard output open does not hold the replay, and does not outlive it."""
    mark = tmp_path / "pid"
    code = f"import subprocess\nopen({str(mark)!r}, 'w').write(str(subprocess.Popen(['sleep', '60']).pid))"
    done = evalkit.replay(case, program(code))
    assert done.trace.error is None
    assert_ends(int(mark.read_text()))


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no process groups")
def test_a_program_does_not_outlive_a_killed_evalkit(case: Case, project: Project, tmp_path: Path) -> None:
    """Nobody is left to end it, so somebody waits for that."""
    mark = tmp_path / "pid"
    code = f"open({str(mark)!r}, 'w').write(str(os.getpid()) + '.'); time.sleep(120)"
    command = [sys.executable, "-m", "evalkit", "replay", case.id, "--target", program(code)]
    evalkit_itself = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (mark.exists() and mark.read_text().endswith(".")):
        assert evalkit_itself.poll() is None
        time.sleep(0.05)
    evalkit_itself.kill()
    evalkit_itself.wait()
    assert_ends(int(mark.read_text().rstrip(".")))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("command: no-such-program-anywhere x", "there is no program 'no-such-program-anywhere'"),
        ("command: 'unclosed", "can't be split"),
        ('{"type": "command"}', "argv: Field required"),
        ('{"type": "command", "argv": []}', "argv: List should have at least 1 item"),
        ('{"type": "command", "argv": ["sh"], "shell": true}', "shell: there is no such key"),
        ('{"type": "command", "argv": ["sh"], "cwd": "nowhere"}', "there is no folder 'nowhere'"),
        ('{"type": "ssh", "argv": ["sh"]}', "no target is called 'ssh'"),
        ('{"argv": ["sh"]}', "names its type"),
        ('{"type": "python", "function": "a:b"}', "no table"),
        ("{type: command}", "not JSON"),
        ('{"type": "http", "url": "ftp://x"}', "url: String should match pattern"),
        ("agent", "is not of the form module:function"),
    ],
)
def test_a_target_that_can_not_be(case: Case, target: str, words: str) -> None:
    """Is refused before anything runs, with what is wrong."""
    with pytest.raises(ConfigError) as raised:
        evalkit.replay(case, target)
    assert words in str(raised.value)


def test_a_program_that_can_not_start_is_no_verdict(case: Case, project: Project) -> None:
    """Its interpreter is not there: nothing was measured, and the command says so."""
    project.write("agent", "#!/no/such/interpreter\n").chmod(0o755)
    done = project.run("replay", case.id, "--target", "command: ./agent")
    assert (done.code, "'./agent' can't be started" in done.err) == (2, True)


def test_settings_and_suites_hold_tables(case: Case, project: Project) -> None:
    """As TOML; `replay` and `run` take the same target, and the manifest says how little is kept in."""
    argv = json.dumps([sys.executable, "-c", CALL + REFUNDS])
    project.write("evalkit.toml", f'target = {{ type = "command", argv = {argv} }}\n')
    done = project.run("replay", case.id, "--json")
    assert done.code == 0, done.err
    manifest = done.json()[0]["manifest"]
    assert manifest["target"].startswith('{"type":"command","argv":[')
    assert manifest["layers"][0].startswith("gateway: model and tools only")
