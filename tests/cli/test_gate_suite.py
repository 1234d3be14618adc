"""`evalkit gate --against`: which suite of the base a run is compared with, and what of it is."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.cli.test_gate import committed, gated, git
from tests.cli.test_gate_git import kept, told
from tests.project import Project

__all__ = ["gated"]

LIVE = 'mode = "live-model"\n[model]\nbase_url = "http://127.0.0.1:9/v1"\n'
NOT_WORSE = '[policy]\nkind = "not_worse"\nmargin = 0.2\n'


def on_branch(project: Project, suite: str, *more: str) -> None:
    """A further commit, and a run of the suite."""
    git(project, "add", suite, *more)
    git(project, "commit", "--allow-empty", "-m", "x")
    done = project.run("run", suite, "--out", "reports/a")
    assert done.code == 0, done.err


def unlike_its_file(project: Project, folder: str) -> list[str]:
    """What the gate says of the suite's file where it compares with no base."""
    notices: list[str] = project.run("gate", folder, "--json").json()["notices"]
    return [notice for notice in notices if "suites/release.toml" in notice]


@pytest.mark.parametrize(
    ("flags", "otherwise"),
    [
        ((), ""),
        (("--samples", "2"), "samples 2 instead of 9"),
        (("--target", "tests.suite.agents:slow"), "target tests.suite.agents:slow instead of tests.suite.agents:once"),
        (
            ("--mode", "simulation", "--fault", "tool=lookup,kind=error"),
            "mode simulation instead of exact, other faults",
        ),
    ],
)
def test_what_the_command_line_says_otherwise_than_the_suites_file_is_told(
    gated: Project, flags: tuple[str, ...], otherwise: str
) -> None:
    """Where nothing is compared with a base: what was tried is not what the project says that its gate tries."""
    suite = gated.suite("once", samples=9)
    gated.run("run", suite, *flags, "--out", "reports/a")
    said = f"suite release is another one than in suites/release.toml: {otherwise}"
    assert unlike_its_file(gated, "reports/a") == ([said] if otherwise else [])


def test_a_suites_file_that_was_changed_since_the_run_is_told(gated: Project) -> None:
    """Its policy; and one that is none any more, or gone."""
    path = gated.root / gated.suite("once", samples=9)
    gated.run("run", str(path), "--out", "reports/a")
    path.write_text(path.read_text("utf-8") + '[policy]\nkind = "min_rate"\nmin_rate = 0.5\n')
    assert [one.split(":")[0] for one in unlike_its_file(gated, "reports/a")] == [
        "suite release decides otherwise than in suites/release.toml"
    ]
    for text in ("samples = 0\n", "= =", None):
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
        none = "suites/release.toml is no suite now: what the run measured was compared with nothing"
        assert unlike_its_file(gated, "reports/a") == [none]


@pytest.mark.parametrize("moved", [False, True])
def test_a_suite_of_the_same_name_in_a_folder_below_is_not_compared_with(gated: Project, moved: bool) -> None:
    """One that was put aside, and asks for less; also where the branch has the suite in another file."""
    suite = gated.suite("once", samples=9)
    text = (gated.root / suite).read_text("utf-8")
    gated.write("suites/archive/release.toml", text.replace("= 9", "= 2"))
    committed(gated)
    if moved:
        git(gated, "mv", suite, "suites/gate.toml")
        suite = "suites/gate.toml"
    gated.write(suite, 'name = "release"\n' + text.replace("= 9", "= 2"))
    on_branch(gated, suite)
    assert told(gated, "reports/a") == ["suite release is another one than in main: samples 2 instead of 9"]


@pytest.mark.parametrize("samples", [9, 2])
def test_a_suite_outside_of_the_suites_folder_is_found(gated: Project, samples: int) -> None:
    """By its file's place; another one's that has its name is not taken for it."""
    text = (gated.root / gated.suite("once", samples=9)).read_text("utf-8")
    gated.write("ci/mine.toml", f'name = "release"\n{text}')
    gated.suite("once", samples=5)
    committed(gated, "ci")
    gated.write("ci/mine.toml", f'name = "release"\n{text.replace("= 9", f"= {samples}")}')
    on_branch(gated, "ci/mine.toml")
    said = "suite release is another one than in main: samples 2 instead of 9"
    assert told(gated, "reports/a") == ([] if samples == 9 else [said])


