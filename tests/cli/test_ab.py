"""`evalkit ab`: two arms in turns, compared; stopped, continued, and made of runs that there were."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.case.store import read_case, write_case
from evalkit.check.model import Check
from evalkit.errors import ConfigError
from evalkit.suite.results import read_samples
from tests.counting import CountingModel
from tests.demo import TARGET
from tests.project import Outcome, Project
from tests.suite.runs import library

AGENTS = "tests.suite.agents"
SERIAL = ("-n", "1")


def suite(project: Project, text: str = "") -> str:
    """A suite of four small cases."""
    library(project.root, [1, 2, 3, 4])
    project.write("suites/s.toml", f'target = "{AGENTS}:once"\nsamples = 4\n{text}')
    return "suites/s.toml"


def ab(project: Project, *arguments: str) -> Outcome:
    """A comparison in one process, into the folder ``r``."""
    return project.run("ab", *arguments, "--out", "r", *SERIAL)


def left_by(project: Project, name: str = "r") -> Any:
    """What ``ab.json`` holds."""
    return json.loads((project.root / name / "ab.json").read_bytes())


def indices(project: Project, arm: str) -> dict[str, list[int]]:
    """The samples of an arm by case."""
    samples = read_samples(project.root / "r" / arm)
    return {case: [sample.index for sample in several] for case, several in samples.items()}


def test_a_worse_agent_is_named(project: Project) -> None:
    """In words, in ab.json and in Markdown; each arm is a run with its own report."""
    done = ab(project, suite(project), "--b", f"target={AGENTS}:twice")
    assert done.code == 0, done.err
    assert done.out.startswith(
        "B is worse by 100 points: of 4 cases it passes 0 that A fails, and fails 4 that A passes"
    )
    assert "4 of 4 compared cases are shown to differ" in done.out
    body = left_by(project)
    assert (body["schema"], body["better"], body["interleaved"]) == ("evalkit.ab/1", "a", True)
    assert body["arms"] == {"a": "as the suite says", "b": f"target={AGENTS}:twice"}
    assert [one["better"] for one in body["cases"]] == ["a"] * 4
    assert "## B is worse by 100 points" in (project.root / "r" / "summary.md").read_text("utf-8")
    for arm in "ab":
        assert (project.root / "r" / arm / "report.html").exists()
        assert project.run("report", f"r/{arm}").code == 0


def test_the_exit_code_is_zero_unless_asked_for(project: Project) -> None:
    """A comparison is no gate; with --fail-if-worse it is one, in one direction."""
    path = suite(project)
    worse = ("--a", f"target={AGENTS}:once", "--b", f"target={AGENTS}:twice")
    better = ("--a", f"target={AGENTS}:twice", "--b", f"target={AGENTS}:once")
    assert project.run("ab", path, *worse, *SERIAL).code == 0
    assert project.run("ab", path, *worse, *SERIAL, "--fail-if-worse").code == 1
    assert project.run("ab", path, *better, *SERIAL, "--fail-if-worse").code == 0


def test_what_could_not_be_measured_is_not_green(project: Project) -> None:
    """An arm that misses everywhere gives no verdict."""
    done = ab(project, suite(project), "--b", f"target={AGENTS}:stray", "--fail-if-worse")
    assert done.code == 3
    assert done.out.startswith("nothing could be compared")
    assert "note: arm B lost 8 of 8 samples (8 missed, 0 errored): they enter nothing" in done.out


def test_json_has_the_verdict_and_nothing_else(project: Project) -> None:
    """Data on stdout, people's lines on stderr."""
    done = project.run("ab", suite(project), "--b", f"target={AGENTS}:twice", *SERIAL, "--json")
    body = done.json()
    assert {"schema", "arms", "sentence", "better", "primary", "alpha", "pass_rate", "metrics", "lost", "notes",
            "cases", "folder", "runs", "interleaved", "stopped", "deterministic"} == set(body)  # fmt: skip
    assert set(body["metrics"]) == {"cost", "latency", "steps", "tokens"}
    assert body["metrics"]["steps"]["change"] == pytest.approx(0.5)
    assert body["sentence"] in done.err


