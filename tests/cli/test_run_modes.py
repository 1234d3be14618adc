"""Suites that swap the model or declare faults."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

import evalkit
from evalkit.suite.results import read_samples, read_traces
from tests.capture.scripted_server import ScriptedServer, completion, json_reply
from tests.playback.test_what_if import the_case
from tests.project import Project

FAULTS = '[[faults]]\ntool = "lookup"\nkind = "error"\nrate = 0.5\nseed = 7\n'


def suite(project: Project, text: str, target: str = "tests.suite.agents:once") -> str:
    """A suite of all cases."""
    project.write("suites/modes.toml", f'target = "{target}"\nsamples = 20\n{text}')
    return "suites/modes.toml"


def test_a_suite_with_faults_says_which_sample_met_which(project: Project) -> None:
    """Some of the samples; the same ones when it is run again, in one process or several."""
    project.ingested()
    reasons: list[list[str]] = []
    for at, more in enumerate((["-n", "1"], ["-n", "2", "--executor", "fork"])):
        folder = project.root / "reports" / str(at)
        path = suite(project, 'mode = "simulation"\nsequential = false\n' + FAULTS)
        done = project.run("run", path, "--out", str(folder), *more)
        assert done.code == 1, done.err
        reasons.append([sample.reason for sample in read_samples(folder)["refund-twice"]])
    assert reasons[0] == reasons[1]
    met = [reason for reason in reasons[0] if reason]
    assert 3 <= len(met) <= 17
    assert all(reason.endswith("met error in lookup (call 1)") for reason in met)
    manifest = json.loads((project.root / "reports" / "0" / "run.json").read_bytes())
    assert manifest["suite"]["faults"][0]["rate"] == 0.5
    assert project.run("report", str(project.root / "reports" / "0")).code == 0
    page = (project.root / "reports" / "0" / "report.html").read_text("utf-8")
    assert "tool=lookup,kind=error,rate=0.5,seed=7" in page


def test_faults_can_be_declared_by_flag(project: Project) -> None:
    """They take the place of the suite's."""
    project.ingested()
    done = project.run(
        "run", suite(project, ""), "--samples", "2", "--mode", "simulation", "--fault", "tool=refund,kind=timeout",
        "--out", "reports/flag",
    )  # fmt: skip
    assert done.code == 1, done.err
    (sample, _) = read_samples(project.root / "reports" / "flag")["refund-twice"]
    assert "met timeout in refund (call 2)" in sample.reason


WHAT_IF = "[what_if]\n"
SUPPOSER = "tests.playback.test_what_if:agent"


def supposed(project: Project, table: str, *flags: str) -> list[Any]:
    """What the agent answered in a run of a suite with counterfactuals, why, what the manifest says, and the page."""
    if not (project.root / "cases").exists():
        evalkit.write_case(the_case(), project.root / "cases")
    text = f'mode = "simulation"\nkeep_traces = "all"\n{table}'
    done = project.run("run", suite(project, text, SUPPOSER), "--samples", "2", *flags, "--out", "r")
    assert done.code in (0, 1, 3), done.err  # two samples are too few to pass by
    folder = project.root / "r"
    ((first, second),) = read_samples(folder).values()
    assert first.trace == second.trace
    (trace,) = read_traces(folder, [first.trace]).values()
    stated = json.loads((folder / "run.json").read_bytes())["suite"]["what_if"]
    page = (folder / "report.html").read_text("utf-8")
    shutil.rmtree(folder)
    return [trace.output, first.reason, stated, page]


@pytest.mark.parametrize("flags", [["-n", "1"], ["-n", "2", "--executor", "fork"], ["-n", "2", "--executor", "xdist"]])
def test_a_suite_supposes_what_replay_supposes(project: Project, flags: list[str]) -> None:
    """A verdict, in whatever process it is replayed; the reason, the manifest and the report's command name it."""
    said, reason, stated, page = supposed(project, WHAT_IF + 'confirm = "refused"\n', *flags)
    assert said == ["not approved: False", ["within 30 days"]]
    assert "what if: confirm=refused (x1)" in reason
    assert stated == ["confirm=refused"]
    assert "--what-if confirm=refused" in page


