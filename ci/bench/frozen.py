"""Frozen replays of real runs by an agent that repeats the recorded calls: what matches, and what is a miss.

    python ci/bench/frozen.py [CORPORA] [--runs N]

Each of tau-bench's airline runs is ingested, its case file read back, and replayed in mode exact. The agent makes the
run's tool calls through marked tools and its model calls through the real OpenAI SDK (without it, tool calls only):

- ``as recorded``;
- ``reordered``: tool calls shuffled, but for those that use an earlier one's values;
- ``spelled otherwise``: the keys of arguments turned round, their JSON spaced, ``2`` as ``2.0`` and ``2.0`` as ``2``;
- ``changed``: for each tool call, a replay in which one value of its arguments is another.

Printed as JSON: calls made, matched, missed, and live ones (bodies run, models asked). In the first three everything
must match; in the last each changed call must be a miss that names the path of the change, and nothing else.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from corpora import asked_corpora

from evalkit.app.ingest import ingest_trace
from evalkit.app.settings import Settings
from evalkit.capture.rebuild import RecordedError
from evalkit.capture.tools import tool
from evalkit.case.model import Case
from evalkit.case.store import read_case
from evalkit.playback.model import Replay
from evalkit.playback.replay import prepare
from evalkit.playback.targets.python import PythonTarget
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.flow import flow
from evalkit.trace.model import Step, Trace
from evalkit.trace.read import load_traces
from evalkit.wire.openai_message import message_to_openai

KEY = "5eed" * 16
FILE = "tau-bench/gpt-4o-airline-even.json"
NOTHING: dict[str, int] = {"replays": 0, "calls": 0, "matched": 0, "missed": 0, "live": 0, "wrong answers": 0}


def main() -> None:
    """Prints the figures; exit code 1 when they are not as they must be."""
    wanted = int(sys.argv.pop(sys.argv.index("--runs") + 1)) if "--runs" in sys.argv else None
    sys.argv = [one for one in sys.argv if one != "--runs"]
    traces = list(load_traces(asked_corpora() / FILE))[:wanted]
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        cases = list(made(traces, Path(folder)))
    figures: dict[str, Any] = {name: repeated(cases, vary) for name, vary in VARIATIONS.items()}
    figures["changed"] = changed(cases)
    whole = all(figures[name]["matched"] == figures[name]["calls"] for name in VARIATIONS)
    silent = all(each["live"] == 0 and each["wrong answers"] == 0 for each in figures.values())
    told = figures["changed"]["missed naming the path"] == figures["changed"]["replays"]
    found = {"runs": len(cases), "model calls": ask() is not None, **figures}
    print(json.dumps({**found, "cpu_s": round(time.process_time() - began, 1)}, indent=2))
    sys.exit(0 if whole and silent and told else 1)


def made(traces: Sequence[Trace], root: Path) -> Iterator[Case]:
    """A case of each run, as its file holds it."""
    settings = Settings(root=root, cases=root / "cases", pseudonym_key=KEY)
    for number, trace in enumerate(traces):
        done = ingest_trace(trace, settings, expect={"state": "never"}, new=True, case_id=f"tau-{number}")
        assert done.path is not None
        yield read_case(done.path)


Vary = Callable[[list[Step], Trace, random.Random], list[Step]]


def repeated(cases: Sequence[Case], vary: Vary) -> dict[str, int]:
    """One replay a case, its calls made as `vary` has them."""
    count = dict(NOTHING)
    for case in cases:
        trace = case.incident
        calls = [step for step in trace.steps if step.kind == "tool" or (step.kind == "model" and ask() is not None)]
        added(count, *replayed(case, vary(calls, trace, random.Random(case.id)), calls))
    return count


def changed(cases: Sequence[Case]) -> dict[str, int]:
    """A replay for each tool call with arguments, one value of which is changed: the calls before it must match."""
    count = {**NOTHING, "missed naming the path": 0}
    for case in cases:
        draw = random.Random(case.id)
        tools = [step for step in case.incident.steps if step.kind == "tool"]
        for at, step in enumerate(tools):
            paths = list(leaf_paths(step.input))
            if paths:
                path = draw.choice(paths)
                other = Step(step.seq, "tool", step.name, with_other(step.input, path))
                done, wrong = replayed(case, [*tools[:at], other], tools)
                added(count, done, wrong)
                named = [one.path for miss in done.misses for one in miss.differences]
                count["missed naming the path"] += named == ["".join(f"/{part}" for part in path)]
    return count


def replayed(case: Case, calls: Sequence[Step], recorded: Sequence[Step]) -> tuple[Replay, int]:
    """The replay of an agent that makes these calls, and how many answers it got that were not the call's own."""
    wrong: list[int] = []
    told = {step.seq: answer_of(step) for step in recorded}

    def agent() -> None:
        for step in calls:
            try:
                got = called(step)
            except RecordedError as error:  # what the tool said to the model
                got = error.message
            wrong.extend([step.seq] if got != told[step.seq] else [])

    return prepare(case, sanitizer=sanitizer).replay(PythonTarget(agent)), len(wrong)


