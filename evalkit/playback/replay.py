"""CASE -> TRACE: one execution of a target in a case's frozen world, and what it came to."""

from __future__ import annotations

import errno
import hashlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from os import getpid
from typing import TypeAlias

from evalkit.canonical import Json, exact_text
from evalkit.capture.caller import Caller
from evalkit.capture.copies import copies
from evalkit.capture.http import http_capture
from evalkit.capture.seam import Answerer, Session, current_position, error_of
from evalkit.capture.threads import carry_context
from evalkit.case.model import Case
from evalkit.check.judge import compile_checks
from evalkit.check.model import CheckResult
from evalkit.errors import ConfigError, EvalkitError
from evalkit.forks import end_if_forked
from evalkit.playback.admission import check_open
from evalkit.playback.afterwards import wait_for_work
from evalkit.playback.collected import Collected, Outline
from evalkit.playback.deadline import LONGEST_S, Deadline, ReplayTimeout, alarm_at_hand
from evalkit.playback.endpoint.budget import NO_LIMITS
from evalkit.playback.endpoint.local import account, local_caller
from evalkit.playback.endpoint.model import Endpoint
from evalkit.playback.endpoint.watched import WatchedCaller
from evalkit.playback.faults import Fault, Faulty, check_faults
from evalkit.playback.fixtures import FixtureIndex, Frozen
from evalkit.playback.guard import Guard
from evalkit.playback.kept import Kept
from evalkit.playback.miss_rules import MissRule, check_rules, in_order, rules_of_table
from evalkit.playback.missing import Missing
from evalkit.playback.model import Miss, Replay, ReplayStatus
from evalkit.playback.modes import LIVE_MODES, Mode
from evalkit.playback.options import PLAIN_WORLD, WorldOptions
from evalkit.playback.outage import infrastructure_fault
from evalkit.playback.outputs import MakeSanitizer, Outputs
from evalkit.playback.overrides import NO_OVERRIDES, Overrides
from evalkit.playback.strays import Strays
from evalkit.playback.targets.protocol import (
    AnyTarget,
    OutsideTarget,
    Target,
    TargetKilled,
    TargetUnavailable,
    outside_of,
    unfit_for,
)
from evalkit.playback.what_if import Supposing, WhatIf
from evalkit.playback.workplace import working_copy
from evalkit.playback.world import World, at_hand
from evalkit.trace.model import Kind, StepError, Trace

__all__ = ["Day", "PreparedCase", "prepare", "surroundings"]

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
"""Of disk, files, memory, processes."""

_TOOLS: frozenset[Kind] = frozenset({"tool", "retrieval", "policy", "approval"})
_WITH_MODEL: frozenset[Kind] = _TOOLS | frozenset[Kind]({"model"})

Judgement: TypeAlias = "tuple[ReplayStatus, tuple[CheckResult, ...], str]"
"""What a replay came to, its checks' results, and why it did not pass."""


@contextmanager
def surroundings(endpoint: str | None, options: WorldOptions = PLAIN_WORLD) -> Iterator[None]:
    """What replays of agents in this process need around them; entered for many cases, it is set up only once.

    Raises:
        ConfigError: see `world.at_hand`.
    """
    with http_capture(), carry_context(), alarm_at_hand(), at_hand(endpoint, options):
        yield


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
    overrides: Overrides = NO_OVERRIDES
    faults: tuple[Fault, ...] = ()
    from_step: int | None = None
    on_miss: tuple[MissRule, ...] = ()
    caller: Caller | None = None
    sandbox: bool = False
    what_if: tuple[WhatIf, ...] = ()
    options: WorldOptions = PLAIN_WORLD

    def __post_init__(self) -> None:
        if not 0 < self.timeout_s <= LONGEST_S:  # nor is it no number
            raise ConfigError(
                f"a replay's time limit is above 0 and at most {LONGEST_S:,.0f} seconds, got {self.timeout_s:g}",
                cure="--timeout 60",
            )

    def replay(self, target: AnyTarget, sample: int = 0) -> Replay:
        """One replay; see `Day.replay`."""
        with self.entered(target) as day:
            return day.replay(target, sample)

    @contextmanager
    def entered(self, target: AnyTarget) -> Iterator[Day]:
        """The case's frozen day, for as many replays of a target as are wanted.

        The frozen world is around this process. An agent in another one is out of its reach, and evalkit needs its own
        clock and sockets to serve that.
        """
        guard = Guard() if self.sandbox else Guard.for_endpoint(self.endpoint)
        world = World(self.case.trace.trace.started_at or 0.0, guard, self.options, self.endpoint)
        with ExitStack() as stack:
            caller = self.caller
            if caller is None and self.endpoint is not None:
                known = Endpoint(self.endpoint)
                caller = stack.enter_context(local_caller(known, stack.enter_context(account(known, NO_LIMITS))))
            if outside_of(target) is None:
                stack.enter_context(surroundings(self.endpoint, self.options))
                if self.options.working_copy:
                    world.renew_folder = stack.enter_context(working_copy())
                stack.enter_context(world.entered())
            yield Day(self, world, caller if self.endpoint is not None else None)


