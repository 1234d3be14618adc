"""What sanitization yields: a trace that only a sanitizer can make, and the record of what was done.

The case store accepts nothing but a `SanitizedTrace`, so that no raw trace can be written by mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import SanitizationFailed
from evalkit.sanitize.register import NO_SURROGATES, Surrogates, merged, surrogates_from
from evalkit.trace.model import Trace

__all__ = ["SanitizationRecord", "SanitizedTrace"]

SEAL = object()
"""What a sanitizer shows to make a `SanitizedTrace`; nobody else uses it."""


@dataclass(frozen=True, slots=True)
class SanitizationRecord:
    """How a trace was sanitized. Nothing in it gives an original away.

    Attributes:
        policy_version: the policy's own name.
        rules_digest: hex SHA-256 over the policy and the built-in rules.
        key_id: names the project key without giving it away; 16 hex digits.
        raw_hash: hex HMAC-SHA-256 under the project key of the raw trace (see `digests`). Keyed, because a plain
            digest of a text with few unknowns confirms a guess.
        sanitized_hash: hex SHA-256 of the sanitized trace (see `digests`).
        counts: distinct values that were hidden, by kind.
        rules: the same by what found them: ``name key`` (by its key), ``email email`` (by the rule of that name),
            ``name in account`` (a user id gave it away).
        paths: how many texts were changed, by place: ``tool find.output.user.email``; list items are ``*``.
        unsure: surrogates of names that may be none: a person should look at them.
        surrogates: which value each surrogate stands for, by tags (see `register`); empty in files from before.
    """

    policy_version: str
    rules_digest: str
    key_id: str
    raw_hash: str
    sanitized_hash: str
    counts: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    paths: Mapping[str, int] = field(default_factory=dict)
    unsure: tuple[str, ...] = ()
    surrogates: Surrogates = field(default_factory=lambda: NO_SURROGATES)

    def as_json(self) -> dict[str, Json]:
        """The record as plain JSON."""
        return {
            "policy_version": self.policy_version,
            "rules_digest": self.rules_digest,
            "key_id": self.key_id,
            "raw_hash": self.raw_hash,
            "sanitized_hash": self.sanitized_hash,
            "counts": {kind: self.counts[kind] for kind in sorted(self.counts)},
            "rules": {rule: self.rules[rule] for rule in sorted(self.rules)},
            "paths": {path: self.paths[path] for path in sorted(self.paths)},
            "unsure": list(self.unsure),
            **({"surrogates": {kind: dict(tags) for kind, tags in self.surrogates.items()}} if self.surrogates else {}),
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> SanitizationRecord:
        """The record of `as_json`.

        Raises:
            KeyError, TypeError, ValueError: a field is missing or of the wrong kind.
        """
        return cls(
            policy_version=str(body["policy_version"]),
            rules_digest=str(body["rules_digest"]),
            key_id=str(body["key_id"]),
            raw_hash=str(body["raw_hash"]),
            sanitized_hash=str(body["sanitized_hash"]),
            counts={str(kind): int(count) for kind, count in body["counts"].items()},
            rules={str(rule): int(count) for rule, count in body.get("rules", {}).items()},
            paths={str(path): int(count) for path, count in body.get("paths", {}).items()},
            unsure=tuple(str(text) for text in body.get("unsure", ())),
            surrogates=surrogates_from(body.get("surrogates", {})),
        )


@dataclass(frozen=True, slots=True)
class SanitizedTrace:
    """A trace that went through `Sanitizer.sanitize`, and how.

    Raises:
        SanitizationFailed: anyone but a sanitizer makes one.
    """

    trace: Trace
    record: SanitizationRecord
    seal: InitVar[object] = None

    def __post_init__(self, seal: object) -> None:
        if seal is not SEAL:
            raise SanitizationFailed(
                "a trace that no sanitizer has seen was passed off as sanitized",
                f"trace {self.trace.dialect}",
                "use Sanitizer.sanitize",
            )

    def knowing(self, *surrogates: Surrogates) -> SanitizedTrace:
        """The same with further surrogates in its record."""
        return replace(
            self, record=replace(self.record, surrogates=merged(self.record.surrogates, *surrogates)), seal=SEAL
        )

    @classmethod
    def admitted(cls, trace: Trace, record: SanitizationRecord) -> SanitizedTrace:
        """A trace that is read back from a case file that evalkit wrote.

        Who may call it: the code that reads case files, after it has checked the file's digests; and code that leaves
        out steps of a `SanitizedTrace`, with that trace's own record. Nobody else: here a raw trace would get past.
        """
        return cls(trace, record, SEAL)
