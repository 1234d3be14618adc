"""Miss policies: how a call without a recorded answer is answered, and that its sample counts for nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import validate

import evalkit
from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.errors import ConfigError
from evalkit.playback.miss_rules import parse_rule
from evalkit.playback.replay import prepare
from evalkit.playback.stub import stub_by, stub_like
from evalkit.suite.results import read_samples, read_traces
from evalkit.trace.model import Step
from tests.build import a_case, a_trace, tool_step
from tests.project import Project
from tests.strategies import json_values

RATE = {"rate": 1.5, "from": "EUR", "steps": [{"day": 1}, {"day": 2}], "final": True, "note": None}
RAN: list[Any] = []


@evalkit.tool(effect="read")
def rate(currency: str) -> Any:
    """A read tool whose body can be seen to run."""
    RAN.append(currency)
    return {"rate": 9.0}


@evalkit.tool(effect="write")
def refund(order: int) -> Any:
    """A write tool."""
    RAN.append(order)


@evalkit.tool
def search(text: str) -> Any:
    """Read by its name only."""
    RAN.append(text)


@evalkit.tool(effect="read")
def ping(port: int) -> Any:
    """Opens a connection."""
    socket.create_connection(("127.0.0.1", port), timeout=5).close()
    return "reached"


def case(*more: Any, **fields: Any) -> Case:
    """One rate recorded, and one refund."""
    steps = (tool_step(0, "rate", {"currency": "EUR"}, RATE), tool_step(1, "refund", {"order": 7}, 1, effect="write"))
    return made(*steps, *more, **fields)


def made(*steps: Step, **fields: Any) -> Case:
    """A case of some steps."""
    return a_case(a_trace(*steps), checks=[Check("called", {"name": "refund", "max": 1})], **fields)


def other(order: int) -> Any:
    """Asks for a rate that was not recorded, says what came of it, and goes on."""
    try:
        found = rate("USD")
    except RuntimeError as error:
        found = str(error)
    refund(order)
    return found


@pytest.fixture(autouse=True)
def _nothing_ran(project: Project) -> None:
    RAN.clear()


def test_without_a_rule_the_replay_ends_there() -> None:
    """No answer is made up, and no check is judged."""
    done = evalkit.replay(case(), other)
    assert (done.status, done.results, len(done.trace.steps)) == ("missed", (), 1)
    assert done.misses[0].answered_by == ""


@pytest.mark.parametrize(
    ("rule", "came", "bodies"),
    [
        ("rate=error", "rate has no data for these arguments", 0),
        ("error", "rate has no data for these arguments", 0),
        ("ra*=stub", {"rate": 0, "from": "(stub)", "steps": [{"day": 0}], "final": False, "note": None}, 0),
        ('rate=stub:{"rate": 2}', {"rate": 2}, 0),
        ("rate=live", {"rate": 9.0}, 1),
    ],
)
def test_a_policy_answers_and_the_sample_counts_for_nothing(rule: str, came: Any, bodies: int) -> None:
    """The run goes on to its end; it is missed all the same, and the trace says how it was answered."""
    done = evalkit.replay(case(), other, on_miss=[rule])
    assert done.trace.output == came
    assert (done.status, done.counts.tool_bodies, len(RAN)) == ("missed", bodies, bodies)
    policy = done.misses[0].answered_by
    assert policy in rule
    assert done.reason.endswith(f"; answered by policy {policy}")
    noted = done.trace.steps[0].attributes["miss"]
    assert (noted["policy"], noted["source"], noted["nearest"]) == (policy, "flag", 0)
    assert [step.name for step in done.trace.steps] == ["rate", "refund"]
    assert len(done.results) == 1  # judged, for people; the status is not theirs


def test_the_first_rule_that_matches_holds() -> None:
    """A tool's own rule before the one for all."""
    done = evalkit.replay(case(), other, on_miss=["rate=error", "stub"])
    assert done.misses[0].answered_by == "error"
    assert evalkit.replay(case(), other, on_miss=["rate=fail", "stub"]).misses[0].answered_by == ""