def sanitizer() -> Sanitizer:
    """What the agent says and calls goes through, as in every replay."""
    return Sanitizer(Policy(), bytes.fromhex(KEY))


def called(step: Step) -> Any:
    """What the agent gets for a call."""
    if step.kind == "model":
        create: Any = ask()
        return create(**request_of(step)).choices[0].message.content or None
    arguments: Any = step.input

    @tool(name=step.name)
    def marked(**arguments: Any) -> Any:
        raise AssertionError("a tool body ran in a frozen replay")

    return marked(**arguments)


def answer_of(step: Step) -> Any:
    """What the agent was told in the recording: a tool's result or its error's text, a model's text."""
    if step.kind == "model":
        output: Any = step.output
        return output.get("content") or None
    return step.output if step.error is None else step.error.message


def request_of(step: Step) -> dict[str, Any]:
    """A recorded model call as the SDK's arguments."""
    given: Any = step.input
    told = [message_to_openai(one) if one["role"] == "assistant" else one for one in given["messages"]]
    messages = [{key: value for key, value in one.items() if value is not None} for one in told]
    rest = {"tools": given["tools"]} if given.get("tools") else {}
    return {"model": step.model or "unknown", "messages": messages, **rest, **(given.get("params") or {})}


def ask(found: list[Any] = []) -> Any:  # noqa: B006  # made once
    """The SDK's function; None where it is not installed."""
    if not found:
        try:
            import openai

            found.append(openai.OpenAI(base_url="http://model.invalid/v1", api_key="none", max_retries=0))
        except ImportError:
            found.append(None)
    return None if found[0] is None else found[0].chat.completions.create


def added(count: dict[str, int], done: Replay, wrong: int) -> None:
    """Counts a replay."""
    count["replays"] += 1
    count["calls"] += done.counts.substituted + len(done.misses)
    count["matched"] += done.counts.substituted
    count["missed"] += len(done.misses)
    count["live"] += done.counts.tool_bodies + done.counts.live_model
    count["wrong answers"] += wrong


def as_recorded(calls: list[Step], _trace: Trace, _draw: random.Random) -> list[Step]:
    """The calls in their order."""
    return calls


def reordered(calls: list[Step], trace: Trace, draw: random.Random) -> list[Step]:
    """The calls in a drawn order, in which each still comes after those whose values it uses, and after its likes."""
    found = flow(trace)
    by_seq = {step.seq: step for step in calls}
    waits = {step.seq: {seq for seq in found.steps_before(step.seq) if seq in by_seq} for step in calls}
    for at, step in enumerate(calls):
        alike = [one for one in calls[:at] if one.kind == step.kind and (one.kind == "model" or one.name == step.name)]
        if step.kind == "model":
            waits[step.seq] = {one.seq for one in alike[-1:]}
        else:
            waits[step.seq] = {seq for seq in waits[step.seq] if by_seq[seq].kind == "tool"}
            waits[step.seq] |= {one.seq for one in alike if one.input == step.input}
    order: list[Step] = []
    while waits:
        ready = [seq for seq, needed in waits.items() if not needed & waits.keys()]
        chosen = draw.choice(ready)
        del waits[chosen]
        order.append(by_seq[chosen])
    return order


def spelled_otherwise(calls: list[Step], _trace: Trace, _draw: random.Random) -> list[Step]:
    """The calls with other spellings of the same arguments."""
    return [respelled(step) for step in calls]


VARIATIONS: dict[str, Vary] = {
    "as recorded": as_recorded,
    "reordered": reordered,
    "spelled otherwise": spelled_otherwise,
}


def respelled(step: Step) -> Step:
    """A call whose arguments mean the same."""
    given: Any = step.input
    if step.kind == "tool":
        return Step(step.seq, "tool", step.name, json.loads(json.dumps(turned(given), indent=3)))
    messages = [
        {**message, "tool_calls": [{**one, "arguments": spaced(one["arguments"])} for one in message["tool_calls"]]}
        if message.get("tool_calls")
        else message
        for message in given["messages"]
    ]
    body = {**given, "messages": messages}
    return Step(step.seq, "model", step.name, {key: body[key] for key in reversed(body)}, step.output, model=step.model)


def spaced(arguments: Any) -> str:
    """Arguments as a model might have written them."""
    return json.dumps(turned(arguments), indent=1) if isinstance(arguments, dict) else arguments


def turned(value: Any) -> Any:
    """A value with its keys turned round and its numbers in another form."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [turned(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53 else value


def leaf_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values are that are neither object nor list."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaf_paths(item, (*path, key))
    elif path:
        yield path


def with_other(value: Any, path: tuple[Any, ...]) -> Any:
    """A value with another leaf at a path."""
    if not path:
        return "something else" if value != "something else" else "else"
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = with_other(value[path[0]], path[1:])
    return copied


if __name__ == "__main__":
    main()
