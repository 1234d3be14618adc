"""What every trace that a reader gave must stand: judging, writing, showing, and becoming a case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalkit.app.ingest import ingest_trace
from evalkit.app.inspection import trace_json
from evalkit.app.settings import Settings
from evalkit.app.show_cases import ingested_lines
from evalkit.case.store import read_case
from evalkit.distil.slice import slice_trace
from evalkit.report.trace_page import trace_lines
from evalkit.trace.evidence import evidence
from evalkit.trace.file import encode_trace, read_trace_lines
from evalkit.trace.model import Trace
from evalkit.trace.visible import visible

__all__ = ["survive"]

_ALWAYS_FAILS: Any = {"checks": [{"type": "step_limit", "params": {"max_steps": 0}}]}
_SHOWN = frozenset(map(chr, [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]))


def survive(trace: Trace, folder: Path) -> None:
    """Take a trace through all that is done with one.

    Raises:
        EvalkitError: a typed refusal on the way, which is allowed.
        AssertionError: something that must hold does not.
    """
    numbers = [step.seq for step in trace.steps]
    assert numbers == sorted(set(numbers))
    assert_no_step_is_inside_itself(trace)
    assert 0.0 <= evidence(trace).score <= 1.0
    (back,) = read_trace_lines(encode_trace(trace), "written")
    assert back == trace
    for line in trace_lines(trace, width=80):
        assert not _SHOWN & {character for part in line for character in part.text}
    assert not _SHOWN & set(visible(trace.name + trace.id + "".join(evidence(trace).gaps)))
    json.dumps(trace_json(trace), ensure_ascii=False, sort_keys=True).encode()
    slice_trace(trace, numbers[-1:])
    settings = Settings(cases=folder / "cases", pseudonym_key="k" * 64)
    made = ingest_trace(trace, settings, expect=_ALWAYS_FAILS if trace.steps else None, new=True)
    assert made.path is not None
    assert read_case(made.path).id == made.case.id
    assert all(ingested_lines(made))


def assert_no_step_is_inside_itself(trace: Trace) -> None:
    """Whoever walks up from a step comes to an end."""
    parents = {step.seq: step.parent for step in trace.steps}
    free: set[int] = set()
    for seq in parents:
        way: dict[int, None] = {}
        at: int | None = seq
        while at is not None and at in parents and at not in free:
            assert at not in way, f"step {at} is inside itself"
            way[at] = None
            at = parents[at]
        free.update(way)