@pytest.mark.parametrize("more", ["temperature = 0.0\n", 'extra_body = { model = "easy" }\n'])
def test_what_a_model_is_asked_otherwise_is_told(gated: Project, more: str) -> None:
    """Where the base's suite says nothing of it, too; and where it is the settings that say it now."""
    head = 'target = "tests.suite.agents:once"\n'
    suite = gated.write("suites/release.toml", head + LIVE)
    gated.write("evalkit.toml", head)
    committed(gated, "evalkit.toml")
    suite.write_text(head + LIVE + more)
    on_branch(gated, "suites/release.toml")
    assert told(gated, "reports/a") == ["suite release is another one than in main: another model"]
    if "extra_body" in more:
        suite.write_text(head + LIVE)
        gated.write("evalkit.toml", f"{head}[model]\n{more}")
        kept(gated)
        git(gated, "add", "evalkit.toml")
        git(gated, "commit", "-m", "settings")
        gated.run("run", "suites/release.toml", "--out", "reports/b")
        assert told(gated, "reports/b") == ["suite release is another one than in main: another model"]


def test_an_address_from_the_command_line_is_no_difference(gated: Project) -> None:
    """Neither suite nor settings say one; a measure is made of such a run, too."""
    gated.write("suites/release.toml", 'target = "tests.suite.agents:once"\nmode = "live-model"\n')
    committed(gated)
    options = ("--base-url", "http://127.0.0.1:9/v1", "--actor", "ann", "--reason", "x", "--out", "reports/a")
    done = gated.run("run", "suites/release.toml", *options)
    assert done.code == 0, done.err
    assert not [note for note in told(gated, "reports/a") if "suite release" in note]
    done = gated.run("baseline", "set", "reports/a", "--reason", "x")
    assert (done.code, "as suites/release.toml has it" in done.err) == (0, False), done.err


def test_what_the_bases_settings_say_of_the_model_is_no_difference(gated: Project) -> None:
    """The suite leaves address and headers to them, and says the rest."""
    settings = 'base_url = "http://127.0.0.1:9/v1"\nheaders = { x-team = "a" }\n'
    gated.write("evalkit.toml", f"[model]\n{settings}")
    gated.write("suites/release.toml", 'target = "tests.suite.agents:once"\nmode = "live-model"\n')
    committed(gated, "evalkit.toml")
    on_branch(gated, "suites/release.toml")
    assert told(gated, "reports/a") == []


def test_other_headers_to_the_model_are_told(gated: Project) -> None:
    """Routers choose a model by them; their values may be secret."""
    head = 'target = "tests.suite.agents:once"\n'
    gated.write("suites/release.toml", head + LIVE)
    committed(gated)
    gated.write("suites/release.toml", f'{head}{LIVE}headers = {{ x-route = "hidden" }}\n')
    on_branch(gated, "suites/release.toml")
    assert told(gated, "reports/a") == ["suite release asks the model with other headers than in main: x-route"]


def test_a_measure_of_another_suite_of_the_base_is_told(gated: Project) -> None:
    """Under `not_worse`: that the base has the file does not make it the measure of this suite."""
    for name, target in (("release", "once"), ("weak", "twice")):
        suite = gated.suite(target, name)
        gated.write(suite, (gated.root / suite).read_text("utf-8") + NOT_WORSE)
        gated.run("run", suite, "--fixed", "--out", f"reports/{name}")
        assert gated.run("baseline", "set", f"reports/{name}", "--reason", "x").code == 0
    committed(gated)
    text = (gated.root / "suites/release.toml").read_text("utf-8").replace(":once", ":twice")
    gated.write("suites/release.toml", f'baseline = "suites/weak.baseline.parquet"\n{text}')
    on_branch(gated, "suites/release.toml")
    (first, second, third) = told(gated, "reports/a")
    assert "must not be worse than another baseline than in main (run 2" in second, (first, second)
    assert third.startswith("another and 1 more fail more often than not, which the policy lets pass")


def test_a_measure_that_the_bases_suite_lacks_is_told(gated: Project) -> None:
    """The base has it, and its suite does not name it."""
    suite = gated.suite("once", "weak")
    gated.run("run", suite, "--out", "reports/weak")
    assert gated.run("baseline", "set", "reports/weak", "--reason", "x").code == 0
    suite = gated.suite("once")
    text = (gated.root / suite).read_text("utf-8") + NOT_WORSE
    gated.write(suite, text)
    committed(gated)
    gated.write(suite, f'baseline = "suites/weak.baseline.parquet"\n{text}')
    on_branch(gated, suite)
    (only,) = told(gated, "reports/a")
    assert "release must not be worse than a baseline that it does not have in main (run 2" in only


