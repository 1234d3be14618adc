"""`evalkit inspect RUN --case ID`: the replays that a run kept, whole."""

from __future__ import annotations

import json

import pytest

from tests.project import Project
from tests.suite.runs import library

AGENTS = "tests.suite.agents"


@pytest.fixture
def run(project: Project) -> str:
    """A run of two cases that refund twice."""
    library(project.root, [1, 2])
    project.write("suites/s.toml", f'target = "{AGENTS}:twice"\nsamples = 3\n')
    assert project.run("run", "suites/s.toml", "--out", "r", "-n", "1").code in (1, 3)
    return "r"


def case_of(project: Project, run: str) -> str:
    """The id of a case of the run."""
    found: str = json.loads((project.root / run / "verdicts.json").read_bytes())["cases"][0]["case_id"]
    return found


def test_a_samples_steps_are_shown_whole(project: Project, run: str) -> None:
    """As those of any trace: the timeline, one step in full, JSON."""
    case_id = case_of(project, run)
    shown = project.run("inspect", run, "--case", case_id)
    assert shown.code == 0, shown.err
    assert shown.out.count("W  refund") == 2
    step = project.run("inspect", run, "--case", case_id, "--sample", "2", "--step", "1")
    assert step.out.startswith("step 1: tool ")
    body = project.run("inspect", run, "--case", case_id, "--json").json()
    assert len(body[0]["traces"]) == 1
    assert body[0]["traces"][0]["totals"]


def test_what_is_not_there_is_said(project: Project, run: str) -> None:
    """A case or a sample that the run has not, a folder that is no run, a sample of no case."""
    case_id = case_of(project, run)
    for options, said in (
        (("--case", "nope"), "the run has no case nope"),
        (("--case", case_id, "--sample", "9"), "there is no sample 9 among "),
        (("--sample", "1"), "--sample wants --case"),
    ):
        done = project.run("inspect", run, *options)
        assert (done.code, said in done.err) == (2, True), done.err
    assert project.run("inspect", "suites", "--case", case_id).code == 2
