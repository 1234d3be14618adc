"""The same run has one fingerprint, whoever recorded it; another run has another."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.distil.fingerprint import fingerprint
from evalkit.trace.model import Step, Trace
from tests.build import a_trace, tool_step
from tests.strategies import traces


def a_run(*, order: str = "W1", ok: bool = True) -> Trace:
    """A look-up and a refund."""
    steps = [tool_step(0, "find", {"id": order}, {"sum": 5}), tool_step(1, "refund", {"id": order}, {"ok": ok})]
    return a_trace(*steps, output={"done": ok})


def test_the_recorder_is_no_part_of_it() -> None:
    """Ids, times, numbers, spans around the calls, JSON as text, whole numbers as fractions, the calls' order."""
    run = a_run()
    first, second = (replace(step, started_at=None, attributes={"span_id": "x"}, parent=0) for step in run.steps)
    steps = (
        Step(0, "agent", "root"),
        replace(second, seq=1, input=json.dumps(second.input)),
        replace(first, seq=2, output={"sum": 5.0}),
    )
    assert fingerprint(replace(run, id="other", name="x", dialect="otlp", steps=steps)) == fingerprint(run)


def test_what_was_done_is() -> None:
    """Another argument, another result, another answer, a call more."""
    prints = {fingerprint(run) for run in (a_run(), a_run(order="W2"), a_run(ok=False), a_trace(*a_run().steps[:1]))}
    assert len(prints) == 4


def test_a_run_without_calls_is_known_by_what_was_said() -> None:
    """And one in which nothing was said has none."""
    assert fingerprint(a_trace()) == ""
    assert fingerprint(a_trace(output="yes")) != fingerprint(a_trace(output="no"))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # a busy machine is no fault
@given(traces(), st.text(max_size=5))
def test_any_trace_has_one(trace: Trace, run_id: str) -> None:
    """Hostile values included; an id changes nothing."""
    assert fingerprint(replace(trace, id=run_id)) == fingerprint(trace)
