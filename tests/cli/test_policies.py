"""Policies from the command line: every kind, every word, exit codes, and how many samples were taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.project import Outcome, Project


@pytest.fixture
def gated(project: Project) -> Project:
    """A project with one permanent case."""
    project.promoted()
    return project


def suite(project: Project, target: str, text: str = "", name: str = "release") -> str:
    """A suite of all permanent cases."""
    select = "" if "[select]" in text else "[select]\ngate = true\n"
    project.write(f"suites/{name}.toml", f'target = "tests.suite.agents:{target}"\n{text}\n{select}')
    return f"suites/{name}.toml"


def ran(project: Project, target: str, text: str = "", *options: str) -> tuple[Outcome, dict[str, Any]]:
    """A run of one case: what the command came to, and the case's verdict."""
    done = project.run("run", suite(project, target, text), "-n", "1", "--json", *options)
    assert done.code in (0, 1, 3), done.err
    (case,) = done.json()["cases"]
    return done, case


def gate(project: Project, done: Outcome) -> Outcome:
    """The gate on a run."""
    return project.run("gate", done.json()["run"])


def with_baseline(project: Project, target: str = "never_alike", samples: int = 60) -> None:
    """Makes a run of a healthy agent the measure."""
    done, _ = ran(project, target, '[policy]\nkind = "zero_failures"', "--fixed", "--samples", str(samples))
    set_ = project.run("baseline", "set", done.json()["run"], "--reason", "first night")
    assert set_.code == 0, set_.err


def test_a_case_that_always_passes_is_accepted_after_35_samples(gated: Project) -> None:
    """Without a number in the suite; the end says what was saved, and the gate opens."""
    done, case = ran(gated, "never_alike")
    assert (done.code, case["verdict"], case["policy"], case["samples"]) == (0, "PASS", "acceptance", 35)
    assert done.json()["savings"] == {"samples": 35, "samples_fixed": 61, "model_calls": 0, "model_calls_saved": 0}
    assert "35 samples instead of 61 (-43%)" in done.err
    assert case["stability"] == "STABLE_PASS"
    assert case["many_runs"][0] == {"k": 4, "all_pass": 1.0, "low": case["low"] ** 4, "high": 1.0, "one_passes": 1.0}
    assert gate(gated, done).code == 0


def test_a_case_that_fails_often_is_refused_early(gated: Project) -> None:
    """A quarter of the samples fail: FAIL before the third batch, exit code 1, and the gate is blocked."""
    done, case = ran(gated, "unsteady")
    assert (done.code, case["verdict"]) == (1, "FAIL")
    assert case["samples"] <= 15
    assert "nearer to 90% than to 99%" in case["reason"]
    assert gate(gated, done).code == 1


def test_too_few_samples_are_said_to_be_so_before_and_after(gated: Project) -> None:
    """20 samples without a policy: a warning first, INCONCLUSIVE with what would tell, exit code 3 for run and gate."""
    done, case = ran(gated, "never_alike", "samples = 20")
    assert (done.code, case["verdict"], case["samples"]) == (3, "INCONCLUSIVE", 20)
    warning, *rest = [line for line in done.err.splitlines() if line]
    assert warning.startswith("UNDERPOWERED: refund-twice: 20 samples are too few to tell a pass rate of 99% from")
    assert "75 are needed; only cases whose replays are all equal need fewer" in warning
    assert any("15 more would tell, if they pass" in line for line in rest)
    assert (case["more_samples"], round(case["detectable_drop"], 3)) == (15, 0.132)
    assert "75 are needed" in case["underpowered"]
    manifest = json.loads((Path(done.json()["run"]) / "run.json").read_bytes())
    assert "75 are needed" in manifest["underpowered"]["refund-twice"]
    assert gate(gated, done).code == 3


