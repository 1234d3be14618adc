"""Baselines from the command line: set once, blessed with a reason, compared with, and stale where they should be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.verdict.baseline import read_baseline, write_baseline
from tests.project import Project, healthy


@pytest.fixture
def ready(project: Project) -> Project:
    """A project with a permanent case and a suite on the healthy agent."""
    project.promoted()
    project.suite("once")
    return project


def ran(project: Project, name: str, *options: str, target: str = "once") -> str:
    """A run of the suite under that name; gives its folder."""
    done = project.run("run", project.suite(target), "--samples", "5", "--fixed", "--out", f"reports/{name}", *options)
    assert done.code in (0, 1), done.err
    return f"reports/{name}"


def path(project: Project) -> Path:
    """The suite's baseline."""
    return project.root / "suites" / "release.baseline.parquet"


def test_a_baseline_is_set_once_and_then_blessed(ready: Project) -> None:
    """A change of the measure is a decision: who, when, why, and what stood there before."""
    first, second = ran(ready, "a"), ran(ready, "b", target="twice")
    assert ready.run("baseline", "bless", first, "--reason", "too early").code == 2
    assert ready.run("baseline", "set", first, "--reason", "first healthy night").code == 0
    again = ready.run("baseline", "set", second, "--reason", "x")
    assert (again.code, "baseline bless" in again.err) == (2, True)
    assert ready.run("baseline", "bless", second).code == 2
    assert ready.run("baseline", "bless", second, "--reason", " ").code == 2
    done = ready.run("baseline", "bless", second, "--reason", "refunds are rarer", "--actor", "bob")
    assert done.code == 0, done.err
    info = read_baseline(path(ready)).info
    assert (info.actor, info.reason) == ("bob", "refunds are rarer")
    assert [(one.actor, one.reason) for one in info.former] == [("ann", "first healthy night")]
    shown = ready.run("baseline", "show", "release").out
    assert "before: run" in shown
    assert "set by ann" in shown
    assert ready.run("baseline", "bless", second, "--reason", "again").code == 2


def test_a_measure_of_a_run_that_stopped_early_is_said_to_be_a_worse_one(ready: Project) -> None:
    """It is taken all the same; equal replays of a deterministic agent lack nothing, nor does a run of fixed length."""
    for name, target, options, warned in (
        ("early", "never_alike", (), True),
        ("fixed", "never_alike", ("--fixed", "--samples", "61"), False),
        ("twice", "once", (), False),
    ):
        done = ready.run("run", ready.suite(target), "--out", f"reports/{name}", *options)
        assert done.code == 0, done.err
        made = ready.run("baseline", "set", f"reports/{name}", "--reason", "x", "--out", f"{name}.parquet")
        assert (made.code, "1 of 1 cases stopped early in run" in made.err) == (0, warned)


def test_runs_are_pooled_where_they_measured_the_same(ready: Project) -> None:
    """Their samples are added up; a run named twice, of another target, or of another suite is refused."""
    first, second = ran(ready, "a"), ran(ready, "b")
    assert ready.run("baseline", "set", first, first, "--reason", "x").code == 2
    other = ready.run("baseline", "set", first, ran(ready, "c", target="twice"), "--reason", "x")
    assert (other.code, "not of one suite, mode and target" in other.err) == (2, True)
    assert ready.run("baseline", "set", first, second, "--reason", "two nights").code == 0
    shown = ready.run("baseline", "show", "release")
    assert "10/10" in shown.out
    assert "2 runs together" in shown.out


def test_a_part_of_a_suite_is_no_baseline_and_no_night(ready: Project) -> None:
    """It would leave the other cases without a measure."""
    part = ran(ready, "a", "--filter", "refund-twice")
    refused = ready.run("baseline", "set", part, "--reason", "x")
    assert (refused.code, "only a part of its suite: 1 of 1 cases" in refused.err) == (2, True)
    suite = ready.suite("once")
    assert ready.run("run", suite, "--filter", "refund-twice").code == 0
    assert ready.run("trend", suite).code == 2