def test_a_suites_counterfactuals_have_the_forms_of_the_flag(project: Project) -> None:
    """A value, a function, a file, whose value the manifest holds; flags take their place."""
    denied = ["policy", ["within 30 days"]]
    for then in ("{ allowed = false }", "'{\"allowed\": false}'", "'tests.playback.test_what_if:strict_policy'"):
        assert supposed(project, f"{WHAT_IF}may_refund = {then}\n")[0] == denied
    project.write("docs.json", ["from a file"])
    said, _, stated, _ = supposed(project, f'{WHAT_IF}search = "@docs.json"\n"may_*" = "denied"\n')
    assert (said, stated) == (["policy", ["from a file"]], ['search=["from a file"]', "may_*=denied"])
    said, _, stated, _ = supposed(project, f'{WHAT_IF}search = "@docs.json"\n', "--what-if", "may_*=denied")
    assert (said, stated) == (denied, ["may_*=denied"])


def test_a_counterfactual_whose_function_is_not_there_ends_the_run(project: Project) -> None:
    """It is loaded where the agent is, and a name that is wrong is the suite's fault, not the agent's."""
    evalkit.write_case(the_case(), project.root / "cases")
    text = f'mode = "simulation"\n{WHAT_IF}confirm = "no_such_module:f"\n'
    done = project.run("run", suite(project, text, SUPPOSER), "-n", "1")
    assert (done.code, "no_such_module" in done.err) == (2, True), done.err


def test_a_suite_swaps_the_model(project: Project, case_id: str, server: ScriptedServer) -> None:
    """Its `[model]` table says how; `--base-url` changes the endpoint and nothing else."""
    server.will(json_reply(completion("Done.")))
    text = (
        'mode = "model-swap"\n[model]\nbase_url = "http://127.0.0.1:9/v1"\nname = "m2"\ntemperature = 0.5\n'
        'system_prompt = "Be brief."\nextra_body = {top_k = 5}\n'
    )
    path = suite(project, text, "evalkit.app.demo.agent:run_buggy")
    done = project.run("run", path, "--samples", "1", "-n", "1", "--base-url", server.url)
    assert done.code in (0, 3), done.err
    request = server.requests[0]["body"]
    assert (request["model"], request["temperature"], request["top_k"]) == ("m2", 0.5, 5)
    assert request["messages"][0]["content"] == "Be brief."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('mode = "simulation"\n', "mode simulation with 0 faults and 0 counterfactuals"),
        (FAULTS, "mode exact with 1 faults"),
        (WHAT_IF + 'confirm = "refused"\n', "mode exact with 0 faults and 1 counterfactuals"),
        ('mode = "simulation"\n' + WHAT_IF + 'confirm = "maybe"\n', "neither a verdict, nor JSON"),
        ('mode = "simulation"\n' + WHAT_IF + 'confirm = "@none.json"\n', "none.json"),
        ('mode = "simulation"\n' + WHAT_IF + "confirm = 2026-01-01\n", "what_if"),
        ('mode = "simulation"\nwhat_if = ["confirm"]\n', "a counterfactual is NAME=THEN"),
        ('mode = "model-swap"\n[model]\nbase_url = "http://127.0.0.1:9/v1"\n', "mode model-swap changes nothing"),
        ('mode = "prompt-swap"\n', "mode prompt-swap needs an endpoint"),
        ('mode = "fork"\n', "mode"),
        ('mode = "simulation"\n' + FAULTS.replace("0.5", "5.0"), "faults.0.rate"),
        ('mode = "simulation"\n' + FAULTS.replace('"error"', '"fire"'), "faults.0.kind"),
    ],
)
def test_a_suite_that_does_not_go_together_is_refused(project: Project, text: str, said: str) -> None:
    """Nothing is run."""
    project.ingested()
    done = project.run("run", suite(project, text))
    assert (done.code, said in done.err) == (2, True), done.err
    assert not (project.root / "reports").exists()
