"""Writing that does not come to its end: the disk is full, the process is killed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

from tests.project import Project, incident

KILLED = (
    "import os, sys, evalkit.app.ingest as ingest\n"
    "ingest.look_over = lambda *_: os.kill(os.getpid(), 9)\n"
    "from evalkit.cli.main import main\n"
    "sys.argv = ['evalkit', 'ingest', 'incident.trace', '--id', 'one']\n"
    "main()\n"
)


def test_a_full_disk_is_an_error_of_its_own(project: Project) -> None:
    """Exit code 2 and the system's word for it, no traceback; nothing is left."""
    project.write("incident.trace", incident())
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", "ingest", "incident.trace", "--id", "one"],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)),
    )
    assert (done.returncode, "can't be written" in done.stderr, "Traceback" in done.stderr) == (2, True, False)
    assert not (project.root / "cases").exists()


def test_what_a_killed_ingest_left_is_no_case(project: Project) -> None:
    """It was not looked over: git doesn't take it, `check` names it, and the next ingest goes on without it."""
    assert project.run("init").code == 0
    project.write("incident.trace", incident())
    killed = subprocess.run([sys.executable, "-c", KILLED], cwd=project.root, check=False)
    assert killed.returncode == -9
    (left,) = (project.root / "cases" / "one").iterdir()
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
    added = subprocess.run(["git", "add", "-n", "cases"], cwd=project.root, check=True, capture_output=True, text=True)
    assert added.stdout == "add 'cases/.gitattributes'\nadd 'cases/.gitignore'\n"
    done = project.run("check", "--json")
    assert (done.code, [problem["kind"] for problem in done.json()["problems"]]) == (2, ["unfinished"])
    assert project.run("ingest", "incident.trace", "--id", "one").code == 0
    left.unlink()
    assert project.run("check").code == 0
