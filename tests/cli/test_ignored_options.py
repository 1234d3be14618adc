"""What is given is heeded or refused: an option passed over in silence makes another run than was asked for."""

from __future__ import annotations

import pytest

from tests.project import Project


@pytest.mark.parametrize(
    "command",
    [
        ["gate", "r", "--against", ""],
        ["gate", "r", "--policy", ""],
        ["run", "suites/release.toml", "--filter", ""],
        ["run", "suites/release.toml", "--target", ""],
        ["run", "suites/release.toml", "--base-url", ""],
        ["run", "suites/release.toml", "--baseline", ""],
        ["run", "suites/release.toml", "--budget", ""],
        ["ab", "suites/release.toml", "--b", "target=x:y", "--budget", ""],
        ["replay", "refund-twice", "--target", ""],
        ["replay", "refund-twice", "--model", ""],
        ["affected", "--target", ""],
        ["affected", "--prompt", ""],
        ["export", "refund-twice", "--pytest", "--target", ""],
        ["promote", "refund-twice", "--target", "", "--reason", "why"],
        ["ingest", "refund-twice.trace", "--into", ""],
        ["baseline", "compare", "r", "--with", ""],
        ["trend", "release", "--case", ""],
    ],
)
def test_an_empty_option_is_not_taken_as_none(project: Project, command: list[str]) -> None:
    """A variable that a CI job has not set must not open a gate, or lift a limit."""
    project.promoted()
    assert project.run("run", project.suite("once"), "--out", "r").code == 0
    done = project.run(*command)
    assert done.code == 2
    assert "is empty" in done.err


@pytest.mark.parametrize(
    "flags",
    [
        ["--target", "tests.suite.agents:twice"], ["--fixed"], ["--mode", "exact"], ["--seed", "3"], ["--out", "s"],
        ["--baseline", "b.parquet"], ["--history"], ["--no-history"], ["--sandbox"], ["--reason", "why"],
        ["--base-url", "http://127.0.0.1:1/v1"], ["--on-miss", "*=fail"],
    ],
)  # fmt: skip
def test_a_run_that_goes_on_takes_nothing_that_it_would_not_heed(project: Project, flags: list[str]) -> None:
    """It is the run that was begun, whatever the command line says."""
    project.promoted()
    assert project.run("run", project.suite("once"), "--out", "r").code == 0
    done = project.run("run", "--resume", "r", *flags)
    assert done.code == 2
    assert f"{flags[0].replace('--no-', '--')} means nothing here" in done.err


def test_a_run_that_goes_on_knows_its_suite(project: Project) -> None:
    """Another one beside it would not be run."""
    project.promoted()
    suite = project.suite("once")
    assert project.run("run", suite, "--out", "r").code == 0
    done = project.run("run", suite, "--resume", "r")
    assert done.code == 2
    assert "the run knows its suite" in done.err


@pytest.mark.parametrize(
    "command",
    [
        ["run", "suites/release.toml"],
        ["run", "suites/release.toml", "--executor", "serial"],
        ["ab", "suites/release.toml", "--b", "target=tests.suite.agents:twice"],
        ["replay", "refund-twice", "--target", "tests.suite.agents:talks"],
        ["affected", "--target", "tests.suite.agents:talks"],
    ],
)
def test_data_on_stdout_are_nothing_else(project: Project, command: list[str]) -> None:
    """Whatever the agent prints; that goes to stderr, with what is for people."""
    project.promoted()
    project.suite("talks")
    done = project.started(*command, "--json")
    assert done.json()
    assert "working on 7" in done.err
    assert "and so is a program" in done.err


@pytest.mark.parametrize("way", ["flag", "file"])
def test_a_gate_refuses_what_its_policy_does_not_look_at(project: Project, way: str) -> None:
    """`min_rate=0.5` without a kind is `acceptance`, which has no such rate."""
    project.promoted()
    assert project.run("run", project.suite("once"), "--out", "r").code == 0
    project.write("p.toml", "[policy]\nmin_rate = 0.5\n")
    flags = ["--policy", "min_rate=0.5"] if way == "flag" else ["--policy-file", "p.toml"]
    done = project.run("gate", "r", *flags)
    assert done.code == 2
    assert "min_rate means nothing to kind acceptance" in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("seed = 99999999999999999999", "seed: 99999999999999999999 is beyond 64 bits"),
        ("timeout_s = inf", "timeout_s: inf is no number"),
        ("timeout_s = 1e12", "timeout_s: Input should be less than or equal to 10000000"),
        ("timeouts = { '*' = 1e12 }", "timeouts.*: Input should be less than or equal to 10000000"),
        ("what_if = { a = [nan] }", "what_if.a.0: nan is no number"),
        ('name = "../x"', "no slashes"),
        ('name = "a\\nb"', "no control characters"),
        ('policy = { kind = ["acceptance"] }', "policy.kind"),
        ("baseline = { max_age_days = -1 }", "baseline.max_age_days: Input should be greater than 0"),
    ],
)
def test_a_suite_that_no_run_could_hold_is_refused(project: Project, line: str, said: str) -> None:
    """Before anything is written, with the place of the fault."""
    project.promoted()
    project.write("suites/s.toml", f'target = "tests.suite.agents:once"\n{line}\n')
    done = project.run("run", "suites/s.toml")
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-1", "1e12"])
def test_a_time_limit_that_no_timer_takes_is_refused(project: Project, seconds: str) -> None:
    """It is the command's fault, and not the agent's; nor is it no limit at all."""
    project.ingested()
    done = project.run("replay", "refund-twice", "--target", "tests.suite.agents:once", "--timeout", seconds)
    assert done.code == 2
    assert "a replay's time limit is above 0 and at most 10,000,000 seconds, got" in done.err
