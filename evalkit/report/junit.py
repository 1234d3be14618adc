"""JUnit XML, as Jenkins, GitLab and GitHub's viewers read it: one testcase a case.

The form is the common subset of Jenkins' ``junit-10.xsd`` and xmlrunner: ``testsuites > testsuite > properties,
testcase > failure | error | skipped, system-out``. A failing verdict is a failure, an inconclusive one an error: it
says that nothing was measured, not that the agent is wrong. A case that screening left alone is skipped. What else
holds the release, such as the gate lock, is a testcase of its own: no file is green where the gate is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from xml.etree import ElementTree

from evalkit.report.model import ReportModel
from evalkit.report.row import Row
from evalkit.report.text import cut
from evalkit.suite.samples import column
from evalkit.trace.visible import visible

__all__ = ["render_junit"]

_MAX_SAMPLES = 1_000
_MAX_TEXT = 2_000
_NO_CHARACTER = re.compile("[\ufdd0-\ufdef]|[\ufffe\uffff]")  # what XML 1.0 forbids or discourages beyond `visible`


def render_junit(model: ReportModel) -> Iterator[str]:
    """The file's text, in parts: it may be large."""
    rows = model.rows
    holds = list(_holds(model))
    tallies = {tally.key: tally.count for tally in model.tallies}
    counts = {
        "tests": str(len(rows) + len(holds)),
        "failures": str(tallies["fail"] + sum(tag == "failure" for _, tag, _ in holds)),
        "errors": str(tallies["inconclusive"] + sum(tag == "error" for _, tag, _ in holds)),
        "time": _seconds(model.duration_s),
    }
    root = ElementTree.Element("testsuites", {"name": "evalkit", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _text(model.suite or "suite"), **counts})
    suite.set("skipped", str(tallies["screened"]))
    if model.started_at:
        suite.set("timestamp", _text(model.started_at.removesuffix("Z")))
    _properties(suite, model)
    ElementTree.indent(root)
    head, end = ElementTree.tostring(root, "unicode").split("  </testsuite>")
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n{head}'
    for test in chain((_testcase(row, model) for row in rows), (_hold(*hold, model) for hold in holds)):
        _indent(test)
        yield f"    {ElementTree.tostring(test, 'unicode')}\n"
    yield f"  </testsuite>{end}\n"


def _holds(model: ReportModel) -> Iterator[tuple[str, str, str]]:
    """What holds the release and is no failing or inconclusive row: (name, ``failure`` or ``error``, why)."""
    decision = model.decision
    others: dict[str, list[str]] = {}
    for name, sentence in decision.blocking:
        if name not in model.failing:
            others.setdefault(name, []).append(sentence)
    yield from ((f"gate: {name}", "failure", "; ".join(sentences)) for name, sentences in others.items())
    if decision.outcome == "INCONCLUSIVE" and not decision.inconclusive:
        yield "gate", "error", decision.reason


def _properties(suite: ElementTree.Element, model: ReportModel) -> None:
    properties = ElementTree.SubElement(suite, "properties")
    facts = [("gate", model.decision.outcome), ("gate reason", model.decision.reason), *model.conditions]
    for name, value in facts:
        ElementTree.SubElement(properties, "property", {"name": _text(name), "value": _text(value)})


def _hold(name: str, tag: str, sentence: str, model: ReportModel) -> ElementTree.Element:
    facts = {"classname": _text(f"{model.suite}.gate"), "name": _text(name), "time": _seconds(0)}
    test = ElementTree.Element("testcase", facts)
    ElementTree.SubElement(test, tag, {"type": "gate", "message": _text(sentence)})
    return test


def _testcase(row: Row, model: ReportModel) -> ElementTree.Element:
    verdict = row.verdict
    test = ElementTree.Element(
        "testcase",
        {
            "classname": _text(f"{model.suite}.gate" if verdict.permanent else model.suite),
            "name": _text(f"{verdict.case_id}@v{verdict.version}"),
            "time": _seconds(row.duration_s),
        },
    )
    if "fail" in row.keys:
        _problem(test, "failure", "regression" if "regressed" in row.keys else "check", row)
    elif "inconclusive" in row.keys:
        _problem(test, "error", "inconclusive", row)
    elif "screened" in row.keys:
        _problem(test, "skipped", "screened", row)
    if row.samples:
        ElementTree.SubElement(test, "system-out").text = "\n".join(_sample_lines(row))
    return test


def _indent(test: ElementTree.Element) -> None:
    """What `ElementTree.indent` does, which leaves garbage behind that only a full collection finds."""
    if len(test):
        test.text = "\n      "
        for child in test:
            child.tail = "\n      "
        test[-1].tail = "\n    "


def _problem(test: ElementTree.Element, tag: str, kind: str, row: Row) -> None:
    found = ElementTree.SubElement(test, tag, {"type": kind, "message": _text(row.reason)})
    checks = [f"{count} samples: {sentence}" for _, sentence, count in row.verdict.failing_checks]
    found.text = "\n".join(_text(line) for line in [row.title, row.counts, *checks, f"reproduce: {row.command}"])


def _sample_lines(row: Row) -> Iterator[str]:
    shown = row.samples[:_MAX_SAMPLES]
    for facts in zip(*(column(shown, name) for name in ("index", "outcome", "duration_s", "reason")), strict=True):
        yield _sample_line(*facts)
    if len(row.samples) > _MAX_SAMPLES:
        yield f"and {len(row.samples) - _MAX_SAMPLES:,} samples more"


def _sample_line(index: int, outcome: str, duration_s: float, reason: str) -> str:
    why = _text(f": {reason}") if reason else ""
    return f"sample {index + 1} {outcome} in {_seconds(duration_s)} s{why}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _text(text: str) -> str:
    return _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", visible(cut(text, _MAX_TEXT)))
