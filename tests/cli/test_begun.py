"""Runs that end before they begin, and agents that end more than themselves."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from tests.project import REPOSITORY, Project

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="forks, and limits of files' sizes")


@pytest.mark.parametrize("command", [["run"], ["ab", "--b", "target=tests.suite.agents:twice"]])
def test_a_target_that_is_not_there_leaves_nothing(project: Project, command: list[str]) -> None:
    """There is nothing to resume, so the corrected command may take the same folder."""
    project.promoted()
    name, *arms = command
    wrong = project.run(name, project.suite("nobody"), *arms, "--out", "reports/r")
    assert wrong.code == 2
    assert not (project.root / "reports/r").exists()
    assert project.run(name, project.suite("once"), *arms, "--out", "reports/r").code == 0


@LINUX
@pytest.mark.parametrize("command", [["run"], ["ab", "--b", "target=tests.suite.agents:twice"]])
def test_a_disk_that_is_full_from_the_start(project: Project, command: list[str]) -> None:
    """Nothing can be resumed of what could not even be begun: the command itself is to be repeated."""
    project.promoted()
    name, *arms = command
    line = [sys.executable, "-m", "evalkit", name, project.suite("once"), *arms, "--out", "reports/r"]
    full = subprocess.run(
        line, cwd=project.root, capture_output=True, text=True, check=False, env=_environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )  # fmt: skip
    assert full.returncode == 2
    assert "the disk is full; nothing was done" in full.stderr
    assert "then the same command again" in full.stderr
    assert not (project.root / "reports/r").exists()
    assert project.run(*line[3:]).code == 0


@LINUX
@pytest.mark.parametrize("agent", ["dies", "leaves", "interrupts"])
def test_an_agent_ends_its_replay_and_not_the_run(project: Project, agent: str) -> None:
    """However few samples there are: an exit code 0 of the agent's must not be the run's."""
    project.promoted(order=13)
    done = project.spawn("run", project.suite(agent), "--out", "r")
    assert done.code == 3, done.err
    assert "the worker's process died during this replay" in done.out
    assert "Traceback" not in done.err


@pytest.mark.parametrize("executor", ["fork", "serial"])
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys\nsys.exit(0)\n", "importing unguarded came to sys.exit(0)"),
        ("import sys\nsys.exit()\n", "importing unguarded came to sys.exit()"),
        ("class Stop(BaseException): ...\nraise Stop('no')\n", "importing unguarded failed: Stop: no"),
        ("import os\nos.chdir('/')\n1 / 0\n", "importing unguarded failed: ZeroDivisionError"),
        ("import os\nos.no_such_thing\n", "importing unguarded failed: AttributeError"),
    ],
)
def test_a_module_that_ends_evalkit_is_a_wrong_target(project: Project, code: str, said: str, executor: str) -> None:
    """A script without a guard must not end the run with its own exit code, 0 least of all; nothing is left behind."""
    project.promoted()
    project.write("unguarded.py", code)
    line = ["run", project.suite("once"), "--target", "unguarded:run"]
    done = project.spawn(*line, "--out", "r", "--executor", executor)
    assert (done.code, "Traceback" in done.err) == (2, False), done.err
    assert said in done.err
    assert not (project.root / "r").exists()


@pytest.mark.parametrize(
    ("code", "came_to", "said"),
    [
        ("import os\nos._exit(0)\n", 2, "the agent ended this process, by os._exit(0)"),
        ("def run(order):\n    import os\n    os._exit(0)\n", 2, "the agent ended this process, by os._exit(0)"),
        ("import atexit, os\natexit.register(os._exit, 0)\nfrom tests.suite.agents import twice as run\n", 1, ""),
        (
            "import atexit, os\natexit.register(lambda: os._exit(0))\nfrom tests.suite.agents import once as run\n",
            0,
            "",
        ),
    ],
)
def test_an_agent_that_ends_the_process_leaves_no_exit_code(
    project: Project, code: str, came_to: int, said: str
) -> None:
    """Not as it is imported, not in a replay in the command's own process, and not as the interpreter ends."""
    project.promoted()
    project.write("leaving.py", code)
    line = ["run", project.suite("once"), "--target", "leaving:run", "--out", "r", "--executor", "serial"]
    done = project.started(*line)
    assert done.code == came_to, done.out + done.err
    assert said in done.err
    assert ("report.html" in done.out) is (came_to < 2)


@pytest.mark.parametrize("executor", ["fork", "serial", "xdist"])
def test_an_agent_works_from_the_folder_that_its_module_goes_to(project: Project, executor: str) -> None:
    """And evalkit stays where it is."""
    project.promoted()
    project.write("data/here.txt", "yes")
    project.write(
        "mover.py",
        "import os\nos.chdir('data')\nfrom tests.suite.agents import once\n"
        "def run(order):\n    assert open('here.txt').read() == 'yes'\n    return once(order)\n",
    )
    line = ["run", project.suite("once"), "--target", "mover:run"]
    done = project.spawn(*line, "--out", "r", "--executor", executor)
    assert done.code == 0, done.out + done.err
    assert (project.root / "r/report.html").exists()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.parametrize(("agent", "code"), [("half_a_sign", 1), ("asks_half_a_sign", 3), ("raises_half_a_sign", 3)])
def test_what_is_no_json_ends_its_replay_and_not_the_run(project: Project, agent: str, code: int) -> None:
    """An answer is the agent's failure, anything else can't be recorded; the reason says what was wrong."""
    project.promoted()
    done = project.run("run", project.suite(agent), "--out", "r")
    assert done.code == code
    assert "not JSON" in done.out


def test_a_run_that_was_killed_at_its_very_start_may_be_begun_anew(project: Project) -> None:
    """There is a folder, and nothing in it to resume; one with anything else in it is left alone."""
    project.promoted()
    project.write("r/.run.json.writing", "{")
    assert project.run("run", project.suite("once"), "--out", "r").code == 0
    assert "there is a run of this name" in project.run("run", project.suite("once"), "--out", "r").err
    project.write("mine/notes.txt", "mine")
    taken = project.run("run", project.suite("once"), "--out", "mine")
    assert (taken.code, "holds other things" in taken.err) == (2, True)
    assert (project.root / "mine/notes.txt").read_text() == "mine"


@LINUX
@pytest.mark.parametrize(
    "command", [["baseline", "set", "r", "--reason", "why", "--out", "/proc/x.parquet"], ["init", "--force"]]
)
def test_what_can_not_be_written_is_said_and_is_no_verdict(project: Project, command: list[str]) -> None:
    """Exit code 2 and the place: 1 would be a blocked gate's."""
    project.promoted()
    assert project.run("run", project.suite("once"), "--out", "r").code == 0
    (project.root / "evalkit.toml").unlink(missing_ok=True)
    (project.root / "evalkit.toml").mkdir()
    if command[0] == "baseline":
        (project.root / "evalkit.toml").rmdir()
    done = project.started(*command)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "mend that" in done.err