def test_without_early_stopping_all_samples_are_taken(gated: Project) -> None:
    """By flag and by key; a deterministic agent too."""
    assert ran(gated, "never_alike", "", "--fixed")[1]["samples"] == 61
    assert ran(gated, "unsteady", "sequential = false\nsamples = 65")[1]["samples"] == 65
    assert ran(gated, "once", "", "--fixed", "--samples", "9")[1]["samples"] == 9


def test_a_deterministic_agent_is_run_twice(gated: Project) -> None:
    """Under any policy, and whether it passes or fails."""
    for target, word, code in (("once", "PASS", 0), ("twice", "FAIL", 1), ("names_things", "PASS", 0)):
        done, case = ran(gated, target)
        assert (done.code, case["verdict"], case["samples"], case["deterministic"]) == (code, word, 2, True)
        assert case["samples_fixed"] == 61


def test_equal_replays_of_an_agent_that_draws_random_numbers_prove_nothing(gated: Project) -> None:
    """An agent that fails once in twenty would pass by two equal replays nine times of ten; it is run on."""
    done, case = ran(gated, "rarely_twice")
    assert not case["deterministic"]
    assert case["samples"] > 10
    assert gate(gated, done).code == done.code


def test_zero_failures(gated: Project) -> None:
    """One failure decides at the end of its batch; without one all samples are taken, and the bound is named."""
    text = '[policy]\nkind = "zero_failures"'
    done, case = ran(gated, "unsteady", text)
    assert (done.code, case["verdict"], case["samples"] % 5) == (1, "FAIL", 0)
    assert case["samples"] < 20
    done, case = ran(gated, "never_alike", text)
    assert (done.code, case["verdict"], case["samples"]) == (0, "PASS", 20)
    assert "the failure rate is below 13.9%" in case["reason"]


def test_a_minimum_rate(gated: Project) -> None:
    """Shown, shown not to be, or neither; its own number of samples where the suite names none."""
    text = '[policy]\nkind = "min_rate"\nmin_rate = '
    assert ran(gated, "never_alike", text + "0.9")[1]["samples"] == 46
    done, case = ran(gated, "never_alike", text + "0.9", "--samples", "20")
    assert (done.code, case["verdict"], case["more_samples"]) == (3, "INCONCLUSIVE", 9)
    assert "UNDERPOWERED" in done.err
    done, case = ran(gated, "unsteady", text + "0.95", "--samples", "60")
    assert (done.code, case["verdict"]) == (1, "FAIL")


def test_not_worse_than_the_baseline(gated: Project) -> None:
    """Unchanged passes, worse fails, and without a baseline nothing can be told."""
    text = '[policy]\nkind = "not_worse"\nmargin = 0.3'
    done, case = ran(gated, "never_alike", text, "--samples", "5")
    assert (done.code, case["verdict"]) == (3, "INCONCLUSIVE")
    assert "has no baseline" in case["reason"]
    with_baseline(gated)
    done, case = ran(gated, "never_alike", text)
    assert (done.code, case["verdict"], case["change"]) == (0, "PASS", "no change shown")
    assert "not worse by 30 points or more" in case["reason"]
    assert case["samples"] < case["samples_fixed"]
    assert "1 case against the baseline: 0 points" in done.err
    assert done.json()["effect"]["cases"] == 1
    verdicts = json.loads((Path(done.json()["run"]) / "verdicts.json").read_bytes())
    assert verdicts["effect"]["difference"] == 0.0
    done, case = ran(gated, "twice", text)
    assert (done.code, case["verdict"]) == (1, "FAIL")


def test_fewer_samples_than_a_batch_are_looked_at_once(gated: Project) -> None:
    """Four samples rule out a drop of 90 points, and so does the run; nothing was said to be underpowered."""
    with_baseline(gated)
    done, case = ran(gated, "never_alike", '[policy]\nkind = "not_worse"\nmargin = 0.9', "--samples", "4")
    assert (done.code, case["verdict"], case["samples"]) == (0, "PASS", 4)
    assert "UNDERPOWERED" not in done.err


