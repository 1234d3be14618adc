"""`evalkit scan`: an incident that came back in production is found; other traffic is left alone."""

from __future__ import annotations

from dataclasses import replace

from evalkit.trace.model import USER_MESSAGE, Step, Trace
from tests.build import a_trace, tool_step
from tests.project import Project, healthy, incident


def asked(text: str, payment: str, *effects: Step) -> Trace:
    """A run of a user's request about one payment."""
    first = Step(0, "other", USER_MESSAGE, output={"role": "user", "content": text})
    looked = tool_step(1, "find", {"payment": payment}, {"payment": payment})
    steps = [replace(step, seq=at) for at, step in enumerate(effects, 2)]
    said = Step(len(steps) + 2, "model", "chat", {"messages": []}, {"role": "assistant", "content": "Done."})
    return a_trace(first, looked, *steps, said, id=f"run-{payment}-{len(steps)}-{text[:5]}")


def refund(payment: str) -> Step:
    """A change."""
    return tool_step(0, "refund", {"payment": payment}, "ok", effect="write")


def test_the_same_thing_on_another_order_is_found(project: Project) -> None:
    """A refund made twice is the incident again, whoever's order it is; the exit code says so."""
    project.write("incident.trace", incident(7))
    project.run("ingest", "incident.trace", "--id", "refund-twice")
    project.write("again.trace", incident(8812))
    project.write("fine.trace", healthy(8812))
    done = project.run("scan", "again.trace", "fine.trace", "--json")
    assert done.code == 1
    found = done.json()
    assert found["traces"] == 2
    assert [(one["source"], [each["case"] for each in one["cases"]]) for one in found["found"]] == [
        ("again.trace", ["refund-twice"])
    ]
    assert found["found"][0]["cases"][0]["steps"] == [1, 2]


def test_the_same_situation_is_judged_by_the_case(project: Project) -> None:
    """What a case expects of one payment is asked of runs about that payment only."""
    text = "Please refund my last payment, the parcel never arrived at all"
    project.write("incident.trace", asked(text, "PAY-7731", tool_step(0, "close", {"why": "x"}, "ok", effect="write")))
    project.write("healthy.trace", asked(text, "PAY-7731", refund("PAY-7731")))
    made = project.run("ingest", "incident.trace", "--id", "closed", "--passing", "healthy.trace")
    assert made.code == 0
    project.write("again.trace", asked(text + ", sorry", "PAY-7731"))
    project.write("other.trace", asked(text, "PAY-9002"))
    project.write("unlike.trace", asked("What is the weather in Rome today?", "PAY-7731"))
    found = project.run("scan", "again.trace", "other.trace", "unlike.trace", "healthy.trace", "--json").json()["found"]
    assert [one["source"] for one in found] == ["again.trace"]
    assert found[0]["cases"][0]["how"] == "same situation"


def test_an_identifier_that_every_run_looks_up_ties_nothing(project: Project) -> None:
    """Every run reads the same price list: another customer's healthy refund is not judged by this one's payment."""
    text = "Please refund my last payment, the parcel never arrived at all"
    prices = tool_step(0, "prices", {"list": "PRICES-2026"}, {"fee": 2})
    project.write("incident.trace", asked(text, "PAY-7731", prices, refund("PAY-1111")))
    project.write("healthy.trace", asked(text, "PAY-7731", prices, refund("PAY-7731")))
    assert project.run("ingest", "incident.trace", "--id", "wrong", "--passing", "healthy.trace").code == 0
    project.write("other.trace", asked(text, "PAY-9002", prices, refund("PAY-9002")))
    project.write("again.trace", asked(text + ", sorry", "PAY-7731", prices, refund("PAY-1111")))
    found = project.run("scan", "other.trace", "again.trace", "--json").json()["found"]
    assert [one["source"] for one in found] == ["again.trace"]


def test_clean_traffic_ends_with_zero(project: Project) -> None:
    """And says how much was looked at; retired cases are not looked for."""
    project.write("incident.trace", incident(7))
    project.run("ingest", "incident.trace", "--id", "refund-twice")
    project.write("fine.trace", healthy(9))
    done = project.run("scan", "fine.trace")
    assert (done.code, done.out) == (0, "1 trace, 0 repeat an incident\n")
    project.run("retire", "refund-twice", "--actor", "ann", "--reason", "fixed for good")
    refused = project.run("scan", "fine.trace")
    assert refused.code == 2
    assert "no case to look for" in refused.err


def test_people_read_the_reason(project: Project) -> None:
    """Trace, case, how, and what it did."""
    project.write("incident.trace", incident(7))
    project.run("ingest", "incident.trace", "--id", "refund-twice")
    project.write("again.trace", incident(8))
    out = project.run("scan", "again.trace").out
    assert "repeats refund-twice version 1 (same thing; steps 1, 2)" in out
    assert "wanted refund(" in out