def test_a_deterministic_pair_is_run_no_further_than_it_tells(project: Project) -> None:
    """Both arms' replays are equal after the first turns: the rest of 40 samples would tell nothing new."""
    done = ab(project, suite(project), "--b", f"target={AGENTS}:twice", "--samples", "40")
    assert done.code == 0, done.err
    counts = {len(one) for arm in "ab" for one in indices(project, arm).values()}
    assert max(counts) <= 15
    assert left_by(project)["deterministic"]


def test_the_turns_are_taken_in_order(project: Project) -> None:
    """A, B twice, A: the lines of both journals, by the time that their samples were done."""
    code = (
        "import random\nfrom evalkit.capture.tools import tool\n"
        "from tests.suite.agents import lookup, refund\n"
        "def drawn(order):\n"
        "    lookup(order)\n"
        "    open('log', 'a').write(__name__[-1])\n"
        "    refund(order)\n"
        "    return {'done': random.random()}\n"
    )
    for letter in "ab":
        project.write(f"agent_{letter}.py", code)
    project.write("log", "")
    done = project.spawn(
        "ab", suite(project), "--a", "target=agent_a:drawn", "--b", "target=agent_b:drawn", "--blocks", "2", *SERIAL
    )
    assert done.code == 0, done.err
    log = (project.root / "log").read_text("utf-8")
    assert log == "a" * 4 + "b" * 8 + "a" * 8 + "b" * 8 + "a" * 4


def test_two_prompts_are_compared_on_a_live_model(project: Project, case_id: str) -> None:
    """The demo's agent: one prompt tells its tools apart, the other does not. Tokens and steps are told, too."""
    project.write("old.txt", "You handle refunds.")
    project.write("new.txt", "You handle refunds. refund_order moves money: call it once.")
    with serving(ScriptedModel(error_rate=0.9, seed=3)) as url:
        project.write("suites/p.toml", f'target = "{TARGET}"\n[model]\nbase_url = "{url}"\n')
        done = ab(project, "suites/p.toml", "--a", "prompt=old.txt", "--b", "prompt=new.txt", "--samples", "8")
    assert done.code == 0, done.err
    body = left_by(project)
    assert body["better"] == "b"
    assert body["metrics"]["tokens"]["a"] > 100
    assert body["metrics"]["cost"]["reason"] == "arm A has none: its model has no price"
    manifest = json.loads((project.root / "r" / "b" / "run.json").read_bytes())
    assert manifest["suite"]["mode"] == "live-model"
    assert manifest["suite"]["model"]["system_prompt"].endswith("call it once.")


def test_a_budget_holds_over_both_arms_and_is_raised_on_resume(project: Project, case_id: str) -> None:
    """Not one call more than allowed in both together; afterwards nothing is lost or done twice."""
    project.write("old.txt", "You handle refunds.")
    model = CountingModel()
    with serving(model) as url:
        project.write("suites/p.toml", f'target = "{TARGET}"\n[model]\nbase_url = "{url}"\n')
        wanted = ("suites/p.toml", "--b", "prompt=old.txt", "--a", "temperature=0", "--samples", "4")
        stopped = ab(project, *wanted, "--budget", "calls=13")
        assert stopped.code == 3, stopped.err
        assert model.asked == 13
        assert "stopped before its end: the budget of both arms is spent: calls 13" in stopped.out
        assert "evalkit ab --resume r --budget" in stopped.out
        again = project.run("ab", "--resume", "r", *SERIAL)
        assert (again.code, model.asked) == (3, 13), again.err
        done = project.run("ab", "--resume", "r", "--budget", "calls=100", *SERIAL)
        assert done.code == 0, done.err
    assert indices(project, "a") == indices(project, "b") == {"twice": [0, 1, 2, 3]}
    assert 32 <= model.asked <= 36
    assert left_by(project)["stopped"] == ""


