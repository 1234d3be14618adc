"""What a library of cases touches, and what it does not: tools, branches of arguments, decisions, signatures, faults.

Only what stands on the path to an incident counts as covered: fixtures that were set aside test nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from evalkit.canonical import Json
from evalkit.case.model import FIXTURE_OF, Case
from evalkit.check.idle import passes_idle
from evalkit.check.judge import judge_checks
from evalkit.distil.branches import Branch, branches_of_call, branches_of_schema
from evalkit.distil.decisions import decisions
from evalkit.distil.signature import TYPES
from evalkit.trace.asked import tool_schemas
from evalkit.trace.flow import leaves
from evalkit.trace.model import Step

__all__ = ["Coverage", "DecisionPoint", "Mutations", "ToolCoverage", "coverage"]

_ANSWER = "answer"
_REQUEST = "the request"


@dataclass(frozen=True, slots=True)
class ToolCoverage:
    """One tool.

    Attributes:
        effect: what it does to the world; empty where no case calls it.
        cases: how many call it on the path to their incident.
        checked: how many have a gating check that names it, or that fails on the incident because of its calls.
        answered: calls that were answered.
        failed: calls that ended in an error.
        branches: (argument, branch) to the calls that took it; 0 for one that a schema tells of and no case takes.
        seen: calls in the traces that coverage was asked to look at, too.
    """

    name: str
    effect: str = ""
    cases: int = 0
    checked: int = 0
    answered: int = 0
    failed: int = 0
    branches: Mapping[Branch, int] = field(default_factory=dict)
    seen: int = 0

    @property
    def covered(self) -> int:
        """Branches that some case takes."""
        return sum(count > 0 for count in self.branches.values())


@dataclass(frozen=True, slots=True)
class DecisionPoint:
    """What an agent had just seen, and what it did then.

    Attributes:
        after: ``the request``, or a tool and how its call ended, such as ``lookup failed``.
        choices: what came next, a tool or ``answer``, to the number of cases.
    """

    after: str
    choices: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Mutations:
    """What the cases' checks catch of small faults, and pass of harmless changes (`distil.strength`).

    Attributes:
        measured: cases for which it was measured.
    """

    measured: int
    caught: int
    faults: int
    passed: int
    variations: int

    @property
    def score(self) -> float | None:
        """Share of the faults that were caught; None where none was tried."""
        return self.caught / self.faults if self.faults else None


@dataclass(frozen=True, slots=True)
class Coverage:
    """The result.

    Attributes:
        cases: how many were looked at.
        tools: those that a case calls, by name.
        untouched: tools that are offered to an agent, declared in the settings or seen in traces, and that no case
            calls, by name; one that was declared may be a pattern.
        signatures: failure signatures to the number of cases, the most frequent first.
        types: each type of failure to the number of cases, 0 for those that none has.
        idle: the ids of the cases that an agent passes which calls nothing and says nothing.
    """

    cases: int
    tools: tuple[ToolCoverage, ...]
    untouched: tuple[ToolCoverage, ...]
    points: tuple[DecisionPoint, ...]
    signatures: Mapping[str, int]
    types: Mapping[str, int]
    mutations: Mutations
    idle: tuple[str, ...] = ()


def coverage(cases: Iterable[Case], declared: Sequence[str] = (), seen: Mapping[str, int] | None = None) -> Coverage:
    """The coverage of some cases, read one at a time.

    Args:
        declared: names or patterns of tools that are there, as the settings' ``[tools]`` say.
        seen: tools to the number of their calls in other traces, such as production's.
    """
    sums = _Sums()
    for case in cases:
        sums.add(case)
    return sums.result(declared, seen or {})


class _Sums:
    def __init__(self) -> None:
        self.cases = 0
        self.tools: dict[str, Counter[str]] = defaultdict(Counter)
        self.effects: dict[str, str] = {}
        self.schemas: dict[str, Json] = {}
        self.calls: dict[str, list[Json]] = defaultdict(list)
        self.points: dict[str, Counter[str]] = defaultdict(Counter)
        self.signatures: Counter[str] = Counter()
        self.strength: Counter[str] = Counter()
        self.idle: list[str] = []

    def add(self, case: Case) -> None:
        kept = set(case.kept)
        path = [step for step in case.trace.trace.steps if step.seq in kept and FIXTURE_OF not in step.attributes]
        calls = [step for step in path if step.kind == "tool"]
        self.cases += 1
        self.signatures[case.signature or "UNKNOWN"] += 1
        self.strength.update({key: count for key, count in case.strength.items() if isinstance(count, int)})
        self.strength["measured"] += bool(case.strength)
        if passes_idle(case.checks, case.incident):
            self.idle.append(case.id)
        for step in path:
            if step.kind == "model":
                self.schemas.update((name, told["parameters"]) for name, told in tool_schemas(step).items())
        for step in calls:
            self.effects.setdefault(step.name, step.effect or "")
            self.tools[step.name]["failed" if step.error else "answered"] += 1
            self.calls[step.name].append(step.input)
        for name in {step.name for step in calls}:
            self.tools[name]["cases"] += 1
        for name in _checked(case):
            self.tools[name]["checked"] += 1
        for after, then in set(_choices(path)):
            self.points[after][then] += 1

    def result(self, declared: Sequence[str], seen: Mapping[str, int]) -> Coverage:
        called = {name for name, counts in self.tools.items() if counts["cases"]}
        absent = {name for name in (*self.schemas, *seen) if name not in called}
        unmet = [one for one in declared if not any(fnmatchcase(name, one) for name in (*called, *absent))]
        types = Counter(_type_of(signature) for signature in self.signatures.elements())
        strength = self.strength
        return Coverage(
            cases=self.cases,
            tools=tuple(self._tool(name, seen) for name in sorted(called)),
            untouched=tuple(self._tool(name, seen) for name in sorted({*absent, *unmet})),
            points=tuple(DecisionPoint(after, _by_count(choices)) for after, choices in sorted(self.points.items())),
            signatures=_by_count(self.signatures),
            types={one: types[one] for one in (*TYPES, *sorted(set(types) - set(TYPES)))},
            mutations=Mutations(
                strength["measured"], strength["caught"], strength["faults"], strength["passed"], strength["variations"]
            ),
            idle=tuple(self.idle),
        )

    def _tool(self, name: str, seen: Mapping[str, int]) -> ToolCoverage:
        schema, calls, counts = self.schemas.get(name), self.calls.get(name, []), self.tools.get(name, Counter())
        taken = Counter(branch for call in calls for branch in set(branches_of_call(call, schema)))
        every = dict.fromkeys(branches_of_schema(schema), 0)
        return ToolCoverage(
            name,
            self.effects.get(name, ""),
            counts["cases"],
            counts["checked"],
            counts["answered"],
            counts["failed"],
            {**every, **dict(sorted(taken.items()))},
            seen.get(name, 0),
        )


def _by_count(counts: Counter[str]) -> dict[str, int]:
    """The most frequent first; of those alike, by their names, whatever order they were met in."""
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _checked(case: Case) -> set[str]:
    """Tools that a gating check speaks of: by name (every text of its parameters), or by what it blames."""
    named = {value for check in case.gating for _, value in leaves(dict(check.params)) if isinstance(value, str)}
    incident = case.incident
    blamed = {seq for result in judge_checks(case.gating, incident) if not result.passed for seq in result.steps}
    return named | {step.name for step in incident.steps if step.seq in blamed}


def _choices(path: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """What was done after what; calls of one reply of the model were chosen together, after the same."""
    asked = decisions(path)
    after, latest, decider = _REQUEST, _REQUEST, -2
    for step in path:
        if step.kind not in ("tool", "retrieval"):
            continue
        by = asked.get(step.seq, -1)
        if by < 0 or by != decider:
            after = latest
        decider = by
        yield after, step.name
        latest = f"{step.name} {'failed' if step.error else 'answered'}"
    yield latest, _ANSWER


def _type_of(signature: str) -> str:
    pattern = signature.partition(":")[0]
    return next((one for one in TYPES if pattern == one or pattern.startswith(f"{one}_")), pattern)
