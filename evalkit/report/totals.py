"""What a trace comes to in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evalkit.trace.model import Trace

__all__ = ["Totals", "totals"]


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a trace's steps. Tokens, cost and time are None where no step states them.

    Attributes:
        steps: by kind.
        models: model calls by the model that answered; under the empty name where it is not known.
        failed: steps with an error.
        writes: successful tool calls that changed the world.
        wall_s: seconds from the first start to the last end.
    """

    steps: Mapping[str, int]
    models: Mapping[str, int]
    failed: int
    writes: int
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None
    wall_s: float | None

    def as_json(self) -> dict[str, Any]:
        """The same, with stable keys."""
        return asdict(self)


def totals(trace: Trace) -> Totals:
    """The sums of a trace. Only model steps' usage counts: an agent's own sums up that of the calls below it."""
    models = [*trace.of_kind("model")]
    starts = [step.started_at for step in trace.steps if step.started_at is not None]
    ends = [step.ended_at for step in trace.steps if step.ended_at is not None]
    start = trace.started_at if trace.started_at is not None else min(starts, default=None)
    end = trace.ended_at if trace.ended_at is not None else max(ends, default=None)
    return Totals(
        steps=dict(Counter(step.kind for step in trace.steps)),
        models=dict(Counter(step.model or "" for step in models)),
        failed=sum(step.error is not None for step in trace.steps),
        writes=sum(step.is_effect for step in trace.steps),
        input_tokens=_sum(trace, "input_tokens"),
        output_tokens=_sum(trace, "output_tokens"),
        cached_tokens=_sum(trace, "cached_tokens"),
        reasoning_tokens=_sum(trace, "reasoning_tokens"),
        cost_usd=_sum(trace, "cost_usd"),
        wall_s=None if start is None or end is None else end - start,
    )


def _sum(trace: Trace, name: str) -> Any:
    values = [getattr(step.usage, name) for step in trace.of_kind("model") if step.usage is not None]
    known = [value for value in values if value is not None]
    return sum(known) if known else None
