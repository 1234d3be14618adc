"""How complete a trace is as evidence: what a replay or a check would miss in it, step by step."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.trace.cut import Cuts, find_cuts
from evalkit.trace.message import calls_in
from evalkit.trace.model import Step, Trace

__all__ = [
    "MESSAGES_MISSING",
    "Evidence",
    "Lacks",
    "definitions_missing",
    "evidence",
    "find_lacks",
    "step_numbers",
    "tools_undefined",
]

MESSAGES_MISSING = "messages missing"
"""How the lack of a model step begins that has not all of its messages."""
_WEIGHTS = {"results": 0.5, "messages": 0.3, "definitions": 0.1, "times": 0.1}
_UNFINISHED_FACTOR = 0.8
_NAMED = 5
_RUNS_NAMED = 6
_GAP_FACTOR, _LEAST_GAP_FACTOR = 0.95, 0.8


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a trace holds and lacks.

    Attributes:
        score: 0 (nothing to go by) to 1 (complete); see `evidence`.
        gaps: what is missing, one sentence each, the trace's own gaps first.
    """

    score: float
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lacks:
    """What is missing of the calls in a trace.

    Attributes:
        by_step: for each model, tool and retrieval step with a gap, what it lacks, in words.
        stray: calls in models' answers that no step carried out: the model step's number and the tool's name.
        uncalled: steps that hold a tool's result whose call is not in the trace.
    """

    by_step: Mapping[int, tuple[str, ...]]
    stray: tuple[tuple[int, str], ...]
    uncalled: tuple[int, ...]


def evidence(trace: Trace, lacks: Lacks | None = None) -> Evidence:
    """How much of the run `trace` records.

    The score is ``0.5 R + 0.3 M + 0.1 D + 0.1 T``, times 0.95 for each gap that the trace or one of its steps names
    (0.8 at the least), times 0.8 for an unfinished trace, and 0 for one without any model, tool or retrieval step:

    - R: of all tool and retrieval steps, tool calls of models without a step, and results without a call, the share
      whose arguments and result (or error) are known whole;
    - M: the share of model steps whose messages and answer (or error) are known whole;
    - D: the share of model steps with the definitions of all the tools that they call, schemas included, and of any,
      where another model step calls one (all, when no model calls a tool);
    - T: the share of model, tool and retrieval steps with start and end.

    A share of nothing is 1. The score is 1 exactly when there is no gap.

    Args:
        lacks: of `trace`, by `find_lacks`, where it is at hand.
    """
    calls = list(trace.of_kind("tool", "retrieval"))
    models = list(trace.of_kind("model"))
    own = tuple(dict.fromkeys((*trace.gaps, *_noted(trace))))
    if not calls and not models:
        return Evidence(0.0, (*own, "no model, tool or retrieval step"))
    lacks = lacks or find_lacks(trace)
    undefined = tools_undefined(models, lacks)
    untimed = [step.seq for step in (*calls, *models) if step.started_at is None or step.ended_at is None]
    known = sum(step.seq not in lacks.by_step for step in calls)
    shares = {
        "results": _share(known, len(calls) + len(lacks.stray) + len(lacks.uncalled)),
        "messages": _share(sum(step.seq not in lacks.by_step for step in models), len(models)),
        "definitions": _share(len(models) - len(undefined), len(models)),
        "times": _share(len(calls) + len(models) - len(untimed), len(calls) + len(models)),
    }
    score = sum(_WEIGHTS[name] * share for name, share in shares.items())
    score *= max(_GAP_FACTOR ** len(own), _LEAST_GAP_FACTOR)
    gaps = [*own, *_in_words(lacks), *_definitions_in_words(undefined)]
    if untimed:
        gaps.append(f"{step_numbers(sorted(untimed))}: times missing")
    if trace.status == "unfinished":
        score *= _UNFINISHED_FACTOR
        gaps.append("the record stops before the run did")
    return Evidence(round(min(score, 0.9999), 4) if gaps else 1.0, tuple(dict.fromkeys(gaps)))


def _noted(trace: Trace) -> Iterator[str]:
    """What recorders say of single steps that they could not write whole."""
    steps: dict[str, list[int]] = defaultdict(list)
    for step in trace.steps:
        noted = step.attributes.get("gaps")
        for gap in noted if isinstance(noted, list) else ():
            if isinstance(gap, str):
                steps[gap].append(step.seq)
    for gap, numbers in steps.items():
        yield f"{step_numbers(sorted(set(numbers)))}: {gap}"


def find_lacks(trace: Trace) -> Lacks:
    """What is missing of the calls in `trace`."""
    cuts = find_cuts(trace)
    found = {step.seq: tuple(_lacks(step, cuts)) for step in trace.of_kind("model", "tool", "retrieval")}
    uncalled = tuple(step.seq for step in trace.of_kind("other") if step.name == "tool_result")
    return Lacks({seq: each for seq, each in found.items() if each}, tuple(_calls_without_step(trace)), uncalled)


def tools_undefined(models: Sequence[Step], lacks: Lacks) -> dict[int, tuple[str, ...]]:
    """The model steps that lack tool definitions, with the tools' names as far as they are known.

    A step lacks the definitions of the tools that it calls; and without any definition it lacks those of all tools that
    any model step calls. Where no answer is known, nobody can say that no tool was called.
    """
    called = {step.seq: [str(call.get("name") or "") for call in calls_in(step.output)] for step in models}
    everything = tuple(dict.fromkeys(name for names in called.values() for name in names))
    silent = any("model answer" in each for step in models for each in lacks.by_step.get(step.seq, ()))
    found: dict[int, tuple[str, ...]] = {}
    for step in models:
        defined = _defined(step)
        if defined is None:
            if everything or silent:
                found[step.seq] = everything
        elif missing := tuple(dict.fromkeys(name for name in called[step.seq] if name not in defined)):
            found[step.seq] = missing
    return found


