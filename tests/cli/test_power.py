"""`evalkit power`: what so many samples can tell, before they are paid for."""

from __future__ import annotations

import pytest

from tests.project import Project


def test_it_says_what_samples_show_and_what_a_drop_takes(project: Project) -> None:
    """Of a case that always passed, 20 samples show drops of 20 points; half as large a one takes 42."""
    shown = project.run("power", "--rate", "1", "--drop", "0.1")
    assert shown.code == 0
    assert "a drop of 10 points takes 42 samples of each" in shown.out
    assert "20 samples of each show drops of 20.2 points and more" in shown.out
    assert "at once: 61 samples, of which up to 2 may fail" in shown.out
    assert "on average 42 samples for a good case, 23 for a bad one, 75 at most" in shown.out
    assert "rules out failure rates of 13.9% and more" in shown.out
    small = project.run("power", "--drop", "0.0001", "--good", "0.9995").out
    assert "a drop of 0.01 points takes" in small
    assert "99.95% must pass and 90% must fail" in small


def test_a_baseline_that_exists_saves_samples(project: Project) -> None:
    """29 samples against 100 that were run before, and too small a baseline is said to be one."""
    body = project.run("power", "--rate", "1", "--drop", "0.1", "--baseline-samples", "100", "--json").json()
    assert body["needed"] == 29
    small = project.run("power", "--rate", "1", "--drop", "0.1", "--baseline-samples", "10").out
    assert "more than the baseline of 10 allows; about 58 samples of each" in small


def test_many_gates_are_blocked_by_chance(project: Project) -> None:
    """Fifty gates of ten samples in which none may fail: at a pass rate of 0.99 nearly every run is blocked."""
    body = project.run("power", "--samples", "10", "--gates", "50", "--json").json()
    assert body["false_block"] == pytest.approx(0.993, abs=5e-4)
    assert body["fixed"][0] == 103
    assert body["expected_good"] < 46.5


def test_a_suite_whose_policy_can_never_pass_is_told(project: Project) -> None:
    """10 samples can't show 90 %: exit code 3 and the number that can; with that number, 0."""
    suite = project.root / "few.toml"
    suite.write_text('samples = 10\n[policy]\nkind = "min_rate"\nmin_rate = 0.9\n', "utf-8")
    found = project.run("power", str(suite))
    assert found.code == 3
    assert found.out.startswith(
        "UNDERPOWERED: a case: 10 samples that all pass do not show a rate of 90%; 29 are needed"
    )
    assert project.run("power", str(suite), "--samples", "29").code == 0
    said = project.run("power", str(suite), "--json").json()["suite"]["underpowered"]
    assert "29 are needed" in said["a case"]


def test_a_suite_is_told_what_its_gates_will_take(project: Project) -> None:
    """Alpha is shared over the permanent cases that it selects, and the default policy needs no number."""
    project.promoted("refund-twice")
    project.promoted("another", "--new", order=8)
    suite = project.suite("once")
    found = project.run("power", suite)
    assert found.code == 0
    assert "The suite's 2 cases, 2 permanent: 150 samples at most, 122 without early stopping" in found.out
    assert "4 where all replays of a case are equal" in found.out
    assert "alpha shared over 2 gates" in found.out
    few = project.run("power", suite, "--samples", "20")
    assert few.code == 3
    assert "UNDERPOWERED: another and 1 more: 20 samples are too few to tell a pass rate of 99% from 90%" in few.out


def test_samples_that_the_plan_goes_beyond_are_told_to_be_too_few(project: Project) -> None:
    """99 % is told from 50 % by five samples at once, in batches of three by nine: with six some cases stay open."""
    project.promoted()
    policy = "[policy]\np_good = 0.99\np_bad = 0.5\nbatch = 3\n"
    project.write("suites/release.toml", f'target = "tests.suite.agents:never_alike"\n{policy}[select]\ngate = true\n')
    assert "9 samples at most" in project.run("power", "suites/release.toml").out
    few = project.run("power", "suites/release.toml", "--samples", "6")
    assert few.code == 3
    assert "6 samples are too few to tell a pass rate of 99% from 50% for sure; 9 are needed" in few.out


@pytest.mark.parametrize(
    "arguments", [("--drop", "20"), ("--rate", "0.5", "--drop", "0.6"), ("--good", "0.8"), ("missing.toml",)]
)
def test_questions_without_sense_are_wrong_input(project: Project, arguments: tuple[str, ...]) -> None:
    """Percent, a drop below nothing, a good rate below the bad one, no such suite: exit code 2 and a reason."""
    found = project.run("power", *arguments)
    assert found.code == 2
    assert found.err
