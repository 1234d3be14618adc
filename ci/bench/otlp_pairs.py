"""Same run, same trace: compares the OTLP corpus' runs that were recorded in two dialects; prints JSON.

Usage: python ci/bench/otlp_pairs.py FOLDER

Pairs are files of one test: ``content_mode0`` and ``content_mode1``, or a file of the same name in two folders.
Compared are the model, tool and retrieval steps in order: kind, name, messages, answer, tool names and arguments,
results, whether they failed, model, and what both sides count of tokens. Not compared: ids, times, the steps around
them (dialects draw agents and chains differently), and parameters, which each exporter chooses. A pair is comparable
when both sides carry the content of each such step, and as many of each kind.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from evalkit.errors import UnreadableTrace
from evalkit.trace.model import Step
from evalkit.trace.read import load_traces

_COMPARED = ("name", "input", "output", "failed", "model", "usage")


def pairs(folder: Path) -> Iterator[tuple[Path, Path]]:
    """The files that hold one run."""
    named: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*.json")):
        named[path.name.replace("content_mode1", "content_mode0")].append(path)
    for paths in named.values():
        yield from combinations(paths, 2)


def calls(path: Path) -> list[Step]:
    """The dependency steps of a file; none when it can't be read."""
    try:
        return [step for trace in load_traces(path) for step in trace.of_kind("model", "tool", "retrieval")]
    except UnreadableTrace:
        return []


def why_not(first: list[Step], second: list[Step]) -> str:
    """Why two runs can't be compared; empty when they can."""
    if not first or not second:
        return "no model, tool or retrieval step"
    if [step.kind for step in first] != [step.kind for step in second]:
        return "the steps differ"
    if any("missing" in step.attributes for step in (*first, *second)):
        return "content not captured"
    return ""


def without_ids(value: Any) -> Any:
    """A value without the ids of its tool calls: some exporters write an item's id for the call's."""
    if isinstance(value, dict):
        return {key: without_ids(item) for key, item in value.items() if key not in ("id", "tool_call_id")}
    return [without_ids(item) for item in value] if isinstance(value, list) else value


def shown(step: Step) -> dict[str, Any]:
    """What is compared of a step."""
    given = step.input.get("messages") if step.kind == "model" and isinstance(step.input, dict) else step.input
    usage = step.usage
    return {
        "name": step.name,
        "input": without_ids(given) if step.kind == "model" else given,
        "output": without_ids(step.output) if step.kind == "model" else step.output,
        "failed": step.error is not None,
        "model": step.model,
        "usage": (usage.input_tokens, usage.output_tokens) if usage else None,
    }


def differences(first: list[Step], second: list[Step]) -> list[str]:
    """The fields in which two runs differ, each with its step."""
    sides = zip(map(shown, first), map(shown, second), strict=True)
    return [f"{at}.{name}" for at, (a, b) in enumerate(sides) for name in _COMPARED if a[name] != b[name]]


def compare(folder: Path) -> dict[str, Any]:
    """All pairs of a folder."""
    equal, different, reasons = 0, {}, Counter[str]()
    for one, other in pairs(folder):
        first, second = calls(one), calls(other)
        reason = why_not(first, second)
        if reason:
            reasons[reason] += 1
            continue
        found = differences(first, second)
        equal += not found
        if found:
            different[f"{one.parent.name} + {other.parent.name}: {one.name}"] = found
    comparable = equal + len(different)
    return {"equal": equal, "comparable": comparable, "not_comparable": dict(reasons), "different": different}


if __name__ == "__main__":
    print(json.dumps(compare(Path(sys.argv[1])), indent=1))
