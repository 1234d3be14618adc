"""What a run leaves for people and machines: verdicts, page, JUnit, Markdown; each appears whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evalkit.app.run_model import Run
from evalkit.case.model import Case
from evalkit.halves import beside
from evalkit.report.data import verdicts_json
from evalkit.report.html import html_parts
from evalkit.report.junit import render_junit
from evalkit.report.markdown import render_markdown
from evalkit.report.model import Background, build_report
from evalkit.suite.disk import write_whole
from evalkit.trace.model import Trace

__all__ = ["write_reports"]


def write_reports(
    run: Run,
    cases: Mapping[str, Case],
    traces: Callable[[list[str]], Mapping[str, Trace]],
    background: Background,
) -> None:
    """Writes all of a run's reports into its folder.

    Args:
        cases: by id; traces: those of these digests. Few of either are asked for.

    Raises:
        DiskFault: the disk is full; the run's samples are there.
    """
    folder, verdicts, notices = run.folder, run.verdicts, run.notices
    model = build_report(
        run.manifest, verdicts, run.decision, run.samples, cases, traces, run.account, background, notices=notices
    )

    def without_page() -> None:
        write_whole(folder / "verdicts.json", verdicts_json(verdicts, run.decision, run.effect, notices))
        write_whole(folder / "junit.xml", (part.encode() for part in render_junit(model)))
        write_whole(folder / "summary.md", render_markdown(model).encode())

    with beside(without_page, len(verdicts)):
        write_whole(folder / "report.html", (part.encode() for part in html_parts(model)))
