"""What a replay is to do, settled before anything runs: what it changes, whom it asks, and its manifest."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace

from evalkit.app.environment import acting, now_utc
from evalkit.app.replay_mode import settled_mode
from evalkit.app.settings import Settings
from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.case.store import find_case, read_case
from evalkit.errors import ConfigError, UsageError
from evalkit.playback.endpoint.budget import NO_LIMITS, Budget, check_prices
from evalkit.playback.endpoint.model import Endpoint
from evalkit.playback.endpoint.prices import Price
from evalkit.playback.faults import Fault
from evalkit.playback.keys import requested_model
from evalkit.playback.miss_rules import MissRule
from evalkit.playback.model import LAYERS, OUTSIDE_LAYERS
from evalkit.playback.modes import LIVE_MODES
from evalkit.playback.options import ClockKind
from evalkit.playback.overrides import NO_OVERRIDES, Overrides
from evalkit.playback.replay import PreparedCase, prepare
from evalkit.playback.targets.loop import first_request
from evalkit.playback.targets.reference import is_outside
from evalkit.playback.what_if import WhatIf
from evalkit.suite.case_ref import reference as case_reference

__all__ = ["Plan", "endpoint_of", "plan_replay"]

LOOP = "the built-in agent loop"


@dataclass(frozen=True, slots=True)
class Plan:
    """A replay that is allowed.

    Attributes:
        ready: the case, made ready for it; how it is run may still be changed (order, time limit, who asks the model).
        target: see `playback.targets.reference`; empty for the built-in loop of a fork.
        asked: how the live model is asked; None where none is.
        budget: what may be spent on it.
        repeat: how many replays are wanted.
        manifest: what is written of the replay, as JSON.
    """

    ready: PreparedCase
    target: str
    asked: Endpoint | None
    budget: Budget
    prices: tuple[Price, ...]
    repeat: int
    manifest: dict[str, Json]

    @property
    def case(self) -> Case:
        """What is replayed."""
        return self.ready.case

    @property
    def live(self) -> bool:
        """Whether a live model is asked."""
        return self.ready.endpoint is not None


def plan_replay(
    reference: str,
    settings: Settings,
    *,
    target: str = "",
    mode: str | None = None,
    base_url: str | None = None,
    overrides: Overrides = NO_OVERRIDES,
    faults: Sequence[Fault] = (),
    from_step: int | None = None,
    on_miss: Sequence[MissRule] = (),
    budget: Budget = NO_LIMITS,
    sandbox: bool = False,
    seed: int = 0,
    repeat: int = 1,
    actor: str = "",
    reason: str = "",
    needs_reason: bool = True,
    what_if: Sequence[WhatIf] = (),
    clock: ClockKind | None = None,
) -> Plan:
    """Settles a replay.

    Args:
        base_url: None takes the settings', where a live model is asked for.
        budget: what the replays may spend together.
        sandbox: whether they will be confined.
        on_miss: rules given by flag; the case's and the settings' come after them.
        mode: None takes the one that the other arguments ask for.
        clock: None takes the settings' one.
        needs_reason: whether a live model is asked only with actor and reason.

    Raises:
        InputError: no such case.
        ConfigError: what is asked for does not go together, no target, or a live mode without an endpoint.
        ReplayRefused: the incident lacks what the mode needs.
        UsageError: a live model is to be asked, and nobody says by whom or why.
    """
    path = find_case(reference, settings.cases)
    case = read_case(path)
    if base_url is None and (mode in LIVE_MODES or overrides.json() or from_step is not None):
        base_url = settings.model.get("base_url")
    chosen = settled_mode(
        mode,
        base_url=base_url,
        overrides=overrides,
        faults=(*faults, *what_if),
        from_step=from_step,
        where=f"case {case.id}",
    )
    runs = "" if chosen == "fork" else _named(target or settings.target or case.target, case, sandbox=sandbox)
    endpoint = None if chosen == "exact" else base_url
    if endpoint is not None and settings.model.get("extra_body"):
        overrides = replace(overrides, extra_body={**settings.model["extra_body"], **overrides.extra_body})
    ready = prepare(
        case,
        mode=chosen,
        endpoint=endpoint,
        overrides=overrides,
        faults=faults,
        from_step=from_step,
        on_miss=(*on_miss, *settings.on_miss),
        sandbox=sandbox,
        seed=seed,
        what_if=what_if,
        options=settings.world if clock is None else replace(settings.world, clock=clock),
    )
    who = acting(actor, settings)
    if endpoint is not None and needs_reason and not (who and reason.strip()):
        missing = "--reason" if who else "--actor and --reason"
        raise UsageError(f"mode {chosen} asks a live model: say why", f"case {case.id}", f"pass {missing}")
    manifest: dict[str, Json] = {
        **_manifest(ready, case_reference(path).digest, runs),
        "budget": budget.json(),
        "repeat": repeat,
        "actor": who if endpoint is not None else actor,
        "reason": reason,
    }
    asked = None if endpoint is None else endpoint_of(endpoint, settings)
    if endpoint is not None:
        check_prices(budget, settings.prices, _models(case, overrides, from_step))
    return Plan(ready, runs, asked, budget, settings.prices, repeat, manifest)


def _named(target: str, case: Case, *, sandbox: bool) -> str:
    """The target.

    Raises:
        ConfigError: there is none, or no sandbox can hold it.
    """
    if not target:
        raise ConfigError("nothing says what to run", f"case {case.id}", "pass --target module:function")
    if sandbox and is_outside(target):
        why = "a sandbox starts no programs and opens no connections, so it holds no agent in another process"
        raise ConfigError(why, f"target {target}", "leave --sandbox out")
    return target


def _manifest(ready: PreparedCase, digest: str, target: str) -> dict[str, Json]:
    """What is replayed, and how; who asks for it and what it may cost is added."""
    case, step = ready.case, ready.from_step
    found: dict[str, Json] = {
        "replay_id": f"r-{secrets.token_hex(8)}",
        "mode": ready.mode,
        "case": {"id": case.id, "version": case.version, "digest": digest},
        "target": target or LOOP,
        "endpoint": ready.endpoint,
        "overrides": ready.overrides.json(),
        "faults": [asdict(fault) for fault in ready.faults],
        "what_if": [one.json() for one in ready.what_if],
        "from_step": step,
        "on_miss": [rule.json() for rule in ready.on_miss],
        "seed": ready.seed,
        "started_at": now_utc(),
        "layers": list(OUTSIDE_LAYERS if is_outside(target) else LAYERS),
        "world": ready.options.json(),
    }
    if step is not None:
        found["params_left_out"] = list(first_request(case.trace.trace.step(step))[1])
    return found


def endpoint_of(base_url: str, settings: Settings) -> Endpoint:
    """The endpoint at a URL, asked as the settings say."""
    names = {field.name for field in fields(Endpoint)}
    known = {name: value for name, value in settings.model.items() if name in names}
    return Endpoint(**{**known, "base_url": base_url})


def _models(case: Case, overrides: Overrides, from_step: int | None) -> list[str]:
    """The models that the live calls will name, as far as the recording tells."""
    if overrides.model is not None:
        return [overrides.model]
    incident = case.trace.trace
    steps = incident.of_kind("model") if from_step is None else [incident.step(from_step)]
    return sorted({requested_model(step) or "" for step in steps})
