"""What one worker does with one item: read the case, replay it, judge it, and hand back a journal line."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from evalkit.capture.caller import Caller
from evalkit.capture.http import http_capture
from evalkit.capture.threads import carry_context
from evalkit.case.model import Case
from evalkit.case.store import read_case, read_cases
from evalkit.check.judge import compile_checks
from evalkit.check.model import CheckResult
from evalkit.errors import ConfigError, InputError, ReplayRefused
from evalkit.playback.clock import load_time_machine
from evalkit.playback.deadline import watched
from evalkit.playback.endpoint.calls import LiveModel, check_headers
from evalkit.playback.endpoint.client import client_library
from evalkit.playback.endpoint.ledger import Ledger
from evalkit.playback.endpoint.local import local_caller
from evalkit.playback.model import Replay
from evalkit.playback.options import PLAIN_WORLD, world_from_json
from evalkit.playback.overdue import Mark
from evalkit.playback.overrides import NO_OVERRIDES
from evalkit.playback.replay import PreparedCase, prepare, surroundings
from evalkit.playback.targets.make import make_target
from evalkit.playback.targets.protocol import AnyTarget, outside_of
from evalkit.playback.targets.reference import is_outside
from evalkit.playback.what_if import WhatIf, parse_what_if
from evalkit.sanitize.key import key_at_hand
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.suite.config import suite_from_json
from evalkit.suite.journal import KeptTrace, encode_batch
from evalkit.suite.model import Outcome, Sample, SampleCheck
from evalkit.suite.plan import Item, Portion
from evalkit.suite.served import served

__all__ = ["LEDGER", "SANITIZING", "WORLD", "Worker"]

LEDGER = "ledger"
"""Where a worker's plan has the path of the run's account."""

SANITIZING = "sanitizing"
"""Where a worker's plan has the sanitizer's policy and key file; without it outputs are kept as they are."""

WORLD = "world"
"""Where a worker's plan has the project's choices about the frozen world."""

_PASSING_KEPT = 3
_HAND_IN_EVERY_S = 0.5
_READ_IN_A_ROW = 32
_READ_BYTES = 1_000_000


class Worker:
    """Replays items of one suite, in one process.

    Args:
        suite: the suite as JSON (it crosses a process border), with the sanitizer's rules under `SANITIZING`
            and the choices about the world under `WORLD`.
    """

    def __init__(self, suite: Mapping[str, Any]) -> None:
        body = dict(suite)
        self._sanitizing: Mapping[str, Any] | None = body.pop(SANITIZING, None)
        self._sanitizer: Sanitizer | None = None
        ledger = body.pop(LEDGER, None)
        self._ledger = None if ledger is None else Ledger(Path(ledger))
        self._key = os.environ.get("EVALKIT_PSEUDONYM_KEY")  # in a replay's world there is none
        world = body.pop(WORLD, None)
        self._options = world_from_json(world) if world else PLAIN_WORLD
        self._suite = suite_from_json(body, "the run's plan")
        self._targets: dict[str, AnyTarget] = {}
        self._supposed: list[WhatIf] | None = None

    @property
    def base_url(self) -> str | None:
        """Where the suite's live model is; None without one."""
        return None if self._suite.model is None else self._suite.model.base_url

    @property
    def keep_env(self) -> tuple[str, ...] | None:
        """Patterns of the environment variables that the project lets agents see; None for no list."""
        return self._options.keep_env

    def live_model(self, ledger: Path | None) -> Callable[[], LiveModel] | None:
        """What makes the suite's live model, in a process that may ask it; None without one.

        Raises:
            ConfigError: a header of the endpoint names a variable that is not set.
        """
        model = self._suite.model
        if model is None or ledger is None or not self._suite.live:
            return None
        check_headers(model.endpoint, os.environ)
        client_library()
        return lambda: LiveModel(model.endpoint, Ledger(ledger), self._suite.prices)

    def warm(self, item: Item | None = None) -> None:
        """Loads here what every item needs: forks that are confined later could not, and need not anew.

        Args:
            item: the agent of its first case is loaded, too.

        Raises:
            ConfigError: it can't be loaded.
            IntegrityError: the case was changed after writing.
        """
        if self._sanitizing is not None:
            self._made()
        load_time_machine()
        if self._suite.live:
            import_module("openai")  # a second of work, which most agents with a live model would do in each fork
        if item is not None:
            with http_capture(), carry_context():
                case = read_case(item.portions[0].path)
                compile_checks(case.checks, case.id)
                self._target(case)

    def timeout_s(self, item: Item) -> float:
        """Seconds that an item's replays may take together."""
        return sum(self._suite.timeout_of(one.case_id) * len(one.samples) for one in item.portions)

    def do(
        self,
        item: Item,
        caller: Caller | None = None,
        between: Callable[[bytes], None] | None = None,
        mark: Mark | None = None,
    ) -> bytes:
        """The item's samples and kept traces as a journal line.

        Once the run's budget is spent no replay begins; one that the budget ended is no sample, and is left for the
        run's continuation.

        Args:
            caller: who asks the live model, where this process can't.
            between: is given what was done so far, as a journal line, about twice a second: slow replays are safe as
                they end, and not only with their item.
            mark: says to another process where this one stands.

        Raises:
            ConfigError: a target can't be loaded.
            IntegrityError: a case was changed after writing, or since the run began.
        """
        found = _Found(between, mark)
        with ExitStack() as stack:  # what is installed once for the whole item
            if mark is not None:
                stack.enter_context(watched(mark))
            model = self._suite.model
            if model is not None and caller is None and self._ledger is not None and self._suite.live:
                opened = local_caller(model.endpoint, self._ledger, self._suite.prices)
                caller = stack.enter_context(opened)
            stack.enter_context(http_capture())
            stack.enter_context(carry_context())
            for some in _with_cases(item.portions):
                ready = [
                    _Ready(portion, case, self._target(case), self._prepared(case, caller), _Reading(case, portion))
                    for portion, case in some
                ]
                with self._around(ready):
                    if not all(self._do_portion(one, found) for one in ready):
                        break
        return found.line()

    def _around(self, ready: Sequence[_Ready]) -> AbstractContextManager[None]:
        """What replays need around them, set up once for some cases; an agent in another process needs none of it."""
        if any(outside_of(one.target) is not None for one in ready):
            return nullcontext()
        return surroundings(self.base_url if self._suite.mode != "exact" else None, self._options)

    def _prepared(self, case: Case, caller: Caller | None) -> PreparedCase | ReplayRefused:
        """The case made ready; a miss that is known before the replay instead."""
        try:
            return prepare(
                case,
                mode=self._suite.mode,
                endpoint=None if self._suite.model is None else self._suite.model.base_url,
                seed=self._suite.seed,
                strict=self._suite.strict,
                overrides=NO_OVERRIDES if self._suite.model is None else self._suite.model.overrides,
                faults=self._suite.faults,
                what_if=self._what_if(),
                on_miss=self._suite.on_miss,
                sandbox=self._suite.sandbox,
                caller=caller,
                timeout_s=self._suite.timeout_of(case.id),
                options=self._options,
                sanitizer=None if self._sanitizing is None else self._made,
            )
        except ReplayRefused as refused:
            return refused

    def _do_portion(self, ready: _Ready, found: _Found) -> bool:
        """Adds a portion's samples and traces; whether the run may go on."""
        portion, case, target, prepared = ready.portion, ready.case, ready.target, ready.prepared
        if isinstance(prepared, ReplayRefused):  # the other cases go on
            for index in portion.samples:
                found.add(_lost(case, index, portion.attempt, "missed", prepared.what))
            return True
        passing = 0
        with prepared.entered(target) as day:
            for index in portion.samples:
                if self._stopped():
                    return False
                found.begins()
                try:
                    replay = day.replay(target, index)
                except InputError as unfit:  # half of a surrogate pair in an argument: this one replay can't be kept
                    found.add(
                        _lost(case, index, portion.attempt, "errored", f"the replay can't be recorded: {unfit.what}")
                    )
                    continue
                if replay.stopped:
                    return False
                passed = replay.status == "passed"
                kept = self._suite.keep_traces == "all" or not passed or passing < _PASSING_KEPT
                passing += kept and passed
                found.add(ready.reading.sample(index, replay), replay if kept else None)
        return True

    def _stopped(self) -> bool:
        """Whether the budget is spent; a confined process can't see the account, and asks by its calls."""
        return self._ledger is not None and bool(self._ledger.stopped())

    def _what_if(self) -> list[WhatIf]:
        """The suite's counterfactuals, whose functions are loaded where the target is."""
        if self._supposed is None:
            self._supposed = [parse_what_if(text) for text in self._suite.what_if]
        return self._supposed

    def _made(self) -> Sanitizer:
        if self._sanitizer is None:
            rules = self._sanitizing or {}
            path = Path(rules["key_file"]) if rules.get("key_file") else None
            key = key_at_hand(path, self._key)
            self._sanitizer = Sanitizer(Policy.from_json(rules["policy"]), key)
        return self._sanitizer

    def _target(self, case: Case) -> AnyTarget:
        reference = self._suite.target or case.target
        if not reference:
            raise ConfigError(
                "neither the suite nor the case says what to run",
                f"case {case.id}",
                'add target = "module:function" to the suite, or to evalkit.toml',
            )
        if self._suite.sandbox and is_outside(reference):
            raise ConfigError(
                "a sandbox starts no programs and opens no connections, so it holds no agent in another process",
                f"target {reference}",
                "run this suite without a sandbox",
            )
        if reference not in self._targets:
            self._targets[reference] = make_target(reference, self.base_url)
        return self._targets[reference]


