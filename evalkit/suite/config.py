"""Suite files (``suites/*.toml``): read once, checked, and turned into plain values.

name = "release"
target = "agent:run"          # without it, each case's own
samples = 20
mode = "live-model"           # or "exact"
sandbox = true                # in forks that the kernel confines; exact mode on Linux only
[select]
gate = true                   # or ids = ["refund-*"], tags = [...], signatures = [...]
[policy]
kind = "zero_failures"        # or "min_rate", with min_rate = 0.9
[model]
base_url = "http://127.0.0.1:8000/v1"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.errors import ConfigError
from evalkit.playback.model import Mode
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


class _SuiteFile(_Strict):
    name: str = Field(default="", max_length=80)
    target: str = ""
    samples: int = Field(default=10, ge=1, le=100_000)
    mode: Mode = "exact"
    keep_traces: Literal["all", "failing"] = "failing"
    timeout_s: float = Field(default=60.0, gt=0)
    seed: int = 0
    baseline: str = ""
    sandbox: bool = False
    unsafe_replay: bool = False
    select: _SelectFile = _SelectFile()
    policy: _PolicyFile = _PolicyFile()
    model: _ModelFile | None = None


def load_suite(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Suite:
    """The suite in a file; `overrides` (from flags) win over it, None among them is no override.

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
    return suite_from_json(
        {**body, **{key: value for key, value in (overrides or {}).items() if value is not None}}, where
    )


def suite_from_json(body: Mapping[str, Any], where: str) -> Suite:
    """The suite of a parsed file or of a run's manifest; raises as `load_suite` does."""
    try:
        file = _SuiteFile.model_validate(body)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise ConfigError(faults, where, "see docs/suites.md for the keys of a suite") from None
    if file.mode == "live-model" and file.model is None:
        raise ConfigError("mode live-model needs an endpoint", where, 'add [model] base_url = "http://..."')
    select = file.select
    return Suite(
        name=file.name,
        target=file.target,
        samples=file.samples,
        mode=file.mode,
        select=Selection(tuple(select.ids), tuple(select.tags), select.gate, tuple(select.signatures)),
        policy=Policy(file.policy.kind, file.policy.min_rate, file.policy.alpha, file.policy.max_lost),
        keep_traces=file.keep_traces,
        timeout_s=file.timeout_s,
        seed=file.seed,
        model=None if file.model is None else ModelEndpoint(file.model.base_url),
        baseline=file.baseline,
        sandbox=file.sandbox,
        unsafe_replay=file.unsafe_replay,
    )
