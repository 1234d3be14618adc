"""What a suite is, and what running it came to: samples and the run's manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

from evalkit.canonical import Json
from evalkit.playback.endpoint.budget import NO_LIMITS, Budget
from evalkit.playback.endpoint.model import Endpoint
from evalkit.playback.endpoint.prices import Price
from evalkit.playback.faults import Fault
from evalkit.playback.miss_rules import MissRule
from evalkit.playback.modes import Mode
from evalkit.playback.overrides import Overrides
from evalkit.suite.sources import NO_SOURCES, Sources

__all__ = [
    "SERVED_LISTS",
    "Across",
    "BaselineRules",
    "Manifest",
    "ModelEndpoint",
    "Outcome",
    "Policy",
    "PolicyFor",
    "PolicyKind",
    "Sample",
    "SampleCheck",
    "Selection",
    "Served",
    "Suite",
]

Outcome: TypeAlias = Literal["passed", "failed", "missed", "errored"]
PolicyKind: TypeAlias = Literal["acceptance", "zero_failures", "min_rate", "not_worse"]

Across: TypeAlias = Literal["model", "provider", "prompt", "tools"]
"""What may differ from a baseline's live calls without making it stale: the models' names, the provider's
configuration, the system prompt, the tools' descriptions."""


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
        kind: ``acceptance``: a pass rate of `p_good` must pass and one of `p_bad` must fail; ``zero_failures``: no
            sample fails; ``min_rate``: the pass rate is shown to be at least `min_rate`; ``not_worse``: it is shown not
            to be below the baseline's by `margin` or more.
        alpha: the error of FAIL where the case is as good as it should be, over all permanent cases together.
        beta: the error of PASS where a case is as bad as `p_bad`, `min_rate` or `margin` say, of each case.
        batch: samples between two looks of a sequential run.
        max_lost: share of missed and errored samples beyond which a case is inconclusive.
        on_degraded: what DEGRADED_WITHIN_MARGIN does to a release; None blocks it for permanent cases only.
    """

    kind: PolicyKind = "acceptance"
    p_good: float = 0.99
    p_bad: float = 0.9
    min_rate: float = 0.9
    margin: float = 0.1
    alpha: float = 0.05
    beta: float = 0.05
    batch: int = 5
    max_lost: float = 0.0
    on_degraded: Literal["block", "pass"] | None = None


@dataclass(frozen=True, slots=True)
class PolicyFor:
    """A policy of its own for some cases of a suite."""

    select: Selection
    policy: Policy


@dataclass(frozen=True, slots=True)
class BaselineRules:
    """When a baseline is too stale to be compared with.

    Attributes:
        max_age_days: from its measurement to the run that is compared; None for any.
        across: what may differ, because the comparison is about it.
    """

    max_age_days: float | None = None
    across: tuple[Across, ...] = ()


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
        samples: replays a case at most; None for what the case's policy plans.
        mode: see `playback.modes.SuiteMode`.
        keep_traces: which replays' steps are kept: ``failing`` keeps those and three passing ones a case.
        timeout_s: seconds after which a replay is stopped and counts as failed.
        timeouts: the same for some cases: glob pattern of ids, seconds; the first that fits.
        retries: how often a sample is replayed again that infrastructure spoiled.
        concurrency: replays at once; 0 chooses, see `suite.choose`.
        model: the endpoint that live modes may reach.
        faults: what goes wrong on purpose in mode ``simulation``.
        what_if: counterfactuals of mode ``simulation``, each as `playback.what_if` reads it.
        budget: what may be spent before the run stops.
        prices: of models, for the cost.
        on_miss: how calls that a case holds no answer for are answered; the flags' rules first.
        strict: calls must come in the recorded order.
        sandbox: replay in forks that the kernel confines, see `playback.sandbox`.
        unsafe_replay: in a sandbox even where Landlock or seccomp is missing.
        baseline: file of the run that it is compared with; empty for none.
        baseline_rules: when that is too stale.
        affected: files that say what the agent is told today; the settings' besides.
        history: whether whole runs of the suite as its file has it are kept in its history.
        policy: when a case passes; `policies` wins, the first entry that means a case.
        sequential: look at a case after every batch, and stop when it is decided; else all samples are taken.
        screening: few samples of each case point at suspects, and fresh ones of these decide; None where it pays.
        pass_k: for which k the report estimates "all of k pass" and "one of k passes".
    """

    name: str
    target: str = ""
    samples: int | None = None
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
    what_if: tuple[str, ...] = ()
    on_miss: tuple[MissRule, ...] = ()
    budget: Budget = NO_LIMITS
    prices: tuple[Price, ...] = ()
    strict: bool = False
    sandbox: bool = False
    unsafe_replay: bool = False
    baseline_rules: BaselineRules = BaselineRules()
    affected: Sources = NO_SOURCES
    history: bool = True
    policies: tuple[PolicyFor, ...] = ()
    sequential: bool = True
    screening: bool | None = None
    pass_k: tuple[int, ...] = (4,)

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
class Served:
    """What answered one replay's live model calls, and what they were asked with.

    A provider changes a model behind its name, a cache answers what no model computed, a prompt is edited: none of it
    shows in a pass rate, and each makes runs differ that look alike.

    Attributes:
        models: the names that the answers give.
        fingerprints: what the provider calls its configuration (OpenAI's ``system_fingerprint``), where it says.
        prompts: fingerprints of the system prompts that were sent, see `trace.asked`.
        toolsets: fingerprints of the tools that were offered.
        cached_tokens: input tokens that the provider read from a cache.
        answers: a digest of the ids that the provider gave its answers; empty where it gave none, or one twice. Two
            samples that have it in common were answered once.
    """

    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    cached_tokens: int = 0
    answers: str = ""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Served:
        """From its fields, as JSON or Arrow gives them."""
        return cls(**{**body, **{name: tuple(body[name]) for name in SERVED_LISTS}})


