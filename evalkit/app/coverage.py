"""`evalkit coverage`: what the library, or a suite of it, tests, and what it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evalkit.app.settings import Settings
from evalkit.case.store import read_case
from evalkit.distil.branches import Branch
from evalkit.distil.coverage import Coverage, ToolCoverage, coverage
from evalkit.figures import counted
from evalkit.percent import percent
from evalkit.suite.config import load_suite
from evalkit.suite.model import Selection
from evalkit.suite.select import select_cases
from evalkit.trace.read import load_traces
from evalkit.trace.visible import visible

__all__ = ["coverage_json", "coverage_lines", "library_coverage"]

_NAMED = 10


def library_coverage(settings: Settings, suite: Path | None = None, traces: Sequence[str] = ()) -> Coverage:
    """The coverage of a suite's cases; without a suite, of all that are not retired.

    Args:
        traces: sources of other traces, such as production's: the tools that they call should be tested, too.

    Raises:
        ConfigError: nothing is selected, or the suite is wrong.
        UnreadableTrace: a source can't be read.
        IntegrityError: a case was changed after writing.
    """
    selection = Selection() if suite is None else load_suite(suite, model=settings.model).select
    chosen = select_cases(settings.cases, selection)
    seen = Counter(
        step.name for source in traces for trace in load_traces(source) for step in trace.steps if step.kind == "tool"
    )
    return coverage((read_case(case.path) for case in chosen), [name for name, _ in settings.effects], seen)


def coverage_json(found: Coverage) -> dict[str, Any]:
    """With stable keys."""
    mutations = found.mutations
    return {
        "cases": found.cases,
        "tools": [_tool_json(tool) for tool in found.tools],
        "untouched": [_tool_json(tool) for tool in found.untouched],
        "decisions": [{"after": point.after, "choices": dict(point.choices)} for point in found.points],
        "signatures": dict(found.signatures),
        "types": dict(found.types),
        "mutations": {
            "score": mutations.score,
            "caught": mutations.caught,
            "faults": mutations.faults,
            "harmless_passed": mutations.passed,
            "harmless": mutations.variations,
            "cases_measured": mutations.measured,
        },
        "idle": [*found.idle],
    }


def coverage_lines(found: Coverage) -> Iterator[str]:
    """For people, after the table of tools: what no case tests comes first."""
    for tool in found.untouched:
        calls = f", called {counted(tool.seen, 'time')} in the traces" if tool.seen else ""
        yield f"no case tests {visible(tool.name)}{calls}"
    for tool in found.tools:
        missing = [_branch(branch) for branch, count in tool.branches.items() if not count]
        if missing:
            yield f"{visible(tool.name)}: no case takes {', '.join(missing)}"
        if not tool.failed:
            yield f"{visible(tool.name)}: no case sees it fail"
    none = [kind for kind, count in found.types.items() if not count]
    kinds = len(found.types) - len(none)
    signatures = counted(len(found.signatures), "signature")
    if none:
        yield f"{signatures} of {counted(kinds, 'type')}; none of {', '.join(none)}"
    else:
        yield f"{signatures} of all {kinds} types"
    for point in found.points:
        choices = ", ".join(f"{visible(then)} in {counted(count, 'case')}" for then, count in point.choices.items())
        yield f"after {visible(point.after)}: {choices}"
    mutations = found.mutations
    unmeasured = found.cases - mutations.measured
    if mutations.score is not None:
        yield (
            f"mutation score {percent(mutations.score)}: {mutations.caught} of {mutations.faults} faults caught; "
            f"{mutations.passed} of {mutations.variations} harmless changes passed"
        )
    if found.idle:
        names = ", ".join(map(visible, found.idle[:_NAMED])) + (", ..." if found.idle[_NAMED:] else "")
        told = f"passes {len(found.idle):,} of {counted(found.cases, 'case')}: {names}"
        yield f"an agent that calls nothing and says nothing {told}"
    if unmeasured:
        yield f"not measured for {unmeasured} of {found.cases} cases: they were made without a healthy run"


def _tool_json(tool: ToolCoverage) -> dict[str, Any]:
    return {
        "name": tool.name,
        "effect": tool.effect,
        "cases": tool.cases,
        "checked": tool.checked,
        "answered": tool.answered,
        "failed": tool.failed,
        "branches_covered": tool.covered,
        "branches": [
            {"argument": argument, "branch": branch, "calls": count}
            for (argument, branch), count in tool.branches.items()
        ],
        "seen": tool.seen,
    }


def _branch(branch: Branch) -> str:
    argument, word = branch
    return f"{visible(argument)} {visible(word)}"