class Day:
    """The frozen day of a case, in which replays take place one after the other."""

    def __init__(self, prepared: PreparedCase, world: World, caller: Caller | None) -> None:
        self._prepared = prepared
        self._caller = caller
        self._world = world
        self._deadline = Deadline(prepared.timeout_s)
        self._strays = Strays()
        self._incident = incident = prepared.case.trace.trace
        self._input = copies(incident.input)
        self._before = [step for step in incident.steps if step.seq < (prepared.from_step or 0)]
        self._rewrite = prepared.overrides.applied if prepared.overrides.json() else None
        self._seeds = hashlib.sha256(f"{prepared.seed}/{prepared.case.id}/".encode())
        self._name = f"{prepared.case.id}@{prepared.case.version}#"
        self._sanitize = prepared.outputs.arguments if prepared.outputs.active else None
        self._bodies: Collection[int] = ()
        ours: Callable[[], bool] = getattr(caller, "owns_thread", lambda: False)
        world.guard.excused = lambda: current_position().parent in self._bodies or ours()
        self._known: dict[tuple[Outline, bytes], Kept] = {}
        self._judged: dict[str, Judgement] = {}
        self._checked: dict[str, tuple[CheckResult, ...]] = {}

    def replay(self, target: AnyTarget, sample: int = 0) -> Replay:
        """One replay.

        Args:
            sample: number of the sample; it and the case decide the seed of all randomness.
        """
        began = time.perf_counter()
        prepared, world = self._prepared, self._world
        prepared.outputs.start()
        frozen = Frozen(
            prepared.index, strict=prepared.strict, on_answer=world.clock.advance, sanitize=self._sanitize
        )  # fmt: skip
        answerer: Answerer = frozen
        if prepared.on_miss:
            answerer = Missing(frozen, prepared.on_miss, self._incident.steps)
        supposing = None
        if prepared.what_if:
            answerer = supposing = Supposing(answerer, prepared.what_if, self._incident.steps)
        faulty = None
        if prepared.faults:
            name = f"{prepared.case.id}/{sample}"
            answerer = faulty = Faulty(answerer, prepared.faults, name, world.clock.read, world.clock.advance)
        caller = None if self._caller is None else WatchedCaller(self._caller, self._deadline)
        done = self._execute(target, sample, frozen, answerer, caller)
        trace_id = f"{self._name}{sample}"
        kept = self._kept(done, frozen, trace_id)
        done.collected.forget()
        status, results, reason = self._judge(kept, frozen.misses)
        if status == "missed" and (unfit := unfit_for(target, self._incident.input)):
            reason = f"{reason}; {unfit}"
        halt = None if caller is None else caller.halt
        if halt is not None and (halt.kind == "budget" or not frozen.misses):
            status, results, reason = "errored", (), halt.reason
        elif done.fault and status != "missed":
            status, results, reason = "errored", (), done.fault
        if faulty is not None and faulty.met and status != "passed":
            reason = f"{reason}; met {', '.join(faulty.met)}"
        if supposing is not None:
            told = ", ".join(f"{one} (x{count})" for one, count in supposing.met.items()) or "never asked"
            reason = f"{reason}; what if: {told}".removeprefix("; ")
        return Replay(
            id=trace_id,
            kept=kept,
            status=status,
            results=results,
            counts=done.session.counts,
            recorded=len(prepared.index.recorded),
            reason=reason,
            misses=tuple(frozen.misses),
            duration_s=time.perf_counter() - began,
            stopped=halt.reason if halt is not None and halt.kind == "budget" else "",
            drew=done.drew,
            pressed=done.pressed,
        )

    def _execute(
        self, target: AnyTarget, sample: int, frozen: Frozen, answerer: Answerer, caller: WatchedCaller | None
    ) -> _Done:
        """The replay itself."""
        world, incident = self._world, self._incident
        prepared = self._prepared
        collected = Collected(self._before)
        session = Session(
            answerer, collected, world.clock.read, first=prepared.from_step or 0, took=collected.took,
            rewrite=self._rewrite, caller=caller,
        )  # fmt: skip
        session.is_over = lambda: self._deadline.rang
        self._bodies = session.bodies
        seed = self._seed(sample)
        outside = outside_of(target)
        if outside is None:
            world.restart(seed)
        else:
            world.clock.restart()
        if self._before:
            frozen.spend(self._before)
            world.clock.advance(incident.step(prepared.from_step or 0).started_at or 0.0)
        done = _Done(session, collected)
        try:
            if outside is None:
                done.output = self._inside(target, session)  # type: ignore[arg-type]  # one that runs in here
            else:
                give_up = (lambda: None) if caller is None else caller.give_up
                done.output, done.fault = self._outside(outside, session, frozen, seed, give_up)
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # whatever the agent raises is its outcome
            done.error = error_of(raised)
            if outside is not None:
                if isinstance(raised, EvalkitError):
                    raise  # evalkit's own, as its stack is: neither says anything of the agent
                done.error = replace(done.error, stack=None)
                done.fault = done.error.message if isinstance(raised, TargetUnavailable) else ""
            done.pressed = _is_the_machines(raised)
        done.ended_at = world.clock.read()
        done.drew = outside is None and world.chance.drew()
        if outside is None and self._deadline.rang:
            done.pressed = True
            if done.error is None:  # it swallowed what was to stop it
                limit = ReplayTimeout(f"stopped after {prepared.timeout_s:g} s, and went on to its end all the same")
                done.error = error_of(limit)
        if self._deadline.rang and session.uncancelled:
            frozen.never_answered(session.uncancelled[0])
        return done

    def _inside(self, target: Target, session: Session) -> Json:
        """The answer of an agent in this process; one that no JSON can hold, as half of a surrogate pair, is no answer.

        Raises:
            BaseException: whatever the agent raises, or its answer's fault.
        """
        given = self._input()
        with session.alone(), self._strays.watched(session, self._world.guard):
            self._deadline.start()
            try:
                output = self._answered(target, given)
            except (Exception, SystemExit):
                with suppress(ReplayTimeout):
                    wait_for_work(session, self._deadline)
                raise
            else:
                wait_for_work(session, self._deadline)
            finally:
                self._deadline.stop()
        exact_text(output)
        return output

    def _answered(self, target: Target, given: Json) -> Json:
        process = getpid()
        try:
            return target.run(given)
        finally:
            end_if_forked(process)

    def _outside(
        self, target: OutsideTarget, session: Session, frozen: Frozen, seed: int, give_up: Callable[[], None]
    ) -> tuple[Json, str]:
        """The answer of an agent in another process, and what failed beside it; see `outside.run_outside`."""
        from evalkit.playback.outside import run_outside  # loads servers, which agents in here do without

        prepared = self._prepared
        return run_outside(
            target, self._input(), session, frozen, self._incident,
            endpoint=prepared.endpoint, give_up=give_up, timeout_s=prepared.timeout_s, seed=seed,
        )  # fmt: skip

    def _kept(self, done: _Done, frozen: Frozen, trace_id: str) -> Kept:
        """What may be kept of a replay; of an equal one where there was one."""
        outline = None if done.error is not None or frozen.misses or frozen.ids else done.collected.outline()
        found = None if outline is None else ((*outline, (done.ended_at,)), exact_text(done.output))
        known = None if found is None else self._known.get(found)
        if known is not None:
            return known
        incident = self._incident
        trace = Trace(
            id=trace_id,
            name=incident.name,
            dialect="evalkit",
            steps=done.collected.steps(),
            input=incident.input,
            output=done.output,
            error=done.error,
            status="completed" if done.error is None else "failed",
            started_at=incident.started_at,
            ended_at=done.ended_at,
        )
        kept = self._prepared.outputs.kept(frozen.ids.told_by_recorded(trace))
        if found is not None:
            self._known[found] = kept
        return kept

    def _judge(self, kept: Kept, misses: Sequence[Miss]) -> Judgement:
        stray = self._strays.told()
        if misses:
            distorted = all(miss.answered_by for miss in misses)
            return "missed", self._results(kept) if distorted else (), misses[0].sentence()
        if self._world.guard.refused:
            return "missed", (), self._world.guard.refused[0]
        if stray:
            return "missed", (), stray
        judged = self._judged.get(kept.digest)
        if judged is None:
            judged = self._judged[kept.digest] = self._judged_anew(kept)
        return judged

    def _judged_anew(self, kept: Kept) -> Judgement:
        trace = kept.trace
        asked_otherwise = self._prepared.mode == "fork" or self._rewrite is not None
        fault = "" if self._prepared.endpoint is None else infrastructure_fault(trace, strict=asked_otherwise)
        if fault:
            return "errored", (), fault
        results = self._results(kept)
        if trace.error is not None:
            return "failed", results, f"the agent raised {trace.error.type}: {trace.error.message}"
        failed = next((result for result in results if result.gating and not result.passed), None)
        return ("passed", results, "") if failed is None else ("failed", results, failed.reason)

    def _results(self, kept: Kept) -> tuple[CheckResult, ...]:
        """Checks are functions of the trace: equal replays are judged once."""
        if kept.digest not in self._checked:
            self._checked[kept.digest] = tuple(self._prepared.judge(kept.trace))
        return self._checked[kept.digest]

    def _seed(self, sample: int) -> int:
        drawn = self._seeds.copy()
        drawn.update(b"%d" % sample)
        return int.from_bytes(drawn.digest()[:8], "big")


