"""Suite files (``suites/*.toml``): read once, checked, and turned into plain values.

name = "release"
target = "agent:run"          # without it, each case's own; a program or service as docs/gateway.md says
samples = 75                  # at most; without it the policy's plan says how many
sequential = true             # false: all samples are taken, however clear the first ones are
screening = true              # without it, above some hundred cases with a baseline
pass_k = [4]
mode = "live-model"           # or "exact", "model-swap", "prompt-swap", "simulation"
strict = false                # true: calls must come in the recorded order
sandbox = true                # in forks that the kernel confines, on Linux
history = true                # whole runs are kept in the suite's history
[select]
gate = true                   # or ids = ["refund-*"], tags = [...], signatures = [...]
[policy]
kind = "acceptance"           # or "zero_failures", "min_rate", "not_worse"; docs/files.md has the keys of each
[[policies]]                  # another one for some cases; the first that means a case holds
select = { tags = ["payments"] }
kind = "zero_failures"
[model]
base_url = "http://127.0.0.1:8000/v1"
name = "gpt-next"             # for mode model-swap; system_prompt for prompt-swap; temperature, extra_body
headers = { "x-team" = "${TEAM}" }   # and key_env, tries, timeout_s, concurrency
[budget]
calls = 2000                  # and tokens, cost_usd, seconds
[baseline]                    # of a file: file = "..."; the suite's own without it
max_age_days = 30             # an older one is stale
across = ["prompt"]           # what may differ from it (model, provider, prompt, tools), because that is compared
[affected]                    # what the agent is told today: cases recorded otherwise hold the gate
prompt = "agent/prompt.txt"   # and tools = "agent/tools.json"
[[faults]]                    # for mode simulation
tool = "refund_*"
kind = "error"                # or timeout, delay, wrong_value, partial_stream
rate = 0.3
seed = 7
[what_if]                     # for mode simulation: answered otherwise than recorded
confirm_refund = "refused"    # or a value, "@file.json", "module:function"
[on_miss]                     # what becomes of a call without a recorded answer; "fail" without a rule
"search_*" = "error"          # or "stub", { stub = VALUE }, "live" (read tools only)
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from evalkit.errors import ConfigError
from evalkit.playback.deadline import LONGEST_S
from evalkit.playback.endpoint.budget import Budget
from evalkit.playback.endpoint.model import DEFAULT_KEY
from evalkit.playback.endpoint.prices import Price
from evalkit.playback.faults import Fault, FaultKind, check_faults
from evalkit.playback.miss_rules import MissRule, rules_of_table
from evalkit.playback.modes import LIVE_MODES, SuiteMode
from evalkit.playback.targets.reference import reference_text
from evalkit.playback.what_if import settled, texts_of_table
from evalkit.suite.model import (
    Across,
    BaselineRules,
    ModelEndpoint,
    Policy,
    PolicyFor,
    PolicyKind,
    Selection,
    Suite,
)
from evalkit.suite.sources_file import SourcesFile
from evalkit.validation import faults_text

__all__ = ["check_policy_keys", "load_suite", "suite_from_json"]

_ENDPOINT = 'add [model] base_url = "http://..." to it or to evalkit.toml, or pass --base-url (of an arm: base-url=...)'


class _Strict(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True, allow_inf_nan=False)


_Seconds = Annotated[float, Field(gt=0, le=LONGEST_S)]


class _SelectFile(_Strict):
    ids: list[str] = []
    tags: list[str] = []
    gate: bool = False
    signatures: list[str] = []


_Share = Annotated[float, Field(gt=0, lt=1)]
_Error = Annotated[float, Field(gt=0, lt=0.5)]


class _PolicyFile(_Strict):
    kind: PolicyKind = "acceptance"
    p_good: _Share = 0.99
    p_bad: _Share = 0.9
    min_rate: _Share = 0.9
    margin: _Share = 0.1
    alpha: _Error = 0.05
    beta: _Error | None = None
    batch: int = Field(default=5, ge=1, le=1000)
    max_lost: float = Field(default=0.0, ge=0, lt=1)
    on_degraded: Literal["block", "pass"] | None = None

    @model_validator(mode="after")
    def _two_rates(self) -> _PolicyFile:
        if self.p_bad >= self.p_good:
            raise ValueError(f"p_bad {self.p_bad} is not below p_good {self.p_good}: no samples tell them apart")
        return self

    def policy(self) -> Policy:
        """With the error of PASS that is usual for its kind, where none is given."""
        given = {name: getattr(self, name) for name in _PolicyFile.model_fields}
        beta = self.beta if self.beta is not None else _BETA_NOT_WORSE if self.kind == "not_worse" else _BETA
        return Policy(**{**given, "beta": beta})


class _PolicyForFile(_PolicyFile):
    select: _SelectFile


_BETA, _BETA_NOT_WORSE = 0.05, 0.1
_KEYS_OF_KIND: dict[str, set[str]] = {
    "acceptance": {"p_good", "p_bad", "beta", "batch"},
    "zero_failures": {"batch"},
    "min_rate": {"min_rate", "beta", "batch"},
    "not_worse": {"margin", "beta", "batch"},
}
_KEYS_OF_ALL = {"kind", "alpha", "max_lost", "on_degraded", "select"}


class _ModelFile(_Strict):
    base_url: str = Field(pattern=r"^https?://")
    name: str | None = None
    system_prompt: str | None = None
    temperature: float | None = Field(default=None, ge=0)
    extra_body: dict[str, Any] = {}
    headers: dict[str, str] = {}
    key_env: str = DEFAULT_KEY
    tries: int = Field(default=5, ge=1, le=50)
    timeout_s: _Seconds = 300.0
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


class _BaselineRulesFile(_Strict):
    max_age_days: float | None = Field(default=None, gt=0)
    across: list[Literal["model", "provider", "prompt", "tools"]] = []


class _BaselineFile(_BaselineRulesFile):
    file: str = ""


class _SuiteFile(_Strict):
    name: str = Field(default="", max_length=80)
    target: str | dict[str, Any] = ""
    samples: int | None = Field(default=None, ge=1, le=100_000)
    sequential: bool = True
    screening: bool | None = None
    pass_k: list[Annotated[int, Field(ge=1, le=1000)]] = [4]
    mode: SuiteMode = "exact"
    keep_traces: Literal["all", "failing"] = "failing"
    timeout_s: _Seconds = 60.0
    timeouts: dict[str, _Seconds] = {}
    retries: int = Field(default=2, ge=0, le=10)
    concurrency: int = Field(default=0, ge=0, le=10_000)
    seed: int = 0
    strict: bool = False
    baseline: _BaselineFile = _BaselineFile.model_construct()
    baseline_rules: _BaselineRulesFile | None = None  # as a manifest has them
    sandbox: bool = False
    unsafe_replay: bool = False
    history: bool = True
    affected: SourcesFile = SourcesFile.model_construct()
    select: _SelectFile = _SelectFile.model_construct()
    policy: _PolicyFile = _PolicyFile.model_construct()
    policies: list[_PolicyForFile] = []
    model: _ModelFile | None = None
    faults: list[_FaultFile] = []
    what_if: dict[str, Any] | list[str] = {}
    on_miss: dict[str, Any] | list[dict[str, Any]] = {}
    budget: _BudgetFile = _BudgetFile.model_construct()
    prices: list[_PriceFile] = []  # the settings', as a manifest holds them

    @field_validator("baseline", mode="before")
    @classmethod
    def _file_alone(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value

    @field_validator("name")
    @classmethod
    def _names_a_folder(cls, name: str) -> str:
        if not name.isprintable() or "/" in name or "\\" in name:
            raise ValueError(f"{name!r} becomes a part of folders' names: no slashes, no control characters")
        return name


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
    except (FileNotFoundError, NotADirectoryError):
        beside = ", ".join(sorted(one.stem for one in Path(path).parent.glob("*.toml")))
        cure = f"there are: {beside}" if beside else "evalkit init, or pass the path of a suite"
        raise ConfigError("there is no such suite", where, cure) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"not TOML: {error}", where, "correct the file") from None
    check_policy_keys(body, where)
    if body.get("name", "") == "":
        body["name"] = Path(path).stem
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    asked = {**body, **given}
    if model and (asked.get("mode") in LIVE_MODES or isinstance(asked.get("model"), dict)):
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
    asked = {**body, **given}
    _check_numbers(asked, "", where)
    return suite_from_json(asked, where)


def suite_from_json(body: Mapping[str, Any], where: str) -> Suite:
    """The suite of a parsed file or of a run's manifest; raises as `load_suite` does."""
    try:
        file = _SuiteFile.model_validate(body)
    except ValidationError as error:
        if [fault["loc"] for fault in error.errors()] == [("model", "base_url")] and "base_url" not in body["model"]:
            raise ConfigError("a live model needs an endpoint", where, _ENDPOINT) from None
        raise ConfigError(faults_text(error, _SuiteFile), where, "see docs/files.md for the keys of a suite") from None
    if file.mode in LIVE_MODES and file.model is None:
        raise ConfigError(f"mode {file.mode} needs an endpoint", where, _ENDPOINT)
    declared = tuple(Fault(**dict(fault)) for fault in file.faults)
    _check_mode(file, where)
    check_faults(declared, live=file.model is not None)
    return Suite(
        name=file.name,
        target=reference_text(file.target),
        samples=file.samples,
        mode=file.mode,
        select=_selection(file.select),
        policy=file.policy.policy(),
        policies=tuple(PolicyFor(_selection(one.select), one.policy()) for one in file.policies),
        sequential=file.sequential,
        screening=file.screening,
        pass_k=tuple(file.pass_k),
        keep_traces=file.keep_traces,
        timeout_s=file.timeout_s,
        timeouts=file.timeouts,
        retries=file.retries,
        concurrency=file.concurrency,
        seed=file.seed,
        strict=file.strict,
        model=None if file.model is None else ModelEndpoint(**dict(file.model)),
        baseline=file.baseline.file,
        baseline_rules=_baseline_rules(file),
        faults=declared,
        what_if=_supposed(file.what_if, where),
        on_miss=_rules(file.on_miss, where),
        budget=Budget(**dict(file.budget)),
        prices=tuple(Price(**dict(price)) for price in file.prices),
        sandbox=file.sandbox,
        unsafe_replay=file.unsafe_replay,
        history=file.history,
        affected=file.affected.sources(),
    )


