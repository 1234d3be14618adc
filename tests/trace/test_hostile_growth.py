"""Twice the input is about twice the work, whatever its shape: no small file keeps a reader busy for hours.

Work is counted in lines of Python that ran, so that a slow machine changes nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from evalkit.check.grounding import ungrounded
from evalkit.errors import InputError, UnreadableTrace
from evalkit.trace.ancestry import circular, depths
from evalkit.trace.evidence import evidence
from evalkit.trace.file import encode_trace
from evalkit.trace.formats import conversation
from evalkit.trace.read import load_traces
from tests.build import a_trace, tool_step
from tests.trace import samples
from tests.trace.samples import one_a_line, one_document, stepfork_bundle

SMALL = 300
Maker = Callable[[int], Any]


def lines_run(work: Callable[[], Any]) -> int:
    """How many lines of Python `work` runs."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def growth(work: Callable[[int], Callable[[], Any]]) -> float:
    """How many times the work of an input that is twice as large is that of the smaller."""
    small, large = work(SMALL), work(2 * SMALL)
    small()  # what is done once only
    return lines_run(large) / lines_run(small)


def otlp(parent: Callable[[int], str], span_id: Callable[[int], str] = "s{}".format) -> Maker:
    """Spans of tools."""
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}
    return lambda n: samples._request(*[samples._span(span_id(at), parent(at), tool) for at in range(n)])


def otlp_calls(n: int) -> Any:
    """One answer with many calls, and as many spans of tools that don't say which call they are."""
    calls = [{"type": "tool_call", "id": f"c{at}", "name": "f", "arguments": {}} for at in range(n)]
    answer = json.dumps([{"role": "assistant", "parts": calls}])
    model = samples._span("m", "", {"gen_ai.operation.name": "chat", "gen_ai.output.messages": answer})
    spans = otlp(lambda _: "m")(n)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return samples._request(model, *spans)


def langfuse(kind: str, parent: Callable[[int], str]) -> Maker:
    """Observations."""

    def made(n: int) -> Any:
        found = [{**samples._observation(1, kind, 0), "id": f"o{at}", "parentObservationId": parent(at)}
                 for at in range(n)]  # fmt: skip
        found += [{**samples._observation(1, "GENERATION", 0), "id": f"g{at}", "parentObservationId": f"o{n - 1}"}
                  for at in range(n)]  # fmt: skip
        return {"trace": samples.LANGFUSE["trace"], "observations": found}

    return made


def langsmith(trace_id: str | None) -> Maker:
    """A chain of runs."""
    plain = {**samples._run(0, "tool", ""), "dotted_order": None, "trace_id": trace_id}
    return lambda n: [{**plain, "id": f"r{at}", "parent_run_id": f"r{at - 1}"} for at in range(n)]


def agents(n: int) -> Any:
    """A chain of spans of the OpenAI Agents SDK."""
    span = samples._item(0, 0, type="function", name="f")
    return [{**span, "id": f"s{at}", "parent_id": f"s{at - 1}"} for at in range(n)]


def stepfork(kind: Callable[[int, int], str]) -> Maker:
    """A chain of events."""

    def made(n: int) -> Any:
        events = [{"id": f"e{at}", "type": kind(at, n), "parent_id": f"e{at - 1}", "name": "f"} for at in range(n)]
        return {"manifest": samples.STEPFORK["manifest"], "events": events}

    return made


def tau(answer: Callable[[int, int], str]) -> Maker:
    """One message with many calls, and their answers."""

    def made(n: int) -> Any:
        calls = [{**samples.CALL, "id": f"c{at}"} for at in range(n)]
        answers = [{**samples.RESULT, "tool_call_id": answer(at, n)} for at in range(n)]
        return [{"task_id": 1, "traj": [{"role": "assistant", "tool_calls": calls}, *answers]}]

    return made


def who(n: int) -> Any:
    """A terminal that nobody gives code."""
    return {**samples.WHO, "history": [{"name": "Computer_terminal", "content": "exitcode: 0"}] * n}


def mini(n: int) -> Any:
    """A run that ends again and again."""
    return {**samples.MINI, "messages": [{"role": "exit", "content": str(at)} for at in range(n)]}


