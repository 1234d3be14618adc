"""Hypothesis strategies for the domain: JSON values, steps, traces."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from evalkit.trace.model import Kind, Step, StepError, Trace, Usage

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
integers = st.integers(-(10**300), 10**300)
scalars = st.none() | st.booleans() | integers | st.floats(allow_nan=False, allow_infinity=False) | texts
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
times = st.none() | st.integers(0, 4_000_000_000_000_000).map(lambda micros: micros / 1e6)
errors = st.builds(StepError, texts, texts, st.none() | texts, st.none() | texts)
usages = st.builds(
    Usage,
    st.none() | st.integers(0, 10**9),
    st.none() | st.integers(0, 10**9),
    st.none() | st.integers(0, 10**9),
    st.none() | st.integers(0, 10**9),
    st.none() | st.floats(0, 1e6),
)


@st.composite
def steps(draw: st.DrawFn, seq: int) -> Step:
    """A step numbered `seq`."""
    kind: Kind = draw(st.sampled_from(sorted(get_args(Kind))))
    return Step(
        seq=seq,
        kind=kind,
        name=draw(texts),
        input=draw(json_values),
        output=draw(json_values),
        error=draw(st.none() | errors),
        parent=draw(st.none() | st.integers(0, seq - 1)) if seq else None,
        effect=draw(st.sampled_from(["read", "write", "pure"])) if kind == "tool" else None,
        effect_source="declared" if kind == "tool" else None,
        started_at=draw(times),
        ended_at=draw(times),
        model=draw(st.none() | texts),
        usage=draw(st.none() | usages.filter(lambda usage: usage != Usage())),
        attributes=draw(st.dictionaries(texts, json_values, max_size=2)),
    )


@st.composite
def traces(draw: st.DrawFn, max_steps: int = 5) -> Trace:
    """A whole trace."""
    count = draw(st.integers(0, max_steps))
    return Trace(
        id=draw(texts),
        name=draw(texts),
        dialect="evalkit",
        steps=tuple(draw(steps(seq)) for seq in range(count)),
        input=draw(json_values),
        output=draw(json_values),
        error=draw(st.none() | errors),
        status=draw(st.sampled_from(["completed", "failed", "unfinished"])),
        started_at=draw(times),
        ended_at=draw(times),
        attributes=draw(st.dictionaries(texts, json_values, max_size=2)),
        gaps=tuple(draw(st.lists(texts, max_size=2))),
    )