def _is_the_machines(raised: BaseException) -> bool:
    """Whether the machine's time, memory or room may have raised it: not the same everywhere, nor each time."""
    if isinstance(raised, OSError):
        return raised.errno in _NO_ROOM
    return isinstance(raised, (ReplayTimeout, MemoryError, TargetKilled))


@dataclass(slots=True)
class _Done:
    """What one execution came to.

    Attributes:
        fault: what failed that is not the agent's doing; empty for nothing.
        ended_at: logical time.
        drew, pressed: see `Replay`.
    """

    session: Session
    collected: Collected
    output: Json = None
    error: StepError | None = None
    fault: str = ""
    ended_at: float = 0.0
    drew: bool = False
    pressed: bool = False


def prepare(
    case: Case,
    *,
    mode: Mode = "exact",
    endpoint: str | None = None,
    strict: bool = False,
    seed: int = 0,
    timeout_s: float = 60.0,
    sanitizer: MakeSanitizer | None = None,
    overrides: Overrides = NO_OVERRIDES,
    faults: Sequence[Fault] = (),
    from_step: int | None = None,
    on_miss: Sequence[MissRule] = (),
    sandbox: bool = False,
    caller: Caller | None = None,
    what_if: Sequence[WhatIf] = (),
    options: WorldOptions = PLAIN_WORLD,
) -> PreparedCase:
    """Makes a case ready to be replayed.

    Args:
        endpoint: base URL that live modes may reach.
        strict: calls must come in the recorded order.
        timeout_s: real seconds after which a replay is stopped, and counts as failed.
        sanitizer: makes the project's sanitizer, which what the agent says and calls goes through; None for none.
        overrides: changes to the requests of a live model.
        faults: what goes wrong on purpose.
        from_step: the model step at which a fork starts; what came before it is taken from the incident.
        on_miss: how misses are answered; the case's own rules come after a suite's and before the settings'.
        sandbox: whether the replays will be confined.
        caller: who asks the live model; one without budget and prices where it is None.
        what_if: retrievals, policies and approvals that are answered otherwise than recorded.
        options: what the project chooses about the frozen world.

    Raises:
        InputError: a check's parameters are not of its type's form.
        ConfigError: a fault can't be done to a live model, a rule makes a tool live that must not be, or no timer can
            be set to the time limit.
        ReplayRefused: the incident lacks what the mode needs.
    """
    if mode == "exact":
        endpoint = None
    if endpoint is None:
        overrides = NO_OVERRIDES  # a frozen model is asked what the recording asks
    live = endpoint is not None or mode in LIVE_MODES
    check_open(case, mode, from_step, overrides, live=live)
    check_faults(faults, live=live)
    rules = in_order((*on_miss, *rules_of_table(case.on_miss, "case", f"case {case.id}")))
    check_rules(rules, case.trace.trace.steps, sandbox=sandbox)
    kinds = _TOOLS if live else _WITH_MODEL
    return PreparedCase(
        case=case,
        mode=mode,
        index=FixtureIndex(case.trace.trace.steps, kinds, case.volatile, own=case.trace.trace.dialect == "evalkit"),
        judge=compile_checks(case.checks, case.id),
        endpoint=endpoint,
        strict=strict,
        seed=seed,
        timeout_s=timeout_s,
        outputs=Outputs(case, sanitizer),
        overrides=overrides,
        faults=tuple(faults),
        from_step=from_step,
        on_miss=rules,
        caller=caller,
        sandbox=sandbox,
        what_if=tuple(what_if),
        options=options,
    )