@pytest.mark.parametrize("mine", [False, True])
def test_what_the_base_changed_since_is_not_laid_to_the_branch(gated: Project, mine: bool) -> None:
    """A pipeline of the branch itself, which is behind; unless that has changed the suite as well."""
    suite = gated.suite("once", samples=2)
    committed(gated)
    git(gated, "switch", "main")
    gated.suite("once", samples=9)
    git(gated, "commit", "-am", "more samples")
    git(gated, "switch", "mine")
    gated.suite("once", samples=3 if mine else 2)
    on_branch(gated, suite)
    said = f"suite release is another one than in main: samples {3 if mine else 2} instead of 9"
    behind = " (main has changed that since this branch left it: merge main)"
    assert told(gated, "reports/a") == [said if mine else f"{said}{behind}"]


def test_time_limits_in_another_order_are_told(gated: Project) -> None:
    """The first pattern that fits a case holds."""
    suite = gated.suite("once")
    text = (gated.root / suite).read_text("utf-8")
    gated.write(suite, f'{text}[timeouts]\n"anoth*" = 1.0\n"*" = 600.0\n')
    committed(gated)
    gated.write(suite, f'{text}[timeouts]\n"*" = 600.0\n"anoth*" = 1.0\n')
    on_branch(gated, suite)
    assert told(gated, "reports/a") == ["suite release is another one than in main: other timeouts"]


# Whose run it is


def test_an_arm_of_an_ab_run_is_told(gated: Project) -> None:
    """It may have been moved; and a measure that is made of it, too, says what it tried."""
    committed(gated)
    arm = ("--b", "target=tests.suite.agents:paid_first")
    done = gated.run("ab", "suites/release.toml", *arm, "--samples", "3", "--out", "reports/ab")
    assert done.code == 0, done.err
    (gated.root / "reports/ab/a").rename(gated.root / "reports/a")
    said = gated.run("gate", "reports/a").out
    assert "-ab-release-" in said
    assert "(as the suite says): what an arm tries may not be what is to be released" in said
    done = gated.run("baseline", "set", "reports/ab/b", "--reason", "x")
    assert done.code == 0
    assert "is arm b of " in done.err
    assert "target tests.suite.agents:paid_first instead of tests.suite.agents:once" in done.err


@pytest.mark.parametrize("committed_first", [True, False])
def test_a_measure_of_something_else_than_the_suite_is_told(gated: Project, committed_first: bool) -> None:
    """Another target, or what nobody committed; more samples are not."""
    committed(gated)
    suite = "suites/release.toml"
    options = ("--samples", "7")
    if not committed_first:
        gated.write(suite, (gated.root / suite).read_text("utf-8") + "# changed\n")
        options = ("--target", "tests.suite.agents:twice")
    gated.run("run", suite, *options, "--out", "reports/a")
    done = gated.run("baseline", "set", "reports/a", "--reason", "x")
    assert done.code == 0
    assert ("is not of the suite as suites/release.toml has it: target" in done.err) is not committed_first
    assert ("tried changes that were not committed, on top of " in done.err) is not committed_first


@pytest.mark.parametrize("reftable", [False, True])
def test_a_run_of_another_commit_is_told_however_git_keeps_its_references(gated: Project, reftable: bool) -> None:
    """A branch may be a link to another one; and a repository may keep none of them in files."""
    if reftable:
        try:
            git(gated, "init", "--ref-format=reftable")
        except subprocess.CalledProcessError:
            pytest.skip("this git knows no reftable")
    committed(gated)
    if not reftable:
        git(gated, "symbolic-ref", "refs/heads/link", "refs/heads/mine")
        git(gated, "symbolic-ref", "HEAD", "refs/heads/link")
    on_branch(gated, "suites/release.toml")
    assert not [note for note in told(gated, "reports/a") if "commit" in note]
    git(gated, "commit", "--allow-empty", "-m", "y")
    (only,) = told(gated, "reports/a")
    assert re.fullmatch(
        r"the run is of commit [0-9a-f]{10}, and this is [0-9a-f]{10}: what changed between them was not run", only
    )
