"""What a run leaves for people and machines: verdicts, page, JUnit, Markdown; each appears whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evalkit.case.model import Case
from evalkit.halves import beside
from evalkit.report.data import verdicts_json
from evalkit.report.html import html_parts
from evalkit.report.junit import render_junit
from evalkit.report.markdown import render_markdown
from evalkit.report.model import Background, build_report
from evalkit.suite.account import Account
from evalkit.suite.disk import write_whole
from evalkit.suite.model import Manifest, Sample
from evalkit.trace.model import Trace
from evalkit.verdict.model import CaseVerdict, Decision, SuiteEffect

__all__ = ["REPORT_NAME", "write_reports"]

REPORT_NAME = "report.html"


def write_reports(
    folder: Path,
    manifest: Manifest,
    verdicts: Sequence[CaseVerdict],
    decision: Decision,
    samples: Mapping[str, Sequence[Sample]],
    cases: Mapping[str, Case],
    traces: Callable[[list[str]], Mapping[str, Trace]],
    account: Account,
    effect: SuiteEffect | None,
    notices: Sequence[str],
    background: Background,
) -> None:
    """Writes all of a run's reports into its folder.

    Raises:
        DiskFault: the disk is full; the run's samples are there.
    """
    model = build_report(manifest, verdicts, decision, samples, cases, traces, account, background, notices=notices)

    def without_page() -> None:
        write_whole(folder / "verdicts.json", verdicts_json(verdicts, decision, effect, notices))
        write_whole(folder / "junit.xml", (part.encode() for part in render_junit(model)))
        write_whole(folder / "summary.md", render_markdown(model).encode())

    with beside(without_page, len(verdicts)):
        write_whole(folder / REPORT_NAME, (part.encode() for part in html_parts(model)))
