"""Healthy runs of a task are found among many."""

from __future__ import annotations

from dataclasses import replace

from evalkit.check.model import Check
from evalkit.distil.healthy import healthy_runs, less_sure
from evalkit.trace.model import USER_MESSAGE, Step, Trace
from tests.build import a_trace, tool_step


def run(name: str, *sums: int, order: str = "W1001", said: str = "Please refund my order", **fields: object) -> Trace:
    """Refunds of an order."""
    asked = Step(0, "other", USER_MESSAGE, None, {"role": "user", "content": f"{said} {order}"})
    steps = [
        tool_step(at, "refund", {"id": order, "sum": each}, {"ok": True}, effect="write")
        for at, each in enumerate(sums, 1)
    ]
    return replace(a_trace(asked, *steps, id=name, output="done"), **fields)  # type: ignore[arg-type]  # any field


INCIDENT = run("incident", 5, 5)


def taken(*runs: Trace, incident: Trace = INCIDENT, **options: object) -> list[str]:
    """The ids of the runs that are taken."""
    return [one.trace.id for one in healthy_runs(incident, runs, **options).taken]  # type: ignore[arg-type]  # any option


def test_the_same_task_is_the_same_words_about_the_same_record() -> None:
    """One of them alone is another task."""
    assert taken(run("same", 5, said="Hello, please refund my order")) == ["same"]
    assert taken(run("other record", 5, order="W2002")) == []
    assert taken(run("other words", 5, said="Where is the parcel, and when will somebody tell me about")) == []


def test_runs_about_other_records_stand_in_where_there_are_none_of_these() -> None:
    """Healthy ones that were asked much the same, the likest first; they are no runs of the task."""
    others = [run("far", 5, order="W2002", said="Hello, please refund my order"), run("near", 5, order="W3003")]
    ill, elsewhere = run("ill", 5, 5, order="W4004"), run("where", 5, order="W5005", said="Where is it, and when")
    found = healthy_runs(INCIDENT, [*others, ill, elsewhere])
    assert ([*found.taken], [one.trace.id for one in found.kin]) == ([], ["near", "far"])
    assert found.passed_over == {"another task": 2}
    assert "the same about other records" in found.kin[0].why
    found = healthy_runs(INCIDENT, [*others, run("same", 5)])
    assert ([one.trace.id for one in found.found], found.kin) == (["same"], ())
    assert found.passed_over == {"another task": 2}


def test_without_identifiers_only_the_very_same_question_will_do() -> None:
    """A number in the question may be all that tells two customers apart."""
    incident = a_trace(tool_step(0, "add", {"n": 1}, effect="write"), id="i", input="add 1 please")
    same, other = replace(incident, id="a", output="x"), replace(incident, id="b", input="add 2 please", output="x")
    expected = [Check("output_contains", {"text": "x"})]
    assert taken(same, other, incident=incident, expected=expected) == ["a"]


def test_what_a_person_expects_counts() -> None:
    """A run on which it does not hold is passed over."""
    expected = [Check("called", {"name": "refund", "arguments": {"sum": 6}})]
    found = healthy_runs(INCIDENT, [run("five", 5), run("six", 6)], expected=expected)
    assert [one.trace.id for one in found.taken] == ["six"]
    assert found.passed_over == {"not as expected": 1}


def test_most_of_them_are_right() -> None:
    """Of runs that did different things, those that most agree with; at most five."""
    assert taken(run("a", 5), run("b", 7), run("c", 7)) == ["b", "c"]
    assert len(taken(*(run(f"run-{at}", 5, output=f"done {at}") for at in range(9)))) == 5


def test_who_did_what_the_incident_did_is_no_contrast() -> None:
    """Unless the incident broke a general rule, which says what was wrong with it."""
    assert taken(run("same", 5, output="else"), run("other", 6), incident=run("wrong", 5)) == ["other"]
    unfinished = run("cut", 5, status="unfinished")
    assert taken(run("same", 5, output="else"), incident=unfinished) == ["same"]


def test_the_incident_is_never_its_own_contrast() -> None:
    """By its id, or by what it did."""
    quiet = run("quiet", 5)
    assert taken(quiet, replace(quiet, id="copy"), incident=quiet) == []


def test_checks_from_found_runs_are_to_be_looked_at() -> None:
    """Whatever the rule says of its confidence."""
    mined, broken = Check("tells", rule="contrast:told", confidence=0.9), Check("completed", rule="incident:x")
    assert [check.confidence for check in less_sure([mined, broken])] == [0.5, 1.0]
