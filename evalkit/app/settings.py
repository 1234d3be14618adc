"""Project settings: ``evalkit.toml`` or ``[tool.evalkit]`` in ``pyproject.toml``, read once.

Precedence, highest first: a flag, an ``EVALKIT_<KEY>`` variable, the file, the default. Unknown keys and unknown
``EVALKIT_`` variables are errors, because a misspelt setting that is ignored makes a wrong green.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evalkit.app.live_places import HttpPlace, McpPlace
from evalkit.errors import ConfigError
from evalkit.playback.endpoint.prices import Price
from evalkit.playback.miss_rules import MissRule, rules_of_table
from evalkit.playback.options import PLAIN_WORLD, ClockKind, WorldOptions, world_from_json
from evalkit.playback.targets.reference import reference_text
from evalkit.project import SETTINGS_NAME, SHARED_NAME, project_here
from evalkit.sanitize.policy import Action, Kind
from evalkit.suite.sources import NO_SOURCES, Sources
from evalkit.suite.sources_file import SourcesFile
from evalkit.trace.effect import effect_by_pattern
from evalkit.trace.model import Effect
from evalkit.validation import faults_text
from evalkit.vault.model import RetentionClass
from evalkit.vault.retention import parse_days

__all__ = [
    "EvidenceSettings",
    "PolicyRule",
    "Settings",
    "cases_named",
    "load_settings",
    "project_table",
    "settings_here",
    "settings_of",
]

_DEFAULTS = "defaults"
_CASES = "cases"
_FOLDERS_AND_WORDS = ("cases", "suites", "reports", "target", "owner")
_VARIABLES = {*(f"EVALKIT_{name.upper()}" for name in _FOLDERS_AND_WORDS), "EVALKIT_KEY_FILE", "EVALKIT_EVIDENCE"}
_OTHER_VARIABLES = {
    "EVALKIT_PSEUDONYM_KEY",
    "EVALKIT_ACTOR",
    "EVALKIT_VENV",
    "EVALKIT_RECORD_OUT",
    "EVALKIT_RECORD_NAME",
    "EVALKIT_RECORD_POLICY",
    "EVALKIT_MCP_URL",
    "EVALKIT_TIME",
    "EVALKIT_SEED",
}


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """Whether and how raw evidence is kept.

    Attributes:
        folder: outside of the repository; None where none is kept.
        recipients: age public keys; who has the identity of one may read.
        days: how long the classes that end are kept.
        keep: whether `ingest` keeps raw traces without being asked.
    """

    folder: Path | None = None
    recipients: tuple[str, ...] = ()
    days: tuple[tuple[RetentionClass, int], ...] = (("short", 30), ("standard", 180))
    keep: bool = False


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """Rules of the sanitizer, and where they hold.

    Attributes:
        path: pattern of the trace files that they are for (``traces/support/**``); empty for all.
        tag: the case's tag that they are for; empty for all.
    """

    version: str = ""
    path: str = ""
    tag: str = ""
    allow: tuple[str, ...] = ()
    allow_patterns: tuple[str, ...] = ()
    allow_paths: tuple[str, ...] = ()
    hints: tuple[tuple[str, Kind], ...] = ()
    patterns: tuple[tuple[Kind, str], ...] = ()
    actions: tuple[tuple[Kind, Action], ...] = ()

    def holds(self, source: str, tags: Sequence[str]) -> bool:
        """Whether the rules are for this source and these tags."""
        return (not self.path or _matches(source, self.path)) and (not self.tag or self.tag in tags)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project says once.

    Attributes:
        cases, suites, reports: folders.
        target: what is replayed where neither suite nor case says; see `playback.targets.reference`.
        owner: who answers for new cases.
        key_file: the pseudonym key; None for the user's own (outside of any repository).
        pseudonym_key: the key itself, from the environment; wins over the file.
        effects: tool-name patterns to effects, first match wins.
        model: the live model's endpoint, where neither suite nor flag says: keys as a suite's ``[model]`` has them.
        prices: of models, in dollars a million tokens.
        on_miss: how calls that a case holds no answer for are answered, by tool pattern.
        policies: the sanitizer's rules: the project's first, then those for some sources or tags on top of it.
        ner: recognisers that look for names by a model as well: spacy, presidio, jieba.
        evidence: whether and how raw traces are kept.
        actor: who acts, where a command does not say.
        world: what replays' frozen world is like.
        affected: files that say what agents are told today.
        urls: where tools can be called over HTTP, see `app.live_places`.
        mcp: servers of tools, likewise.
    """

    root: Path = Path()
    cases: Path = Path("cases")
    suites: Path = Path("suites")
    reports: Path = Path("reports")
    target: str = ""
    owner: str = ""
    key_file: Path | None = None
    pseudonym_key: str = ""
    effects: tuple[tuple[str, Effect], ...] = ()
    model: Mapping[str, Any] = field(default_factory=dict)
    prices: tuple[Price, ...] = ()
    on_miss: tuple[MissRule, ...] = ()
    policies: tuple[PolicyRule, ...] = ()
    ner: tuple[str, ...] = ()
    evidence: EvidenceSettings = EvidenceSettings()
    actor: str = ""
    world: WorldOptions = PLAIN_WORLD
    affected: Sources = NO_SOURCES
    urls: tuple[HttpPlace, ...] = ()
    mcp: tuple[McpPlace, ...] = ()
    source: str = _DEFAULTS

    def effect_of(self, tool: str) -> Effect | None:
        """The configured effect of a tool, if any."""
        return effect_by_pattern(tool, self.effects)


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
    cases: str = _CASES
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


def load_settings(root: Path, environment: Mapping[str, str]) -> Settings:
    """The settings of the project at `root`.

    Raises:
        ConfigError: a file is no TOML, a key or an ``EVALKIT_`` variable is unknown, a value is of the wrong kind.
    """
    body, source = _read(root)
    unknown = {name for name in environment if name.startswith("EVALKIT_")} - _VARIABLES - _OTHER_VARIABLES
    if unknown:
        known = ", ".join(sorted(_VARIABLES | _OTHER_VARIABLES))
        raise ConfigError(f"unknown variable {', '.join(sorted(unknown))}", "environment", f"known are: {known}")
    for name in _FOLDERS_AND_WORDS:
        if environment.get(f"EVALKIT_{name.upper()}"):
            body[name] = environment[f"EVALKIT_{name.upper()}"]
    return settings_of(body, source, root, environment)


def settings_of(body: Mapping[str, Any], source: str, root: Path, environment: Mapping[str, str]) -> Settings:
    """The settings that a table says, and variables that are no keys of it.

    Args:
        source: where the table stands.

    Raises:
        ConfigError: a key is unknown, or a value of the wrong kind.
    """
    try:
        # without a file nothing needs to be checked: making the checks takes longer than many a command
        file = _File.model_validate(body) if source != _DEFAULTS else _File.model_construct(**body)
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


def settings_here(environment: Mapping[str, str]) -> Settings:
    """The settings of the project that the current folder is in; its paths are told from the current folder.

    Raises:
        ConfigError: see `load_settings`.
    """
    here, root = Path.cwd(), project_here()
    return load_settings(Path() if root == here else Path(os.path.relpath(root, here)), environment)


def cases_named(table: Mapping[str, Any]) -> str:
    """The folder of cases as a project's table has it, see `project_table`; the usual one where it does not say."""
    return str(table.get("cases", _CASES))


def project_table(text_of: Callable[[str], str | None]) -> Mapping[str, Any]:
    """What a project's files say, unchecked; nothing where they don't, or can't be read.

    Args:
        text_of: the content of a file of the project's folder, by its name; None where there is none.
    """
    for name in (SETTINGS_NAME, SHARED_NAME):
        text = text_of(name)
        if text is None:
            continue
        try:
            body = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            break
        own = body if name == SETTINGS_NAME else _of_shared(body)
        if isinstance(own, dict):
            return own
    return {}


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


def _matches(source: str, pattern: str) -> bool:
    """Whether a path matches a pattern: ``**`` crosses folders, ``*`` doesn't."""
    text = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.fullmatch(text, source.removeprefix("./").replace("\\", "/")) is not None


def _read(root: Path) -> tuple[dict[str, Any], str]:
    own, shared = root / SETTINGS_NAME, root / SHARED_NAME
    if own.exists():
        return _toml(own), str(own)
    if shared.exists():
        found = _of_shared(_toml(shared))
        if found is not None and not isinstance(found, dict):
            raise ConfigError("tool.evalkit is no table", str(shared), "write [tool.evalkit], and the keys below it")
        if found is not None:
            return found, f"{shared} [tool.evalkit]"
    return {}, _DEFAULTS


def _of_shared(body: Mapping[str, Any]) -> Any:
    """What a file that tools share says of evalkit; None for nothing."""
    tool = body.get("tool")
    return tool.get("evalkit") if isinstance(tool, dict) else None


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"not TOML: {error}", str(path), "correct the file") from None
