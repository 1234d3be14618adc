"""Where it went wrong: steps to look at, the likeliest first, each with the reason.

A call is what the world saw of a decision, so that the decision is the suspect where a model step made it. The weights
order kinds of evidence by how often such a step was the one that people named in annotated runs (`ci/bench/locate.py`);
within a kind, the earlier step comes first. A look-up that failed counts less than the last change, as agents find
another way; running code is no change of its own, the code says what it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalkit.check.authority import unapproved, unheeded
from evalkit.check.errors import ignored_errors
from evalkit.check.grounding import ungrounded
from evalkit.check.model import CheckResult
from evalkit.check.telling import numbers_in
from evalkit.check.unknown import blind_retries
from evalkit.check.view import agent_calls
from evalkit.check.writes import effects_of, same_call
from evalkit.distil.decisions import changes, decisions
from evalkit.distil.replies import calls_of, code_of, last_word, said, statements
from evalkit.shapes import is_number
from evalkit.trace.flow import leaves
from evalkit.trace.model import Step, Trace

__all__ = ["Suspect", "locate"]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A step where the run may have gone wrong.

    Attributes:
        step: its number.
        reason: why, in words.
        weight: 0 to 1; comparable within one trace only.
        shown_by: the step that shows it, where that is another one: the call of a decision.
    """

    step: int
    reason: str
    weight: float
    shown_by: int | None = None


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
    decided = decisions(trace.steps)

    def blame(step: Step, reason: str, weight: float) -> Suspect:
        decision = decided.get(step.seq)
        return Suspect(step.seq, reason, weight) if decision is None else Suspect(decision, reason, weight, step.seq)

    for result in results:
        if not result.passed:
            weight = 1.0 if result.gating else 0.65
            yield from (Suspect(seq, f"shows a failed check: {result.reason}", weight) for seq in result.steps)
    for step in _repeated(trace):
        yield blame(step, f"{step.name} was done again with the same arguments", 0.9)
    for step, pointer, value in ungrounded(trace):
        yield blame(step, f"{step.name} was given {pointer} = {value}, which nothing before it held", 0.8)
    for _, step in blind_retries(trace):
        yield blame(step, f"{step.name} was tried again while its outcome was unknown", 0.9)
    for step, why in [*unapproved(trace), *unheeded(trace)]:
        yield blame(step, why, 0.85)
    yield from (blame(step, reason, weight) for step, reason, weight in _failures(trace))
    for step in _loops([step for step in agent_calls(trace) if step.effect != "write"]):
        yield blame(step, f"{step.name} was called three times in a row with the same arguments", 0.6)
    yield from (blame(step, reason, weight) for step, reason, weight in _turning_points(trace))


def _failures(trace: Trace) -> Iterator[tuple[Step, str, float]]:
    failed = [step for step in agent_calls(trace) if step.error is not None]
    refused = [step for step in failed if changes(step)]
    for at, step in enumerate(refused):
        yield step, f"{step.name} was tried, and failed", 0.75 if at == 0 else 0.6
    for step in ignored_errors(trace):
        yield step, f"{step.name} failed and never succeeded later", 0.56 if step.effect == "read" else 0.7
    for step in failed[:1]:
        yield step, f"{step.name} is the first call that failed", 0.52 if step.effect == "read" else 0.65


def _turning_points(trace: Trace) -> Iterator[tuple[Step, str, float]]:
    """Steps that much depended on, in runs where nothing is plainly wrong."""
    told = statements(trace.steps)
    acting = [step for step in trace.steps if changes(step) or code_of(step)]
    for step in acting[:1]:
        yield step, "it is the first time that the run acted: what followed was built on it", 0.55
    for step in [step for step in effects_of(trace) if changes(step)][-1:]:
        yield step, f"{step.name} is the last change that the run made", 0.57
    for step in _unseen_numbers(trace, told):
        yield step, "it tells a number that nothing before it held", 0.45
    by_seq = {step.seq: step for step in trace.steps}
    for seq in last_word(trace.steps):
        yield by_seq[seq], "it is the last thing that the run said", 0.35
    for seq in sorted(told)[:1]:
        yield by_seq[seq], "it is the first thing that the run said", 0.3
    if trace.steps:
        yield trace.steps[-1], "it is the last step of the run", 0.2


def _unseen_numbers(trace: Trace, told: set[int]) -> Iterator[Step]:
    seen: set[float] = set()
    for step in trace.steps:
        if step.kind == "model":
            numbers = set(numbers_in(said(step)))
            if step.seq in told and not calls_of(step) and not numbers <= seen:
                yield step
            seen |= numbers
        else:
            seen.update(_numbers(step))


def _numbers(step: Step) -> Iterator[float]:
    for _, leaf in leaves([step.output]):
        if isinstance(leaf, str):
            yield from numbers_in(leaf)
        elif is_number(leaf):
            yield float(leaf)


def _repeated(trace: Trace) -> Iterator[Step]:
    writes = effects_of(trace)
    for at, step in enumerate(writes):
        if step.input and any(same_call(earlier, step) for earlier in writes[:at]):
            yield step


def _loops(calls: Sequence[Step]) -> Iterator[Step]:
    for first, second, third in zip(calls, calls[1:], calls[2:], strict=False):
        if same_call(first, second) and same_call(second, third):
            yield third
