"""A mode that a case holds too little for is refused with the reason, wherever it is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import evalkit
from evalkit.case.header import case_from_header, header_json
from evalkit.case.store import METADATA_KEY, read_case, write_case
from evalkit.errors import ReplayRefused
from evalkit.trace.model import Trace
from tests.build import a_case
from tests.project import Project, healthy, incident
from tests.suite.agents import once


def cut(order: int = 7) -> Trace:
    """The incident; the result of its first refund was not recorded."""
    trace = incident(order)
    lookup, first, second = trace.steps
    first = replace(first, output=None, attributes={"missing": ["output"]})
    return replace(trace, steps=(lookup, first, second))


REASON = "step 1: tool result missing"


@pytest.fixture
def case_id(project: Project) -> str:
    """A case of the cut incident."""
    project.write("cut.trace", cut())
    assert project.run("ingest", "cut.trace", "--id", "cut", "--target", "tests.suite.agents:once").code == 0
    return "cut"


def test_the_command_refuses(project: Project, case_id: str) -> None:
    """Exit code 2, with the step and what it lacks; nothing is run."""
    for mode in ("exact", "live-model"):
        done = project.run("replay", case_id, "--mode", mode, "--base-url", "http://127.0.0.1:9")
        assert (done.code, f"mode {mode} is refused: {REASON}" in done.err) == (2, True)


def test_the_function_refuses(project: Project, case_id: str) -> None:
    """The same from Python."""
    case = read_case(project.root / "cases" / case_id)
    with pytest.raises(ReplayRefused, match=REASON):
        evalkit.replay(case, once)


def test_a_whole_case_is_not_refused(project: Project) -> None:
    """The control."""
    project.ingested("whole", "--target", "tests.suite.agents:once")
    assert project.run("replay", "whole").code == 0


def test_it_stands_in_the_case_and_is_shown(project: Project, case_id: str) -> None:
    """In the header, in `show`, and in the view for code review."""
    body = project.run("show", case_id, "--json").json()
    assert body["closed_modes"]["exact"] == REASON
    assert f"exact: {REASON}" in project.run("show", case_id).out
    assert f"`exact`: {REASON}" in (project.root / "cases" / case_id / "case.md").read_text("utf-8")


def test_what_is_kept_outlives_an_edit(project: Project, case_id: str) -> None:
    """A later version still refuses."""
    assert project.run("review", case_id, "--accept-all", "--reason", "read").code == 0
    assert project.run("replay", case_id).code == 2


def test_a_case_written_before_modes_were_kept_is_judged_by_its_steps(tmp_path: Path) -> None:
    """Its header lacks the field."""
    case = a_case(cut(), id="old")
    path = write_case(case, tmp_path)
    header = header_json(case, "")
    assert METADATA_KEY in pq.read_schema(path).metadata
    del header["closed_modes"]
    found = case_from_header(header, [(step, True) for step in case.trace.trace.steps], "old")
    assert found.closed["exact"] == REASON


def test_a_suite_goes_on_without_the_case(project: Project, case_id: str) -> None:
    """One case that can't be replayed is inconclusive; the others are judged; the reason is kept."""
    project.promoted("whole", "--new", order=8)
    project.write("healthy.trace", healthy())
    assert project.run("review", case_id, "--accept-all", "--reason", "read").code == 0
    promoted = project.run("promote", case_id, "--reason", "money", "--passing", "healthy.trace")
    assert promoted.code == 0, promoted.err
    done = project.run("run", project.suite("once"), "--samples", "2", "--json")
    verdicts = {case["case_id"]: case["verdict"] for case in done.json()["cases"]}
    assert (done.code, verdicts) == (3, {"cut": "INCONCLUSIVE", "whole": "PASS"})
    (page,) = (project.root / "reports").glob("*/report.html")
    assert REASON in page.read_text("utf-8")