@pytest.mark.parametrize(("key", "code", "outcome"), [("", 1, "BLOCKED"), ('on_degraded = "pass"', 0, "PASS")])
def test_degraded_within_the_margin(gated: Project, key: str, code: int, outcome: str) -> None:
    """A quarter fails: worse, and by less than is tolerated. It blocks a permanent case, unless the policy says not."""
    with_baseline(gated, samples=100)
    text = f'[policy]\nkind = "not_worse"\nmargin = 0.5\n{key}'
    done, case = ran(gated, "unsteady", text, "--fixed", "--samples", "80")
    assert (done.code, case["verdict"]) == (code, "DEGRADED_WITHIN_MARGIN")
    assert "1 degraded within the margin" in done.err
    assert gate(gated, done).out.startswith(outcome)


def test_some_cases_have_a_policy_of_their_own(gated: Project) -> None:
    """The first table that means a case holds; the others keep the suite's."""
    gated.promoted("another", "--new", order=8)
    text = '[[policies]]\nselect = { ids = ["anoth*"] }\nkind = "zero_failures"\n'
    done = gated.run("run", suite(gated, "never_alike", text), "-n", "1", "--json")
    assert {case["case_id"]: (case["policy"], case["samples"]) for case in done.json()["cases"]} == {
        "another": ("zero_failures", 20),
        "refund-twice": ("acceptance", 35),
    }


def test_a_policy_that_no_case_has_is_told_of(gated: Project) -> None:
    """By the run and by its gate: what was to be judged strictly is judged by another policy."""
    strict = '[[policies]]\nselect = { ids = ["REFUND-*"] }\nkind = "zero_failures"\n'
    wide = '[[policies]]\nselect = { gate = true }\nkind = "min_rate"\n'
    behind = '[[policies]]\nselect = { tags = ["money"] }\nkind = "zero_failures"\n'
    done, _ = ran(gated, "never_alike", strict + wide + behind)
    for told in (done.err, gate(gated, done).out):
        assert "policies.0, zero_failures for ids REFUND-*, decides on none of the suite's cases" in told
        assert "policies.1" not in told
        assert "policies.2, zero_failures for tags money, decides on none" in told
    done, _ = ran(gated, "never_alike", strict, "--filter", "gate")
    assert "decides on none" not in done.err  # of a part of the suite that says nothing


def test_a_regression_is_shown_and_does_not_overrule_the_policy(gated: Project) -> None:
    """A minimum rate that is reached passes, though the case was better before."""
    with_baseline(gated)
    done, case = ran(gated, "unsteady", '[policy]\nkind = "min_rate"\nmin_rate = 0.4', "--samples", "60")
    assert (done.code, case["verdict"], case["change"]) == (0, "PASS", "regressed")
    assert "worse than the baseline" in case["reason"]