def _baseline_rules(file: _SuiteFile) -> BaselineRules:
    """Of the file's table, or as a manifest has them; what a mode swaps is what the comparison is about."""
    given = file.baseline_rules or file.baseline
    rules = BaselineRules(given.max_age_days, tuple(given.across))
    swapped: dict[str, tuple[Across, ...]] = {"model-swap": ("model", "provider"), "prompt-swap": ("prompt",)}
    new = [kind for kind in swapped.get(file.mode, ()) if kind not in rules.across]
    return replace(rules, across=(*rules.across, *new))


def _selection(file: _SelectFile) -> Selection:
    return Selection(tuple(file.ids), tuple(file.tags), file.gate, tuple(file.signatures))


def check_policy_keys(body: Mapping[str, Any], where: str) -> None:
    """Refuses what a policy of that kind would not look at, and a policy that would mean no case or every one."""
    tables = [("policy", body.get("policy", {}))]
    several = body.get("policies", [])
    tables += [(f"policies.{at}", table) for at, table in enumerate(several if isinstance(several, list) else [])]
    for name, table in tables:
        kind = table.get("kind", "acceptance") if isinstance(table, dict) else None
        if not isinstance(kind, str) or kind not in _KEYS_OF_KIND:
            continue  # said with the other faults of the file
        for key in sorted(set(table) - _KEYS_OF_KIND[kind] - _KEYS_OF_ALL):
            kinds = [one for one, keys in _KEYS_OF_KIND.items() if key in keys]
            if kinds:
                cure = f'leave it out, or take kind = "{kinds[0]}"'
                raise ConfigError(f"{name}: {key} means nothing to kind {kind}", where, cure)
        chosen = table.get("select")
        if name != "policy" and isinstance(chosen, dict) and not any(chosen.values()):  # gate = false is no condition
            cure = 'say whom it is for: select = { ids = ["refund-*"] }; what is for all stands in [policy]'
            raise ConfigError(f"{name}: its select means every case", where, cure)


