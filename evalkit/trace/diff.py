"""Two runs side by side: the same outcome, the same tools, the same effects, and where they part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import orjson

from evalkit.canonical import Json, digest
from evalkit.errors import InputError
from evalkit.figures import figures
from evalkit.trace.model import Step, Trace
from evalkit.trace.spent import Spent, spent

__all__ = ["Comparison", "Difference", "DifferenceKind", "Pair", "compare"]

DifferenceKind: TypeAlias = Literal[
    "decision", "tool", "argument", "policy", "citation", "result", "outcome", "cost", "latency"
]
_MAX_ALIGNED = 10_000
_SHOWN = 100
_TENTH = 0.1
_SHORTEST_ID = 3
_DECIDES = ("policy", "approval")


@dataclass(frozen=True, slots=True)
class Difference:
    """One point where two runs differ.

    Attributes:
        kind: ``decision`` (the models answered differently), ``tool`` (another tool, or one more), ``argument``,
            ``result`` (the same call was answered differently), ``outcome`` (output, error or status).
        sentence: in words.
        left, right: the step on each side; None where there is none.
    """

    kind: DifferenceKind
    sentence: str
    left: int | None = None
    right: int | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two steps that stand beside each other; None where the other run has no such step."""

    left: int | None
    right: int | None
    same: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `compare` found.

    Attributes:
        same_outcome: equal output, error type and status.
        same_tools: the same tools in the same order.
        same_effects: the same multiset of successful writes with canonical arguments.
        first: the first difference, None when the runs are equal.
        differences: all of them, in order.
        pairs: the steps aligned for a view side by side.
        similarity: of the final answers' texts, 0 to 1.
        spent: what each run took.
    """

    same_outcome: bool
    same_tools: bool
    same_effects: bool
    first: Difference | None
    differences: tuple[Difference, ...]
    pairs: tuple[Pair, ...]
    similarity: float
    spent: tuple[Spent, Spent]


def compare(left: Trace, right: Trace) -> Comparison:
    """Compares two runs; times of single steps and ids are no difference."""
    pairs = tuple(_aligned(left.steps, right.steps))
    found = [one for pair in pairs if not pair.same and (one := _difference(pair, left, right)) is not None]
    outcome, took = _outcome(left, right), (spent(left), spent(right))
    found += [one for one in (_cites(left, right), outcome) if one]
    found += _dearer(*took)
    return Comparison(
        same_outcome=outcome is None,
        same_tools=[step.name for step in left.of_kind("tool")] == [step.name for step in right.of_kind("tool")],
        same_effects=_effects(left) == _effects(right),
        first=found[0] if found else None,
        differences=tuple(found),
        pairs=pairs,
        similarity=_similarity(left.output, right.output),
        spent=took,
    )


def _cites(left: Trace, right: Trace) -> Difference | None:
    """The found documents that only one of the answers names by id."""
    mine, theirs = _cited(left), _cited(right)
    if mine == theirs:
        return None
    sides = [", ".join(sorted(ids)) or "none" for ids in (mine, theirs)]
    return Difference("citation", f"the answer cites {sides[0]} against {sides[1]}")


def _dearer(one: Spent, other: Spent) -> Iterator[Difference]:
    if one.cost_usd is not None and other.cost_usd is not None:
        if _apart(one.cost_usd, other.cost_usd):
            yield Difference("cost", f"it cost ${figures(one.cost_usd, 4)} against ${figures(other.cost_usd, 4)}")
    elif one.tokens is not None and other.tokens is not None and _apart(one.tokens, other.tokens):
        yield Difference("cost", f"it took {one.tokens:,} tokens against {other.tokens:,}")
    if one.duration_s is not None and other.duration_s is not None and _apart(one.duration_s, other.duration_s):
        yield Difference("latency", f"it took {figures(one.duration_s, 3)} s against {figures(other.duration_s, 3)} s")


def _apart(one: float, other: float) -> bool:
    return abs(one - other) > _TENTH * max(abs(one), abs(other))


def _aligned(left: Sequence[Step], right: Sequence[Step]) -> Iterator[Pair]:
    """Pairs steps by kind and name; beyond 10,000 steps by position, since an alignment takes quadratic time."""
    if max(len(left), len(right)) > _MAX_ALIGNED:
        yield from _beside(left, right)
        return
    from rapidfuzz.distance import Levenshtein

    names = [[f"{step.kind} {step.name}" for step in side] for side in (left, right)]
    for edit in Levenshtein.opcodes(*names):
        yield from _beside(left[edit.src_start : edit.src_end], right[edit.dest_start : edit.dest_end])


def _beside(left: Sequence[Step], right: Sequence[Step]) -> Iterator[Pair]:
    for at in range(max(len(left), len(right))):
        one = left[at] if at < len(left) else None
        other = right[at] if at < len(right) else None
        same = one is not None and other is not None and _content(one) == _content(other)
        yield Pair(one.seq if one else None, other.seq if other else None, same)


def _difference(pair: Pair, left: Trace, right: Trace) -> Difference | None:
    one = None if pair.left is None else left.step(pair.left)
    other = None if pair.right is None else right.step(pair.right)
    if one is None or other is None:
        only = one or other
        side = "left" if other is None else "right"
        if only is None or only.kind not in ("tool", "retrieval", "policy", "approval"):
            return None
        verb, kind = ("asks", "policy") if only.kind in _DECIDES else ("calls", "tool")
        return Difference(kind, f"only the {side} run {verb} {only.name}", pair.left, pair.right)  # type: ignore[arg-type]  # one of two literals
    if one.kind == "model" and other.kind == "model":
        if _decided(one) == _decided(other):
            return None
        sentence = f"the models decided differently: {_said(_decided(one))} against {_said(_decided(other))}"
        return Difference("decision", sentence, one.seq, other.seq)
    if one.name != other.name or one.kind != other.kind:
        return Difference("tool", f"{one.name} against {other.name}", one.seq, other.seq)
    if one.kind == "other":
        return None
    if _key(one.input) != _key(other.input):
        sentence = f"{one.name} was given {_said(one.input)} against {_said(other.input)}"
        return Difference("argument", sentence, one.seq, other.seq)
    answers = [_said(step.error.type if step.error else _shown_result(step)) for step in (one, other)]
    if one.kind in _DECIDES:
        return Difference("policy", f"{one.name} said {answers[0]} against {answers[1]}", one.seq, other.seq)
    if one.kind == "retrieval":
        return Difference("citation", f"{one.name} found {answers[0]} against {answers[1]}", one.seq, other.seq)
    return Difference("result", f"{one.name} answered {answers[0]} against {answers[1]}", one.seq, other.seq)


def _outcome(left: Trace, right: Trace) -> Difference | None:
    if left.status != right.status:
        return Difference("outcome", f"the run is {left.status} against {right.status}")
    errors = [trace.error.type if trace.error else "no error" for trace in (left, right)]
    if errors[0] != errors[1]:
        return Difference("outcome", f"{errors[0]} against {errors[1]}")
    if _key(left.output) != _key(right.output):
        return Difference("outcome", f"the final answer is {_said(left.output)} against {_said(right.output)}")
    return None


def _shown_result(step: Step) -> Json:
    """A step's output; of a retrieval the documents' ids, where they have any."""
    ids: list[Json] = [*_document_ids(step)]
    return ids if ids and step.kind == "retrieval" else step.output


def _document_ids(step: Step) -> list[str]:
    documents = step.output if isinstance(step.output, list) else []
    return [str(each["id"]) for each in documents if isinstance(each, dict) and each.get("id") is not None]


def _cited(trace: Trace) -> set[str]:
    """The ids of found documents that stand in the final answer; very short ones may be anything."""
    text = _text(trace.output)
    known = {each for step in trace.of_kind("retrieval") for each in _document_ids(step) if len(each) >= _SHORTEST_ID}
    return {each for each in known if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text)}


def _effects(trace: Trace) -> Counter[tuple[str, str]]:
    return Counter((step.name, _key(step.input)) for step in trace.steps if step.is_effect)


def _decided(step: Step) -> Json:
    """What a model's answer asks for: its calls without their ids; its text when it asks for none."""
    if not isinstance(step.output, dict):
        return step.output
    calls = step.output.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return step.output.get("content")
    return [{"name": c.get("name"), "arguments": c.get("arguments")} for c in calls if isinstance(c, dict)]


def _content(step: Step) -> tuple[str, str, str, str, str | None]:
    given = "" if step.kind == "model" else _key(step.input)  # a model's input repeats all that came before
    answer = _decided(step) if step.kind == "model" else step.output
    return step.kind, step.name, given, _key(answer), step.error.type if step.error else None


def _key(value: Json) -> str:
    try:
        return digest(value)
    except InputError:  # no JSON: told apart by how it prints
        return repr(value)


def _similarity(left: Json, right: Json) -> float:
    if _key(left) == _key(right):
        return 1.0
    from rapidfuzz import fuzz

    return fuzz.ratio(_text(left), _text(right)) / 100


def _text(value: Json) -> str:
    try:
        return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return repr(value)


def _said(value: Json) -> str:
    body = _text(value)
    return body if len(body) <= _SHOWN else body[: _SHOWN - 1] + "…"