def test_another_recording_is_not_pooled(ready: Project) -> None:
    """A case that holds another incident in one of the runs."""
    first = ran(ready, "a")
    assert ready.run("edit", "refund-twice", "--volatile", "lookup=/order", "--reason", "x").code == 0
    refused = ready.run("baseline", "set", first, ran(ready, "b"), "--reason", "x")
    assert (refused.code, "replays another recording" in refused.err) == (2, True)


def test_a_promotion_leaves_a_baseline_as_it_is(project: Project) -> None:
    """The same recording and the same checks, in another state: what was measured still holds."""
    project.ingested()
    project.write("passing.trace", healthy())
    project.write("suites/release.toml", 'target = "tests.suite.agents:once"\nsamples = 5\n')
    project.run("review", "refund-twice", "--accept-all", "--reason", "read")
    assert project.run("run", "suites/release.toml", "--out", "reports/a").code == 0
    assert project.run("baseline", "set", "reports/a", "--reason", "x").code == 0
    project.run("promote", "refund-twice", "--reason", "x", "--passing", "passing.trace")
    body = project.run("run", "suites/release.toml", "--json").json()
    assert body["cases"][0]["change"] == "no change shown"


def test_a_stale_baseline_is_said_everywhere(ready: Project) -> None:
    """In the run, at the gate and in the comparison, never as "no change shown"."""
    ready.run("baseline", "set", ran(ready, "a"), "--reason", "x")
    assert ready.run("edit", "refund-twice", "--volatile", "lookup=/order", "--reason", "x").code == 0
    done = ready.run("run", ready.suite("once"), "--samples", "5", "--fixed", "--out", "reports/b", "--json")
    (case,) = done.json()["cases"]
    assert case["change"] == "stale baseline"
    assert "replays another recording" in case["stale"]
    assert "evalkit baseline bless" in done.json()["notices"][0]
    assert "stale baseline" in ready.run("gate", "reports/b").out
    assert "stale baseline" in (ready.root / "reports" / "b" / "report.html").read_text("utf-8")
    compared = ready.run("baseline", "compare", "reports/b")
    assert (compared.code, "0 of 1 cases compared" in compared.out) == (3, True)
    assert ready.run("baseline", "bless", "reports/b", "--reason", "the lookup is volatile").code == 0
    assert ready.run("baseline", "compare", ran(ready, "c")).code == 0


def test_a_suite_says_how_old_its_baseline_may_be(ready: Project) -> None:
    """`[baseline] max_age_days`; a wrong key or kind is refused."""
    ready.run("baseline", "set", ran(ready, "a"), "--reason", "x")
    suite = ready.suite("once", samples=5)
    text = (ready.root / suite).read_text("utf-8")
    ready.write(suite, f"{text}[baseline]\nmax_age_days = 30\n")
    ready.run("run", suite, "--out", "reports/b")
    assert ready.run("baseline", "compare", "reports/b").code == 0
    found = read_baseline(path(ready))
    write_baseline(replace(found, info=replace(found.info, measured_at="2020-01-01T00:00:00Z")), path(ready))
    compared = ready.run("baseline", "compare", "reports/b")
    assert "days old, and the suite allows 30" in compared.out
    ready.write(suite, f'{text}[baseline]\nacross = ["weather"]\n')
    assert ready.run("run", suite).code == 2