def _rules(given: dict[str, Any] | list[dict[str, Any]], where: str) -> tuple[MissRule, ...]:
    """Of a file's table, or as a manifest lists them."""
    if isinstance(given, dict):
        return rules_of_table(given, "suite", where)
    return tuple(MissRule(**rule) for rule in given)


def _supposed(given: dict[str, Any] | list[str], where: str) -> tuple[str, ...]:
    """Of a file's table, or as flags and manifests list them; checked, but for functions, which workers load."""
    return tuple(map(settled, texts_of_table(given, where) if isinstance(given, dict) else given))


def _check_numbers(value: Any, place: str, where: str) -> None:
    """Refuses numbers that no manifest can hold, however deep they stand: it is JSON, read by any reader."""
    if isinstance(value, dict):
        for key, one in value.items():
            _check_numbers(one, f"{place}.{key}" if place else str(key), where)
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            _check_numbers(one, f"{place}.{at}", where)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ConfigError(f"{place}: {value} is beyond 64 bits", where, "take a smaller number")
    elif isinstance(value, float) and not isfinite(value):
        raise ConfigError(f"{place}: {value} is no number", where, "leave it out, or give a number")


def _check_mode(file: _SuiteFile, where: str) -> None:
    """A suite does what its mode says, and nothing else."""
    if (file.mode == "simulation") != bool(file.faults or file.what_if):
        counts = f"{len(file.faults)} faults and {len(file.what_if)} counterfactuals"
        cure = 'add [[faults]] tool = "NAME", kind = "error", or [what_if] NAME = "refused"'
        cure = 'use mode = "simulation"' if file.faults or file.what_if else cure
        raise ConfigError(f"mode {file.mode} with {counts}", where, cure)
    for mode, key in (("model-swap", "name"), ("prompt-swap", "system_prompt")):
        if file.mode == mode and getattr(file.model, key, None) is None:
            raise ConfigError(f"mode {mode} changes nothing", where, f"add {key} to [model]")
