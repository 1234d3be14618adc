"""Commands on runs: from a suite to the release decision, with the exit codes that CI relies on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.app.locks import refresh_lock
from evalkit.case.model import LifeEvent
from evalkit.case.store import read_with_digest, write_case
from evalkit.suite.results import read_samples, read_traces
from tests.cli.test_gate import git
from tests.project import Project, healthy


def ran(project: Project, target: str, *options: str, code: int) -> Path:
    """A run of the release suite; checks its exit code, gives its folder."""
    suite = project.suite(target)
    folder = project.root / "reports" / f"{target}-{len(list((project.root / 'reports').glob('*')))}"
    done = project.run("run", suite, "--samples", "3", "--out", str(folder), *options)
    assert done.code == code, done.out + done.err
    return folder


@pytest.mark.parametrize(
    ("target", "code", "outcome"), [("once", 0, "PASS"), ("twice", 1, "BLOCKED"), ("stray", 3, "INCONCLUSIVE")]
)
def test_a_release_is_decided(project: Project, target: str, code: int, outcome: str) -> None:
    """A mended agent opens the gate, the broken one closes it, and what can't be told holds it."""
    project.promoted()
    folder = ran(project, target, code=code)
    done = project.run("gate", str(folder), "--json")
    assert (done.code, done.json()["outcome"]) == (code, outcome)


def test_a_run_leaves_its_files(project: Project) -> None:
    """Manifest, samples, traces, verdicts, page, JUnit, Markdown; no journal, no temporary file."""
    project.promoted()
    folder = ran(project, "twice", code=1)
    assert sorted(path.name for path in folder.iterdir()) == [
        "junit.xml",
        "report.html",
        "run.json",
        "samples.parquet",
        "summary.md",
        "traces.parquet",
        "verdicts.json",
    ]
    manifest = json.loads((folder / "run.json").read_bytes())
    assert manifest["cases"][0][0] == "refund-twice"
    assert manifest["actor"] == "ann"
    assert "permanent gate" in (folder / "report.html").read_text("utf-8")


def test_a_report_that_cant_be_written_is_wrong_input_and_no_blocked_gate(project: Project) -> None:
    """Exit code 2, what to do, and after it the run is whole: its samples were kept."""
    project.promoted()
    folder = ran(project, "once", code=0)
    (folder / ".report.html.writing").mkdir()  # stands in for a disk that takes nothing more
    refused = project.run("run", "--resume", str(folder))
    assert (refused.code, f"evalkit run --resume {folder}" in refused.err) == (2, True)
    (folder / ".report.html.writing").rmdir()
    assert project.run("run", "--resume", str(folder)).code == 0


def test_a_deterministic_agent_is_recognised(project: Project) -> None:
    """A frozen replay of it has no variance; the verdict says so."""
    project.promoted()
    suite = project.suite("once")
    body = project.run("run", suite, "--samples", "2", "--json").json()
    assert body["cases"][0]["deterministic"] is True
    assert body["cases"][0]["verdict"] == "PASS"


def test_a_suite_is_named_or_its_file_is(project: Project) -> None:
    """A name stands for the file in the folder of suites; one that is not there is said to be missing, with where."""
    project.promoted()
    project.suite("once")
    for named in ("release", "suites/release.toml"):
        assert project.run("run", named, "--json").json()["cases"][0]["verdict"] == "PASS"
        assert project.run("power", named).code == 0
        assert project.run("coverage", named).code == 0
    missing = project.run("run", "nightly")
    assert (missing.code, "suites/nightly.toml" in missing.err) == (2, True)


def test_a_regression_against_the_baseline_is_shown(project: Project) -> None:
    """A healthy night becomes the measure; the broken agent is then called regressed."""
    project.promoted()
    healthy = ran(project, "once", "--samples", "10", "--fixed", code=0)
    assert project.run("baseline", "set", str(healthy), "--reason", "first healthy night").code == 0
    assert "10/10" in project.run("baseline", "show", "release").out
    suite = project.suite("twice")
    body = project.run("run", suite, "--samples", "10", "--fixed", "--json").json()
    assert body["cases"][0]["change"] == "regressed"
    assert body["cases"][0]["p_adjusted"] is None, "all replays were equal, here and there: nothing is left to chance"


def test_a_gate_that_was_left_out_blocks(project: Project) -> None:
    """A run of other cases does not open the gate."""
    project.promoted("refund-twice")
    folder = ran(project, "once", code=0)
    project.promoted("another", "--new", order=8)
    done = project.run("gate", str(folder))
    assert (done.code, "another" in done.out) == (1, True)