def test_a_large_suite_is_screened(project: Project) -> None:
    """Cases that hold no release: five samples where nothing is suspicious, and fresh ones of a suspect."""
    project.ingested()
    everything = '[select]\nids = ["*"]\n'
    with_baseline_text = f'{everything}[policy]\nkind = "zero_failures"'
    done, _ = ran(project, "never_alike", with_baseline_text, "--fixed", "--samples", "60")
    assert project.run("baseline", "set", done.json()["run"], "--reason", "first night").code == 0
    done, case = ran(project, "never_alike", f"screening = true\n{everything}")
    assert (done.code, case["verdict"], case["samples"], case["screened"]) == (0, "INCONCLUSIVE", 5, True)
    assert "0 inconclusive, 1 screened without suspicion" in done.err
    junit = (project.root / done.json()["run"] / "junit.xml").read_text("utf-8")
    assert ('skipped="1"' in junit, '<skipped type="screened"' in junit, junit.count("<error")) == (True, True, 1)
    again = project.run("run", "suites/release.toml", "--only-failing", done.json()["run"])
    assert (again.code, "none of the cases failed there" in again.err) == (2, True), again.err
    done, case = ran(project, "unsteady", f"screening = true\nseed = 6\n{everything}")
    assert (done.code, case["verdict"], case["samples"], case["screened"]) == (1, "FAIL", 35, False)
    assert case["reason"].startswith("suspected, then ")
    assert done.json()["effect"]["difference"] == pytest.approx(case["estimate"]["rate"] - 1)
    assert case["estimate"]["n"] == 5
    compared = project.run("baseline", "compare", done.json()["run"], "--json").json()["suite"]
    assert compared["difference"] == done.json()["effect"]["difference"]
    assert ran(project, "never_alike", f"screening = true\n{everything}", "--fixed")[1]["samples"] == 61
    done, case = ran(project, "never_alike", f"screening = true\n{everything}", "--samples", "3")
    assert (done.code, case["samples"], case["screened"]) == (3, 3, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[policy]\nkind = "zero_failures"\nmin_rate = 0.9', "policy: min_rate means nothing to kind zero_failures"),
        ("[policy]\nmargin = 0.1", "policy: margin means nothing to kind acceptance"),
        ("[policy]\np_good = 0.9\np_bad = 0.9", "p_bad 0.9 is not below p_good 0.9"),
        ("[policy]\np_good = 99.0", "policy.p_good"),
        ('[policy]\non_degraded = "maybe"', "policy.on_degraded"),
        ('[[policies]]\nkind = "zero_failures"', "policies.0.select"),
        ('[[policies]]\nselect = {}\nkind = "zero_failures"', "policies.0: its select means every case"),
        ('[[policies]]\nselect = { gate = false }\nkind = "zero_failures"', "policies.0: its select means every case"),
        ("[[policies]]\nselect = { ids = [], tags = [] }", "policies.0: its select means every case"),
        ('[[policies]]\nselect = { id = ["a"] }', "policies.0.select.id"),
        ("pass_k = [0]", "pass_k.0"),
        ("[policy]\np_good = 0.9\np_bad = 0.899", "too many to plan"),
    ],
)
def test_a_policy_without_sense_is_refused(gated: Project, text: str, said: str) -> None:
    """What is wrong, in which file; nothing is run."""
    done = gated.run("run", suite(gated, "never_alike", text))
    assert (done.code, said in done.err) == (2, True), done.err
    assert not (gated.root / "reports").exists()


@pytest.mark.parametrize("target", ["sleeps", "swallows_the_end", "out_of_memory", "disk_is_full"])
def test_what_the_machine_ended_twice_is_not_deterministic(gated: Project, target: str) -> None:
    """A time limit that was met, or memory that was lacking: a slow machine, maybe. The policy's samples decide."""
    done, case = ran(gated, target, "timeout_s = 0.1")
    assert (done.code, case["verdict"], case["deterministic"], case["samples"]) == (1, "FAIL", False, 5)
    assert "nearer to" in case["reason"]
    assert ("stopped after 0.1 s" in case["reason"]) is target.startswith("s")
    assert ran(gated, "raises")[1]["deterministic"]


def test_another_policy_on_a_run_that_stopped_early_says_so(gated: Project) -> None:
    """In an exact run, too; equal replays did not stop by any policy. What is told of the suite stays unbiased."""
    done, case = ran(gated, "never_alike")
    told = gated.run("gate", done.json()["run"], "--policy", "zero_failures")
    assert (told.code, "in 1 of 1 cases; the error rates of another policy" in told.out) == (0, True), told.out
    assert case["estimate"]["n"] == 5
    assert gated.run("gate", done.json()["run"], "--policy", "zero_failures", "--report").code == 0
    again = json.loads((gated.root / done.json()["run"] / "verdicts.json").read_bytes())
    assert (again["cases"][0]["policy"], again["cases"][0]["estimate"]) == ("zero_failures", case["estimate"])
    equal, _ = ran(gated, "once")
    assert "may have stopped" not in gated.run("gate", equal.json()["run"], "--policy", "zero_failures").out
