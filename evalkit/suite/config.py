"""Suite files (``suites/*.toml``): read once, checked, and turned into plain values.

name = "release"
target = "agent:run"          # without it, each case's own; a program or service as docs/gateway.md says
samples = 20
mode = "live-model"           # or "exact", "model-swap", "prompt-swap", "simulation"
strict = false                # true: calls must come in the recorded order
sandbox = true                # in forks that the kernel confines, on Linux
[select]
gate = true                   # or ids = ["refund-*"], tags = [...], signatures = [...]
[policy]
kind = "zero_failures"        # or "min_rate", with min_rate = 0.9
[model]
base_url = "http://127.0.0.1:8000/v1"
name = "gpt-next"             # for mode model-swap; system_prompt for prompt-swap; temperature, extra_body
headers = { "x-team" = "${TEAM}" }   # and key_env, tries, timeout_s, concurrency
[budget]
calls = 2000                  # and tokens, cost_usd, seconds
[[faults]]                    # for mode simulation
tool = "refund_*"
kind = "error"                # or timeout, delay, wrong_value, partial_stream
rate = 0.3
seed = 7
[on_miss]                     # what becomes of a call without a recorded answer; "fail" without a rule
"search_*" = "error"          # or "stub", { stub = VALUE }, "live" (read tools only)
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.errors import ConfigError
from evalkit.playback.endpoint.budget import Budget
from evalkit.playback.endpoint.model import DEFAULT_KEY
from evalkit.playback.endpoint.prices import Price
from evalkit.playback.faults import Fault, FaultKind, check_faults
from evalkit.playback.miss_rules import MissRule, rules_of_table
from evalkit.playback.targets.reference import reference_text
from evalkit.suite.model import ModelEndpoint, Policy, Selection, Suite

__all__ = ["load_suite", "suite_from_json"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _SelectFile(_Strict):
    ids: list[str] = []
    tags: list[str] = []
    gate: bool = False
    signatures: list[str] = []


class _PolicyFile(_Strict):
    kind: Literal["zero_failures", "min_rate"] = "zero_failures"
    min_rate: float = Field(default=0.9, gt=0, lt=1)
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    max_lost: float = Field(default=0.0, ge=0, lt=1)


class _ModelFile(_Strict):
    base_url: str = Field(pattern=r"^https?://")
    name: str | None = None
    system_prompt: str | None = None
    temperature: float | None = Field(default=None, ge=0)
    extra_body: dict[str, Any] = {}
    headers: dict[str, str] = {}
    key_env: str = DEFAULT_KEY
    tries: int = Field(default=5, ge=1, le=50)
    timeout_s: float = Field(default=300.0, gt=0)
    concurrency: int = Field(default=32, ge=1, le=10_000)


class _BudgetFile(_Strict):
    calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    cost_usd: float | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)


class _PriceFile(_Strict):
    models: str
    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    reasoning: float | None = Field(default=None, ge=0)


class _FaultFile(_Strict):
    tool: str = Field(min_length=1)
    kind: FaultKind
    rate: float = Field(default=1.0, ge=0, le=1)
    seed: int = 0
    seconds: float = Field(default=30.0, ge=0, le=1e7)
    value: Any = None


_Seconds = Annotated[float, Field(gt=0)]


class _SuiteFile(_Strict):
    name: str = Field(default="", max_length=80)
    target: str | dict[str, Any] = ""
    samples: int = Field(default=10, ge=1, le=100_000)
    mode: Literal["exact", "live-model", "model-swap", "prompt-swap", "simulation"] = "exact"
    keep_traces: Literal["all", "failing"] = "failing"
    timeout_s: float = Field(default=60.0, gt=0)
    timeouts: dict[str, _Seconds] = {}
    retries: int = Field(default=2, ge=0, le=10)
    concurrency: int = Field(default=0, ge=0, le=10_000)
    seed: int = 0
    strict: bool = False
    baseline: str = ""
    sandbox: bool = False
    unsafe_replay: bool = False
    select: _SelectFile = _SelectFile()
    policy: _PolicyFile = _PolicyFile()
    model: _ModelFile | None = None
    faults: list[_FaultFile] = []
    on_miss: dict[str, Any] | list[dict[str, Any]] = {}
    budget: _BudgetFile = _BudgetFile()
    prices: list[_PriceFile] = []  # the settings', as a manifest holds them


_LIVE = ("live-model", "model-swap", "prompt-swap")


def load_suite(
    path: str | Path, overrides: Mapping[str, Any] | None = None, model: Mapping[str, Any] | None = None
) -> Suite:
    """The suite in a file; `overrides` (from flags) win over it, None among them is no override.

    Args:
        model: the settings' endpoint: what a suite with a live model does not say otherwise.

    Raises:
        ConfigError: no such file, no TOML, an unknown key, or a value out of range; all faults are named.
    """
    where = str(path)
    try:
        body = tomllib.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError("there is no such suite", where, "evalkit init, or pass the path of a suite") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"not TOML: {error}", where, "correct the file") from None
    body.setdefault("name", Path(path).stem)
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    asked = {**body, **given}
    if model and (asked.get("mode") in _LIVE or isinstance(asked.get("model"), dict)):
        own = body.get("model", {})
        body["model"] = {**model, **own} if isinstance(own, dict) else own
    if isinstance(body.get("model"), dict) and isinstance(given.get("model"), dict):
        given["model"] = {**body["model"], **given["model"]}  # another endpoint; what is asked of it stays
    if isinstance(body.get("budget"), dict) and isinstance(given.get("budget"), dict):
        given["budget"] = {**body["budget"], **given["budget"]}
    if "on_miss" in given:  # the flags' rules go before the file's, which still hold for other tools
        table = body.get("on_miss", {})
        own = rules_of_table(table, "suite", where) if isinstance(table, dict) else ()
        given["on_miss"] = [*given["on_miss"], *(asdict(rule) for rule in own)]
    return suite_from_json({**body, **given}, where)


def suite_from_json(body: Mapping[str, Any], where: str) -> Suite:
    """The suite of a parsed file or of a run's manifest; raises as `load_suite` does."""
    try:
        file = _SuiteFile.model_validate(body)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise ConfigError(faults, where, "see docs/files.md for the keys of a suite") from None
    if file.mode not in ("exact", "simulation") and file.model is None:
        raise ConfigError(f"mode {file.mode} needs an endpoint", where, 'add [model] base_url = "http://..."')
    declared = tuple(Fault(**dict(fault)) for fault in file.faults)
    _check_mode(file, where)
    check_faults(declared, live=file.model is not None)
    select = file.select
    return Suite(
        name=file.name,
        target=reference_text(file.target),
        samples=file.samples,
        mode=file.mode,
        select=Selection(tuple(select.ids), tuple(select.tags), select.gate, tuple(select.signatures)),
        policy=Policy(file.policy.kind, file.policy.min_rate, file.policy.alpha, file.policy.max_lost),
        keep_traces=file.keep_traces,
        timeout_s=file.timeout_s,
        timeouts=file.timeouts,
        retries=file.retries,
        concurrency=file.concurrency,
        seed=file.seed,
        strict=file.strict,
        model=None if file.model is None else ModelEndpoint(**dict(file.model)),
        baseline=file.baseline,
        faults=declared,
        on_miss=_rules(file.on_miss, where),
        budget=Budget(**dict(file.budget)),
        prices=tuple(Price(**dict(price)) for price in file.prices),
        sandbox=file.sandbox,
        unsafe_replay=file.unsafe_replay,
    )


def _rules(given: dict[str, Any] | list[dict[str, Any]], where: str) -> tuple[MissRule, ...]:
    """Of a file's table, or as a manifest lists them."""
    if isinstance(given, dict):
        return rules_of_table(given, "suite", where)
    return tuple(MissRule(**rule) for rule in given)


def _check_mode(file: _SuiteFile, where: str) -> None:
    """A suite does what its mode says, and nothing else."""
    if (file.mode == "simulation") != bool(file.faults):
        cure = 'use mode = "simulation"' if file.faults else 'add [[faults]] tool = "NAME", kind = "error"'
        raise ConfigError(f"mode {file.mode} with {len(file.faults)} faults", where, cure)
    for mode, key in (("model-swap", "name"), ("prompt-swap", "system_prompt")):
        if file.mode == mode and getattr(file.model, key, None) is None:
            raise ConfigError(f"mode {mode} changes nothing", where, f"add {key} to [model]")
