"""Parts of a suite, more samples, and the progress of a run, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit.app.run_plan import samples_about
from evalkit.cli.progress import ProgressLine, progress_text
from evalkit.suite.manifest import start_run, suite_json
from evalkit.suite.model import Manifest, Policy, Selection, Suite
from evalkit.suite.progress import Progress
from evalkit.suite.results import read_samples
from evalkit.suite.run import OpenRun
from evalkit.suite.select import select_cases
from evalkit.verdict.in_batches import InBatches
from evalkit.verdict.screened import Screened
from tests.project import Project
from tests.suite.runs import library

SUITE = 'target = "tests.suite.agents:{target}"\nsamples = 2\nsequential = false\n'


def cases_of(folder: str) -> list[str]:
    """The cases that a run has samples of."""
    return sorted(read_samples(Path(folder)))


def test_only_some_cases_are_run_and_the_manifest_says_so(project: Project) -> None:
    """A filter goes on top of the suite's own selection."""
    library(project.root, [1, 2, 3])
    project.write("suites/s.toml", SUITE.format(target="once"))
    assert project.run("run", "suites/s.toml", "--filter", "order-1,order-3", "--out", "r").code == 0
    assert cases_of("r") == ["order-1", "order-3"]
    assert json.loads(Path("r/run.json").read_text())["part"] == {"filter": "order-1,order-3", "of": 3}
    project.run("run", "suites/s.toml", "--out", "whole")
    assert json.loads(Path("whole/run.json").read_text())["part"] == {}
    refused = project.run("run", "suites/s.toml", "--filter", "tag:none", "--out", "none")
    assert (refused.code, "none of the suite's 3 cases is meant" in refused.err) == (2, True)
    assert not Path("none").exists()


def test_only_what_failed_is_run_again(project: Project) -> None:
    """After the agent was mended: the cases that failed there, and no others."""
    library(project.root, [1, 13])
    project.write("suites/s.toml", SUITE.format(target="raises_on_13"))
    assert project.run("run", "suites/s.toml", "--out", "r").code == 1
    project.write("suites/s.toml", SUITE.format(target="once"))
    done = project.run("run", "suites/s.toml", "--only-failing", "r", "--out", "again")
    assert (done.code, cases_of("again")) == (0, ["order-13"])
    part = json.loads(Path("again/run.json").read_text())["part"]
    assert part == {"only_failing": json.loads(Path("r/run.json").read_text())["run_id"], "of": 2}
    nothing = project.run("run", "suites/s.toml", "--only-failing", "again", "--out", "third")
    assert (nothing.code, "none of the cases failed there" in nothing.err) == (2, True)
    missing = project.run("run", "suites/s.toml", "--only-failing", "nowhere", "--out", "third")
    assert (missing.code, "there is no run" in missing.err) == (2, True)


@pytest.mark.parametrize(("key", "refused"), [("", False), ('on_degraded = "pass"', True)])
def test_a_degraded_case_that_blocks_is_run_again(project: Project, key: str, refused: bool) -> None:
    """Worse within the margin: it blocks a release, unless the policy says not."""
    project.promoted()
    project.write("suites/s.toml", SUITE.format(target="never_alike").replace("samples = 2", "samples = 100"))
    assert project.run("run", "suites/s.toml", "--out", "before").code == 0
    assert project.run("baseline", "set", "before", "--reason", "first night").code == 0
    worse = f'[policy]\nkind = "not_worse"\nmargin = 0.5\n{key}\n'
    project.write("suites/s.toml", SUITE.format(target="unsteady").replace("samples = 2", "samples = 80") + worse)
    project.run("run", "suites/s.toml", "--out", "r")
    assert json.loads(Path("r/verdicts.json").read_text())["cases"][0]["verdict"] == "DEGRADED_WITHIN_MARGIN"
    project.write("suites/s.toml", SUITE.format(target="never_alike"))
    again = project.run("run", "suites/s.toml", "--only-failing", "r", "--out", "again")
    assert ("none of the cases failed there" in again.err, Path("again").exists()) == (refused, not refused)


def test_a_finished_run_takes_more_samples(project: Project) -> None:
    """Only what is missing is done, and the reports tell of all."""
    library(project.root, [1, 2])
    project.write("suites/s.toml", SUITE.format(target="once"))
    assert project.run("run", "suites/s.toml", "--out", "r").code == 0
    before = read_samples(Path("r"))
    done = project.run("run", "--resume", "r", "--raise-samples", "5", "--actor", "ben")
    assert done.code == 0, done.err
    after = read_samples(Path("r"))
    assert {case: several[:2] for case, several in after.items()} == before
    assert [len(several) for several in after.values()] == [5, 5]
    assert {one["n"] for one in json.loads(Path("r/verdicts.json").read_text())["cases"]} == {5}
    (raised,) = json.loads(Path("r/run.json").read_text())["raised"]
    assert (raised["from"], raised["to"], raised["actor"]) == (2, 5, "ben")


