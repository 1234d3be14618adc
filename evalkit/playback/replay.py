"""CASE -> TRACE: one execution of a target in a case's frozen world, and what it came to."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evalkit.canonical import Json, exact_text, parse_exact
from evalkit.capture.exchange import failure_of
from evalkit.capture.http import http_capture
from evalkit.capture.seam import Session, error_of
from evalkit.capture.threads import carry_context
from evalkit.case.model import Case
from evalkit.check.judge import compile_checks
from evalkit.check.model import CheckResult
from evalkit.errors import ReplayRefused
from evalkit.playback.deadline import Deadline
from evalkit.playback.environment import environment_of
from evalkit.playback.fixtures import FixtureIndex, Frozen
from evalkit.playback.model import Miss, Mode, Replay, ReplayStatus
from evalkit.playback.outputs import MakeSanitizer, Outputs
from evalkit.playback.targets.protocol import Target
from evalkit.playback.world import Guard, World
from evalkit.trace.model import Kind, Step, StepError, Trace

__all__ = ["Day", "PreparedCase", "prepare"]

_FROZEN: dict[Mode, frozenset[Kind]] = {
    "exact": frozenset({"tool", "retrieval", "policy", "approval", "model"}),
    "live-model": frozenset({"tool", "retrieval", "policy", "approval"}),
}
_INFRASTRUCTURE = frozenset("RateLimitError InternalServerError ServiceUnavailableError OverloadedError".split())


@dataclass(frozen=True, slots=True)
class PreparedCase:
    """A case made ready to be replayed many times: fixtures indexed, checks compiled."""

    case: Case
    mode: Mode
    index: FixtureIndex
    judge: Callable[[Trace], list[CheckResult]]
    endpoint: str | None
    strict: bool
    seed: int
    timeout_s: float
    outputs: Outputs

    def replay(self, target: Target, sample: int = 0) -> Replay:
        """One replay; see `Day.replay`."""
        with self.entered() as day:
            return day.replay(target, sample)

    @contextmanager
    def entered(self) -> Iterator[Day]:
        """The case's frozen world around this process, for as many replays as are wanted."""
        endpoint = None if self.mode == "exact" else self.endpoint
        world = World(self.case.trace.trace.started_at or 0.0, Guard.for_endpoint(endpoint))
        deadline = Deadline(self.timeout_s)
        with http_capture(), carry_context(), environment_of(endpoint), deadline.ready(), world.entered():
            yield Day(self, world, deadline)


