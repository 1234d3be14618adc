"""What an agent sees around it in a replay: its environment, its folder, its clock, by the project's choices."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.playback.environment import seen_by_agent
from evalkit.playback.options import PLAIN_WORLD, WorldOptions
from evalkit.playback.replay import prepare, surroundings
from evalkit.playback.targets.python import PythonTarget
from tests.build import BOUGHT_AT, a_case, a_trace, tool_step
from tests.project import Project

OURS: dict[str, str] = {
    "PATH": "/bin",
    "APP_MODE": "test",
    "STRIPE_API_KEY": "sk_live_1",
    "GITHUB_TOKEN": "ghp_1",
    "DB_PASSWORD": "hunter2",
    "aws_secret_access_key": "x",
    "MONKEY": "see",
    "PWD": "/home/me",
    "DATABASE_URL": "postgres://me:hunter2@db.internal/orders",
    "PROXY": "http://proxy.internal:3128",
    "ANTHROPIC_API_KEY": "sk-ant-1",
    "EVALKIT_PSEUDONYM_KEY": "11" * 32,
}


def the_case() -> Case:
    """A case that any agent passes."""
    return a_case(a_trace(tool_step(0, "look", {}, "x")), checks=[Check("completed", {})])


def given_by(agent: Any, options: WorldOptions = PLAIN_WORLD) -> Json:
    """What an agent says in a replay."""
    done = prepare(the_case(), options=options).replay(PythonTarget(agent))
    assert done.status == "passed", done.reason
    return done.trace.output


def test_no_credential_is_left_and_no_variable_is_missed() -> None:
    """An agent that asks for its key at the start gets one that opens nothing."""
    seen = seen_by_agent(OURS, None, PLAIN_WORLD)
    assert seen.keys() >= OURS.keys()
    text = " ".join(seen.values())
    assert not any(secret in text for secret in ("sk_live", "ghp_", "hunter2", "sk-ant", "1111"))
    assert seen["aws_secret_access_key"] == "evalkit-replay"
    assert seen["DATABASE_URL"] == "postgres://evalkit-replay@db.internal/orders"
    kept = ("PATH", "APP_MODE", "MONKEY", "PWD", "PROXY")
    assert [seen[name] for name in kept] == [OURS[name] for name in kept]
    assert seen["OPENAI_API_KEY"] == "evalkit-replay"


def test_a_live_model_is_asked_with_the_real_key() -> None:
    """Only keys of model APIs."""
    seen = seen_by_agent(OURS, "http://127.0.0.1:8000/v1", PLAIN_WORLD)
    assert (seen["ANTHROPIC_API_KEY"], seen["GITHUB_TOKEN"]) == ("sk-ant-1", "evalkit-replay")


def test_an_allow_list_leaves_out_all_else() -> None:
    """What is listed stays as it is, and what Python needs."""
    seen = seen_by_agent(OURS, None, WorldOptions(keep_env=("APP_*", "GITHUB_TOKEN")))
    assert seen.keys() & OURS.keys() == {"PATH", "APP_MODE", "GITHUB_TOKEN", "ANTHROPIC_API_KEY"}
    assert (seen["GITHUB_TOKEN"], seen["ANTHROPIC_API_KEY"]) == ("ghp_1", "evalkit-replay")


def test_the_agent_and_its_children_see_that_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the process has its own again afterwards."""
    monkeypatch.setenv("STRIPE_API_KEY", "sk_live_1")
    show = "import os; print(os.environ['STRIPE_API_KEY'])"

    def agent() -> Json:
        child = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
        return [os.environ["STRIPE_API_KEY"], child.stdout.strip()]

    before = dict(os.environ)
    assert given_by(agent) == ["evalkit-replay", "evalkit-replay"]
    assert dict(os.environ) == before


