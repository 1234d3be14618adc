"""Counterfactuals: an approval, a policy or a retriever that answers otherwise than it did."""

from __future__ import annotations

from typing import Any

import pytest

import evalkit
from evalkit.case.model import Case
from evalkit.check.model import Check
from evalkit.errors import ConfigError
from evalkit.playback.faults import Fault
from evalkit.playback.model import Replay
from evalkit.playback.what_if import parse_what_if
from evalkit.trace.approval import decided_otherwise
from evalkit.trace.model import Kind, Step
from tests.build import a_case, a_trace, tool_step
from tests.project import Project

ASKED = {"tool": "refund", "arguments": {"order": 7}}
QUERY = {"query": "refunds", "k": 2}


@evalkit.approval
def confirm(tool: str, arguments: dict[str, Any]) -> Any:
    """Never runs in a replay."""
    raise AssertionError


@evalkit.policy
def may_refund(order: int) -> Any:
    """Never runs in a replay."""
    raise AssertionError


@evalkit.retrieval
def search(query: str, k: int = 2) -> list[str]:
    """Never runs in a replay."""
    raise AssertionError


@evalkit.tool(effect="write")
def refund(order: int) -> str:
    """Never runs in a replay."""
    raise AssertionError


def agent(_: Any) -> Any:
    """Refunds what its policy allows and a person approves, and says what it read."""
    read = search("refunds")
    if not may_refund(7)["allowed"]:
        return ["policy", read]
    approved = confirm("refund", {"order": 7})
    return [refund(7) if approved in (True, "yes") else f"not approved: {approved}", read]


def decided(seq: int, kind: Kind, name: str, given: Any, output: Any, **attributes: Any) -> Step:
    """A step that is no tool call."""
    return Step(seq, kind, name, given, output, started_at=1.0, ended_at=2.0, attributes=attributes)


def the_case(said: Any = True) -> Case:
    """Found, allowed, approved, refunded."""
    documents: list[Any] = [{"content": "within 30 days", "rank": 1}]
    return a_case(
        a_trace(
            decided(0, "retrieval", "search", QUERY, documents, returned=["within 30 days"]),
            decided(1, "policy", "may_refund", {"order": 7}, {"allowed": True, "rule": "R1"}),
            decided(2, "approval", "confirm", ASKED, {"approved": True}, returned=said),
            tool_step(3, "refund", {"order": 7}, "paid", effect="write"),
        ),
        checks=[Check("not_called", {"name": "refund"})],
    )


def supposed(*what_if: str, said: Any = True, run: Any = agent) -> Replay:
    """A replay under some counterfactuals."""
    return evalkit.replay(the_case(said), run, mode="simulation", what_if=what_if)


@pytest.mark.parametrize(("said", "told"), [(True, False), ("yes", "no")])
def test_a_refused_approval_comes_in_the_form_that_the_agent_knows(project: Project, said: Any, told: Any) -> None:
    """The agent goes the other way, the check that failed on the incident holds, and the step says why."""
    done = supposed("confirm=refused", said=said)
    assert done.status == "passed", done.reason
    assert done.trace.output == [f"not approved: {told}", ["within 30 days"]]
    step = next(step for step in done.trace.steps if step.kind == "approval")
    assert step.output == {"approved": False}
    assert step.attributes["what_if"] == "refused"
    assert "what if: confirm=refused (x1)" in done.reason
    assert supposed("confirm=approved", said=said).status == "failed"


def test_another_policy_may_be_a_verdict_a_value_or_a_function(project: Project) -> None:
    """The rest of the recorded decision stays where only the verdict is another."""
    for what_if in ("may_*=denied", 'may_refund={"allowed": false}', f"may_refund={__name__}:strict_policy"):
        done = supposed(what_if)
        assert (done.status, done.trace.output) == ("passed", ["policy", ["within 30 days"]]), done.reason
    first = next(step for step in supposed("may_*=denied").trace.steps if step.kind == "policy")
    assert first.output == {"allowed": False, "rule": "R1"}


def strict_policy(order: int) -> dict[str, Any]:
    """Refunds nothing below ten."""
    return {"allowed": order >= 10}


def other_retriever(query: str, k: int) -> list[str]:
    """Finds other texts."""
    return [f"{query}: never"] * k