def test_a_comparison_that_went_on_with_other_code_says_so(
    project: Project, case_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its arms are of more than one agent each, as a run's samples are then."""
    with serving(ScriptedModel(error_rate=0.0)) as url:
        project.write("suites/p.toml", f'target = "{TARGET}"\n[model]\nbase_url = "{url}"\n')
        wanted = ("suites/p.toml", "--a", "temperature=0", "--b", "temperature=1", "--samples", "3")
        assert ab(project, *wanted, "--budget", "calls=9").code == 3
        monkeypatch.setattr("evalkit.app.ab.environment", lambda _: {"git_commit": "f" * 40})
        done = project.run("ab", "--resume", "r", "--budget", "calls=100", *SERIAL)
    assert done.code == 0, done.err
    assert "arm A: the run was stopped, and went on with other code (no commit, then commit ffffffffff" in done.out
    assert "arm B: the run was stopped, and went on with other code" in done.out


def test_a_budget_that_ends_before_the_second_arm_begins_is_told(project: Project, case_id: str) -> None:
    """Also then there is a verdict, which is that nothing could be compared, and a way on."""
    with serving(ScriptedModel(error_rate=0.0)) as url:
        project.write("suites/p.toml", f'target = "{TARGET}"\n[model]\nbase_url = "{url}"\n')
        wanted = ("suites/p.toml", "--a", "temperature=0", "--b", "temperature=1", "--samples", "2")
        stopped = ab(project, *wanted, "--budget", "calls=2")
        assert stopped.code == 3, stopped.err
        assert stopped.out.startswith("nothing could be compared")
        done = project.run("ab", "--resume", "r", "--budget", "calls=100", *SERIAL)
        assert done.code == 0, done.err


def test_an_interrupted_comparison_goes_on(project: Project) -> None:
    """Exit code 130 with the command that continues; afterwards every sample is there once, in both arms."""
    suite(project)
    agent = "import random\nfrom tests.suite import agents\ndef slow(order):\n"
    project.write("own.py", agent + "    return {**agents.slow(order), 'x': random.random()}\n")
    arms = ("--a", "target=own:slow", "--b", "target=own:slow")
    command = ("ab", "suites/s.toml", *arms, "--samples", "10", *SERIAL, "--out", "r")
    stopped = project.interrupted("r/b/journal.jsonl", *command)
    assert (stopped.code, "evalkit ab --resume r" in stopped.err) == (130, True), stopped.err
    done = project.run("ab", "--resume", "r", *SERIAL)
    assert done.code == 0, done.err
    every = {f"order-{order}": list(range(10)) for order in range(1, 5)}
    assert indices(project, "a") == indices(project, "b") == every
    before = [(Path("r") / arm / "samples.parquet").read_bytes() for arm in "ab"]
    assert project.run("ab", "--resume", "r", *SERIAL).code == 0
    assert [(Path("r") / arm / "samples.parquet").read_bytes() for arm in "ab"] == before


def test_a_file_that_cant_be_written_leaves_a_comparison_that_goes_on(project: Project) -> None:
    """Exit code 2 with the command that continues the comparison, and not an arm's run."""
    assert ab(project, suite(project), "--b", f"target={AGENTS}:twice").code == 0
    for place in ("r/.ab.json.writing", "r/a/.report.html.writing"):  # stands in for a disk that takes nothing more
        (project.root / place).mkdir()
        refused = project.run("ab", "--resume", "r", *SERIAL)
        assert (refused.code, "then evalkit ab --resume r" in refused.err) == (2, True)
        (project.root / place).rmdir()
    assert project.run("ab", "--resume", "r", *SERIAL).code == 0


def test_a_baseline_that_can_not_be_read_is_said_before_anything_is_run(project: Project) -> None:
    """Not after the model was paid for."""
    path = suite(project)
    project.write("suites/s.baseline.parquet", b"no baseline")
    done = project.run("ab", path, "--b", f"target={AGENTS}:twice", *SERIAL)
    assert (done.code, "not a baseline" in done.err) == (2, True)
    assert not (project.root / "reports").exists()


def test_python_has_the_same_comparison(project: Project) -> None:
    """With the command's keys; what it gives is what the command writes."""
    done = evalkit.ab(suite(project), b={"target": f"{AGENTS}:twice"}, workers=1)
    assert done.verdict.better == "a"
    assert done.folder is not None
    assert json.loads((done.folder / "ab.json").read_bytes())["sentence"] == done.verdict.sentence
    with pytest.raises(ConfigError, match="an arm has no 'colour'"):
        evalkit.ab("suites/s.toml", {"colour": "red"})


def test_two_runs_that_there_were_are_compared_without_a_call(project: Project) -> None:
    """It says that they did not take turns, and writes only where it is told to."""
    path = suite(project)
    for name, target in (("one", "once"), ("two", "twice")):
        project.run("run", path, "--target", f"{AGENTS}:{target}", "--out", name, *SERIAL)
    done = project.run("ab", "--from", "one", "two", "--json", "--out", "compared")
    assert done.code == 0, done.err
    body = done.json()
    assert (body["interleaved"], body["better"], body["folder"]) == (False, "a", None)
    assert body["notes"][0].startswith("the runs did not take turns")
    assert left_by(project, "compared")["sentence"] == body["sentence"]
    assert not any((project.root / "compared" / arm).exists() for arm in "ab")


def test_the_arms_of_one_comparison_took_turns(project: Project) -> None:
    """Compared anew, by another metric say, that is still true of them."""
    command = ("ab", suite(project), "--b", f"target={AGENTS}:twice", "--out", "r", *SERIAL)
    assert project.run(*command).code == 0
    body = project.run("ab", "--from", "r/a", "r/b", "--primary", "steps", "--json").json()
    assert (body["interleaved"], [note for note in body["notes"] if "turns" in note]) == (True, [])


def test_runs_that_stopped_early_are_compared_by_what_nothing_could_change(project: Project) -> None:
    """By each case's first look, and said to be; runs that took all their samples are compared whole."""
    path = suite(project)
    for name, target, options in (("early", "never_alike", ()), ("whole", "never_alike", ("--fixed",))):
        project.write(path, f'target = "{AGENTS}:{target}"\n')
        assert project.run("run", path, "--out", name, *SERIAL, *options).code == 0
    body = project.run("ab", "--from", "early", "whole", "--json").json()
    assert {(one["a"]["n"], one["b"]["n"]) for one in body["cases"]} == {(5, 61)}
    assert any("run A took as many samples as it did because of what they came to" in note for note in body["notes"])
    assert not any("run B took" in note for note in body["notes"])


def test_only_the_same_cases_of_two_runs_are_compared(project: Project) -> None:
    """A case whose checks changed between the runs is left out, with the reason; so is one that only one has."""
    library(project.root, [1, 2, 3])
    for name, ids in (("s", '["order-1", "order-2"]'), ("t", '["order-2", "order-3"]')):
        project.write(f"suites/{name}.toml", f'target = "{AGENTS}:once"\nsamples = 2\n[select]\nids = {ids}\n')
    for suite_name, folder in (("s", "one"), ("t", "two")):
        assert project.run("run", f"suites/{suite_name}.toml", "--out", folder, *SERIAL).code == 0
    assert reasons(project) == {"order-1": "only run A has it", "order-2": "", "order-3": "only run B has it"}
    case = read_case(project.root / "cases" / "order-2" / "v0001.parquet")
    write_case(replace(case, version=2, checks=(Check("called", {"name": "refund", "max": 2}),)), Path("cases"))
    assert project.run("run", "suites/t.toml", "--out", "three", *SERIAL).code == 0
    assert reasons(project, "three")["order-2"] == "its recording or its checks are others in run B"


def reasons(project: Project, other: str = "two") -> dict[str, str]:
    """Why each case of two runs was not compared."""
    body = project.run("ab", "--from", "one", other, "--json").json()
    return {one["case_id"]: one["reason"] for one in body["cases"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["suites/s.toml"], "the arms are the same"),
        (["suites/s.toml", "--b", "prompt"], "'prompt' is no KEY=VALUE"),
        (["suites/s.toml", "--b", "colour=red"], "an arm has no 'colour'"),
        (["suites/s.toml", "--b", "model=x", "--b", "model=y"], "model is said twice"),
        (["suites/s.toml", "--b", "temperature=hot"], "a temperature is a number"),
        (["suites/s.toml", "--b", "mode=guess"], "there is no mode 'guess'"),
        (["suites/s.toml", "--b", "prompt=none.txt"], "none.txt"),
        (["suites/s.toml", "--b", "model=x"], "needs an endpoint"),
        (["suites/s.toml", "--b", "model=x", "--b", "mode=exact"], "asks no model"),
        (["--from", "r1", "r2"], "there is no run"),
        (["--resume", "r1"], "there is no A/B run"),
    ],
)
def test_what_makes_no_sense_is_refused(project: Project, arguments: list[str], said: str) -> None:
    """Exit code 2, with what is wrong and how to say it; nothing is left behind."""
    suite(project)
    done = project.run("ab", *arguments)
    assert done.code == 2
    assert said in done.err
    assert not (project.root / "reports").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name one of"),
        (["suites/s.toml", "--resume", "r"], "name one of"),
        (["--from", "r1", "r2", "--samples", "3"], "--samples means nothing here"),
        (["--resume", "r1", "--b", "model=x"], "--b means nothing here"),
    ],
)
def test_options_that_would_be_ignored_are_refused(project: Project, arguments: list[str], said: str) -> None:
    """A wrong call is no comparison of something else."""
    suite(project)
    done = project.run("ab", *arguments)
    assert done.code == 2
    assert said in done.err


