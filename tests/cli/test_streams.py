"""What the process' streams are like changes no verdict: a reader that leaves, a closed stream, another encoding."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.project import Project


@pytest.fixture
def gated(project: Project) -> Project:
    """A project with a run that passes, and one that can't be measured."""
    project.promoted("refund-twice")
    for target in ("once", "stray"):
        project.run("run", project.suite(target), "--out", f"reports/{target}", "--no-history")
    return project


def started(
    project: Project, *arguments: str, before: str = "", after: str = "", **env: str
) -> subprocess.CompletedProcess[bytes]:
    """A command in a shell, with redirections."""
    command = f'{before} "$0" -m evalkit "$@" {after}'
    return subprocess.run(
        ["bash", "-c", command, sys.executable, *arguments],
        cwd=project.root,
        env={**os.environ, **env},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize(("run", "code"), [("once", 0), ("stray", 3)])
@pytest.mark.parametrize("how", ["--json", "--format=markdown", "--format=text"])
def test_a_reader_that_leaves_early_changes_no_exit_code(gated: Project, run: str, code: int, how: str) -> None:
    """1 would mean that the gate is blocked."""
    after = "2>&1 | true; exit ${PIPESTATUS[0]}"
    done = started(gated, "gate", f"reports/{run}", how, before="sleep 0.1;", after=after)
    assert (done.returncode, done.stderr) == (code, b"")


def test_a_run_whose_reader_leaves_goes_on(gated: Project) -> None:
    """It is judged and reported; only what it says is lost."""
    after = "2>&1 | true; exit ${PIPESTATUS[0]}"
    done = started(gated, "run", gated.suite("once"), "--out", "reports/x", after=after)
    assert done.returncode == 0
    assert (gated.root / "reports" / "x" / "report.html").exists()


def test_no_file_takes_the_place_of_a_closed_stream(gated: Project) -> None:
    """What an agent prints would stand in the run's journal."""
    done = started(gated, "run", gated.suite("talks"), "--out", "reports/x", "--json", after=">&- 2>&-")
    assert done.returncode == 0
    assert "attempts.parquet" not in os.listdir(gated.root / "reports" / "x")


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252", "utf-8"])
def test_any_encoding_takes_any_character(gated: Project, encoding: str) -> None:
    """Text with escapes, JSON still as JSON."""
    suite = gated.suite("once", name="nightly")
    gated.write(suite, 'name = "n\u00e4chtlich \u591c"\ntarget = "tests.suite.agents:once"\n')
    done = started(gated, "run", suite, "--json", PYTHONIOENCODING=encoding)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert "n\u00e4chtlich \u591c" in json.loads(done.stdout.decode(encoding))["run"]
    assert started(gated, "trend", suite, PYTHONIOENCODING=encoding).returncode == 0


def test_a_name_that_the_system_can_not_write_is_told(gated: Project) -> None:
    """With the cure."""
    suite = gated.write("suites/x.toml", 'name = "\u591c"\ntarget = "tests.suite.agents:once"\n')
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = started(gated, "run", str(suite), **ascii_only)
    assert (done.returncode, b"cure: set LC_ALL=C.UTF-8" in done.stderr) == (2, True)