@pytest.mark.parametrize(
    "flags",
    [["--raise-samples", "5"], ["--resume", "r", "--samples", "5"], ["--resume", "r", "--filter", "x"]],
)
def test_what_does_not_go_together_is_refused(project: Project, flags: list[str]) -> None:
    """A continuation changes nothing of what was begun, but for more samples."""
    library(project.root, [1])
    project.write("suites/s.toml", SUITE.format(target="once"))
    project.run("run", "suites/s.toml", "--out", "r")
    done = project.run("run", *flags, *([] if "--resume" in flags else ["suites/s.toml"]))
    assert (done.code, "--raise-samples" in done.err) == (2, True)


def test_the_line_says_where_a_run_stands() -> None:
    """Cases, samples, the pass rate so far, what was lost, the cost, and the time that is left."""
    progress = Progress(
        total=1000, passed=300, failed=100, missed=2, errored=1, cost_usd=1.5, cases=100, cases_done=40, retried=3
    )
    assert progress_text(progress, elapsed_s=40.0, fresh=403) == (
        "[#########...............] 403 of 1,000  40/100 cases  300 passed (75%), 100 failed  "
        "2 missed, 1 errored (3 replayed again)  $1.50  59 s left"
    )


def test_a_run_of_unknown_length_promises_nothing() -> None:
    """A plan that may stop early has no total; a continuation's old samples say nothing of its speed."""
    progress = Progress(total=20, passed=20, cases=4, cases_done=4, about=80)
    line = progress_text(progress, elapsed_s=600.0, fresh=10)
    assert "20 of about 80" in line
    assert "4/4 cases so far" in line
    assert line.endswith("about 60 min left")
    assert "left" not in progress_text(progress, elapsed_s=0.0, fresh=0)


def test_a_screened_run_is_as_long_as_its_screening() -> None:
    """Few cases are suspected: what their policy would take of each would promise twelve times the time."""
    policy = Policy()
    plans = {f"case-{at}": Screened(policy, 0.05, f"case-{at}", (60, 60), None, 61) for at in range(10)}
    suite = Suite("s", mode="live-model")
    assert samples_about(suite, {**plans, "gate": InBatches(policy, 0.05)}) == 10 * 5 + 61
    assert samples_about(Suite("s"), plans) == 10 * 2
    assert samples_about(Suite("s", samples=1), plans) == 10


def test_a_run_in_ci_logs_plain_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No escape codes, and the last line always."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with ProgressLine() as line:
        for passed in range(1, 6):
            line.show(Progress(total=5, passed=passed))
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert said.splitlines()[-1].startswith("[########################] 5 of 5")
    assert len(said.splitlines()) == 2  # the first, and the last: not each


def test_looks_and_what_is_replayed_again_are_no_line_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand samples that an outage spoiled would be a thousand lines; where they stand at the end is told."""
    monkeypatch.setenv("CI", "true")
    with ProgressLine() as line:
        for done in range(1, 5):
            line.show(Progress(total=done, passed=done, about=5))
        for errored in range(5, -1, -1):
            line.show(Progress(total=5, passed=5 - errored, errored=errored, retried=5 - errored))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "5 passed (100%), 0 failed  0 missed, 0 errored (5 replayed again)" in said[-1]


def test_cases_that_are_decided_are_done_as_long_as_the_run_goes_on(tmp_path: Path) -> None:
    """Later looks ask for samples of the others alone."""
    stands: list[tuple[int, int]] = []
    library(tmp_path, [1, 2, 3])
    suite = Suite("test", "tests.suite.agents:never_alike", 4)
    cases = select_cases(tmp_path / "cases", Selection())
    start_run(tmp_path / "run", Manifest("r", suite_json(suite), (), "now"))

    def told(progress: Progress) -> None:
        stands.append((progress.cases_done, progress.done))

    for wanted in ({"order-1": 2, "order-2": 2, "order-3": 2}, {"order-3": 4}):
        with OpenRun(tmp_path / "run", suite, cases, executor="serial", workers=1, on_progress=told) as opened:
            opened.up_to(wanted)
            assert opened.up_to({"order-3": wanted["order-3"] + 1})
    assert stands[-1] == (3, 9)
    assert min(done for done, _ in stands[len(stands) // 2 :]) >= 2


@pytest.mark.parametrize("place", ["order-2/v0001.parquet", "copy/v0001.parquet", "order-1/v0002.parquet"])
def test_a_case_in_anothers_place_is_not_run_for_it(project: Project, place: str) -> None:
    """One case would be replayed for two, and the other one never."""
    library(project.root, [1, 2])
    project.write("suites/s.toml", SUITE.format(target="once"))
    there = project.root / "cases" / place
    there.parent.mkdir(exist_ok=True)
    there.write_bytes((project.root / "cases/order-1/v0001.parquet").read_bytes())
    done = project.run("run", "suites/s.toml", "--out", "r")
    assert done.code == 4
    assert "the file holds case order-1 version 1" in done.err
    assert not Path("r").exists()