def test_an_arm_that_can_not_be_loaded_is_told_before_the_other_is_paid_for(project: Project) -> None:
    """Of both arms, however late the turn of the second one."""
    path = suite(project)
    project.write("agent_c.py", f"print('loaded')\nfrom {AGENTS} import once\n")
    project.write("asked.py", f"from pathlib import Path\nfrom {AGENTS} import once\n\ndef run(order):\n"
                              "    Path('ran').touch()\n    return once(order)\n")  # fmt: skip
    done = project.spawn("ab", path, "--a", "target=asked:run", "--b", "target=agent_c:nobody", "--out", "r")
    assert (done.code, "module agent_c has no nobody" in done.err, done.out) == (2, True, "")
    assert not (project.root / "ran").exists()
    assert not (project.root / "r").exists()


@pytest.mark.parametrize(
    ("primary", "arm", "said"),
    [
        ("cost", "target=tests.suite.agents:twice", "not both arms ask a live model"),
        ("latency", "mode=exact", "not both arms ask a live model"),
        ("tokens", "target=tests.suite.agents:twice", "not both arms ask a live model"),
        ("cost", "model=gpt-next", "gpt-next has no price"),
    ],
)
def test_a_metric_that_nobody_will_have_decides_nothing(project: Project, primary: str, arm: str, said: str) -> None:
    """It is refused before a call is made."""
    path = suite(project, '[model]\nbase_url = "http://127.0.0.1:9/v1"\nname = "gpt-now"\n')
    project.write("evalkit.toml", '[prices."gpt-now"]\ninput = 1.0\noutput = 4.0\n')
    done = ab(project, path, "--b", arm, "--primary", primary)
    assert (done.code, said in done.err) == (2, True), done.err
    assert not (project.root / "r").exists()


def test_equal_arms_are_said_to_be_equal(project: Project) -> None:
    """It may be a slip; to see what chance alone makes, it is right."""
    arm = f"target={AGENTS}:once"
    done = ab(project, suite(project), "--a", arm, "--b", arm)
    assert (done.code, "note: both arms are the same" in done.out) == (0, True), done.err
    assert "note: both arms" not in project.run("ab", "suites/s.toml", "--b", f"target={AGENTS}:twice", *SERIAL).out


def test_an_arms_body_is_told_by_the_arms_name(project: Project) -> None:
    """The option that is at fault is the one that was given."""
    done = ab(project, suite(project), "--b", "extra_body=nothing")
    assert (done.code, "--b extra_body=" in done.err, "--extra-body" in done.err) == (2, True, False)


def test_an_arm_does_not_go_on_alone(project: Project) -> None:
    """It would take no turns with the other one, and might come to more samples."""
    assert ab(project, suite(project), "--b", f"target={AGENTS}:never_alike").code == 0
    refused = project.run("run", "--resume", "r/a", "--raise-samples", "9")
    assert (refused.code, "evalkit ab --resume" in refused.err) == (2, True)
    assert {len(several) for several in indices(project, "a").values()} == {4}