def test_the_lock_is_compared_with_the_base_branch(project: Project) -> None:
    """A pull request that deletes a permanent case is blocked, one that retires it is not."""

    project.promoted("refund-twice")
    project.promoted("another", "--new", order=8)
    git(project, "init", "-b", "main")
    git(project, "add", "cases")
    git(project, "commit", "-m", "cases")
    for path in (project.root / "cases" / "another").iterdir():
        path.unlink()
    (project.root / "cases" / "another").rmdir()
    assert project.run("review", "refund-twice", "--reason", "x").code == 2
    lines = (project.root / "cases" / "gates.lock").read_text("utf-8").splitlines()
    project.write("cases/gates.lock", "\n".join(line for line in lines if "another" not in line) + "\n")
    folder = ran(project, "once", code=0)
    assert project.run("gate", str(folder)).code == 0
    done = project.run("gate", str(folder), "--against", "main")
    assert (done.code, "another" in done.out) == (1, True)
    assert project.run("gate", str(folder), "--against", "nowhere").code == 2
    git(project, "checkout", "--", "cases")
    project.run("retire", "another", "--reason", "the tool is gone")
    folder = ran(project, "once", code=0)
    assert project.run("gate", str(folder), "--against", "main").code == 0


def test_a_base_branch_sees_a_weaker_gate(project: Project) -> None:
    """Whoever wrote the newer version: a locked check that gates no more blocks, after a retirement it does not."""

    project.write("healthy.trace", healthy())
    case_id = project.promoted("refund-twice", "--passing", "healthy.trace")
    git(project, "init", "-b", "main")
    git(project, "add", "cases")
    git(project, "commit", "-m", "cases")
    cases = project.root / "cases"
    case, digest = read_with_digest(cases / case_id)
    gone, *left = case.gating
    assert left
    event = LifeEvent("permanent", "mallory", "in the way", "2026-01-01T00:00:00Z")
    write_case(replace(case.moved(digest, event), checks=tuple(left)), cases)
    refresh_lock(cases)
    folder = ran(project, "once", code=0)
    assert project.run("gate", str(folder)).code == 0
    done = project.run("gate", str(folder), "--against", "main")
    assert (done.code, gone.id in done.out) == (1, True)
    assert project.run("retire", case_id, "--reason", "the check was wrong").code == 0
    assert project.run("review", case_id, "--accept-all", "--reason", "read").code == 0
    assert project.run("promote", case_id, "--reason", "again", "--passing", "healthy.trace").code == 0
    folder = ran(project, "once", code=0)
    assert project.run("gate", str(folder), "--against", "main").code == 0
    (cases / case_id / f"v{case.version:04d}.parquet").unlink()
    done = project.run("gate", str(folder), "--against", "main")
    assert (done.code, f"version {case.version} is missing" in done.out) == (1, True)


def test_replay_shows_its_counts(project: Project) -> None:
    """Bodies executed, live attempts, recorded, substituted."""
    case_id = project.ingested()
    done = project.run("replay", case_id, "--target", "tests.suite.agents:twice")
    assert done.code == 1
    assert "tool bodies executed 0, live model attempts 0, recorded 3, substituted 3" in done.out
    (body,) = project.run("replay", case_id, "--target", "tests.suite.agents:once", "--json").json()
    assert (body["status"], body["counts"]["substituted"]) == ("passed", 2)
    assert project.run("replay", case_id, "--target", "tests.suite.agents:stray").code == 3


def test_a_replay_can_be_written_and_ingested(project: Project) -> None:
    """A replay of a case is again a trace."""
    case_id = project.ingested()
    done = project.run("replay", case_id, "--target", "tests.suite.agents:twice", "--out", "again.trace")
    assert done.code == 1
    assert project.run("judge", case_id, "again.trace").code == 1
    assert "already" in project.run("ingest", "again.trace", "--id", "again").err
    assert project.run("ingest", "again.trace", "--id", "again", "--new").code == 0


def test_a_finished_run_can_be_reported_again(project: Project) -> None:
    """Another baseline, another page; the samples stay."""
    project.promoted()
    folder = ran(project, "once", code=0)
    (folder / "report.html").unlink()
    assert project.run("report", str(folder)).code == 0
    assert (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("samples = 0\n", "samples"),
        ("smaples = 3\n", "smaples"),
        ('mode = "live-model"\n', "endpoint"),
        ("[select\n", "not TOML"),
        ('[select]\nids = ["nobody"]\n', "nobody"),
        ('[policy]\nkind = "lenient"\n', "policy.kind"),
    ],
)
def test_a_wrong_suite_is_refused(project: Project, text: str, said: str) -> None:
    """What is wrong, in which file; nothing is run."""
    project.promoted()
    project.write("suites/wrong.toml", text)
    done = project.run("run", "suites/wrong.toml", "--target", "tests.suite.agents:once")
    assert done.code == 2
    assert said in done.err
    assert not (project.root / "reports").exists()


