"""`evalkit coverage`: what the library tests, and what production does that no case knows."""

from __future__ import annotations

from dataclasses import replace

from tests.build import tool_step
from tests.project import Project, healthy, incident


def test_what_no_case_touches_is_told(project: Project) -> None:
    """Declared tools and those of production's traces; the table names what is tested."""
    (project.root / "evalkit.toml").write_text(
        '[tools."cancel_*"]\neffect = "write"\n[tools.refund]\neffect = "write"\n'
    )
    project.write("incident.trace", incident(7))
    project.write("healthy.trace", healthy(8))
    project.run("ingest", "incident.trace", "--passing", "healthy.trace", "--id", "refund-twice")
    other = healthy(9)
    project.write("other.trace", replace(other, steps=(*other.steps, tool_step(len(other.steps), "ship", {}))))

    body = project.run("coverage", "--traces", "other.trace", "--json").json()
    assert [tool["name"] for tool in body["untouched"]] == [
        "cancel_*",
        "lookup",
        "ship",
    ]  # lookup is off the incident's path
    refund = next(tool for tool in body["tools"] if tool["name"] == "refund")
    assert refund["effect"] == "write"
    assert refund["checked"] == 1
    assert refund["answered"] == 2
    assert body["types"]["SIDE_EFFECT"] == 1
    assert 0 < body["mutations"]["score"] <= 1
    assert body["idle"] == ["refund-twice"]

    told = project.run("coverage", "--traces", "other.trace").out
    assert "no case tests ship, called 1 time in the traces" in told
    assert "refund: no case sees it fail" in told
    assert "mutation score" in told
    assert "an agent that calls nothing and says nothing passes 1 of 1 case: refund-twice" in told
    project.write("expected.json", {"effects": [{"name": "refund", "arguments": {"order": 11}}]})
    project.write("due.trace", incident(11))
    assert project.run("ingest", "due.trace", "--id", "due", "--new", "--expect", "expected.json").code == 0
    assert project.run("coverage", "--json").json()["idle"] == ["refund-twice"]


def test_a_suite_limits_it(project: Project) -> None:
    """Only the suite's cases count; a suite that selects none is refused."""
    project.write("incident.trace", incident(7))
    project.run("ingest", "incident.trace", "--id", "refund-twice")
    (project.root / "suites").mkdir(exist_ok=True)
    (project.root / "suites" / "one.toml").write_text('[select]\nids = ["refund-*"]\n')
    (project.root / "suites" / "none.toml").write_text('[select]\nids = ["other-*"]\n')
    assert project.run("coverage", "suites/one.toml", "--json").json()["cases"] == 1
    refused = project.run("coverage", "suites/none.toml")
    assert refused.code == 2
    assert "selects no case" in refused.err