@pytest.mark.parametrize(
    ("file", "more", "baseline"),
    [
        ("suites/release.toml", 'name = "other"', "suites/release.baseline.parquet"),
        ("deep/s.toml", "", "deep/s.baseline.parquet"),
        ("suites/release.toml", 'baseline = "kept/b.parquet"', "kept/b.parquet"),
    ],
)
def test_a_baseline_is_written_where_its_suite_looks_for_it(
    ready: Project, file: str, more: str, baseline: str
) -> None:
    """Whatever the suite is called, and wherever its file stands or says that its baseline is."""
    text = 'target = "tests.suite.agents:once"\n'
    if more.startswith("baseline"):  # it must be there before a suite may name it
        first = ran(ready, "first")
        assert ready.run("baseline", "set", first, "--reason", "x", "--out", baseline).code == 0
    ready.write(file, f"{more}\n{text}")
    assert ready.run("run", file, "--out", "reports/a").code == 0
    word = "bless" if more.startswith("baseline") else "set"
    done = ready.run("baseline", word, "reports/a", "--reason", "x")
    assert done.out.strip() == f"wrote {baseline}"
    assert "measured" in ready.run("baseline", "show", file).out
    again = ready.run("run", file, "--out", "reports/b", "--json").json()
    assert again["cases"][0]["change"] == "no change shown"
    assert ready.run("baseline", "compare", "reports/b").code == 0


def test_a_run_is_no_measure_of_itself(ready: Project) -> None:
    """Neither as its own baseline nor beside itself: that shows nothing, and would be green."""
    run = ran(ready, "a")
    assert ready.run("baseline", "set", run, "--reason", "x").code == 0
    compare = ("baseline", "compare", run)
    for command in (compare, (*compare, "--with", run), ("ab", "--from", run, run)):
        done = ready.run(*command)
        assert (done.code, "that shows nothing" in done.err) == (2, True), done.err


def test_a_baseline_that_came_after_a_run_excuses_nothing_of_it(ready: Project) -> None:
    """A run that failed stays one, whatever is blessed then, be it the run itself; a later run as bad is not worse."""
    suite = ready.suite("once")
    policy = '[policy]\nkind = "not_worse"\nmargin = 0.2\n'
    text = ready.write(suite, (ready.root / suite).read_text("utf-8") + policy).read_text("utf-8")
    assert ready.run("run", suite, "--out", "reports/good").code == 0
    assert ready.run("baseline", "set", "reports/good", "--reason", "x").code == 0
    ready.write(suite, text.replace(":once", ":twice"))
    for name in ("bad", "worse"):
        assert ready.run("run", suite, "--out", f"reports/{name}").code == 1
    for blessed in ("bad", "worse"):
        assert ready.run("baseline", "bless", f"reports/{blessed}", "--reason", "it is so").code == 0
        done = ready.run("gate", "reports/bad", "--report")
        assert (done.code, "BLOCKED: refund-twice: 2 of 2 samples failed" in done.out) == (1, True)
    assert ready.run("run", suite, "--out", "reports/later").code == 0
    assert ready.run("gate", "reports/later").code == 0


def test_a_run_that_became_the_baseline_is_not_told_to_be_as_good_as_it(ready: Project) -> None:
    """Its page, written again, compares it with nothing."""
    first, second = ran(ready, "a"), ran(ready, "b")
    assert ready.run("baseline", "set", first, "--reason", "x").code == 0
    third = ran(ready, "c")
    for runs, compared in (([second], True), ([third, second], False)):
        assert ready.run("baseline", "bless", *runs, "--reason", "x").code == 0
        assert ready.run("report", third).code == 0
        effect = json.loads((ready.root / third / "verdicts.json").read_bytes())["effect"]
        assert (effect is not None) is compared


def test_a_run_without_results_measures_nothing(ready: Project) -> None:
    """All its samples are lost: no baseline; and a trend of such nights does not say that nothing changed."""
    run, suite = "reports/lost", ready.suite("stray")
    assert ready.run("run", suite, "--out", run).code == 3
    done = ready.run("baseline", "set", run, "--reason", "x")
    assert (done.code, "measures nothing" in done.err) == (2, True), done.err
    assert not path(ready).exists()
    assert ready.run("trend", "release").out.endswith("no sample of 1 night came to a result\n")