def broken_retriever(query: str, k: int) -> list[str]:
    """Has no index."""
    raise LookupError("no index")


def test_another_retriever_is_really_called(project: Project) -> None:
    """With the query and what else was asked; its documents stand in the trace, what it raises reaches the agent."""
    done = supposed(f"search={__name__}:other_retriever")
    assert done.trace.output == ["paid", ["refunds: never", "refunds: never"]]
    documents: Any = done.trace.steps[0].output
    assert [one["content"] for one in documents] == ["refunds: never", "refunds: never"]
    assert done.counts.tool_bodies == 0
    broken = supposed(f"search={__name__}:broken_retriever")
    assert broken.trace.error is not None
    assert broken.trace.error.type == "LookupError"


def test_a_file_may_hold_the_answer(project: Project) -> None:
    """For long lists of documents."""
    project.write("docs.json", ["from a file"])
    assert supposed("search=@docs.json").trace.output == ["paid", ["from a file"]]


def test_what_was_never_asked_can_be_supposed(project: Project) -> None:
    """A mended agent asks for an approval that the incident lacks: yes and no are truth values then."""

    @evalkit.approval(name="second_look")
    def second_look(tool: str) -> bool:
        raise AssertionError

    assert supposed("second_look=refused", run=lambda _: second_look("refund")).trace.output is False
    assert supposed("nobody=refused", run=lambda _: None).reason == "what if: never asked"


def test_tools_are_not_supposed(project: Project) -> None:
    """A tool's answer is what the world said; for that there are faults."""
    assert supposed("*=refused").trace.output[0] == "policy"  # type: ignore[index]  # JSON
    assert supposed("refund=refused").trace.output[0] == "paid"  # type: ignore[index]  # JSON


@pytest.mark.parametrize(
    "text", ["confirm", "=refused", "confirm=", "confirm=maybe", "confirm=@none.json", "a=no_such:f"]
)
def test_what_states_no_counterfactual_is_refused(project: Project, text: str) -> None:
    """With the forms that there are."""
    with pytest.raises(ConfigError):
        parse_what_if(text)


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        (True, False),
        ("Approved", "rejected"),
        ({"allow": True, "why": "x"}, {"allow": False, "why": "x"}),
        ({"decision": "allow"}, {"decision": "deny"}),
        ({"status": "approved", "by": "eve"}, {"status": "rejected", "by": "eve"}),
        ("hm", False),
        (None, False),
    ],
)
def test_a_verdict_keeps_its_form(said: Any, refused: Any) -> None:
    """Truth values, words, and objects that hold either."""
    assert decided_otherwise(said, approved=False) == refused
    assert decided_otherwise(refused, approved=False) == refused


def test_a_wrong_value_reaches_the_agent_in_its_own_form(project: Project) -> None:
    """A fault in a retrieval changes what the agent gets, not only what the trace shows."""
    fault = Fault("search", "wrong_value", value=["wrong text"])
    done = evalkit.replay(the_case(), agent, mode="simulation", faults=[fault])
    assert done.trace.output == ["paid", ["wrong text"]]
    documents: Any = done.trace.steps[0].output
    assert documents[0]["content"] == "wrong text"
    half = evalkit.replay(the_case(), agent, mode="simulation", faults=[Fault("search", "partial_stream")])
    assert half.trace.output == ["paid", []]


def test_the_command_line_takes_them(project: Project) -> None:
    """Mode simulation follows; the manifest and the dry run name them; another mode is refused."""
    case = the_case()
    evalkit.write_case(case, project.root / "cases")
    flags = ["--target", f"{__name__}:agent", "--what-if", "confirm=refused"]
    done = project.run("replay", case.id, *flags, "--json")
    (body,) = done.json()
    assert (done.code, body["status"], body["manifest"]["mode"]) == (0, "passed", "simulation")
    assert body["manifest"]["what_if"] == [{"name": "confirm", "then": "refused"}]
    assert "would answer confirm by refused" in project.run("replay", case.id, *flags, "--mode", "dry").out
    assert project.run("replay", case.id, *flags, "--mode", "exact").code == 2
    assert project.run("replay", case.id, "--target", f"{__name__}:agent", "--mode", "simulation").code == 2