def test_what_an_agent_changes_reaches_no_other_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the next of the same case nor that of another; nor the process."""
    monkeypatch.setenv("APP_MODE", "test")
    monkeypatch.setenv("APP_REGION", "eu")

    def agent() -> Json:
        found: list[Json] = [os.environ.get(name) for name in ("APP_MODE", "APP_REGION", "APP_MADE")]
        os.environ["APP_MODE"] = "changed"
        os.environ["APP_MADE"] = "yes"
        del os.environ["APP_REGION"]
        return found

    before = dict(os.environ)
    target = PythonTarget(agent)
    for around in (nullcontext(), surroundings(None)):
        with around:
            for _case in range(2):
                with prepare(the_case()).entered(target) as day:
                    assert [day.replay(target, sample).trace.output for sample in range(2)] == [
                        ["test", "eu", None]
                    ] * 2
        assert dict(os.environ) == before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no interval timers")
def test_cases_in_a_row_have_a_day_each() -> None:
    """What is set up once for them changes nothing: clock, chance and time limit are each case's, whatever one did."""

    def agent() -> Json:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        return [time.time(), random.random(), os.urandom(4).hex()]

    def hangs() -> None:
        time.sleep(20)

    def said(start: float) -> Json:
        case = a_case(
            replace(a_trace(tool_step(0, "look", {}, "x")), started_at=start), checks=[Check("completed", {})]
        )
        return prepare(case, seed=3).replay(PythonTarget(agent)).trace.output

    alone = [said(start) for start in (BOUGHT_AT, BOUGHT_AT + 60)]
    random.seed(4)
    wanted = random.random()
    random.seed(4)
    with surroundings(None):
        in_a_row = [said(start) for start in (BOUGHT_AT, BOUGHT_AT + 60)]
        assert time.time() > BOUGHT_AT + 1e6  # between two days it is today
        assert os.urandom(16) != os.urandom(16)
        late = [prepare(the_case(), timeout_s=0.1).replay(PythonTarget(hangs)).reason for _ in range(2)]
    assert in_a_row == alone
    assert random.random() == wanted
    assert all("stopped after 0.1 s" in reason for reason in late)
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no interval timers")
def test_a_timer_that_was_set_before_goes_off_afterwards() -> None:
    """The limit of a test, say, in whose process a case is replayed; what it interrupts is no replay."""
    rang: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        done = prepare(the_case(), timeout_s=30).replay(PythonTarget(lambda: time.sleep(0.2)))
        ended = time.monotonic()
        assert "stopped" not in done.reason
        while not rang and time.monotonic() < ended + 30:
            time.sleep(0.01)
        assert rang
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_working_copy_is_written_to_and_thrown_away(project: Project) -> None:
    """The project's files are there, its keys are not, and what the agent writes is gone afterwards."""
    project.write("prompt.txt", "be brief")
    project.write(".env", "KEY=1")
    project.write("notes/a.md", "old")

    def agent() -> Json:
        seen: list[Json] = [Path("prompt.txt").read_text(), Path(".env").exists()]
        Path("notes/a.md").write_text("new")
        Path("b.md").write_text("made")
        return [*seen, str(Path.cwd())]

    said: Any = given_by(agent, WorldOptions(working_copy=True))
    assert said[:2] == ["be brief", False]
    assert said[2] != str(project.root)
    assert not Path(said[2]).exists()
    assert ((project.root / "notes/a.md").read_text(), (project.root / "b.md").exists()) == ("old", False)
    assert Path.cwd() == project.root


def test_each_replay_has_a_working_copy_as_it_was(project: Project) -> None:
    """What one wrote, changed or removed is nothing to the next: an agent that keeps what it paid pays in each."""
    project.write("paid.txt", "none")
    project.write("notes/a.md", "old")

    def agent() -> Json:
        seen: list[Json] = [Path("paid.txt").read_text(), *sorted(str(path) for path in Path().rglob("*"))]
        Path("paid.txt").write_text("once")
        Path("notes/a.md").unlink()
        Path("made/deeper").mkdir(parents=True)
        Path("made/deeper/b.md").write_text("made")
        return seen

    def leaves() -> Json:
        copy = Path.cwd()
        os.chdir("/")
        shutil.rmtree(copy)
        return None

    with prepare(the_case(), options=WorldOptions(working_copy=True)).entered(PythonTarget(agent)) as day:
        said = [day.replay(PythonTarget(each)).trace.output for each in (agent, agent, leaves, agent)]
    assert said[0] == ["none", "notes", "notes/a.md", "paid.txt"]
    assert said == [said[0], said[0], None, said[0]]


