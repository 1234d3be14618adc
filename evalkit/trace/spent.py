"""What a run took: model calls, tokens, money, time."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.trace.model import Trace

__all__ = ["Spent", "spent"]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run took; None where its trace does not say.

    Attributes:
        tokens: read and written, by the model calls that tell.
        cost_usd: US dollars, of the calls that tell.
        duration_s: seconds of the agent's own time; a replay's clock follows the recording.
    """

    model_calls: int
    tokens: int | None
    cost_usd: float | None
    duration_s: float | None


def spent(trace: Trace) -> Spent:
    """The sums over a trace."""
    models = list(trace.of_kind("model"))
    usages = [step.usage for step in models if step.usage is not None]
    tokens = [(each.input_tokens or 0) + (each.output_tokens or 0) for each in usages]
    costs = [each.cost_usd for each in usages if each.cost_usd is not None]
    began, ended = trace.started_at, trace.ended_at
    return Spent(
        model_calls=len(models),
        tokens=sum(tokens) if any(tokens) else None,
        cost_usd=sum(costs) if costs else None,
        duration_s=None if began is None or ended is None else ended - began,
    )