def _with_cases(portions: Sequence[Portion]) -> Iterator[list[tuple[Portion, Case]]]:
    """The portions with their cases, some at a time: small ones are read and made ready in a row (see `read_cases`).

    First one alone, so that an agent that waits begins at once.
    """
    waiting: list[Portion] = []
    size, most = 0, 1
    for portion in portions:
        waiting.append(portion)
        size += _bytes_of(portion.path)
        if len(waiting) >= most or size >= _READ_BYTES:
            yield _read(waiting)
            waiting, size, most = [], 0, min(2 * most, _READ_IN_A_ROW)
    yield _read(waiting)


def _bytes_of(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:  # reading it will tell
        return 0


def _read(portions: Sequence[Portion]) -> list[tuple[Portion, Case]]:
    return [*zip(portions, read_cases((one.path, one.digest) for one in portions), strict=True)]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A portion that can be replayed, or can't for a reason that is known before."""

    portion: Portion
    case: Case
    target: AnyTarget
    prepared: PreparedCase | ReplayRefused
    reading: _Reading


class _Found:
    """What an item came to so far.

    Args:
        between, mark: see `Worker.do`.
    """

    def __init__(self, between: Callable[[bytes], None] | None, mark: Mark | None = None) -> None:
        self._between = between
        self._mark = mark
        self._count = 0
        self._samples: list[Sample] = []
        self._traces: dict[str, KeptTrace] = {}
        self._told: set[str] = set()
        self._last = time.perf_counter()  # real time, also in a frozen world

    def begins(self) -> None:
        """The next sample's replay begins."""
        if self._mark is not None:
            self._mark.place = self._count

    def add(self, sample: Sample, kept: Replay | None = None) -> None:
        """Adds a sample, and its replay where that is kept; hands on what there is when it is time."""
        self._samples.append(sample)
        self._count += 1
        if kept is not None and kept.digest not in self._traces and kept.digest not in self._told:
            self._traces[kept.digest] = KeptTrace(kept.digest, sample.case_id, kept.text.decode())
        now = time.perf_counter()
        if self._between is not None and now - self._last >= _HAND_IN_EVERY_S:
            self._between(self.line())
            self._last = time.perf_counter()

    def line(self) -> bytes:
        """What was not handed on yet, as a journal line."""
        line = encode_batch(self._samples, list(self._traces.values()))
        self._told.update(self._traces)
        self._samples, self._traces = [], {}
        return line


class _Reading:
    """Makes samples of a case's replays."""

    def __init__(self, case: Case, portion: Portion) -> None:
        self._case = case
        self._attempt = portion.attempt
        self._ids = [check.id for check in case.checks]
        self._results: Sequence[CheckResult] = ()
        self._checks: tuple[SampleCheck, ...] = ()

    def sample(self, index: int, replay: Replay) -> Sample:
        """The sample that a replay is."""
        counts = replay.counts
        asked = list(replay.trace.of_kind("model")) if counts.live_model else []
        usages = [step.usage for step in asked if step.usage is not None]
        return Sample(
            case_id=self._case.id,
            case_version=self._case.version,
            index=index,
            outcome=replay.status,
            checks=self._judged(replay.results),
            reason=replay.reason,
            misses=tuple([miss.sentence() for miss in replay.misses]),
            trace=replay.digest,
            tool_bodies=counts.tool_bodies,
            live_model=counts.live_model,
            substituted=counts.substituted,
            input_tokens=sum([usage.input_tokens or 0 for usage in usages]),
            output_tokens=sum([usage.output_tokens or 0 for usage in usages]),
            cost_usd=sum([usage.cost_usd or 0.0 for usage in usages], 0.0),
            duration_s=round(replay.duration_s, 6),
            attempt=self._attempt,
            drew=replay.drew or replay.pressed,
            served=served(asked) if asked else None,
        )

    def _judged(self, results: Sequence[CheckResult]) -> tuple[SampleCheck, ...]:
        """The results as a sample holds them; those of equal replays are the same ones."""
        if results is not self._results:
            self._results = results
            self._checks = tuple(
                SampleCheck(check_id, result.gating, result.passed, result.reason, result.steps)
                for check_id, result in zip(self._ids, results, strict=False)  # no results without a verdict
            )
        return self._checks


def _lost(case: Case, index: int, attempt: int, outcome: Outcome, reason: str) -> Sample:
    """A sample of which there is no replay to tell."""
    return Sample(case.id, case.version, index, outcome, reason=reason, attempt=attempt)
