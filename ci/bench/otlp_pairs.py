"""Same run, same trace: compares the runs of the corpora that were recorded in two or three dialects; prints JSON.

    python ci/bench/otlp_pairs.py [CORPORA]        (default: ../shared/corpora beside the repository)

Files of one test hold one run: ``content_mode0`` and ``content_mode1`` of a folder, or one name in several folders.
Compared are the agents inside of the run, the handoffs, and each model, tool and retrieval step in order: kind, name,
messages (system prompts too), answer and its tool calls, tool definitions, arguments, results, whether it failed,
model, the parameters that both name, and each count of the usage; embeddings and other steps by kind where a run has
nothing else. Ids and times are not compared, nor the steps that a dialect draws around the others (turns, workflows).

A value that only one side has is no difference as long as the other file does not hold it: its own words (a call's id,
else the longest words) are searched for in the other file's text, and found there, it is a value that the reader lost,
and a difference. Not so names of agents, which stand all over a file.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any

from evalkit.errors import UnreadableTrace
from evalkit.trace.model import Step, Trace
from evalkit.trace.read import load_traces

_WORDS = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ,.]{7,60}")
_IDS = {"id", "tool_call_id"}  # some exporters write an item's id for the call's
_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


@dataclass(frozen=True, slots=True)
class Side:
    """One file of a pair: its runs and its text."""

    path: Path
    traces: tuple[Trace, ...]
    text: str


FOLDERS = ("otlp-genai", "openai-agents-sdk")


def pairs(folders: list[Path]) -> Iterator[tuple[Path, Path]]:
    """The files that hold one run."""
    named: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(path for folder in folders for path in folder.rglob("*.json*")):
        test = path.name.partition(".otlp.")[0].partition(".traces.")[0]
        named[test.replace("content_mode1", "content_mode0")].append(path)
    for paths in named.values():
        yield from combinations(paths, 2)


def read(path: Path) -> Side:
    """A file with its runs; without any when it can't be read."""
    try:
        traces = tuple(load_traces(path))
    except UnreadableTrace:
        traces = ()
    return Side(path, traces, path.read_text("utf-8"))


def shown(step: Step) -> dict[str, Any]:
    """What is compared of a step, by name; None for what the source does not hold."""
    missing = step.attributes.get("missing") or []
    found: dict[str, Any] = {"kind": step.kind, "failed": step.error is not None, "model": step.model}
    for name in _COUNTS:
        found[name] = getattr(step.usage, name) if step.usage else None
    if step.kind == "model" and isinstance(step.input, dict):
        answer = step.output if isinstance(step.output, dict) else {}
        found["messages"] = None if "input" in missing else step.input.get("messages")
        found["answer"] = {key: value for key, value in answer.items() if key != "tool_calls"} or None
        found["calls"] = answer.get("tool_calls") or None
        found["definitions"] = step.input.get("tools") or None
        found["parameters"] = step.input.get("params") or {}
    else:
        found["name"] = step.name if step.kind != "other" or step.name == "handoff" else None
        found["input"] = None if "input" in missing else step.input
        found["output"] = None if "output" in missing else step.output
    return found


def differences(first: Any, second: Any, texts: tuple[str, str], where: str, alone: Counter[str]) -> Iterator[str]:
    """Where two values differ, going into objects and lists; what only one side has is counted in `alone`."""
    if first is None or second is None:
        value, text = (second, texts[0]) if first is None else (first, texts[1])
        if value is not None and not where.endswith("_agent") and held(value, text):
            yield f"{where}: only one side has it, and the other file holds it"
        elif value is not None:
            alone[re.sub(r"\d+\.", "", where)] += 1
    elif isinstance(first, dict) and isinstance(second, dict):
        keys = {*first} & {*second} if where.endswith(".parameters") else {*first, *second}
        for key in sorted(keys - _IDS):
            yield from differences(first.get(key), second.get(key), texts, f"{where}.{key}", alone)
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for at, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from differences(one, other, texts, f"{where}.{at}", alone)
    elif first != second:
        yield f"{where}: {str(first)[:80]!r} against {str(second)[:80]!r}"


def held(value: Any, text: str) -> bool:
    """Whether a file's text has a value's ids or longest words (escapes differ from file to file, words do not)."""
    ids = [item["id"] for item in value if isinstance(item, dict) and item.get("id")] if isinstance(value, list) else []
    if ids:
        return any(each in text for each in ids)
    words = _WORDS.findall(json.dumps(value, ensure_ascii=False))
    return bool(words) and max(words, key=len) in text


def compared(first: Trace, second: Trace, texts: tuple[str, str], alone: Counter[str]) -> Iterator[str]:
    """Where two traces of one run differ."""
    agents = [[step.name for step in trace.of_kind("agent") if step.parent is not None] for trace in (first, second)]
    if agents[0] and agents[1] and agents[0] != agents[1]:
        yield f"agents: {agents[0]} against {agents[1]}"
    for part in (handoffs, calls):
        one, other = part(first), part(second)
        for at, (a, b) in enumerate(zip_longest(*aligned(one, other, texts, alone))):
            if a is None or b is None:
                yield f"{part.__name__} {at}: {(a or b).name} stands on one side only"
                continue
            yield from differences(shown(a), shown(b), texts, f"{part.__name__}.{at}", alone)


def handoffs(trace: Trace) -> list[Step]:
    """The handoffs of a run."""
    return [step for step in trace.steps if step.kind == "other" and step.name == "handoff"]


def calls(trace: Trace) -> list[Step]:
    """The model, tool and retrieval steps of a run; all steps where there are none."""
    return [*trace.of_kind("model", "tool", "retrieval")] or [*trace.steps]


def aligned(
    one: list[Step], other: list[Step], texts: tuple[str, str], alone: Counter[str]
) -> tuple[list[Step], list[Step]]:
    """Both without the steps that were read from messages, where the other file holds no messages to read them from."""
    sides = []
    for mine, theirs in ((one, texts[1]), (other, texts[0])):
        kept = [step for step in mine if "read_from" not in step.attributes or step.name in theirs]
        alone["a call that only the messages tell of"] += len(mine) - len(kept)
        sides.append(kept)
    return sides[0], sides[1]


def compare(folders: list[Path]) -> dict[str, Any]:
    """All pairs of the folders."""
    result: dict[str, Any] = {"equal": 0, "comparable": 0, "not_comparable": [], "different": {}, "one_side_only": {}}
    for paths in pairs(folders):
        one, other = map(read, paths)
        name = f"{one.path.parent.name} + {other.path.parent.name}: {one.path.name}"
        if not one.traces or not other.traces:
            result["not_comparable"].append(name)
            continue
        alone: Counter[str] = Counter()
        found = [] if len(one.traces) == len(other.traces) else [f"{len(one.traces)} against {len(other.traces)} runs"]
        for first, second in zip(one.traces, other.traces, strict=False):
            found += compared(first, second, (one.text, other.text), alone)
        result["comparable"] += 1
        result["equal"] += not found
        if found:
            result["different"][name] = found
        if +alone:
            result["one_side_only"][name] = dict(+alone)
    return result


if __name__ == "__main__":
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2].parent / "shared" / "corpora"
    folders = [root / name for name in FOLDERS]
    if not all(folder.is_dir() for folder in folders):
        sys.exit(f"no {' and '.join(FOLDERS)} in {root}")
    print(json.dumps(compare(folders), indent=1, ensure_ascii=False))
