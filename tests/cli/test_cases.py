"""Commands on the library: a case's life leaves a trail, and nothing changes unseen."""

from __future__ import annotations

import json

import pytest

from evalkit.case.lock import read_lock
from evalkit.case.store import read_case, read_with_digest, write_case
from evalkit.check.model import Check
from tests.project import Project, healthy


def test_list_and_show(project: Project) -> None:
    """Both for people and for scripts."""
    assert "no cases yet" in project.run("list").out
    project.ingested("refund-twice")
    assert "refund-twice" in project.run("list").out
    assert [case["id"] for case in project.run("list", "--json").json()] == ["refund-twice"]
    shown = project.run("show", "refund-twice").out
    assert "What must hold" in shown
    assert "refund" in shown
    body = project.run("show", "refund-twice@1", "--json").json()
    assert body["checks"][0]["sentence"]


def test_a_life_leaves_a_trail(project: Project) -> None:
    """Each move is a version with who, why and when; the lock follows."""
    case_id = project.ingested()
    assert project.run("review", case_id, "--accept-all", "--reason", "read it").code == 0
    project.write("good.trace", healthy())
    assert project.run("promote", case_id, "--reason", "money", "--actor", "bob", "--passing", "good.trace").code == 0
    assert [line.case_id for line in read_lock(project.root / "cases")] == [case_id]
    assert project.run("retire", case_id, "--reason", "the tool is gone").code == 0
    assert read_lock(project.root / "cases") == []
    trail = project.run("history", case_id, "--json").json()
    assert [(entry["state"], entry["actor"]) for entry in trail] == [
        ("proposed", "evalkit ingest"),
        ("reviewed", "ann"),
        ("permanent", "bob"),
        ("retired", "ann"),
    ]
    assert "the tool is gone" in project.run("history", case_id).out


def test_a_move_needs_a_reason(project: Project) -> None:
    """Nothing leaves silently."""
    case_id = project.ingested()
    assert project.run("retire", case_id).code == 2
    assert project.run("retire", case_id, "--reason", " ").code == 2
    assert read_case(project.root / "cases" / case_id).version == 1


def test_a_retired_case_can_not_be_promoted(project: Project) -> None:
    """It has to be reviewed again first."""
    case_id = project.ingested("refund-twice")
    project.run("retire", case_id, "--reason", "x")
    done = project.run("retire", case_id, "--reason", "x")
    assert (done.code, "retired already" in done.err, f"evalkit review {case_id}" in done.err) == (2, True, True)
    done = project.run("promote", case_id, "--reason", "x")
    assert (done.code, "can't become permanent" in done.err) == (2, True)


def test_checks_may_be_edited_but_must_fail_on_the_incident(project: Project) -> None:
    """A weaker set of checks that the incident passes is refused."""
    case_id = project.ingested()
    project.write("checks.json", [{"type": "called", "params": {"name": "refund", "max": 1}, "note": "by hand"}])
    assert project.run("edit", case_id, "--checks", "checks.json", "--reason", "stricter").code == 0
    newest = read_case(project.root / "cases" / case_id)
    assert (newest.version, newest.state, newest.checks[0].note) == (2, "proposed", "by hand")
    project.write("checks.json", [{"type": "called", "params": {"name": "refund"}}])
    done = project.run("edit", case_id, "--checks", "checks.json", "--reason", "weaker")
    assert (done.code, "no gating check fails" in done.err) == (2, True)
    project.write("checks.json", [{"type": "called", "params": {"nmae": "refund"}}])
    assert project.run("edit", case_id, "--checks", "checks.json", "--reason", "typo").code == 2


def test_check_says_that_all_is_well(project: Project) -> None:
    """Hashes, parents, views and lock of a fresh library hold."""
    project.promoted()
    done = project.run("check")
    assert (done.code, "3 case files checked, 0 problems" in done.out) == (0, True)


def test_check_finds_a_changed_file(project: Project) -> None:
    """Integrity is exit code 4."""
    case_id = project.promoted()
    path = project.root / "cases" / case_id / "v0001.parquet"
    data = bytearray(path.read_bytes())
    data[data.index(b"refund")] ^= 1
    path.write_bytes(data)
    done = project.run("check")
    assert done.code == 4
    assert "v0001.parquet" in done.err


def test_check_finds_a_lock_that_was_edited(project: Project) -> None:
    """Taking a line out of the lock by hand is found."""
    project.promoted()
    project.write("cases/gates.lock", "")
    done = project.run("check")
    assert (done.code, "not in the gate lock" in done.err) == (4, True)


def test_check_finds_a_stale_view_and_mends_it(project: Project) -> None:
    """The view is what a reviewer reads; it must say what the case says."""
    case_id = project.ingested()
    view = project.root / "cases" / case_id / "case.md"
    view.write_text(view.read_text("utf-8").replace("refund", "nothing"), "utf-8")
    assert project.run("check").code == 2
    assert project.run("check", "--write-views").code == 0


