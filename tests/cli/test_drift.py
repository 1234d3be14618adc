"""`evalkit drift`: named read tools are really called, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.vault.audit import read_audit
from tests.cli import drifting
from tests.project import Outcome, Project

RECORDED = {"amount": 5.0, "email": "lena.vogt@posteo-mail.de"}


@pytest.fixture(autouse=True)
def _fresh() -> None:
    drifting.CALLS.clear()
    drifting.ANSWERS["lookup"] = RECORDED


def drift(project: Project, *options: str, tool: str = "lookup", case: str = "refund-twice") -> Outcome:
    """The command on the incident's case."""
    target = ["--target", "tests.cli.drifting:run"]
    return project.run("drift", case, "--tool", tool, *target, "--reason", "nightly", *options)


def test_an_answer_as_recorded_is_none(project: Project) -> None:
    """Called once with the recorded argument; the pseudonym of the recording is no drift; the act is logged."""
    project.ingested()
    done = drift(project, "--json")
    assert done.code == 0, done.out + done.err
    (one,) = done.json()
    assert (one["status"], one["arguments"]) == ("same", {"order": 7})
    assert drifting.CALLS == [("lookup", 7)]
    (line,) = read_audit(project.root / "reports")
    assert (line["action"], line["actor"], line["reason"], line["tools"]) == ("drift", "ann", "nightly", ["lookup"])


@pytest.mark.parametrize("suite", ["nightly", "suites/nightly.toml"])
def test_a_suite_is_named_as_elsewhere(project: Project, suite: str) -> None:
    """By its name or its file: its cases' calls are made."""
    project.ingested()
    project.write("suites/nightly.toml", 'name = "nightly"\n')
    assert drift(project, case=suite).code == 0
    assert drifting.CALLS == [("lookup", 7)]


@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        ({**RECORDED, "amount": 6.0}, "values", "/amount: 5.0 then, 6.0 now"),
        ({**RECORDED, "amount": "5"}, "shape", "/amount: number then, text now"),
        ({**RECORDED, "amount": None}, "shape", "/amount: number then, null now"),
        ({"amount": 5.0}, "shape", "/email: gone"),
        ({**RECORDED, "vat": 1}, "shape", "/vat: new, number"),
        ([RECORDED], "shape", "/: object then, list now"),
        (KeyError("order 7"), "failed", "answered then, raises KeyError now"),
    ],
)
def test_another_answer_is_told_with_its_place(project: Project, answer: Any, status: str, told: str) -> None:
    """Exit code 1; a value alone is no drift of the shape."""
    project.ingested()
    drifting.ANSWERS["lookup"] = answer
    done = drift(project)
    assert (done.code, told in done.out) == (1, True), done.out
    assert drift(project, "--shape-only").code == (0 if status == "values" else 1)


def test_a_pseudonyms_value_is_not_compared_but_its_type_is(project: Project) -> None:
    """Another address may be the same person's; a number is none. What is shown is sanitized."""
    project.ingested()
    drifting.ANSWERS["lookup"] = {**RECORDED, "email": "max.muster@posteo-mail.de"}
    assert drift(project).code == 0
    drifting.ANSWERS["lookup"] = {**RECORDED, "email": 7}
    assert "/email: text then, number now" in drift(project).out
    drifting.ANSWERS["lookup"] = {**RECORDED, "amount": "max.muster@posteo-mail.de"}
    drifting.ANSWERS["lookup"] = KeyError("max.muster@posteo-mail.de")
    assert "max.muster" not in drift(project).out


def test_only_what_is_named_and_only_reads_is_called(project: Project) -> None:
    """A write, a pattern, an unknown tool, one of which nobody says what it does: refused before anything is called."""
    project.ingested()
    for tool, told in (
        ("refund", "changes the world"),
        ("lookup=tests.cli.drifting:refund", "changes the world"),
        ("look*", "is named"),
        ("nothing", "no tool 'nothing' is marked"),
    ):
        done = drift(project, tool=tool)
        assert (done.code, told in done.err) == (2, True), done.err
    project.write("evalkit.toml", '[tools."lookup"]\neffect = "write"\n')
    assert "changes the world" in drift(project).err
    assert drift(project, "--actor", "bob", case="nobody").code == 2
    assert project.run("drift", "refund-twice", "--tool", "lookup").code == 2
    assert drifting.CALLS == []
    assert not (project.root / "reports" / "audit.jsonl").exists()