class Day:
    """The frozen day of a case, in which replays take place one after the other."""

    def __init__(self, prepared: PreparedCase, world: World, deadline: Deadline) -> None:
        self._prepared = prepared
        self._world = world
        self._deadline = deadline
        self._incident = prepared.case.trace.trace
        self._input = exact_text(self._incident.input)
        self._judged: dict[str, tuple[ReplayStatus, tuple[CheckResult, ...], str]] = {}

    def replay(self, target: Target, sample: int = 0) -> Replay:
        """One replay.

        Args:
            sample: number of the sample; it and the case decide the seed of all randomness.
        """
        began = time.perf_counter()
        prepared, world = self._prepared, self._world
        outputs = prepared.outputs
        outputs.start()
        sanitize = outputs.arguments if outputs.active else None
        frozen = Frozen(prepared.index, strict=prepared.strict, on_answer=world.clock.advance, sanitize=sanitize)
        session, raw = self._execute(target, sample, frozen)
        kept = outputs.kept(raw)
        trace, text, digest = kept.trace, kept.text, kept.digest
        if digest not in self._judged:  # checks are functions of the trace: equal replays are judged once
            self._judged[digest] = self._judge(trace, frozen.misses)
        status, results, reason = self._judged[digest]
        return Replay(
            trace=trace,
            status=status,
            results=results,
            counts=session.counts,
            recorded=len(prepared.index.recorded),
            reason=reason,
            misses=tuple(frozen.misses),
            duration_s=time.perf_counter() - began,
            text=text,
            digest=digest,
        )

    def _execute(self, target: Target, sample: int, frozen: Frozen) -> tuple[Session, Trace]:
        world, incident = self._world, self._incident
        collector = _Collector()
        session = Session(frozen, collector, world.clock.read)
        output: Json = None
        error: StepError | None = None
        world.restart(self._seed(sample))
        try:
            with session.active():
                self._deadline.start()
                try:
                    output = target.run(parse_exact(self._input))
                finally:
                    self._deadline.stop()
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # noqa: BLE001  # whatever the agent raises is its outcome
            error = error_of(raised)
        case = self._prepared.case
        return session, Trace(
            id=f"{case.id}@{case.version}#{sample}",
            name=incident.name,
            dialect="evalkit",
            steps=collector.steps(),
            input=incident.input,
            output=output,
            error=error,
            status="completed" if error is None else "failed",
            started_at=incident.started_at,
            ended_at=world.clock.now,
        )

    def _judge(self, trace: Trace, misses: list[Miss]) -> tuple[ReplayStatus, tuple[CheckResult, ...], str]:
        if misses:
            return "missed", (), misses[0].sentence()
        if self._world.guard.refused:
            return "missed", (), self._world.guard.refused[0]
        fault = "" if self._prepared.mode == "exact" else _infrastructure_fault(trace)
        if fault:
            return "errored", (), fault
        results = tuple(self._prepared.judge(trace))
        if trace.error is not None:
            return "failed", results, f"the agent raised {trace.error.type}: {trace.error.message}"
        failed = next((result for result in results if result.gating and not result.passed), None)
        return ("passed", results, "") if failed is None else ("failed", results, failed.reason)

    def _seed(self, sample: int) -> int:
        text = f"{self._prepared.seed}/{self._prepared.case.id}/{sample}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def prepare(
    case: Case,
    *,
    mode: Mode = "exact",
    endpoint: str | None = None,
    strict: bool = False,
    seed: int = 0,
    timeout_s: float = 60.0,
    sanitizer: MakeSanitizer | None = None,
) -> PreparedCase:
    """Makes a case ready to be replayed.

    Args:
        endpoint: base URL that live modes may reach.
        strict: calls must come in the recorded order.
        timeout_s: real seconds after which a replay is stopped, and counts as failed.
        sanitizer: makes the project's sanitizer, which what the agent says and calls goes through; None for none.

    Raises:
        InputError: a check's parameters are not of its type's form.
        ReplayRefused: the incident lacks what the mode needs.
    """
    if mode in case.closed:
        others = [name for name in _FROZEN if name not in case.closed]
        raise ReplayRefused(
            f"mode {mode} is refused: {case.closed[mode]}",
            f"case {case.id}",
            f"use --mode {others[0]}" if others else "record the incident again with what is missing",
        )
    return PreparedCase(
        case=case,
        mode=mode,
        index=FixtureIndex(case.trace.trace.steps, _FROZEN[mode], case.volatile),
        judge=compile_checks(case.checks),
        endpoint=endpoint,
        strict=strict,
        seed=seed,
        timeout_s=timeout_s,
        outputs=Outputs(case.incident, sanitizer),
    )


class _Collector:
    """Keeps the steps of a replay in memory."""

    def __init__(self) -> None:
        self._steps: dict[int, Step] = {}

    def started(self, step: Step) -> None:
        self._steps[step.seq] = step

    def ended(self, step: Step) -> None:
        self._steps[step.seq] = step

    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps[seq] for seq in sorted(self._steps))


def _infrastructure_fault(trace: Trace) -> str:
    """Why the live model could not be reached in the end; empty when its last call was answered.

    A run whose last model call met an outage says nothing about the agent, whether it raised or made an excuse.
    """
    last = next((step for step in reversed(trace.steps) if step.kind == "model"), None)
    if last is None or last.error is None:
        return ""
    status = last.attributes.get("status")
    met = last.error.type
    if failure_of(met) or met in _INFRASTRUCTURE or (isinstance(status, int) and (status == 429 or status >= 500)):
        return f"the model endpoint failed: {last.error.type}: {last.error.message}"
    return ""
