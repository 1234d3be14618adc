"""The coverage section: what is laid out of a `Coverage`, cut to what people read."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.report.text import counted, percent
from evalkit.suite.coverage import Coverage, DecisionPoint, SignatureCount, ToolCoverage, Weak

__all__ = ["CoverageView", "view_coverage"]

_TOOLS, _DECISIONS, _SIGNATURES = 60, 40, 40


@dataclass(frozen=True, slots=True)
class CoverageView:
    """The section.

    Attributes:
        summary: one sentence.
        untouched: names of tools that no case calls.
        hidden: how many tools, decision points and signatures are not listed.
    """

    summary: str
    tools: tuple[ToolCoverage, ...]
    untouched: tuple[str, ...]
    decisions: tuple[DecisionPoint, ...]
    signatures: tuple[SignatureCount, ...]
    kinds_missing: tuple[str, ...]
    mutation: str
    weakest: tuple[Weak, ...]
    hidden: tuple[int, int, int]


def view_coverage(found: Coverage) -> CoverageView:
    """What the page shows of a coverage."""
    called = [tool for tool in found.tools if tool.cases]
    branches = sum(len(tool.branches) for tool in called)
    taken = sum(tool.covered for tool in called)
    summary = (
        f"{counted(found.cases, 'case')} call {len(called)} of {counted(len(found.tools), 'known tool')} on the path "
        f"to their failure, and take {taken} of {counted(branches, 'branch', 'branches')} of these."
    )
    return CoverageView(
        summary=summary,
        tools=tuple(called[:_TOOLS]),
        untouched=found.untouched,
        decisions=found.decisions[:_DECISIONS],
        signatures=found.signatures[:_SIGNATURES],
        kinds_missing=found.kinds_missing,
        mutation=_mutation(found),
        weakest=found.weakest,
        hidden=(
            max(len(called) - _TOOLS, 0),
            max(len(found.decisions) - _DECISIONS, 0),
            max(len(found.signatures) - _SIGNATURES, 0),
        ),
    )


def _mutation(found: Coverage) -> str:
    score = found.mutation_score
    if score is None:
        return "The checks' strength was not measured: that needs healthy runs (evalkit ingest --passing)."
    return (
        f"Mutation score {percent(score)}: the checks catch {found.caught:,} of {found.faults:,} small faults, "
        f"measured on {found.measured:,} of {counted(found.cases, 'case')}."
    )