def _defined(step: Step) -> set[str] | None:
    """The names of the tools that a model step defines with their schemas; None when it defines none."""
    tools = step.input.get("tools") if isinstance(step.input, dict) else None
    if not isinstance(tools, list) or not tools:
        return None
    return {
        str(tool["name"])
        for tool in tools
        if isinstance(tool, dict)
        and "name" in tool
        and ("type" in tool or any(key in tool for key in ("parameters", "input_schema", "inputSchema", "format")))
    }


def _definitions_in_words(undefined: Mapping[int, tuple[str, ...]]) -> Iterator[str]:
    by_names: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for seq, names in undefined.items():
        by_names[names].append(seq)
    for names, steps in by_names.items():
        yield f"{step_numbers(steps)}: {definitions_missing(names)}"


def definitions_missing(names: Sequence[str]) -> str:
    """The gap in words, with the names of the tools as far as they are known."""
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if names[_NAMED:] else "")
    return f"tool definitions{f' of {shown}' if shown else ''} missing"


def _in_words(lacks: Lacks) -> Iterator[str]:
    """What is missing, one sentence for all the steps that lack the same, in the order of the first of them."""
    steps: dict[str, list[int]] = defaultdict(list)
    for seq, each in lacks.by_step.items():
        for what in each:
            steps[what].append(seq)
    for seq, name in lacks.stray:
        steps[f"tool result missing: no step for the call of {name or 'a tool without a name'}"].append(seq)
    for seq in lacks.uncalled:
        steps["a tool's result without its call"].append(seq)
    for what, numbers in sorted(steps.items(), key=lambda item: min(item[1])):
        yield f"{step_numbers(sorted(set(numbers)))}: {what}"


def _lacks(step: Step, cuts: Cuts) -> Iterator[str]:
    """What a step lacks of what was asked and what came back."""
    reported = step.attributes.get("missing")
    missing: Sequence[Any] = reported if isinstance(reported, list) else ()
    unanswered = bool(step.attributes.get("unfinished")) or "output" in missing
    if step.kind == "model":
        yield from _model_lacks(step, cuts, missing, unanswered)
        return
    given, result = f"arguments of {step.name}", "tool result" if step.kind == "tool" else "documents"
    if "input" in missing or step.input is None:
        yield _gap(f"{given} missing", cuts.unread(step))
    elif cut := cuts.of(step.input):
        yield f"{given} {cut}"
    if unanswered and step.error is None:
        yield _gap(f"{result} missing", cuts.unread(step))
    elif cut := cuts.of(step.output):
        yield f"{result} {cut}"


def _model_lacks(step: Step, cuts: Cuts, missing: Sequence[Any], unanswered: bool) -> Iterator[str]:
    given = step.input if isinstance(step.input, dict) else {}
    if "input" in missing or not given.get("messages"):
        yield _gap(MESSAGES_MISSING, cuts.unread(step))
    elif cut := cuts.of(given["messages"]):
        yield f"messages {cut}"
    elif step.attributes.get("messages_left_out"):
        yield "some messages missing"
    elif step.attributes.get("text_messages"):
        yield "messages known as one text only: tool calls are not in it"
    if unanswered or (step.output is None and step.error is None):
        yield _gap("model answer missing", cuts.unread(step))
    elif cut := cuts.of(step.output):
        yield f"model answer {cut}"


def _gap(what: str, why: str) -> str:
    return f"{what} ({why})" if why else what


def _calls_without_step(trace: Trace) -> Iterator[tuple[int, str]]:
    """The tool calls in models' answers that no later tool step carried out: the model step's number and the name.

    A tool step is the call's by its id. Where one of the two has none, it is by name and order.
    """
    by_id: dict[str, deque[Step]] = defaultdict(deque)
    by_name: dict[str, deque[Step]] = defaultdict(deque)
    for step in trace.of_kind("tool", "agent"):  # an agent may be used as a tool, or handed over to
        by_id[_text(step.attributes.get("tool_call_id"))].append(step)
        by_name[_text(step.attributes.get("handoff")) or step.name].append(step)
    taken: set[int] = set()
    others: list[tuple[int, str, str]] = []
    for step in trace.of_kind("model"):
        for call in calls_in(step.output):
            call_id, name = _text(call.get("id")), _text(call.get("name"))
            if call_id and by_id[call_id]:
                taken.add(by_id[call_id].popleft().seq)
            else:
                others.append((step.seq, call_id, name))
    for seq, call_id, name in others:
        queue = by_name[name]
        while queue and (queue[0].seq in taken or queue[0].seq <= seq):
            queue.popleft()
        if not queue or (call_id and _text(queue[0].attributes.get("tool_call_id"))):
            yield seq, name
        else:
            queue.popleft()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def step_numbers(steps: list[int]) -> str:
    """Step numbers for people: ``steps 0-4, 7``; of many the first few and how many more there are."""
    runs: list[list[int]] = []
    for seq in steps:
        if runs and seq == runs[-1][1] + 1:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs[:_RUNS_NAMED])
    more = sum(last - first + 1 for first, last in runs[_RUNS_NAMED:])
    shown += f" and {more} more" if more else ""
    return f"step {shown}" if len(steps) == 1 else f"steps {shown}"