SERVED_LISTS = ("models", "fingerprints", "prompts", "toolsets")
"""The fields of `Served` that are lists."""


@dataclass(slots=True)  # not frozen: a run makes very many, and freezing triples the time of that
class Sample:
    """What one replay came to; nobody changes it. Only `passed` and `failed` enter a rate.

    Attributes:
        case_id, case_version: the case replayed.
        index: from 0 within the case; decisions are made in this order.
        outcome: `missed`: a fixture was missing; `errored`: infrastructure.
        checks: results of the case's checks; empty when the replay did not come to its end.
        reason: why it did not pass, one sentence.
        misses: what was asked for and not recorded, with the nearest recorded call, in words.
        trace: digest of the replay's trace; equal digests are equal runs.
        drew: whether equal runs may be equal by chance: the agent drew random numbers, or the machine's time or memory
            ended it.
        tool_bodies, live_model, substituted: calls, see `capture.seam.Counts`.
        duration_s: real seconds.
        attempt: 1, or more where infrastructure spoiled the replays before.
        served: of its live model calls; None where there was none.
        order: where it stands among all samples of its run, in the order in which they were finished; whoever reads a
            run gives it.
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
    drew: bool = False
    served: Served | None = None
    order: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was run, by whom, under which conditions; written first. It is changed where a run is continued, or raised.

    Attributes:
        run_id: UTC time and suite name: sorts by time.
        file: the suite's file; empty where that is not known.
        arm: of which A/B run it is an arm, and what that has otherwise, in words; empty for any other run.
        cases: (id, version, digest, state) of every selected case.
        suite: the suite as JSON, overrides applied.
        environment: python, evalkit, packages, os, git commit and dirtiness.
        layers: what kept the replays from the outside world.
        part: what the run was limited to (``filter``, ``only_failing``: a run's id) and of how many cases (``of``);
            empty for all that the suite selects.
        raised: each later change of the number of samples: from, to, at, actor.
        continued: each time that it went on with other code than before: at, actor, and of that environment git commit,
            changes and packages.
        history: the file in which the run is kept as one night once it is whole; empty for none.
        baseline: the file that is, or would be, its suite's baseline; empty where that is not known.
        world: the choices about the frozen world that were in force, see `playback.options`.
        measures: by case id, passes and samples of the baseline that the run's plans were made for.
        underpowered: by case id, what so few samples can't tell; said before the run.
    """

    run_id: str
    suite: Mapping[str, Json]
    cases: Sequence[tuple[str, int, str, str]]
    started_at: str
    file: str = ""
    arm: str = ""
    actor: str = ""
    reason: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    part: Mapping[str, Json] = field(default_factory=dict)
    raised: tuple[Mapping[str, Json], ...] = ()
    continued: tuple[Mapping[str, Json], ...] = ()
    history: str = ""
    baseline: str = ""
    world: Mapping[str, Json] = field(default_factory=dict)
    measures: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    underpowered: Mapping[str, str] = field(default_factory=dict)
