"""What a case library touches: tools, branches of their arguments, decision points, kinds of failure, faults caught.

Only steps on the path to a failure count: what merely stands in a case as an answer is guarded by nothing.

- A *branch* of a tool is what its definition or its calls tell apart: a call that is answered or fails; an optional
  argument that is given or left out; each value of an enumeration or of a boolean.
- A *decision point* is a situation that a model answers in: what came last before it (a user's turn, a tool's answer or
  error), and what it chose: the tools it called, or to answer.
- The *mutation score* is the share of small faults in healthy runs that the cases' checks catch (`distil.strength`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.distil.replies import calls_of
from evalkit.playback.known_tools import KnownTools
from evalkit.trace.model import USER_MESSAGE, Step

__all__ = ["Branch", "Coverage", "DecisionPoint", "SignatureCount", "ToolCoverage", "Weak", "coverage_of"]

KINDS = (
    "MODEL_DECISION", "PROMPT", "RETRIEVAL", "TOOL", "AUTHORITY", "APPROVAL", "SIDE_EFFECT", "STATE", "CONCURRENCY",
    "INFRASTRUCTURE", "POLICY", "DATA",
)  # fmt: skip
"""The kinds of failure that a signature begins with."""
_MAX_ENUM = 12
_WEAKEST = 10


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of a tool and how many cases take it; 0 is a branch that nothing guards."""

    label: str
    cases: int


@dataclass(frozen=True, slots=True)
class ToolCoverage:
    """One tool.

    Attributes:
        known_from: ``settings`` where only evalkit.toml names it, else ``traces``.
        cases: how many cases call it on the path to their failure.
        gates: how many of these are permanent.
    """

    name: str
    known_from: str
    cases: int
    gates: int
    branches: tuple[Branch, ...] = ()

    @property
    def covered(self) -> int:
        """Branches that some case takes."""
        return sum(branch.cases > 0 for branch in self.branches)


@dataclass(frozen=True, slots=True)
class DecisionPoint:
    """A situation and a choice made in it, with the number of cases."""

    after: str
    chose: str
    cases: int


@dataclass(frozen=True, slots=True)
class SignatureCount:
    """A failure signature and the cases that have it."""

    signature: str
    cases: int
    gates: int


