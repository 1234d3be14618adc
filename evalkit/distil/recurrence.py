"""Whether a production trace is one of the library's incidents again.

Two ways lead to a case. The trace did the **same thing**: a check that holds for any healthy run of any task (no change
done twice, no argument invented, ...) fails on it with the case's signature. Or it was in the **same situation**: it
was asked much the same, about the same records, and a gating check of the case fails on it. What a case expects of one
customer's data says nothing about another's, nor of one order about the customer's next. So the records are what the
incident's changes were given, and what the checks name; an identifier that every run looks up ties nothing.

Most cases are excluded without looking at a check: by the tools that a trace called, by the words it was asked with.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from evalkit.canonical import Json, exact_text
from evalkit.check.grounding import is_identifier
from evalkit.check.judge import JudgeAll, compile_checks
from evalkit.check.model import Check, CheckResult
from evalkit.check.writes import effects_of
from evalkit.distil.signature import signature
from evalkit.trace.flow import leaves
from evalkit.trace.model import USER_MESSAGE, Trace

__all__ = ["GENERAL", "Recurrence", "Watched", "Watchlist", "alike", "identifiers", "likeness", "opening"]

GENERAL = frozenset(
    {"completed", "repeated_effect", "arguments_grounded", "no_tool_error", "unknown_retry", "approved", "policy_kept"}
)
"""Types of checks that any healthy run keeps, whatever its task."""

_ALIKE = 0.4
_SHARED = 0.3
"""So much of a case's records a run must be about: less is one customer's other order, paid with the same card."""
_WORD = re.compile(r"\w{2,}|[\u3400-\u9fff]")
_MAX_OPENING = 4000


@dataclass(frozen=True, slots=True)
class Watched:
    """What of a case is needed to recognise it.

    Attributes:
        tools: the names of the tools that the incident called; empty when it called none.
        opening: what the incident was asked (see `opening`).
        records: the identifiers that say what the case is about (see the module); empty when its calls had none.
    """

    case_id: str
    version: int
    signature: str
    checks: tuple[Check, ...]
    tools: frozenset[str]
    opening: str
    records: frozenset[str]

    @classmethod
    def of(cls, case_id: str, version: int, signature: str, checks: Sequence[Check], incident: Trace) -> Watched:
        """What is watched of a case."""
        tools = frozenset(step.name for step in incident.steps if step.kind == "tool")
        return cls(case_id, version, signature, tuple(checks), tools, opening(incident), _records(checks, incident))


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A case that a trace repeats.

    Attributes:
        how: ``same thing`` or ``same situation`` (see the module).
        results: the failed checks on the trace.
    """

    case_id: str
    version: int
    how: Literal["same thing", "same situation"]
    signature: str
    results: tuple[CheckResult, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        """The trace's steps that show it."""
        return tuple(sorted({seq for result in self.results for seq in result.steps}))


@dataclass(frozen=True, slots=True)
class _Entry:
    watched: Watched
    words: frozenset[str]
    judge: JudgeAll


class Watchlist:
    """A library, compiled once for many traces."""

    def __init__(self, cases: Iterable[Watched]) -> None:
        self._by_tool: defaultdict[str, list[_Entry]] = defaultdict(list)
        self._toolless: list[_Entry] = []
        self._by_check: dict[str, list[_Entry]] = {}
        general: dict[str, Check] = {}
        for case in cases:
            gating = [check for check in case.checks if check.gating]
            entry = _Entry(case, _words(case.opening), compile_checks(gating, case.case_id))
            for tool in case.tools:
                self._by_tool[tool].append(entry)
            if not case.tools:
                self._toolless.append(entry)
            for check in gating:
                if check.type in GENERAL:
                    general.setdefault(check.id, check)
                    self._by_check.setdefault(check.id, []).append(entry)
        self._general = list(general.values())
        self._judge_general = compile_checks(self._general)

    def find(self, trace: Trace, sanitized: Callable[[Trace], Trace] = lambda trace: trace) -> list[Recurrence]:
        """The cases that `trace` repeats, in the order of their ids.

        Args:
            sanitized: brings the trace into the cases' world of surrogates; called only when a case is near, since it
                is dear.
        """
        found: dict[str, Recurrence] = {}
        for entry, result in self._same_thing(trace):
            case = entry.watched
            found[case.case_id] = Recurrence(case.case_id, case.version, "same thing", case.signature, (result,))
        near = self._near(trace)
        safe = sanitized(trace) if near else trace
        given = identifiers(safe) if near else frozenset[str]()
        for entry in near:
            case = entry.watched
            if case.case_id in found or len(case.records & given) < _SHARED * len(case.records):
                continue
            failed = tuple(result for result in entry.judge(safe) if not result.passed)
            if failed:
                found[case.case_id] = Recurrence(
                    case.case_id, case.version, "same situation", signature(safe, failed), failed
                )
        return [found[case_id] for case_id in sorted(found)]

    def _same_thing(self, trace: Trace) -> Iterable[tuple[_Entry, CheckResult]]:
        for check, result in zip(self._general, self._judge_general(trace), strict=True):
            if not result.passed:
                named = signature(trace, [result])
                for entry in self._by_check[check.id]:
                    if entry.watched.signature == named:
                        yield entry, result

    def _near(self, trace: Trace) -> list[_Entry]:
        """The cases whose incident called one of the trace's tools, and was asked in nearly the same words."""
        tools = {step.name for step in trace.steps if step.kind == "tool"}
        groups = [self._toolless, *(self._by_tool.get(tool, []) for tool in tools)]
        by_id = {entry.watched.case_id: entry for group in groups for entry in group}
        if not by_id:
            return []
        words = _words(opening(trace))
        return [entry for _, entry in sorted(by_id.items()) if _alike(words, entry.words)]


def opening(trace: Trace) -> str:
    """What a run was asked first: the user's first turn, else its input."""
    for step in trace.steps:
        if step.name == USER_MESSAGE and isinstance(step.output, dict):
            return _text(step.output.get("content"))
    return _text(trace.input)


def identifiers(trace: Trace) -> frozenset[str]:
    """The identifiers that the calls of a run were given."""
    return frozenset(
        str(leaf)
        for step in trace.steps
        if step.kind == "tool"
        for _, leaf in leaves(step.input)
        if is_identifier(leaf)
    )


def _records(checks: Sequence[Check], incident: Trace) -> frozenset[str]:
    """The identifiers of an incident's changes and of its checks, as far as its calls were given them; else all."""
    given = identifiers(incident)
    named = [step.input for step in effects_of(incident)] + [dict(check.params) for check in checks if check.gating]
    return frozenset(str(leaf) for _, leaf in leaves(named) if is_identifier(leaf)) & given or given


def _text(value: Json) -> str:
    return (value if isinstance(value, str) else "" if value is None else exact_text(value).decode())[:_MAX_OPENING]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def likeness(left: Trace, right: Trace) -> float:
    """How far two runs were asked the same: the Jaccard similarity of their openings' words, 0 to 1."""
    one, other = _words(opening(left)), _words(opening(right))
    return len(one & other) / len(one | other) if one and other else 0.0


def alike(left: Trace, right: Trace) -> bool:
    """Whether two runs were asked much the same."""
    return likeness(left, right) >= _ALIKE


def _alike(left: frozenset[str], right: frozenset[str]) -> bool:
    """Jaccard similarity of at least 0.4. Two runs that were asked nothing have nothing in common."""
    if not left or min(len(left), len(right)) < _ALIKE * max(len(left), len(right)):
        return False
    common = len(left & right)
    return common >= _ALIKE * (len(left) + len(right) - common)