SHAPES: dict[str, tuple[str, Maker]] = {
    "all spans in one": ("otlp", otlp(lambda at: "s0" if at else "")),
    "a chain of spans": ("otlp", otlp(lambda at: f"s{at - 1}")),
    "a chain the other way": ("otlp", otlp(lambda at: f"s{at + 1}")),
    "one circle of spans": ("otlp", otlp(lambda at: f"s{(at + 1) % SMALL}")),
    "one id for all spans": ("otlp", otlp(lambda _: "", lambda _: "s")),
    "many calls in one message": ("otlp", otlp_calls),
    "a chain of observations": ("langfuse", langfuse("SPAN", lambda at: f"o{at - 1}")),
    "all observations in one": ("langfuse", langfuse("SPAN", lambda at: "o0" if at else "")),
    "a chain of runs": ("langsmith", langsmith("r0")),
    "a chain of runs of no trace": ("langsmith", langsmith(None)),
    "a chain of the SDK's spans": ("openai-agents", agents),
    "a chain of events": ("stepfork", stepfork(lambda at, n: "custom")),
    "results after all calls": ("stepfork", stepfork(lambda at, n: "tool_call" if 2 * at < n else "tool_result")),
    "results of no call": ("stepfork", stepfork(lambda at, n: "llm_request" if 2 * at < n else "tool_result")),
    "answers in reverse": ("tau-bench", tau(lambda at, n: f"c{n - 1 - at}")),
    "answers to no call": ("tau-bench", tau(lambda at, n: "x")),
    "a terminal without code": ("who-and-when", who),
    "many endings": ("mini-swe-agent", mini),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_source_is_twice_the_work(tmp_path: Path, shape: str) -> None:
    """Reading and judging how complete a trace is grow with the source, not with its square."""
    name, make = SHAPES[shape]
    write = {"stepfork": stepfork_bundle, "openai-agents": one_a_line}.get(name, one_document)

    def work(n: int) -> Callable[[], Any]:
        folder = tmp_path / str(n)
        folder.mkdir()
        path = write(make(n), folder)
        return lambda: [evidence(trace) for trace in load_traces(path, format=name)]

    assert growth(work) < 2.6


def test_a_file_of_many_agents_turns_is_short(tmp_path: Path) -> None:
    """Seven agents who each see all that was said: their histories are written once, not with every step."""
    sizes = []
    for n in (100, 200):
        history = [{"role": "assistant", "name": f"A{at % 7}", "content": "what was said here"} for at in range(n)]
        (trace,) = load_traces(one_document({**samples.WHO, "history": history}, tmp_path))
        sizes.append(sum(map(len, encode_trace(trace))))
    assert sizes[1] < 2.6 * sizes[0]


def test_a_long_session_is_read_and_an_endless_one_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three thousand turns are fine; where the model steps' lists would fill the memory, the turn is named."""
    turns = [{"role": ("user", "assistant")[at % 2], "content": "x"} for at in range(3000)]
    path = one_document([{"task_id": 1, "traj": turns}], tmp_path)
    (trace,) = load_traces(path)
    assert len(trace.steps) == 3000
    assert len(list(encode_trace(trace))) == 3002
    monkeypatch.setattr(conversation, "MAX_REFERENCES", 1_000_000)
    with pytest.raises(UnreadableTrace, match="too long") as caught:
        list(load_traces(path))
    assert caught.value.where.startswith("message ")


def test_grounding_of_many_writes_grows_with_them() -> None:
    """Each identifier is looked for in a few large texts, not in each result."""

    def work(n: int) -> Callable[[], Any]:
        steps = [tool_step(at, "refund", {"order": f"A{at:05}"}, {"o": f"B{at:05}"}, effect="write") for at in range(n)]
        return lambda: ungrounded(a_trace(*steps))

    assert growth(work) < 2.6


def test_depths_and_circles() -> None:
    """Depth counts the known ids above; a circle's members stand above themselves, what hangs below it does not."""
    assert depths({"c": "b", "a": "", "b": "a", "x": "gone"}) == {"a": 0, "b": 1, "c": 2, "x": 0}
    assert circular({"a": "b", "b": "c", "c": "b", "d": "d", "e": "", "f": "e"}) == {"b", "c", "d"}
    assert set(depths({"a": "b", "b": "c", "c": "b"})) == {"a", "b", "c"}


def test_a_native_file_builds_no_bomb(tmp_path: Path) -> None:
    """Lines that refer to lists, or continue one list many times, are refused: ten would make a thousand million."""
    header, step, *_ = samples._native()
    bomb = {**step, "seq": 2, "step": 2, "input": {"a": None}, "refs": [[["input", "a"], 1, ["input"]]]}
    twice = {**step, "seq": 2, "step": 2, "input": {"messages": []}}
    twice["prefix"] = [[["input", "messages"], 1, ["input", "messages"], 1]] * 2
    for first, second in ((step, bomb), ({**step, "input": {"messages": [1]}}, twice)):
        path = samples.chained_lines([header, first, second], tmp_path)
        with pytest.raises(Exception, match="points to nothing") as caught:
            list(load_traces(path))
        assert not isinstance(caught.value, InputError)  # an IntegrityError: nobody but a forger writes it