@dataclass(frozen=True, slots=True)
class Weak:
    """A case whose checks let faults through."""

    case_id: str
    caught: int
    faults: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The whole.

    Attributes:
        cases: how many were looked at; retired ones never are.
        tools: those that cases call first, most cases first.
        kinds_missing: kinds of failure that no signature has.
        measured: cases whose checks' strength was measured, with `caught` of `faults` in all.
        weakest: the measured cases that let most through, at most ten.
    """

    cases: int
    tools: tuple[ToolCoverage, ...]
    decisions: tuple[DecisionPoint, ...]
    signatures: tuple[SignatureCount, ...]
    kinds_missing: tuple[str, ...]
    measured: int
    caught: int
    faults: int
    weakest: tuple[Weak, ...]

    @property
    def untouched(self) -> tuple[str, ...]:
        """The known tools that no case calls."""
        return tuple(tool.name for tool in self.tools if not tool.cases)

    @property
    def mutation_score(self) -> float | None:
        """Share of the faults that are caught; None where nothing was measured."""
        return self.caught / self.faults if self.faults else None

    def as_json(self) -> dict[str, Any]:
        """The same with stable keys."""
        return {**asdict(self), "untouched": list(self.untouched), "mutation_score": self.mutation_score}


@dataclass(slots=True)
class _Tool:
    defined: dict[str, Json] = field(default_factory=dict)
    cases: set[str] = field(default_factory=set)
    gates: set[str] = field(default_factory=set)
    taken: dict[str, set[str]] = field(default_factory=dict)


def coverage_of(cases: Iterable[Case], named: Sequence[str] = ()) -> Coverage:
    """The coverage of some cases, each read once.

    Args:
        named: tools that the settings name, patterns left out.
    """
    tools: dict[str, _Tool] = {name: _Tool() for name in named}
    decisions: dict[tuple[str, str], set[str]] = {}
    signatures: Counter[str] = Counter()
    gates: Counter[str] = Counter()
    strengths: list[Weak] = []
    seen: set[str] = set()
    known: set[str] = set()
    for case in cases:
        if case.state == "retired":
            continue
        seen.add(case.id)
        known |= _note_tools(case, tools)
        for point in _decisions(case):
            decisions.setdefault(point, set()).add(case.id)
        signatures[case.signature or "UNKNOWN"] += 1
        gates[case.signature or "UNKNOWN"] += case.permanent
        if case.strength.get("faults"):
            strengths.append(Weak(case.id, _count(case.strength, "caught"), _count(case.strength, "faults")))
    found = [_tool(name, tool, "traces" if name in known else "settings") for name, tool in tools.items()]
    return Coverage(
        cases=len(seen),
        tools=tuple(sorted(found, key=lambda tool: (-tool.cases, tool.name))),
        decisions=tuple(
            sorted(
                (DecisionPoint(after, chose, len(ids)) for (after, chose), ids in decisions.items()),
                key=lambda point: (-point.cases, point.after, point.chose),
            )
        ),
        signatures=tuple(SignatureCount(name, count, gates[name]) for name, count in signatures.most_common()),
        kinds_missing=tuple(kind for kind in KINDS if not any(name.startswith(kind) for name in signatures)),
        measured=len(strengths),
        caught=sum(one.caught for one in strengths),
        faults=sum(one.faults for one in strengths),
        weakest=tuple(
            sorted(
                (one for one in strengths if one.caught < one.faults),
                key=lambda one: (one.caught / one.faults, one.case_id),
            )[:_WEAKEST]
        ),
    )


def _count(strength: Mapping[str, Json], key: str) -> int:
    value = strength.get(key)
    return value if isinstance(value, int) else 0


def _path(case: Case) -> Iterator[Step]:
    kept = set(case.kept)
    return (step for step in case.incident.steps if step.seq in kept)


def _note_tools(case: Case, tools: dict[str, _Tool]) -> set[str]:
    """Notes what a case calls; returns every tool that its trace knows of."""
    definitions = {tool["name"]: tool for tool in KnownTools(case.trace.trace).definitions()}
    dropped = {one.name for one in case.dropped if one.kind in ("tool", "retrieval")}
    for name in (*definitions, *dropped):
        tool = tools.setdefault(name, _Tool())
        tool.defined = tool.defined or _parameters(definitions.get(name))
    for step in _path(case):
        if step.kind in ("tool", "retrieval"):
            tool = tools.setdefault(step.name, _Tool())
            tool.cases.add(case.id)
            if case.permanent:
                tool.gates.add(case.id)
            for label in _taken(step, tool.defined):
                tool.taken.setdefault(label, set()).add(case.id)
    return {*definitions, *dropped}


def _parameters(definition: Any) -> dict[str, Json]:
    parameters = definition.get("parameters") if isinstance(definition, dict) else None
    return parameters if isinstance(parameters, dict) else {}


def _tool(name: str, tool: _Tool, known_from: str) -> ToolCoverage:
    labels = dict.fromkeys([*_possible(tool.defined), *tool.taken])
    branches = tuple(Branch(label, len(tool.taken.get(label, ()))) for label in labels)
    return ToolCoverage(name, known_from, len(tool.cases), len(tool.gates), branches)


def _possible(parameters: Mapping[str, Json]) -> Iterator[str]:
    """The branches that a tool's definition tells apart."""
    yield from ("answered", "failed")
    required = parameters.get("required")
    for name, schema in _properties(parameters).items():
        values = _values(schema)
        if name not in (required if isinstance(required, list) else ()):
            yield f"{name} left out"
            if not values:
                yield f"{name} given"
        for value in values:
            yield f"{name} = {value}"


def _taken(step: Step, parameters: Mapping[str, Json]) -> Iterator[str]:
    """The branches that one call takes."""
    yield "answered" if step.error is None else "failed"
    given = step.input if isinstance(step.input, dict) else {}
    possible = set(_possible(parameters))
    for name in _properties(parameters):
        value = given.get(name)
        labels = [f"{name} left out"] if value is None else [f"{name} = {_shown(value)}", f"{name} given"]
        yield from (label for label in labels if label in possible)


def _properties(parameters: Mapping[str, Json]) -> dict[str, Json]:
    found = parameters.get("properties")
    return found if isinstance(found, dict) else {}


def _values(schema: Json) -> list[str]:
    """The values that a schema lists, as text; none where it lists none, or too many."""
    if not isinstance(schema, dict):
        return []
    listed = schema.get("enum")
    if isinstance(listed, list):
        return [_shown(value) for value in listed] if len(listed) <= _MAX_ENUM else []
    return ["true", "false"] if schema.get("type") == "boolean" else []


def _shown(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _decisions(case: Case) -> Iterator[tuple[str, str]]:
    """The decision points on the path, as (what came last, what was chosen)."""
    kept = set(case.kept)
    last = "the start"
    for step in case.incident.steps:
        if step.kind == "model":
            if step.seq in kept or _decides(step, case, kept):
                yield last, ", ".join(sorted({str(call.get("name")) for call in calls_of(step)})) or "answers"
        elif step.kind in ("tool", "retrieval"):
            last = f"{step.name} {'answered' if step.error is None else 'failed'}"
        elif step.name == USER_MESSAGE:
            last = "the user's turn"


def _decides(step: Step, case: Case, kept: set[int]) -> bool:
    """Whether a model step that was set aside asked for a call that was kept: the decision is on the path with it."""
    names = {call.get("name") for call in calls_of(step)}
    after = next((one for one in case.incident.steps if one.seq > step.seq and one.kind in ("tool", "retrieval")), None)
    return after is not None and after.seq in kept and after.name in names
