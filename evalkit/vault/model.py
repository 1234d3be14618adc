"""What is said of one piece of evidence: when it was kept, for how long, and whether it is on hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from evalkit.canonical import Json

__all__ = ["CLASSES", "Destroyed", "Evidence", "Hold", "RetentionClass"]

RetentionClass: TypeAlias = Literal["short", "standard", "legal-hold"]

CLASSES: tuple[RetentionClass, ...] = get_args(RetentionClass)


@dataclass(frozen=True, slots=True)
class Hold:
    """Who forbade destroying a piece of evidence, why and when."""

    actor: str
    reason: str
    at: str

    def as_json(self) -> dict[str, Json]:
        """The hold as plain JSON."""
        return {"actor": self.actor, "reason": self.reason, "at": self.at}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Hold:
        """The hold of `as_json`; KeyError when a field is missing."""
        return cls(str(body["actor"]), str(body["reason"]), str(body["at"]))


@dataclass(frozen=True, slots=True)
class Evidence:
    """One raw trace that is kept, by what is known without reading it.

    Attributes:
        id: 16 hex digits: the start of the trace's keyed ``raw_hash``, which its cases hold too.
        kept_at: UTC, ISO 8601 with seconds.
        retention: how long it is kept when there is no hold: ``short`` or ``standard``.
        hold: the hold; the class is ``legal-hold`` while there is one.
        size_bytes: of the raw trace.
        policy_version: of the sanitization rules that its cases were made with.
        key_id: names the project key that the index of subjects is keyed with.
    """

    id: str
    kept_at: str
    retention: RetentionClass
    hold: Hold | None
    size_bytes: int
    policy_version: str
    key_id: str

    @property
    def effective(self) -> RetentionClass:
        """The class that counts now."""
        return self.retention if self.hold is None else "legal-hold"


@dataclass(frozen=True, slots=True)
class Destroyed:
    """What is left of a piece of evidence that was destroyed."""

    id: str
    at: str
    actor: str
    reason: str
