"""What a project says once: folders, what is replayed, effects, the live model, the sanitizer's rules, evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.app.live_places import HttpPlace, McpPlace
from evalkit.playback.endpoint.prices import Price
from evalkit.playback.miss_rules import MissRule
from evalkit.playback.options import PLAIN_WORLD, WorldOptions
from evalkit.sanitize.policy import Action, Kind
from evalkit.suite.sources import NO_SOURCES, Sources
from evalkit.trace.effect import effect_by_pattern
from evalkit.trace.model import Effect
from evalkit.vault.model import RetentionClass

__all__ = ["DEFAULTS", "EvidenceSettings", "PolicyRule", "Settings"]

DEFAULTS = "defaults"
"""The source of settings that no file says."""


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
    source: str = DEFAULTS

    def effect_of(self, tool: str) -> Effect | None:
        """The configured effect of a tool, if any."""
        return effect_by_pattern(tool, self.effects)


def _matches(source: str, pattern: str) -> bool:
    """Whether a path matches a pattern: ``**`` crosses folders, ``*`` doesn't."""
    text = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.fullmatch(text, source.removeprefix("./").replace("\\", "/")) is not None
