"""The form of a project's settings in a file, and the settings that it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evalkit.app.live_places import HttpPlace, McpPlace
from evalkit.app.settings import DEFAULTS, EvidenceSettings, PolicyRule, Settings
from evalkit.errors import ConfigError
from evalkit.playback.endpoint.prices import Price
from evalkit.playback.miss_rules import rules_of_table
from evalkit.playback.options import ClockKind, world_from_json
from evalkit.playback.targets.reference import reference_text
from evalkit.sanitize.policy import Action, Kind
from evalkit.suite.sources_file import SourcesFile
from evalkit.validation import faults_text
from evalkit.vault.retention import parse_days

__all__ = ["CASES", "settings_of"]

CASES = "cases"
"""The folder of cases where a project does not say."""


class _Strict(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid")


class _Tool(_Strict):
    effect: Literal["read", "write", "pure"]
    url: str = Field(default="", pattern=r"^(https?://[^/].*)?$")
    method: Literal["GET", "POST"] = "POST"
    headers: dict[str, str] = {}


class _Mcp(_Strict):
    argv: list[str] = []
    url: str = Field(default="", pattern=r"^(https?://[^/].*)?$")
    env: dict[str, str] = {}
    passed: list[str] = Field(default=[], alias="pass")
    headers: dict[str, str] = {}

    @model_validator(mode="after")
    def _one_place(self) -> _Mcp:
        if bool(self.argv) is bool(self.url):
            raise ValueError("a server has argv or url, and not both")
        return self


class _Model(_Strict):
    base_url: str | None = Field(default=None, pattern=r"^https?://")
    headers: dict[str, str] | None = None
    key_env: str | None = None
    tries: int | None = Field(default=None, ge=1, le=50)
    timeout_s: float | None = Field(default=None, gt=0)
    concurrency: int | None = Field(default=None, ge=1, le=10_000)
    extra_body: dict[str, Any] | None = None


class _Price(_Strict):
    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    reasoning: float | None = Field(default=None, ge=0)


class _Rules(_Strict):
    version: str = ""
    allow: list[str] = []
    allow_patterns: list[str] = []
    allow_paths: list[str] = []
    hints: dict[str, Kind] = {}
    patterns: dict[Kind, list[str]] = {}
    actions: dict[Kind, Action] = {}

    def rule(self, path: str = "", tag: str = "") -> PolicyRule:
        return PolicyRule(
            version=self.version,
            path=path,
            tag=tag,
            allow=tuple(self.allow),
            allow_patterns=tuple(self.allow_patterns),
            allow_paths=tuple(self.allow_paths),
            hints=tuple(self.hints.items()),
            patterns=tuple((kind, pattern) for kind, several in self.patterns.items() for pattern in several),
            actions=tuple(self.actions.items()),
        )


class _SubRules(_Rules):
    path: str = ""
    tag: str = ""


class _Sanitize(_Rules):
    ner: list[str] = []
    key_file: str | None = None
    policies: list[_SubRules] = []


class _Evidence(_Strict):
    folder: str | None = None
    recipients: list[str] = []
    retention: str = "180d"
    short: str = "30d"
    keep: bool = False


class _World(_Strict):
    clock: ClockKind = "still"
    keep_env: list[str] | None = None
    working_copy: bool = False


class _File(_Strict):
    cases: str = CASES
    suites: str = "suites"
    reports: str = "reports"
    target: str | dict[str, Any] = ""
    owner: str = ""
    tools: dict[str, _Tool] = {}
    model: _Model = _Model.model_construct()
    prices: dict[str, _Price] = {}
    on_miss: dict[str, Any] = {}
    sanitize: _Sanitize = _Sanitize.model_construct()
    evidence: _Evidence = _Evidence.model_construct()
    world: _World = _World.model_construct()
    affected: SourcesFile = SourcesFile.model_construct()
    mcp: dict[str, _Mcp] = {}


def settings_of(body: Mapping[str, Any], source: str, root: Path, environment: Mapping[str, str]) -> Settings:
    """The settings that a table says, and variables that are no keys of it.

    Args:
        source: where the table stands.

    Raises:
        ConfigError: a key is unknown, or a value of the wrong kind.
    """
    try:
        # without a file nothing needs to be checked: making the checks takes longer than many a command
        file = _File.model_validate(body) if source != DEFAULTS else _File.model_construct(**body)
    except ValidationError as error:
        raise ConfigError(faults_text(error, _File), source, "see docs/files.md for the keys") from None
    own_key = file.sanitize.key_file
    key_file = environment.get("EVALKIT_KEY_FILE") or (own_key and root / Path(own_key).expanduser())
    return Settings(
        root=root,
        cases=root / file.cases,
        suites=root / file.suites,
        reports=root / file.reports,
        target=reference_text(file.target),
        owner=file.owner,
        key_file=Path(key_file).expanduser().absolute() if key_file else None,
        pseudonym_key=environment.get("EVALKIT_PSEUDONYM_KEY", ""),
        effects=tuple((pattern, tool.effect) for pattern, tool in file.tools.items()),
        model=file.model.model_dump(exclude_none=True),
        prices=tuple(Price(models, **dict(price)) for models, price in file.prices.items()),
        on_miss=rules_of_table(file.on_miss, "settings", f"{source} [on_miss]"),
        policies=(file.sanitize.rule(), *(sub.rule(sub.path, sub.tag) for sub in file.sanitize.policies)),
        ner=tuple(file.sanitize.ner),
        evidence=_evidence(file.evidence, root, environment.get("EVALKIT_EVIDENCE", ""), source),
        actor=environment.get("EVALKIT_ACTOR", ""),
        world=world_from_json(file.world.model_dump()),
        affected=file.affected.sources(),
        urls=tuple(
            HttpPlace(pattern, tool.url, tool.method, tool.headers) for pattern, tool in file.tools.items() if tool.url
        ),
        mcp=tuple(
            McpPlace(name, tuple(one.argv), one.url, one.env, tuple(one.passed), one.headers)
            for name, one in file.mcp.items()
        ),
        source=source,
    )


def _evidence(body: _Evidence, root: Path, elsewhere: str, source: str) -> EvidenceSettings:
    folder = elsewhere or body.folder
    standard = parse_days(body.retention, f"{source}, [evidence] retention")
    short = parse_days(body.short, f"{source}, [evidence] short")
    return EvidenceSettings(
        folder=root / Path(folder).expanduser() if folder else None,
        recipients=tuple(body.recipients),
        days=(("short", short), ("standard", standard)),
        keep=body.keep,
    )
