"""What one worker does with one item: read the case, replay it, judge it, and hand back a journal line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from evalkit.capture.http import http_capture
from evalkit.capture.threads import carry_context
from evalkit.case.model import Case
from evalkit.case.store import read_case
from evalkit.errors import ConfigError, ReplayRefused
from evalkit.playback.model import Replay
from evalkit.playback.options import PLAIN_WORLD, world_from_json
from evalkit.playback.overrides import NO_OVERRIDES
from evalkit.playback.replay import prepare
from evalkit.playback.targets.protocol import TARGETS, Target
from evalkit.sanitize.key import key_at_hand
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.suite.config import suite_from_json
from evalkit.suite.journal import KeptTrace, encode_batch
from evalkit.suite.model import Sample, SampleCheck
from evalkit.suite.plan import Item, Portion

__all__ = ["SANITIZING", "WORLD", "Worker"]

SANITIZING = "sanitizing"
"""Where a worker's plan has the sanitizer's policy and key file; without it outputs are kept as they are."""

WORLD = "world"
"""Where a worker's plan has the project's choices about the frozen world."""

_PASSING_KEPT = 3


@dataclass(frozen=True, slots=True)
class _Prices:
    """What a sample's live model calls used."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


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
        self._key = os.environ.get("EVALKIT_PSEUDONYM_KEY")  # in a replay's world there is none
        world = body.pop(WORLD, None)
        self._options = PLAIN_WORLD if world is None else world_from_json(world)
        self._suite = suite_from_json(body, "the run's plan")
        self._targets: dict[str, Target] = {}

    def warm(self) -> None:
        """Loads here what every item needs: forks that are confined later could not, and need not anew."""
        if self._sanitizing is not None:
            self._made()
        import_module("time_machine")

    def do(self, item: Item) -> bytes:
        """The item's samples and kept traces as a journal line.

        Raises:
            ConfigError: a target can't be loaded.
            IntegrityError: a case was changed after writing.
        """
        samples: list[Sample] = []
        traces: dict[str, KeptTrace] = {}
        with http_capture(), carry_context():  # installed once for the whole item
            for portion in item.portions:
                self._do_portion(portion, samples, traces)
        return encode_batch(samples, list(traces.values()))

    def _do_portion(self, portion: Portion, samples: list[Sample], traces: dict[str, KeptTrace]) -> None:
        case = read_case(portion.path)
        target = self._target(case)
        try:
            prepared = prepare(
                case,
                mode=self._suite.mode,
                endpoint=None if self._suite.model is None else self._suite.model.base_url,
                seed=self._suite.seed,
                strict=self._suite.strict,
                overrides=NO_OVERRIDES if self._suite.model is None else self._suite.model.overrides,
                faults=self._suite.faults,
                timeout_s=self._suite.timeout_s,
                options=self._options,
                sanitizer=None if self._sanitizing is None else self._made,
            )
        except ReplayRefused as refused:  # one case that can't be replayed doesn't stop the others
            samples += [_refused(case, index, refused) for index in portion.samples]
            return
        check_ids = [check.id for check in case.checks]
        passing = 0
        with prepared.entered() as day:
            for index in portion.samples:
                replay = day.replay(target, index)
                samples.append(_sample(case, index, replay, check_ids))
                passed = replay.status == "passed"
                if self._suite.keep_traces == "all" or not passed or passing < _PASSING_KEPT:
                    traces.setdefault(replay.digest, KeptTrace(replay.digest, case.id, replay.text.decode()))
                    passing += passed

    def _made(self) -> Sanitizer:
        if self._sanitizer is None:
            rules = self._sanitizing or {}
            path = Path(rules["key_file"]) if rules.get("key_file") else None
            key = key_at_hand(path, self._key)
            self._sanitizer = Sanitizer(Policy.from_json(rules["policy"]), key)
        return self._sanitizer

    def _target(self, case: Case) -> Target:
        reference = self._suite.target or case.target
        if not reference:
            raise ConfigError(
                "neither the suite nor the case says what to run",
                f"case {case.id}",
                'add target = "module:function" to the suite',
            )
        if reference not in self._targets:
            self._targets[reference] = TARGETS.get("python")(reference)
        return self._targets[reference]


def _refused(case: Case, index: int, refused: ReplayRefused) -> Sample:
    """A sample of a case that lacks what the suite's mode needs: a miss, known before the replay."""
    return Sample(case_id=case.id, case_version=case.version, index=index, outcome="missed", reason=refused.what)


def _sample(case: Case, index: int, replay: Replay, check_ids: Sequence[str]) -> Sample:
    used = _used(replay)
    return Sample(
        case_id=case.id,
        case_version=case.version,
        index=index,
        outcome=replay.status,
        checks=tuple(
            SampleCheck(check_id, result.gating, result.passed, result.reason, result.steps)
            for check_id, result in zip(check_ids, replay.results, strict=False)  # no results without a verdict
        ),
        reason=replay.reason,
        misses=tuple(miss.sentence() for miss in replay.misses),
        trace=replay.digest,
        tool_bodies=replay.counts.tool_bodies,
        live_model=replay.counts.live_model,
        substituted=replay.counts.substituted,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cost_usd=used.cost_usd,
        duration_s=round(replay.duration_s, 6),
    )


def _used(replay: Replay) -> _Prices:
    if not replay.counts.live_model:
        return _Prices()
    usages = [step.usage for step in replay.trace.steps if step.kind == "model" and step.usage is not None]
    return _Prices(
        sum(usage.input_tokens or 0 for usage in usages),
        sum(usage.output_tokens or 0 for usage in usages),
        sum(usage.cost_usd or 0.0 for usage in usages),
    )
