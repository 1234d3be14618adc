"""The coverage section: what is laid out of a `Coverage`, cut to what people read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evalkit.distil.coverage import Coverage, DecisionPoint, Mutations, ToolCoverage
from evalkit.figures import counted
from evalkit.percent import percent
from evalkit.report.text import cut

__all__ = ["CoverageView", "ToolLine", "view_coverage"]

_TOOLS, _POINTS, _SIGNATURES, _BRANCHES = 60, 40, 40, 12


@dataclass(frozen=True, slots=True)
class ToolLine:
    """One tool.

    Attributes:
        missing: branches of its arguments that no case takes, in words; ``failed`` where no call of it failed.
    """

    name: str
    effect: str
    cases: int
    checked: int
    calls: str
    branches: str
    missing: str


@dataclass(frozen=True, slots=True)
class CoverageView:
    """The section.

    Attributes:
        summary: sentences.
        untouched: names of tools that no case calls.
        points: (after, what came next with its number of cases).
        signatures: (signature, cases).
        absent: types of failure that no case has.
        hidden: how many tools, decision points and signatures are not listed.
    """

    summary: str
    tools: tuple[ToolLine, ...]
    untouched: tuple[str, ...]
    points: tuple[tuple[str, str], ...]
    signatures: tuple[tuple[str, int], ...]
    absent: tuple[str, ...]
    hidden: tuple[int, int, int]


def view_coverage(found: Coverage) -> CoverageView:
    """What the page shows of a coverage."""
    return CoverageView(
        summary=" ".join(_summary(found)),
        tools=tuple(_tool(tool) for tool in found.tools[:_TOOLS]),
        untouched=tuple(tool.name for tool in found.untouched),
        points=tuple((point.after, _choices(point)) for point in found.points[:_POINTS]),
        signatures=tuple(found.signatures.items())[:_SIGNATURES],
        absent=tuple(kind for kind, count in found.types.items() if not count),
        hidden=(
            max(len(found.tools) - _TOOLS, 0),
            max(len(found.points) - _POINTS, 0),
            max(len(found.signatures) - _SIGNATURES, 0),
        ),
    )


def _summary(found: Coverage) -> Iterator[str]:
    known = len(found.tools) + len(found.untouched)
    branches, taken = sum(len(tool.branches) for tool in found.tools), sum(tool.covered for tool in found.tools)
    yield f"On the path to a failure {len(found.tools)} of {counted(known, 'known tool')} are called, in"
    yield f"{counted(found.cases, 'case')}; {taken} of {counted(branches, 'branch', 'branches')} of their arguments"
    yield "are taken."
    yield _mutations(found.mutations, found.cases)
    if found.idle:
        yield f"An agent that calls nothing and says nothing passes {len(found.idle):,} of them."


def _mutations(found: Mutations, cases: int) -> str:
    if found.score is None:
        return "The checks' strength was not measured: that needs healthy runs (evalkit ingest --passing)."
    return (
        f"Mutation score {percent(found.score)}: the checks catch {found.caught:,} of "
        f"{counted(found.faults, 'small fault')}, measured on {found.measured:,} of {counted(cases, 'case')}."
    )


def _tool(tool: ToolCoverage) -> ToolLine:
    missing = [
        *(["failed"] if not tool.failed else []),
        *(_branch(*b) for b, count in tool.branches.items() if not count),
    ]
    more = f" and {len(missing) - _BRANCHES} more" if len(missing) > _BRANCHES else ""
    return ToolLine(
        name=tool.name,
        effect=tool.effect,
        cases=tool.cases,
        checked=tool.checked,
        calls=f"{tool.answered:,} answered, {tool.failed:,} failed",
        branches=f"{tool.covered} of {len(tool.branches)}",
        missing=", ".join(missing[:_BRANCHES]) + more,
    )


def _branch(argument: str, branch: str) -> str:
    return cut(f"{argument} {branch}", 80)


def _choices(point: DecisionPoint) -> str:
    return ", ".join(f"{then} ({count})" for then, count in point.choices.items())
