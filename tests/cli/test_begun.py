"""Runs that end before they begin, and agents that end more than themselves."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.playback.targets.python import load_function
from evalkit.playback.targets.recorded_line import own_arguments
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
        ("x = 1\nraise ValueError('no settings')\n", "ValueError: no settings (unguarded.py:2)"),
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


def test_an_agent_that_makes_its_client_as_it_is_loaded_needs_no_key(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen replay asks nobody: a job without secrets runs it. Where there is a key, none is added to it."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    project.promoted()
    project.write(
        "clients.py",
        "import anthropic, openai, os\nopenai.OpenAI(), anthropic.Anthropic(), os.environ['OPENAI_API_KEY']\n"
        "from tests.suite.agents import once as run\n",
    )
    done = project.spawn("run", project.suite("once"), "--target", "clients:run", "--out", "r")
    assert done.code == 0, done.out + done.err
    load_function("clients:run")
    assert "OPENAI_API_KEY" not in os.environ
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-own")
    project.write("chooses.py", "import os\nassert 'OPENAI_API_KEY' not in os.environ\ndef run(): ...\n")
    load_function("chooses:run")


def test_a_client_that_is_made_as_the_agent_is_loaded_asks_the_live_model(project: Project) -> None:
    """As one that the agent makes in its run; one that insists on another address is told what the right one is."""
    project.promoted()
    asks = (
        "client.chat.completions.create(model='m', messages=[{'role': 'user', 'content': 'hello'}])\n"
        "    return once(order)\n"
    )
    for name, made in (("clients", ""), ("fixed", "base_url='http://127.0.0.1:9/v1', max_retries=0")):
        head = f"import openai\nfrom tests.suite.agents import once\nclient = openai.OpenAI({made})\n"
        project.write(f"{name}.py", f"{head}def run(order):\n    {asks}")
    with serving(ScriptedModel(0.0)) as url:
        live = ["--mode", "live-model", "--base-url", url]
        done = project.spawn("replay", "refund-twice", "--target", "clients:run", *live, "--reason", "try")
        assert (done.code, "live model attempts 1" in done.out) == (0, True), done.out + done.err
        done = project.spawn("run", project.suite("once", samples=2), "--target", "clients:run", *live)
        assert "2 passed (100%)" in done.err + done.out, done.out + done.err
        done = project.spawn("replay", "refund-twice", "--target", "fixed:run", *live, "--reason", "try")
        assert (done.code, f"only the live model is reached, at {url[7:-3]}" in done.out) == (3, True), done.out


def test_the_file_of_a_module_is_no_target(project: Project) -> None:
    """Who names it is told how the module is named."""
    project.promoted()
    project.write("named_by_file/agent.py", "from tests.suite.agents import once as run\n")
    done = project.run("replay", "refund-twice", "--target", "named_by_file/agent.py:run")
    assert (done.code, 'write "named_by_file.agent:run"' in done.err) == (2, True)
    assert project.run("replay", "refund-twice", "--target", "named_by_file.agent:run").code == 0


def test_a_program_that_was_recorded_from_outside_is_replayed_by_its_main(project: Project) -> None:
    """It reads the arguments that it had then, and not evalkit's."""
    body = "import argparse\nfrom evalkit.capture.tools import tool\n"
    for name, effect in (("lookup", "read"), ("refund", "write")):
        body += f"@tool(effect='{effect}')\ndef {name}(order):\n    return {{'order': order}}\n"
    body += (
        "def main():\n    parser = argparse.ArgumentParser()\n    parser.add_argument('order', type=int)\n"
        "    order = parser.parse_args().order\n    lookup(order), refund(order), refund(order)\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    project.write("prog.py", body)
    assert project.spawn("record", "--out", "run.trace", "--", sys.executable, "prog.py", "7").code == 0
    before = sys.argv
    made = project.run("ingest", "run.trace", "--id", "prog", "--target", "prog:main")
    assert "pruning verified by replay of prog:main" in made.out, made.out + made.err
    assert sys.argv is before
    project.write("inner.py", "from prog import lookup\ndef run(order):\n    lookup(order)\n")
    unfit = "the input is a program's command line, and run was given it in place of order: name the program's main"
    told = project.run("replay", "prog", "--target", "inner:run")
    assert (told.code, unfit in told.out) == (3, True), told.out
    project.write("takes.py", "from prog import lookup, refund\ndef run(argv):\n    lookup(int(argv[-1]))\n")
    assert project.run("replay", "prog", "--target", "takes:run").code == 0


@pytest.mark.parametrize(
    ("line", "own"),
    [
        (["python", "agent.py", "7", "-x"], ["agent.py", "7", "-x"]),
        (["python3.11", "-X", "dev", "-u", "-W", "error", "agent.py"], ["agent.py"]),
        (["python", "-m", "shop.agent", "-m", "7"], ["shop.agent", "-m", "7"]),
        (["python", "-c", "print(1)", "7"], ["-c", "7"]),
        (["python"], [""]),
    ],
)
def test_what_a_program_reads_of_its_command_line(line: list[str], own: list[str]) -> None:
    """The words behind the interpreter's own."""
    assert own_arguments(line) == own


@pytest.mark.parametrize(
    ("line", "cure"),
    [
        (["run", "relase"], "there are: release"),
        (["gate", "suites/release.toml"], "pass a folder under reports/"),
        (["inspect", "reports/none", "--case", "refund-twice"], "pass a folder under reports/"),
        (["ab", "release", "--b", "model=gpt-next"], "base-url="),
    ],
)
def test_a_wrong_name_is_answered_by_what_there_is(project: Project, line: list[str], cure: str) -> None:
    """And not by a cure for something else."""
    project.promoted()
    project.suite("once")
    done = project.run(*line)
    assert done.code == 2
    assert cure in done.err


def test_a_release_suite_without_a_permanent_case_says_how_one_is_made(project: Project) -> None:
    """That is what a new project has."""
    project.ingested()
    done = project.run("run", project.suite("once"))
    assert (done.code, "evalkit promote CASE --reason" in done.err) == (2, True)


def test_a_project_inside_of_another_is_told(project: Project) -> None:
    """Who sets one up in a subfolder by mistake would miss the cases of the one around it."""
    project.write("evalkit.toml", "")
    (project.root / "sub").mkdir()
    os.chdir(project.root / "sub")
    assert "inside of the one at" in project.run("init").out
    os.chdir(project.root)
    assert "inside of the one at" not in project.run("init").out


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
