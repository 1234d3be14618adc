"""What `evalkit gate` shows: for people, for programs, for a pull request, and for GitHub's runner."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from evalkit.app.run_model import Run
from evalkit.app.settings import Settings
from evalkit.app.show_runs import decision_json, decision_lines, notice_lines, unsafe_lines
from evalkit.report.escapes import MARKS, code, escaped, github_command, github_line
from evalkit.trace.visible import visible

__all__ = ["Format", "gate_json", "gate_lines"]

Format: TypeAlias = Literal["text", "json", "markdown", "github"]

_SHOWN = 50
_ANNOTATED = 9
"""GitHub shows ten annotations of a level and step; the last one counts the others."""
_GATE = "evalkit gate"


def gate_json(done: Run) -> dict[str, Any]:
    """The decision, and what its reader must know."""
    return {
        **decision_json(done.decision),
        "run": done.manifest.run_id,
        "layers": list(done.manifest.layers),
        "notices": list(done.notices),
    }


def gate_lines(done: Run, wanted: Format, settings: Settings) -> Iterator[str]:
    """The decision in a format other than JSON."""
    makers: dict[Format, Callable[[], Iterator[str]]] = {
        "markdown": lambda: _markdown(done),
        "github": lambda: _github(done, settings),
    }
    yield from makers.get(wanted, lambda: _text(done))()


def _text(done: Run) -> Iterator[str]:
    yield from decision_lines(done.decision)
    yield from unsafe_lines(done)
    yield from notice_lines(done)


def _markdown(done: Run) -> Iterator[str]:
    found = done.decision
    yield f"## {MARKS[found.outcome]} {found.outcome}"
    yield ""
    yield escaped(found.reason)
    for title, entries in (("Blocks", found.blocking), ("Not measured", found.inconclusive)):
        if entries:
            yield f"\n**{title}**\n"
            yield from (f"- {code(case)}: {escaped(what)}" for case, what in entries[:_SHOWN])
            if len(entries) > _SHOWN:
                yield f"- and {len(entries) - _SHOWN:,} more"
    if done.notices:
        yield "\n**To know**\n"
        yield from (f"- {escaped(notice)}" for notice in done.notices)
    yield ""
    yield f"run {code(done.manifest.run_id)}"


def _github(done: Run, settings: Settings) -> Iterator[str]:
    """The text, and an annotation for what blocks or was not measured, at the case's page where there is one.

    What is to be known is annotated, too: nobody reads the output of a job that is green.
    """
    yield from map(github_line, _text(done))
    entries = [("error", "blocks the release", *entry) for entry in done.decision.blocking]
    entries += [("warning", "not measured", *entry) for entry in done.decision.inconclusive]
    for command, title, case, what in entries[:_ANNOTATED]:
        page = _page(case, settings)
        yield github_command(command, visible(what), file=page, line="1" if page else "", title=f"{case}: {title}")
    if len(entries) > _ANNOTATED:
        yield github_command("error", f"and {len(entries) - _ANNOTATED} more, in the job's output", title=_GATE)
    for notice in done.notices[:_ANNOTATED]:
        yield github_command("notice", visible(notice), title=f"{_GATE}: to know")
    if len(done.notices) > _ANNOTATED:
        yield github_command("notice", f"and {len(done.notices) - _ANNOTATED} more, in the job's output", title=_GATE)
    if not entries and done.decision.outcome != "PASS":
        yield github_command("error", visible(done.decision.reason), title=_GATE)


def _page(case_id: str, settings: Settings) -> str:
    page = settings.cases / case_id / "case.md"
    if not page.exists():
        return ""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    top = Path(workspace) if workspace else settings.root
    full = page.resolve()
    return full.relative_to(top.resolve()).as_posix() if full.is_relative_to(top.resolve()) else ""
