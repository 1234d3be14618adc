"""What a suite is, and what running it came to: samples and the run's manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

from evalkit.canonical import Json
from evalkit.playback.endpoint.budget import NO_LIMITS, Budget
from evalkit.playback.endpoint.model import Endpoint
from evalkit.playback.endpoint.prices import Price
from evalkit.playback.faults import Fault
from evalkit.playback.miss_rules import MissRule
from evalkit.playback.model import Mode
from evalkit.playback.overrides import Overrides

__all__ = ["Manifest", "ModelEndpoint", "Outcome", "Policy", "Sample", "SampleCheck", "Selection", "Suite"]

Outcome: TypeAlias = Literal["passed", "failed", "missed", "errored"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases: all that meet every condition given. Retired cases never are.

    Attributes:
        ids: case ids, or glob patterns of them; empty for any.
        tags: at least one of these.
        gate: only permanent cases.
        signatures: glob patterns of failure signatures.
    """

    ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    gate: bool = False
    signatures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """When a case passes.

    Attributes:
        kind: ``zero_failures``: no sample fails; ``min_rate``: the pass rate is shown to be at least `min_rate`.
        alpha: error rate of the regression test over the whole suite, and of the one-sided bound of ``min_rate``.
        max_lost: share of missed and errored samples beyond which a case is inconclusive.
    """

    kind: Literal["zero_failures", "min_rate"] = "zero_failures"
    min_rate: float = 0.9
    alpha: float = 0.05
    max_lost: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Where live models answer, an OpenAI-compatible base URL, and what they are asked otherwise than by the agent.

    Attributes:
        name, system_prompt, temperature, extra_body: see `playback.overrides.Overrides`.
        headers, key_env, tries, timeout_s, concurrency: see `playback.endpoint.model.Endpoint`.
    """

    base_url: str
    name: str | None = None
    system_prompt: str | None = None
    temperature: float | None = None
    extra_body: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    key_env: str = "OPENAI_API_KEY"
    tries: int = 5
    timeout_s: float = 300.0
    concurrency: int = 32

    @property
    def endpoint(self) -> Endpoint:
        """What is asked."""
        return Endpoint(self.base_url, self.headers, self.key_env, self.tries, self.timeout_s, self.concurrency)

    @property
    def overrides(self) -> Overrides:
        """What is changed in the agent's requests."""
        return Overrides(self.name, self.system_prompt, self.temperature, None, self.extra_body)


@dataclass(frozen=True, slots=True)
class Suite:
    """Which cases, which target, how often, which gate policy.

    Attributes:
        target: see `playback.targets.reference`; empty to use each case's own.
        samples: replays a case.
        mode: see `playback.model.Mode`.
        keep_traces: which replays' steps are kept: ``failing`` keeps those and three passing ones a case.
        timeout_s: seconds after which a replay is stopped and counts as failed.
        timeouts: the same for some cases: glob pattern of ids, seconds; the first that fits.
        retries: how often a sample is replayed again that infrastructure spoiled.
        concurrency: replays at once; 0 chooses, see `suite.concurrency`.
        model: the endpoint that live modes may reach.
        faults: what goes wrong on purpose in mode ``simulation``.
        budget: what may be spent before the run stops.
        prices: of models, for the cost.
        on_miss: how calls that a case holds no answer for are answered; the flags' rules first.
        strict: calls must come in the recorded order.
        sandbox: replay in forks that the kernel confines, see `playback.sandbox`.
        unsafe_replay: in a sandbox even where Landlock or seccomp is missing.
    """

    name: str
    target: str = ""
    samples: int = 10
    mode: Mode = "exact"
    select: Selection = field(default_factory=Selection)
    policy: Policy = field(default_factory=Policy)
    keep_traces: Literal["all", "failing"] = "failing"
    timeout_s: float = 60.0
    timeouts: Mapping[str, float] = field(default_factory=dict)
    retries: int = 2
    concurrency: int = 0
    seed: int = 0
    model: ModelEndpoint | None = None
    baseline: str = ""
    faults: tuple[Fault, ...] = ()
    on_miss: tuple[MissRule, ...] = ()
    budget: Budget = NO_LIMITS
    prices: tuple[Price, ...] = ()
    strict: bool = False
    sandbox: bool = False
    unsafe_replay: bool = False

    @property
    def live(self) -> bool:
        """Whether a live model is asked."""
        return self.model is not None and self.mode != "exact"

    def timeout_of(self, case_id: str) -> float:
        """Seconds that a replay of a case may take."""
        return next(
            (seconds for pattern, seconds in self.timeouts.items() if fnmatchcase(case_id, pattern)), self.timeout_s
        )


@dataclass(frozen=True, slots=True)
class SampleCheck:
    """One check on one sample."""

    check: str
    gating: bool
    passed: bool
    reason: str
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """What one replay came to. Only `passed` and `failed` enter a rate.

    Attributes:
        case_id, case_version: the case replayed.
        index: from 0 within the case; decisions are made in this order.
        outcome: `missed`: a fixture was missing; `errored`: infrastructure.
        checks: results of the case's checks; empty when the replay did not come to its end.
        reason: why it did not pass, one sentence.
        misses: what was asked for and not recorded, with the nearest recorded call, in words.
        trace: digest of the replay's trace; equal digests are equal runs.
        tool_bodies, live_model, substituted: calls, see `capture.seam.Counts`.
        duration_s: real seconds.
        attempt: 1, or more where infrastructure spoiled the replays before.
    """

    case_id: str
    case_version: int
    index: int
    outcome: Outcome
    checks: tuple[SampleCheck, ...] = ()
    reason: str = ""
    misses: tuple[str, ...] = ()
    trace: str = ""
    tool_bodies: int = 0
    live_model: int = 0
    substituted: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    duration_s: float = 0.0
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was run, by whom, under which conditions; written first; only more samples may be asked for later.

    Attributes:
        run_id: UTC time and suite name: sorts by time.
        cases: (id, version, digest, state) of every selected case.
        suite: the suite as JSON, overrides applied.
        environment: python, evalkit, packages, os, git commit and dirtiness.
        layers: what kept the replays from the outside world.
        part: what the run was limited to (``filter``, ``only_failing``: a run's id) and of how many cases (``of``);
            empty for all that the suite selects.
        raised: each later change of the number of samples: from, to, at, actor.
    """

    run_id: str
    suite: Mapping[str, Json]
    cases: tuple[tuple[str, int, str, str], ...]
    started_at: str
    actor: str = ""
    reason: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    part: Mapping[str, Json] = field(default_factory=dict)
    raised: tuple[Mapping[str, Json], ...] = ()
