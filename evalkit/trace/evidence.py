"""How complete a trace is as evidence: what a replay or a check would miss in it, step by step."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.trace.model import Step, Trace

__all__ = ["Evidence", "evidence"]

_WEIGHTS = {"results": 0.5, "messages": 0.3, "definitions": 0.1, "times": 0.1}
_UNFINISHED_FACTOR = 0.8


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a trace holds and lacks.

    Attributes:
        score: 0 (nothing to go by) to 1 (complete); see `evidence`.
        gaps: what is missing, one sentence each, the trace's own gaps first.
    """

    score: float
    gaps: tuple[str, ...]


def evidence(trace: Trace) -> Evidence:
    """How much of the run `trace` records.

    The score is ``0.5 R + 0.3 M + 0.1 D + 0.1 T``, times 0.8 for an unfinished trace, and 0 for one without any model,
    tool or retrieval step:

    - R: of all tool and retrieval steps and all tool calls of models without a step, the share whose arguments and
      result (or error) are known;
    - M: the share of model steps whose messages and answer (or error) are known;
    - D: the share of model steps with tool definitions (all, when no model calls a tool);
    - T: the share of model, tool and retrieval steps with start and end.

    A share of nothing is 1.
    """
    calls = list(trace.of_kind("tool", "retrieval"))
    models = list(trace.of_kind("model"))
    stray = list(_calls_without_step(trace))
    if not calls and not models:
        return Evidence(0.0, (*trace.gaps, "no model, tool or retrieval step"))
    lacking = {step.seq: _lacks(step) for step in (*calls, *models)}
    undefined = _undefined(models)
    untimed = [step.seq for step in (*calls, *models) if step.started_at is None or step.ended_at is None]
    shares = {
        "results": _share(sum(not lacking[step.seq] for step in calls), len(calls) + len(stray)),
        "messages": _share(sum(not lacking[step.seq] for step in models), len(models)),
        "definitions": _share(len(models) - len(undefined), len(models)),
        "times": _share(len(calls) + len(models) - len(untimed), len(calls) + len(models)),
    }
    score = sum(_WEIGHTS[name] * share for name, share in shares.items())
    gaps = [*trace.gaps, *_by_step(lacking, stray, trace)]
    if undefined:
        gaps.append(f"{_numbers(undefined)}: tool definitions missing")
    if untimed:
        gaps.append(f"{_numbers(sorted(untimed))}: times missing")
    if trace.status == "unfinished":
        score *= _UNFINISHED_FACTOR
        gaps.append("the record stops before the run did")
    return Evidence(round(score, 4), tuple(dict.fromkeys(gaps)))


def _by_step(lacking: dict[int, list[str]], stray: list[tuple[int, str]], trace: Trace) -> list[str]:
    found = [(seq, f"step {seq}: {what}") for seq, each in lacking.items() for what in each]
    found += [(seq, f"step {seq}: tool result missing: no step for the call of {name}") for seq, name in stray]
    found += [
        (step.seq, f"step {step.seq}: a tool's result without its call")
        for step in trace.of_kind("other")
        if step.name == "tool_result"
    ]
    return [text for _, text in sorted(found, key=lambda item: item[0])]


def _lacks(step: Step) -> list[str]:
    """What a step lacks of what was asked and what came back."""
    reported = step.attributes.get("missing")
    missing: Sequence[Any] = reported if isinstance(reported, list) else ()
    unanswered = bool(step.attributes.get("unfinished")) or "output" in missing
    found: list[str] = []
    if step.kind == "model":
        given = step.input if isinstance(step.input, dict) else {}
        if "input" in missing or not given.get("messages"):
            found.append("messages missing")
        if unanswered or (step.output is None and step.error is None):
            found.append("model answer missing")
        return found
    if "input" in missing or step.input is None:
        found.append(f"arguments of {step.name} missing")
    if unanswered and step.error is None:
        found.append("tool result missing" if step.kind == "tool" else "documents missing")
    return found


def _undefined(models: list[Step]) -> list[int]:
    """The model steps without tool definitions, when any model called a tool."""
    if not any(_calls(step) for step in models):
        return []
    return [step.seq for step in models if not (isinstance(step.input, dict) and step.input.get("tools"))]


def _calls_without_step(trace: Trace) -> Iterator[tuple[int, str]]:
    """The tool calls in models' answers that no later tool step carried out: the model step's number and the name.

    A tool step is the call's by its id, else, where it has none, by its name and order.
    """
    by_id: Counter[str] = Counter()
    by_name: dict[str, list[int]] = defaultdict(list)
    for step in trace.of_kind("tool"):
        call_id = step.attributes.get("tool_call_id")
        if isinstance(call_id, str) and call_id:
            by_id[call_id] += 1
        else:
            by_name[step.name].append(step.seq)
    for step in trace.of_kind("model"):
        for call in _calls(step):
            call_id, name = str(call.get("id") or ""), str(call.get("name") or "")
            free = by_name[name]
            later = bisect_right(free, step.seq)
            if by_id[call_id]:
                by_id[call_id] -= 1
            elif later < len(free):
                del free[later]
            else:
                yield step.seq, name


def _calls(step: Step) -> list[dict[str, Any]]:
    calls = step.output.get("tool_calls") if isinstance(step.output, dict) else None
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _numbers(steps: list[int]) -> str:
    """Step numbers for people: ``steps 0-4, 7``."""
    runs: list[list[int]] = []
    for seq in steps:
        if runs and seq == runs[-1][1] + 1:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    return f"step {shown}" if len(steps) == 1 else f"steps {shown}"