def test_a_function_stands_for_a_tool_that_is_not_marked(project: Project) -> None:
    """An async one, too; other arguments than it had are another shape."""
    project.ingested()
    assert drift(project, tool="lookup=tests.cli.drifting:undeclared").code == 0
    assert drifting.CALLS == [("undeclared", 7)]
    done = drift(project, tool="lookup=tests.cli.drifting:other")
    assert (done.code, "takes other arguments" in done.out) == (1, True)
    assert drift(project, tool="lookup=tests.cli.drifting:nowhere").code == 2


def test_a_call_that_does_not_end_is_left(project: Project) -> None:
    """After the time that it may take."""
    project.ingested()
    drifting.ANSWERS["lookup"] = drifting.waits
    done = drift(project, "--timeout", "0.05")
    assert (done.code, "raises TimeoutError now: no answer in 0.05 s" in done.out) == (1, True)


def test_pseudonyms_are_not_asked_for(project: Project) -> None:
    """Nobody knows a customer who does not exist; where nothing could be called, nothing is known."""
    from dataclasses import replace

    from tests.build import a_trace, tool_step
    from tests.project import incident

    email = {"order": "lena.vogt@posteo-mail.de"}
    steps = (tool_step(0, "lookup", email, {"amount": 5.0}), *incident().steps[1:])
    project.write("i.trace", replace(a_trace(*steps, input={"order": 7}, output={"done": {"ok": True}}), id="i"))
    assert project.run("ingest", "i.trace", "--id", "hidden").code == 0
    done = drift(project, case="hidden")
    assert (done.code, "hold pseudonyms" in done.out) == (3, True), done.out
    assert drifting.CALLS == []


def test_a_suites_cases_share_their_calls(project: Project) -> None:
    """Equal calls are made once; a limit skips the rest, and says so."""
    project.promoted()
    project.promoted("another", "--new", order=8)
    project.promoted("third", "--new", order=9)
    suite = project.suite("once")
    body = drift(project, "--limit", "2", "--json", case=suite).json()
    assert sorted(one["status"] for one in body) == ["same", "same", "skipped"]
    assert len(drifting.CALLS) == 2


AGENT = """
import evalkit


@evalkit.tool(effect="read")
def lookup(order: int) -> dict:
    return {answer!r}


def run(order: int) -> dict:
    return lookup(order)
"""


def test_each_agent_has_tools_of_its_own(project: Project) -> None:
    """The one of the target that is asked about, whatever else is loaded; of two agents at once neither is guessed."""
    for name, order, amount in (("first", 7, 5.0), ("second", 8, 6.0)):
        project.write(f"drift_{name}.py", AGENT.format(answer={**RECORDED, "amount": amount}))
        project.write(f"suites/{name}.toml", f'target = "drift_{name}:run"\n')
        project.ingested(name, "--new", "--no-verify", "--target", f"drift_{name}:run", order=order)
    asked = ["--tool", "lookup", "--reason", "nightly", "--json"]
    for name, status in (("first", "same"), ("second", "values"), ("first", "same")):
        for done in (
            project.run("drift", "first", "--target", f"drift_{name}:run", *asked),
            project.run("drift", f"suites/{name}.toml", *asked),
        ):
            assert {one["status"] for one in done.json()} == {status}, done.out
    project.write("suites/both.toml", "")
    done = project.run("drift", "suites/both.toml", *asked)
    told = "2 functions are marked as tool 'lookup': drift_first:lookup, drift_second:lookup"
    assert (done.code, told in done.err) == (2, True), done.err


def test_a_suite_with_the_projects_model_is_read(project: Project) -> None:
    """A live suite that leaves the model to the settings is one, as for every other command."""
    project.promoted()
    suite = project.suite("once", mode='"live-model"')
    assert "model" in drift(project, case=suite).err
    project.write("evalkit.toml", '[model]\nbase_url = "http://127.0.0.1:1/v1"\n')
    done = drift(project, case=suite)
    assert done.code == 0, done.out + done.err
