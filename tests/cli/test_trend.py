"""`evalkit trend`: runs that end become nights, and the nights are read together."""

from __future__ import annotations

from tests.project import Project


def test_a_run_of_the_suite_as_it_is_becomes_a_night(project: Project) -> None:
    """Its counts, its case, its decision; and the run says where it went."""
    project.promoted()
    suite = project.suite("once", samples=3, sequential="false")
    done = project.run("run", suite)
    assert "history suites/release.history.jsonl" in done.out
    (night,) = project.run("trend", "release", "--json").json()["nights"]
    assert (night["passed"], night["n"], night["cases"]) == (3, 3, {"refund-twice": [3, 3]})
    assert (night["outcome"], night["policy"]) == ("PASS", "acceptance")


def test_a_run_with_other_settings_is_no_night(project: Project) -> None:
    """Another number of samples would be compared with nights that it is not like; unless it is asked for."""
    project.promoted()
    suite = project.suite("once", samples=3, sequential="false")
    project.run("run", suite, "--samples", "2")
    project.run("run", suite, "--no-history")
    missing = project.run("trend", suite)
    assert (missing.code, "no night" in missing.err) == (2, True)
    project.run("run", suite, "--samples", "2", "--history")
    assert len(project.run("trend", suite, "--json").json()["nights"]) == 1


def test_a_part_of_a_suite_is_never_a_night(project: Project) -> None:
    """Its rate is that of other cases: asking for it is refused before anything is replayed."""
    project.promoted()
    suite = project.suite("once", samples=2)
    done = project.run("run", suite, "--filter", "refund-twice", "--history")
    assert (done.code, "a part of a suite is no night" in done.err) == (2, True)
    assert not list((project.root / "reports").glob("*"))
    assert project.run("run", suite, "--filter", "refund-twice", "--out", "reports/part").code == 0
    assert project.run("run", suite, "--only-failing", "reports/part", "--history").code == 2
    assert project.run("trend", suite).code == 2


def test_a_suite_without_history_keeps_none(project: Project) -> None:
    """`history = false` in its file."""
    project.promoted()
    project.run("run", project.suite("once", samples=2, history="false"))
    assert project.run("trend", "release").code == 2


def test_a_finished_run_is_not_kept_again(project: Project) -> None:
    """By `report` or `--resume`, however often."""
    project.promoted()
    project.run("run", project.suite("once", samples=2), "--out", "reports/a")
    assert project.run("report", "reports/a").code == 0
    assert project.run("run", "--resume", "reports/a").code == 0
    assert len(project.run("trend", "release", "--json").json()["nights"]) == 1


def test_a_history_that_cannot_be_written_does_not_lose_the_run(project: Project) -> None:
    """The run ends as ever, and says so."""
    project.promoted()
    suite = project.suite("once", samples=2)
    project.write("suites/release.history.jsonl", "nonsense\n{}\n")
    done = project.run("run", suite, "--json")
    assert done.code == 0
    assert any("not kept in the history" in notice for notice in done.json()["notices"])


def test_the_table_shows_where_it_broke(project: Project) -> None:
    """Eight healthy nights, four broken ones: the night is named, for the suite and the case."""
    project.promoted()
    for target in ["once"] * 8 + ["twice"] * 4:
        project.run("run", project.suite(target, samples=5, sequential="false"))
    shown = project.run("trend", "release")
    assert "refund-twice fell from 100% to 0%" in shown.out
    assert "another form of the suite" in shown.out
    body = project.run("trend", "release", "--last", "4", "--json").json()
    assert (len(body["nights"]), body["changes"]) == (4, [])
    one = project.run("trend", "release", "--case", "refund-twice")
    assert one.out.count("FAIL") == 4
    assert project.run("trend", "release", "--case", "nobody").code == 2