def test_a_fact_has_no_interval(ready: Project) -> None:
    """Where all replays were equal, here and in the baseline, the difference is known."""
    assert ready.run("baseline", "set", ran(ready, "a"), "--reason", "x").code == 0
    worse, same = ran(ready, "b", target="twice"), ran(ready, "c")
    done = ready.run("baseline", "compare", worse)
    assert "this suite is worse by 100 points in equal replays, here and there" in done.out
    told = json.loads((ready.root / worse / "verdicts.json").read_bytes())["effect"]
    assert (told["this_suite"], told["p_worse"], told["deterministic"]) == ([-1.0, -1.0], 0.0, True)
    assert "this suite: no change, 0 points in equal replays" in ready.run("baseline", "compare", same).out


def test_a_suite_that_is_called_worse_is_exit_code_1() -> None:
    """Though no case alone is shown to be: what is said and the exit code agree."""
    from evalkit.app.baselines import Comparison
    from evalkit.app.show_baselines import comparison_exit_code, comparison_lines
    from evalkit.verdict.baseline import BaselineInfo
    from evalkit.verdict.model import SuiteEffect

    effect = SuiteEffect(20, -0.05, (-0.08, -0.02), (-0.1, 0.0), 0.01)
    found = Comparison("r", BaselineInfo("b", "s", "ann", "x", "now"), (), effect)
    assert any("this suite is worse by 5 points" in line for line in comparison_lines(found))
    assert comparison_exit_code(found) == 1


def test_a_difference_that_is_not_shown_is_not_called_one(ready: Project) -> None:
    """Of two short runs of an agent that draws lots, neither is better."""
    for name, seed in (("a", "1"), ("b", "2")):
        suite = ready.suite("unsteady", samples=3, sequential="false", seed=seed)
        assert ready.run("run", suite, "--out", f"reports/{name}").code in (0, 1, 3)
    done = ready.run("baseline", "compare", "reports/a", "--with", "reports/b")
    assert "this suite: no change shown" in done.out
    assert "suite is" not in done.out


def test_a_comparison_shows_what_got_worse(ready: Project) -> None:
    """Exit code 1, the case, and the suite with its interval; also against another run directly."""
    good, bad = ran(ready, "a"), ran(ready, "b", target="twice")
    ready.run("baseline", "set", good, "--reason", "x")
    done = ready.run("baseline", "compare", bad)
    assert done.code == 1
    assert "regressed" in done.out
    assert "this suite is worse by 100 points" in done.out
    body = ready.run("baseline", "compare", bad, "--with", good, "--json").json()
    assert (body["cases"][0]["change"], body["suite"]["difference"]) == ("regressed", -1.0)
    better = ready.run("baseline", "compare", good, "--with", bad)
    assert (better.code, "improved" in better.out) == (0, True)
    assert ready.run("baseline", "compare", bad, "--with", "nowhere.parquet").code == 2


def test_a_suite_that_is_not_there_is_not_told_to_lack_a_baseline(project: Project) -> None:
    """A name that is misspelt is named."""
    for command in (("baseline", "show", "nihgtly"), ("trend", "nihgtly")):
        done = project.run(*command)
        assert (done.code, "there is no such suite" in done.err) == (2, True), done.err
    project.write("suites/nightly.toml", 'target = "a:b"\n')
    done = project.run("baseline", "show", "nightly")
    assert (done.code, "there is no baseline" in done.err) == (2, True), done.err


def test_a_permanent_case_that_fails_as_its_baseline_did_passes_aloud(ready: Project) -> None:
    """Not worse is all that the policy asks: who makes such a run the measure, and who releases after it, are told."""
    failing = ran(ready, "a", target="twice")
    done = ready.run("baseline", "set", failing, "--reason", "as it is")
    told = "refund-twice failed more often than not: policy not_worse lets a case go on as it was"
    assert (done.code, told in done.err) == (0, True), done.err
    suite = ready.suite("twice", policy='{ kind = "not_worse" }')
    assert ready.run("run", suite, "--out", "reports/later").code == 0
    gate = ready.run("gate", "reports/later")
    told = "note: refund-twice fails more often than not, which the policy lets pass: 2 of 2 samples failed"
    assert (gate.code, told in gate.out) == (0, True), gate.out
    assert "more often than not" not in ready.run("baseline", "bless", ran(ready, "b"), "--reason", "mended").err