def test_a_case_has_rules_of_its_own_and_a_flag_wins() -> None:
    """The nearer source first."""
    own = case(on_miss={"rate": {"stub": "the case's"}})
    assert evalkit.replay(own, other).trace.output == "the case's"
    assert evalkit.replay(own, other, on_miss=["rate=error"]).trace.output == "rate has no data for these arguments"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("refund=live", "a write tool is never live: refund changes the world"),
        ("*=live", "live is for tools that are named"),
        ("live", "live is for tools that are named"),
        ("rate=lie", "no miss policy is 'lie'"),
        ("=stub", "the pattern of tool names is empty"),
        ("rate=stub:{", "the stub is no JSON"),
        ("rate=error:1", "only a stub has a value"),
    ],
)
def test_a_rule_that_can_not_be_is_refused(rule: str, said: str) -> None:
    """Before anything runs."""
    with pytest.raises(ConfigError, match=said.replace("*", r"\*")):
        evalkit.replay(case(), other, on_miss=[rule])
    assert RAN == []


def test_a_live_tool_is_refused_in_a_sandbox() -> None:
    """It would reach nothing there."""
    with pytest.raises(ConfigError, match="a live tool reaches nothing in a sandbox"):
        prepare(case(), on_miss=[parse_rule("rate=live")], sandbox=True)
    prepare(case(), on_miss=[parse_rule("rate=error")], sandbox=True)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (lambda order: refund(order + 1), "a write tool is never live"),
        (lambda order: search("x"), "not live: nobody says that search only reads"),
    ],
)
def test_what_may_change_the_world_is_not_run(agent: Any, said: str) -> None:
    """Nor what is only guessed to read: the miss stays one, with the reason."""
    bare = made(tool_step(0, "rate", {"currency": "EUR"}, RATE))
    done = evalkit.replay(bare, agent, on_miss=["refund=live", "search=live"])
    assert (done.status, RAN, done.counts.tool_bodies) == ("missed", [], 0)
    assert said in done.reason


@contextmanager
def a_listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_live_tool_reaches_the_network_and_the_agent_does_not() -> None:
    """The guard lets the body through, and only while it runs."""
    with a_listener() as port:
        recorded = made(tool_step(0, "ping", {"port": 1}, "reached"))

        def agent(order: int) -> Any:
            found = ping(port)
            ping.__wrapped__(port)  # type: ignore[attr-defined]  # the same code, but not as the tool's body
            return found

        done = evalkit.replay(recorded, agent, on_miss=["ping=live"])
        assert done.trace.steps[0].output == "reached"
        assert done.trace.error is not None
        assert "network refused" in done.trace.error.message


def test_a_stub_of_a_tool_that_only_failed_has_its_declared_shape() -> None:
    """By the schema of results that the recording holds; without one, there is no stub."""
    schema = {"type": "object", "properties": {"rate": {"type": "number"}, "unit": {"enum": ["EUR", "USD"]}}}
    definition = {"name": "rate", "description": "", "parameters": {}, "output_schema": schema}
    failed = tool_step(0, "rate", {"currency": "X"}, None, error="down")
    told = replace(failed, attributes={"definition": definition})
    agent = lambda order: rate("USD")  # noqa: E731
    done = evalkit.replay(made(told), agent, on_miss=["rate=stub"])
    assert done.trace.output == {"rate": 0, "unit": "EUR"}
    bare = evalkit.replay(made(failed), agent, on_miss=["rate=stub"])
    assert (bare.misses[0].answered_by, "no schema of one declared" in bare.reason) == ("", True)


def test_the_order_of_strict_mode_is_never_answered_otherwise() -> None:
    """A rule is for what was not recorded, not for what comes out of turn."""
    done = evalkit.replay(case(), refund, strict=True, on_miss=["stub"])
    assert (done.status, done.misses[0].answered_by) == ("missed", "")


@given(json_values)
def test_a_stub_has_the_shape_and_tells_nothing(value: Any) -> None:
    """Of itself it is its own stub."""
    stub: Any = stub_like(value)
    assert stub_like(stub) == stub
    assert type(stub) is type(value) or isinstance(value, float)
    if isinstance(value, dict):
        assert list(stub) == list(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "object", "required": ["b"],
         "properties": {"b": {"type": ["string", "null"]}, "c": {"const": 3}}}}},
        {"anyOf": [{"type": "integer", "minimum": 4}, {"type": "null"}]},
        {"type": "object", "properties": {"x": {"default": "y"}, "z": {"type": "array"}}},
        {"type": "boolean"},
    ],
)  # fmt: skip
def test_a_stub_by_schema_is_valid(schema: dict[str, Any]) -> None:
    """Against the schema that it was made by."""
    validate(stub_by(schema), schema)