def _removed() -> None:
    copy = Path.cwd()
    os.chdir("/")
    shutil.rmtree(copy)


def _linked(folder: Path) -> None:
    copy = Path.cwd()
    _removed()
    copy.symlink_to(folder)


def test_a_working_copy_that_is_gone_or_another_folder_hurts_nobody(project: Project) -> None:
    """Also where the last replay removes it; what a link in its place leads to is not emptied."""
    project.write("precious/a.md", "kept")
    agents = [lambda: _linked(project.root / "precious"), lambda: None, _removed]
    with prepare(the_case(), options=WorldOptions(working_copy=True)).entered(PythonTarget(agents[0])) as day:
        assert [day.replay(PythonTarget(each)).status for each in agents] == ["passed"] * 3
    assert (project.root / "precious/a.md").read_text() == "kept"
    assert Path.cwd() == project.root


def test_files_come_and_go_while_a_working_copy_is_made_anew(project: Project) -> None:
    """A thread that goes on writing ends no run."""
    project.write("cache/a.txt", "x")
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            for number in range(50):
                with suppress(OSError):
                    Path(f"cache/{number}").touch()
                    Path(f"cache/{number}").unlink()

    thread = threading.Thread(target=churn, daemon=True)

    def agent() -> None:
        if not thread.is_alive():
            thread.start()
        Path("b.txt").write_text("x")

    target = PythonTarget(agent)
    try:
        with prepare(the_case(), options=WorldOptions(working_copy=True)).entered(target) as day:
            assert {day.replay(target).status for _ in range(20)} == {"passed"}
    finally:
        stop.set()
        thread.join()


def test_a_still_clock_stands_between_answers() -> None:
    """However long the agent takes."""

    def agent() -> Json:
        began = time.time()
        time.sleep(0.02)
        return [began, time.time()]

    assert given_by(agent) == [BOUGHT_AT, BOUGHT_AT]


def test_a_moving_clock_goes_on_from_the_recorded_time() -> None:
    """An agent that waits until a time has come comes to its end; the next replay begins the day anew."""

    def agent() -> Json:
        began = time.time()
        while time.time() < began + 0.02:
            time.sleep(0.001)
        return began

    prepared = prepare(the_case(), options=WorldOptions(clock="moving"))
    target = PythonTarget(agent)
    with prepared.entered(target) as day:
        for sample in range(2):
            done = day.replay(target, sample)
            began: Any = done.trace.output
            assert BOUGHT_AT <= began < BOUGHT_AT + 5
            assert done.trace.ended_at is not None
            assert done.trace.ended_at >= began + 0.02


SEEING = """
import os

def run():
    return [os.environ.get("APP_MODE"), os.environ.get("OTHER")]

def strict():
    assert run() == ["x", None], run()
"""


def test_the_settings_choose(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """For replays and runs alike; a flag wins, the manifest says it, an unknown choice is refused."""
    monkeypatch.setenv("APP_MODE", "x")
    monkeypatch.setenv("OTHER", "y")
    project.write("seeing.py", SEEING)
    project.write("evalkit.toml", '[world]\nclock = "moving"\nkeep_env = ["APP_*"]\nworking_copy = true\n')
    project.ingested("seen", "--target", "seeing:run", "--no-verify")
    flags = ["replay", "seen", "--json"]
    (body,) = project.run(*flags).json()
    assert body["output"] == ["x", None]
    assert body["manifest"]["world"] == {"clock": "moving", "keep_env": ["APP_*"], "working_copy": True}
    (body,) = project.run(*flags, "--clock", "still").json()
    assert body["manifest"]["world"]["clock"] == "still"
    project.write("suites/seen.toml", 'target = "seeing:strict"\nsamples = 2\n[select]\nids = ["seen"]\n')
    done = project.run("run", "suites/seen.toml", "-n", "1")
    assert done.code == 0, done.out
    project.write("evalkit.toml", '[world]\nclock = "fast"\n')
    assert project.run(*flags).code == 2
