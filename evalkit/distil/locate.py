"""Where it went wrong: steps to look at, the likeliest first, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalkit.check.errors import ignored_errors
from evalkit.check.grounding import ungrounded
from evalkit.check.model import CheckResult
from evalkit.check.view import agent_calls
from evalkit.check.writes import effects_of, same_call
from evalkit.trace.model import Step, Trace

__all__ = ["Suspect", "locate"]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A step where the run may have gone wrong.

    Attributes:
        step: its number.
        reason: why, in words.
        weight: 0 to 1; comparable within one trace only.
    """

    step: int
    reason: str
    weight: float


def locate(trace: Trace, results: Sequence[CheckResult] = ()) -> list[Suspect]:
    """The suspects of a run, likeliest first, each step once with its strongest reason.

    Args:
        results: the checks judged on `trace`; the steps of failed ones come first.
    """
    best: dict[int, Suspect] = {}
    for suspect in _candidates(trace, results):
        known = best.get(suspect.step)
        if known is None or suspect.weight > known.weight:
            best[suspect.step] = suspect
    return sorted(best.values(), key=lambda suspect: (-suspect.weight, suspect.step))


def _candidates(trace: Trace, results: Sequence[CheckResult]) -> Iterator[Suspect]:
    for result in results:
        if not result.passed:
            weight = 1.0 if result.gating else 0.65
            yield from (Suspect(seq, f"shows a failed check: {result.reason}", weight) for seq in result.steps)
    yield from _repeated(trace)
    for step, pointer, value in ungrounded(trace):
        yield Suspect(step.seq, f"{step.name} was given {pointer} = {value}, which nothing before it held", 0.8)
    for step in ignored_errors(trace):
        yield Suspect(step.seq, f"{step.name} failed and never succeeded later", 0.7)
    writes = effects_of(trace)
    if writes:
        yield Suspect(writes[-1].seq, f"{writes[-1].name} is the last change that the run made", 0.4)
    if trace.steps:
        yield Suspect(trace.steps[-1].seq, "it is the last step of the run", 0.2)


def _repeated(trace: Trace) -> Iterator[Suspect]:
    writes = effects_of(trace)
    for at, step in enumerate(writes):
        if any(same_call(earlier, step) for earlier in writes[:at]):
            yield Suspect(step.seq, f"{step.name} was done again with the same arguments", 0.9)
    yield from _loops([step for step in agent_calls(trace) if step.effect != "write"])


def _loops(calls: Sequence[Step]) -> Iterator[Suspect]:
    for first, second, third in zip(calls, calls[1:], calls[2:], strict=False):
        if same_call(first, second) and same_call(second, third):
            yield Suspect(third.seq, f"{third.name} was called three times in a row with the same arguments", 0.6)