def test_a_schema_that_leads_in_circles_ends() -> None:
    """References may come back to themselves."""
    stub_by({"$ref": "#"})
    stub_by({"type": "object", "properties": {"self": {"$ref": "#"}}})


AGENT = """
import evalkit

@evalkit.tool(effect="read")
def lookup(order):
    return {"amount": 1.0}

@evalkit.tool(effect="write")
def refund(order):
    raise AssertionError

def stray(order):
    try:
        return {"done": lookup(order + 1)}
    except RuntimeError:
        return {"done": "none"}
"""


def cli_suite(project: Project, more: str = "") -> str:
    project.write("stray_agent.py", AGENT)
    project.write("suites/m.toml", f'target = "stray_agent:stray"\nsamples = 2\n{more}')
    return "suites/m.toml"


@pytest.mark.parametrize(
    ("settings", "suite", "flag", "policy"),
    [
        ("", "", [], ""),
        ('[on_miss]\n"lookup" = "error"\n', "", [], "error"),
        ('[on_miss]\n"lookup" = "error"\n', '[on_miss]\n"look*" = "stub"\n', [], "stub"),
        ("", '[on_miss]\n"look*" = "stub"\n"*" = "error"\n', ["lookup=live"], "live"),
        ("", '[on_miss]\n"look*" = { stub = 3 }\n', ["refund=error"], "stub"),
    ],
)
@pytest.mark.parametrize("executor", ["serial", "fork"])
def test_a_run_says_how_its_misses_were_answered(
    project: Project, settings: str, suite: str, flag: list[str], policy: str, executor: str
) -> None:
    """By settings, suite and flag, the nearest first; in the samples, the manifest and the verdict."""
    project.ingested()
    project.write("evalkit.toml", settings)
    flags = [word for rule in flag for word in ("--on-miss", rule)]
    done = project.run(
        "run", cli_suite(project, suite), "--out", "reports/m", "--executor", executor, "-n", "2", *flags
    )
    assert done.code == 3, done.out + done.err
    assert "INCONCLUSIVE refund-twice: 2 missed and 0 errored of 2 samples: call 1: tool lookup" in done.out
    found = read_samples(Path("reports/m"))["refund-twice"]
    assert {sample.outcome for sample in found} == {"missed"}
    assert found[0].misses[0].endswith(f"; answered by policy {policy}") is bool(policy)
    if policy:
        kept = read_traces(Path("reports/m"), [found[0].trace])[found[0].trace]
        assert kept.steps[0].attributes["miss"]["policy"] == policy
        assert f'"policy": "{policy}"' in Path("reports/m/run.json").read_text()


def test_a_replay_shows_a_distorted_run_and_its_manifest_the_rules(project: Project) -> None:
    """For people and as JSON."""
    project.ingested()
    cli_suite(project)
    done = project.run("replay", "refund-twice", "--target", "stray_agent:stray", "--on-miss", "lookup=error")
    assert (done.code, "distorted" in done.out) == (3, True), done.out + done.err
    (body,) = project.run(
        "replay", "refund-twice", "--target", "stray_agent:stray", "--on-miss", "lookup=error", "--json"
    ).json()
    assert body["manifest"]["on_miss"] == [{"tools": "lookup", "policy": "error", "source": "flag"}]


def test_a_case_is_given_rules_by_a_new_version(project: Project) -> None:
    """With actor and reason; a permanent case stays one, and its page says them."""
    project.promoted()
    cli_suite(project)
    done = project.run("edit", "refund-twice", "--on-miss", "lookup=error", "--reason", "looked up elsewhere")
    assert done.code == 0, done.err
    view = (project.root / "cases" / "refund-twice" / "case.md").read_text()
    assert "on a miss: `lookup = error`" in view
    assert "permanent" in view
    done = project.run("replay", "refund-twice", "--target", "stray_agent:stray")
    assert "answered by policy error" in done.out
    refused = project.run("edit", "refund-twice", "--on-miss", "refund=live", "--reason", "x")
    assert (refused.code, "a write tool is never live" in refused.err) == (2, True)
