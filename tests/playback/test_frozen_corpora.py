"""Frozen replays of real runs by an agent that repeats the recorded tool calls; ``ci/bench/frozen.py`` does all."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import evalkit
from evalkit.capture.rebuild import RecordedError
from evalkit.case.model import Case
from evalkit.playback.model import Replay
from evalkit.trace.model import Step
from tests.corpora import CORPORA, needs_corpora
from tests.project import Project

RUNS = 6


@pytest.fixture
def cases(project: Project) -> list[Case]:
    """Cases of the first airline runs of tau-bench."""
    runs = itertools.islice(evalkit.load_traces(CORPORA / "tau-bench" / "gpt-4o-airline-even.json"), RUNS)
    return [
        evalkit.ingest(run, expect={"state": "never"}, case_id=f"run-{at}", new=True) for at, run in enumerate(runs)
    ]


def repeated(case: Case, calls: Sequence[Step]) -> tuple[Replay, list[Any]]:
    """The replay of an agent that makes these calls, and what it got."""
    got: list[Any] = []

    def agent(_: Any) -> None:
        for step in calls:

            @evalkit.tool(name=step.name)
            def marked(**arguments: Any) -> Any:
                raise AssertionError("a body ran")

            given: Any = step.input
            try:
                got.append(marked(**given))
            except RecordedError as error:
                got.append(error.message)

    return evalkit.replay(case, agent), got


def spelled_otherwise(step: Step) -> Step:
    """The same call with its keys turned round, its numbers in another form, its JSON spaced."""

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        if isinstance(value, list):
            return [turned(item) for item in value]
        return float(value) if type(value) is int else value

    return Step(step.seq, "tool", step.name, json.loads(json.dumps(turned(step.input), indent=2)))


@needs_corpora
@pytest.mark.parametrize("vary", [lambda step: step, spelled_otherwise], ids=["as recorded", "spelled otherwise"])
def test_recorded_calls_get_what_they_got(cases: list[Case], vary: Callable[[Step], Step]) -> None:
    """Every call is matched, none is live, and each has its own answer."""
    for case in cases:
        calls = [step for step in case.incident.steps if step.kind == "tool"]
        done, got = repeated(case, [vary(step) for step in calls])
        assert (done.misses, done.counts.tool_bodies) == ((), 0)
        assert got == [step.output if step.error is None else step.error.message for step in calls]


@needs_corpora
def test_a_changed_argument_is_a_miss_that_names_its_path(cases: list[Case]) -> None:
    """Never the answer to what was asked otherwise."""
    for case in cases:
        for step in case.incident.steps:
            given: Any = step.input
            if step.kind == "tool" and given:
                name = max(given)
                done, got = repeated(case, [Step(0, "tool", step.name, {**given, name: "something else"})])
                assert (done.status, got) == ("missed", [])
                (miss,) = done.misses
                assert {one.path.split("/")[1] for one in miss.differences} == {name}