def test_check_finds_a_view_that_is_no_text(project: Project) -> None:
    """It shows no version; it is one of the problems, and ends nothing."""
    project.ingested()
    project.write("cases/refund-twice/case.md", b"\xff\xfe")
    done = project.run("check")
    assert (done.code, "does not show version 1" in done.err) == (2, True)


def test_a_check_of_old_that_is_refused_today_is_named_with_its_case(project: Project) -> None:
    """One in a large library ends runs and scans: `check` finds it, and every message says whose it is."""
    project.ingested("refund-twice")
    cases = project.root / "cases"
    old, digest = read_with_digest(cases / "refund-twice/v0001.parquet")
    write_case(old.revised(digest, checks=(*old.checks, Check("called", {"name": "refund", "min": 0}))), cases)
    project.run("check", "--write-views")
    done = project.run("check")
    assert (done.code, "case refund-twice, check called" in done.err) == (2, True)
    project.write("healthy.trace", healthy())
    done = project.run("judge", "refund-twice", "healthy.trace")
    assert (done.code, "evalkit edit refund-twice --checks" in done.err) == (2, True)
    assert project.run("retire", "refund-twice", "--reason", "old").code == 0
    assert project.run("check").code == 0


def test_diff_of_versions_and_of_traces(project: Project) -> None:
    """Versions differ in their views, traces in what happened."""
    case_id = project.promoted()
    assert "+- state: **permanent**" in project.run("diff", f"{case_id}@2", f"{case_id}@3").out
    checks = project.run("show", case_id, "--json").json()["checks"]
    project.write("checks.json", [{**checks[0], "note": "money"}, *checks[1:]])
    assert project.run("edit", case_id, "--checks", "checks.json", "--reason", "noted").code == 0
    (before, after) = project.run("diff", f"{case_id}@3", case_id, "--json").json()["case"]["checks"]
    assert (before[0].get("note"), after[0]["note"]) == (None, "money")
    project.write("healthy.trace", healthy())
    found = project.run("diff", f"{case_id}.trace", "healthy.trace", "--json").json()
    assert (found["same_effects"], found["same_tools"]) == (False, False)
    assert found["differences"]
    assert json.dumps(found)


def test_diff_of_what_is_equal_and_of_what_is_not_there(project: Project) -> None:
    """Nothing is never all that is said; a file that is missing is no case."""
    case_id = project.ingested()
    same = project.run("diff", case_id, f"{case_id}@1")
    assert (same.code, same.out) == (0, f"{case_id} and {case_id}@1 are the same\n")
    for missing in ("old.trace", "runs/old"):
        gone = project.run("diff", missing, case_id)
        assert (gone.code, "no such file or folder" in gone.err) == (2, True)


def test_diff_compares_each_of_several_replays_with_the_incident(project: Project) -> None:
    """As `replay --repeat --out` writes them: each under its id, with what it took, and a list as JSON."""
    case_id = project.ingested("refund-twice", "--target", "tests.suite.agents:once")
    assert project.run("replay", case_id, "--repeat", "2", "--out", "again.trace").code in (0, 1)
    told = project.run("diff", case_id, "again.trace")
    assert told.code == 0, told.err
    assert all(line in told.out for line in (f"{case_id}@1#0:", f"{case_id}@1#1:", "answers alike: ", "took: 0 model"))
    found = project.run("diff", case_id, "again.trace", "--json").json()
    assert [one["right"] for one in found] == [f"{case_id}@1#0", f"{case_id}@1#1"]
    refused = project.run("diff", "again.trace", case_id)
    assert refused.code == 2
    assert "2 traces, one wanted on the left side" in refused.err


def test_terminal_output_holds_no_escape_from_a_trace(project: Project) -> None:
    """Escape sequences and bidi overrides of a trace appear as visible codes."""
    hostile = "\x1b[31mred\x1b]0;title\x07\u202eevil\x9b"
    trace = healthy(name=hostile, id=hostile)
    project.write("t.trace", trace)
    done = project.run("inspect", "t.trace")
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(done.out)
    assert "\\x1b[31mred" in done.out


def test_checks_go_out_and_in_again(project: Project) -> None:
    """What `show --json` gives, `edit` takes: nothing changes but what a person changes in it."""
    case_id = project.ingested()
    before = read_case(project.root / "cases" / case_id)
    bodies = project.run("show", case_id, "--json").json()["checks"]
    project.write("checks.json", bodies)
    assert project.run("edit", case_id, "--checks", "checks.json", "--reason", "as they are").code == 0
    assert read_case(project.root / "cases" / case_id).checks == before.checks


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("gating", None), ("gating", "false"), ("evidence", 5), ("evidence", ["2"]), ("confidence", "x")],
)
def test_a_field_of_a_wrong_form_is_refused(project: Project, field: str, wrong: object) -> None:
    """A gate that was misspelt must not turn into an observation."""
    case_id = project.ingested()
    project.write("checks.json", [{"type": "called", "params": {"name": "refund", "max": 1}, field: wrong}])
    done = project.run("edit", case_id, "--checks", "checks.json", "--reason", "x")
    assert (done.code, f"{field} of a check is" in done.err) == (2, True)