def test_a_misspelt_setting_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the file and in the environment."""
    project.write("evalkit.toml", 'tagret = "x"\n')
    assert project.run("list").code == 2
    project.write("evalkit.toml", "")
    monkeypatch.setenv("EVALKIT_TAGRET", "x")
    done = project.run("list")
    assert (done.code, "EVALKIT_TAGRET" in done.err) == (2, True)


def test_the_process_ends_with_the_code(project: Project) -> None:
    """What CI sees: the console script's own exit code, and a message without a traceback."""
    done = project.spawn("gate", "reports/none")
    assert (done.code, done.err.startswith("error: "), "Traceback" in done.err) == (2, True, False)
    assert project.spawn("--help").code == 0
    assert project.spawn("nonsense").code == 2


TELLER = """
import os

def told(order):
    return sorted(name for name in os.environ if name.startswith("SHOP_"))
"""


def test_a_run_keeps_its_choices_about_the_world(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand in the manifest, and a run that goes on later keeps to them, whatever the settings say by then."""
    monkeypatch.setenv("SHOP_CITY", "Berlin")
    monkeypatch.setenv("SHOP_LAND", "Berlin")
    project.ingested()
    project.write("teller.py", TELLER)
    project.write("evalkit.toml", '[world]\nkeep_env = ["SHOP_C*"]\nclock = "moving"\n')
    project.write("suites/s.toml", 'target = "teller:told"\nsamples = 1\nkeep_traces = "all"\n')
    folder = project.root / "r"
    project.spawn("run", "suites/s.toml", "--out", "r")
    manifest = (folder / "run.json").read_bytes()
    assert json.loads(manifest)["world"] == {"clock": "moving", "keep_env": ["SHOP_C*"], "working_copy": False}
    for path in folder.iterdir():
        if path.name != "run.json":  # as a run that was killed before its first sample
            path.unlink()
    project.write("evalkit.toml", '[world]\nkeep_env = ["SHOP_L*"]\n')
    done = project.spawn("run", "--resume", "r")
    assert done.code in (0, 1, 3), done.err
    (sample,) = read_samples(folder)["refund-twice"]
    (trace,) = read_traces(folder, [sample.trace]).values()
    assert trace.output == ["SHOP_CITY"]


def test_a_report_makes_no_replays(project: Project) -> None:
    """An unfinished run is refused, and stays as it is; `--resume` finishes it."""
    project.promoted("refund-twice")
    assert project.run("run", project.suite("once"), "--out", "reports/a").code == 0
    folder = project.root / "reports" / "a"
    (folder / "samples.parquet").unlink()
    (folder / "report.html").unlink()
    (folder / "journal.jsonl").touch()
    done = project.run("report", "reports/a")
    assert (done.code, "cure: evalkit run --resume reports/a" in done.err) == (2, True)
    assert (folder / "journal.jsonl").stat().st_size == 0
    assert project.run("run", "--resume", "reports/a").code == 0
    assert project.run("report", "reports/a").code == 0


@pytest.mark.parametrize("declared", ['(effect="read")', '(effect="pure")', '(name="refund")'])
def test_what_was_declared_to_write_writes_whatever_the_agent_declares_now(project: Project, declared: str) -> None:
    """A milder word in its code would let it refund twice; a stricter one counts."""
    project.promoted()
    module = f"mild_{len(declared)}{declared[9]}"
    project.write(
        f"{module}.py",
        f"""
from evalkit import tool

@tool(effect="write")
def lookup(order): ...

@tool{declared}
def refund(order): ...

def twice(order):
    lookup(order)
    refund(order)
    return {{"done": refund(order)}}

def curious(order):
    lookup(order)
    lookup(order)
    return {{"done": refund(order)}}
""",
    )
    project.write("suites/release.toml", "[select]\ngate = true\n")
    for agent in ("twice", "curious"):
        done = project.run("run", "release", "--target", f"{module}:{agent}", "--out", f"reports/{agent}")
        assert (done.code, "does not make a change twice" in done.out) == (1, True), done.out
        assert project.run("gate", f"reports/{agent}").code == 1
