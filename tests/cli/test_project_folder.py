"""A project is found from any folder in it, as git and pytest find theirs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import evalkit
from tests.project import Project, incident

AGENT = "from tests.suite.agents import once\n"


@pytest.fixture
def below(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a case, an agent and settings, entered at one of its folders."""
    project.write("evalkit.toml", 'target = "own_agent:once"\n[sanitize]\npatterns = { custom = ["EMP-[0-9]{6}"] }\n')
    project.write("own_agent.py", AGENT)
    project.promoted()
    project.write("suites/all.toml", "samples = 2\n")
    project.write("tests/unit/note.txt", "")
    monkeypatch.chdir(project.root / "tests" / "unit")
    return project


def test_commands_work_in_a_folder_of_the_project(below: Project) -> None:
    """The same cases, suites, settings and agent as at its top."""
    assert "refund-twice" in below.run("list").out
    done = below.run("run", "all", "-n", "1")
    assert (done.code, "../../reports/" in done.out) == (0, True), done.err
    assert below.run("check").code == 0
    assert below.run("replay", "refund-twice").code == 0


def test_a_case_is_made_in_the_projects_library(below: Project) -> None:
    """By the project's rules: nothing is written beside it that they don't hold for."""
    below.write("other.trace", incident(8))
    done = below.run("ingest", "../../other.trace", "--id", "again", "--new")
    assert done.code == 0, done.err
    assert (below.root / "cases" / "again" / "v0001.parquet").exists()
    assert not Path("cases").exists()
    trace = below.root / "emp.trace"
    with evalkit.record(str(trace), input={"who": "EMP-123456"}) as run:
        run.output = "done"
    assert "EMP-123456" not in trace.read_text("utf-8")


def test_python_finds_the_project_too(below: Project) -> None:
    """A notebook lies in a folder of its own."""
    case = evalkit.read_case(below.root / "cases" / "refund-twice" / "v0003.parquet")
    assert evalkit.replay(case, "own_agent:once").status == "passed"
    assert evalkit.run_suite(below.root / "suites" / "all.toml").manifest.cases


def test_settings_of_another_repository_are_not_taken(below: Project) -> None:
    """The search ends where the repository does."""
    below.write("tests/unit/.git/HEAD", "ref: refs/heads/main\n")
    assert "no cases yet" in below.run("list").out


def test_the_nearest_settings_hold(below: Project) -> None:
    """Also those that a pyproject.toml holds."""
    below.write("tests/pyproject.toml", '[tool.evalkit]\ncases = "others"\n')
    assert "no cases yet" in below.run("list").out


def test_a_module_that_is_not_found_says_where_it_is_looked_for(project: Project) -> None:
    """Agents in src/ are found where they are installed."""
    project.ingested()
    project.write("src/hidden_agent.py", AGENT)
    done = project.run("replay", "refund-twice", "--target", "hidden_agent:once")
    assert done.code == 2
    assert "pip install -e ." in done.err


def test_a_module_that_breaks_is_not_blamed_for_a_missing_function(project: Project) -> None:
    """An AttributeError while it is imported is its own."""
    project.ingested()
    project.write("broken_agent.py", f"import os\nos.no_such_thing\n{AGENT}")
    done = project.run("replay", "refund-twice", "--target", "broken_agent:once")
    assert (done.code, "no_such_thing" in done.err, "has no once" in done.err) == (2, True, False)


def test_a_run_is_gated_and_continued_in_any_folder(below: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it is compared with, and the history that it is kept in, stay where they are."""
    assert below.run("run", "all", "-n", "1", "--out", "../../reports/first").code == 0
    assert below.run("baseline", "set", "../../reports/first", "--reason", "first").code == 0
    assert (below.root / "suites" / "all.baseline.parquet").exists()
    assert below.run("run", "all", "-n", "1", "--out", "../../reports/second").code == 0
    manifest = json.loads((below.root / "reports" / "second" / "run.json").read_bytes())
    assert manifest["suite"]["baseline"] == "suites/all.baseline.parquet"
    assert manifest["history"] == "suites/all.history.jsonl"
    for folder in (below.root, below.root / "tests", below.root / "suites"):
        monkeypatch.chdir(folder)
        run = str(os.path.relpath(below.root / "reports" / "second"))
        assert below.run("gate", run).code == 0
        assert below.run("baseline", "compare", run).code == 0
        done = below.run("run", "--resume", run, "-n", "1")
        assert done.code == 0, done.err
    assert len((below.root / "suites" / "all.history.jsonl").read_text("utf-8").splitlines()) == 2
    assert [path.name for path in below.root.rglob("*.history.jsonl")] == ["all.history.jsonl"]


def test_a_suites_own_baseline_is_told_from_the_projects_folder(below: Project) -> None:
    """As the suite's file has it, whatever the current folder is."""
    assert below.run("run", "all", "-n", "1", "--out", "../../reports/first").code == 0
    done = below.run("baseline", "set", "../../reports/first", "--reason", "first", "--out", "../../kept.parquet")
    assert done.code == 0, done.err
    below.write("suites/all.toml", 'samples = 2\nbaseline = "kept.parquet"\n')
    assert "first" in below.run("baseline", "show", "all").out
    done = below.run("run", "all", "-n", "1", "--out", "../../reports/second")
    assert (done.code, "1 case against the baseline" in done.out) == (0, True), done.err
