"""JUnit XML."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from evalkit.report.junit import render_junit
from evalkit.verdict.model import Decision
from tests.report.build import RunParts, blocked_run

ALLOWED: dict[str, tuple[set[str], set[str]]] = {
    # element: (attributes, children), after Jenkins' junit-10.xsd
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, {"testsuite"}),
    "testsuite": (
        {
            "name",
            "tests",
            "failures",
            "errors",
            "time",
            "disabled",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
        },
        {"properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "testcase": (
        {"name", "assertions", "time", "classname", "status"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "skipped": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}


def test_the_form_is_that_of_the_schema() -> None:
    """Only elements and attributes that the common schema knows, in their places."""
    root = ElementTree.fromstring("".join(render_junit(blocked_run().model())))
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, children = ALLOWED[element.tag]
        assert set(element.attrib) <= attributes
        assert {child.tag for child in element} <= children


def test_failures_and_errors_are_counted_and_told_apart() -> None:
    """A failing verdict is a failure; an inconclusive one an error, never a pass."""
    root = ElementTree.fromstring("".join(render_junit(blocked_run().model())))
    suite = root[0]
    tests = {case.get("name"): case for case in suite.iter("testcase")}
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("13", "3", "2")
    assert len(list(suite.iter("failure"))) == 3
    assert len(list(suite.iter("error"))) == 2
    assert [child.tag for child in tests["refund-twice@v3"]] == ["failure", "system-out"]
    assert [child.tag for child in tests["quota-check@v3"]] == ["error", "system-out"]
    assert [child.tag for child in tests["invoice-total@v3"]] == ["system-out"]


def test_nothing_is_green_where_the_gate_is_not() -> None:
    """What holds the release besides failing cases is a failing testcase: a lock, an unsafe run, nothing to guard."""
    parts = RunParts().add("a", "p", permanent=True).add("b", "f", permanent=True)
    held = (("a", "gates.lock: is weaker"), ("sandbox", "unsafe"), ("a", "gates.lock: and more"), ("b", "failed"))
    parts.decision = Decision("BLOCKED", "a: is weaker (and 2 more)", held)
    suite = ElementTree.fromstring("".join(render_junit(parts.model())))[0]
    failing = {test.get("name"): test[0].get("message") for test in suite.iter("testcase") if test[0].tag == "failure"}
    assert failing.keys() == {"b@v3", "gate: a", "gate: sandbox"}
    assert failing["gate: a"] == "gates.lock: is weaker; gates.lock: and more"
    assert (suite.get("tests"), suite.get("failures")) == ("4", "3")
    parts = RunParts().add("a", "p")
    parts.decision = Decision("INCONCLUSIVE", "no permanent case was run: nothing guards this release")
    suite = ElementTree.fromstring("".join(render_junit(parts.model())))[0]
    assert [test[0].tag for test in suite.iter("testcase")] == ["system-out", "error"]
    assert suite.get("errors") == "1"


def test_samples_are_told_in_order() -> None:
    """system-out has a line a sample."""
    root = ElementTree.fromstring("".join(render_junit(RunParts().add("a", "pf").model())))
    lines = (root.findtext(".//system-out") or "").splitlines()
    assert [line.split(" in ")[0] for line in lines] == ["sample 1 passed", "sample 2 failed"]


@pytest.mark.parametrize("bad", ["\x00", "\x1b[31m", "\ud800", "\ufffe", "]]>", "</failure>", "\u202e"])
def test_no_text_breaks_the_file(bad: str) -> None:
    """Characters that XML 1.0 forbids, and markup, never reach the file raw."""
    parts = RunParts().add("a", "f", reason=f"x{bad}y", title=f"t{bad}")
    parts.samples["a"] = [replace(parts.samples["a"][0], reason=f"r{bad}")]
    text = "".join(render_junit(parts.model()))
    root = ElementTree.fromstring(text.encode("utf-8"))
    assert [element.tag for element in root.iter()].count("failure") == 1
    if not bad.isprintable():
        assert bad[0] not in text
