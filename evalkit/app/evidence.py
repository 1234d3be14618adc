"""`evalkit evidence`: keep, list, show, hold, release, and let go of raw traces. Every look and every act is audited.

An act is written to the audit log before it is done: what can't be audited does not happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.app.environment import acting, now_utc
from evalkit.app.keys import policy_of, project_key
from evalkit.app.settings import Settings
from evalkit.errors import ConfigError, InputError
from evalkit.sanitize.model import SanitizationRecord
from evalkit.suite.select import list_cases
from evalkit.trace.file import encode_trace
from evalkit.trace.model import Trace
from evalkit.vault.audit import append_audit, read_audit
from evalkit.vault.index import terms_of_traces
from evalkit.vault.model import Evidence, Hold, RetentionClass
from evalkit.vault.place import check_place
from evalkit.vault.retention import expired
from evalkit.vault.sealing import check_recipients, parse_identities
from evalkit.vault.store import (
    destroy_evidence,
    ever_kept,
    find_evidence,
    iter_evidence,
    keep_evidence,
    read_evidence,
    without_key,
    write_retention,
)

__all__ = [
    "Kept",
    "LetGo",
    "Listed",
    "apply_retention",
    "evidence_folder",
    "evidence_id",
    "hold_evidence",
    "keep_raw",
    "list_evidence",
    "lost_evidence",
    "named_actor",
    "nothing_kept",
    "open_evidence",
    "raw_hashes",
    "read_identities",
    "refuse_keeping",
    "release_evidence",
    "unfinished_evidence",
]

_DESTROYING = ("retention", "forget")
"""Acts of the audit log that destroy."""
_PAST = "past its retention class"


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of one raw trace: kept now, or not, because it is or was there already."""

    id: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class LetGo:
    """What is destroyed, or would be.

    Attributes:
        past: what is past its class.
        unfinished: ids of what was to be destroyed before, and is half.
    """

    past: tuple[Evidence, ...]
    unfinished: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """One piece of evidence, and the cases that were made of it."""

    evidence: Evidence
    cases: tuple[str, ...]


def evidence_folder(settings: Settings) -> Path:
    """The project's evidence folder, checked for its place.

    Raises:
        ConfigError: none is named, or git would commit what lies in it.
    """
    if settings.evidence.folder is None:
        raise ConfigError(
            "no folder for raw evidence is named",
            settings.source,
            'evalkit.toml: [evidence] folder = "/srv/evidence", recipients = ["age1..."]',
        )
    return check_place(settings.evidence.folder)


def refuse_keeping(settings: Settings) -> None:
    """Refuses early what `keep_raw` would refuse late.

    Raises:
        ConfigError: no folder, a wrong place, no recipient, or one that is none.
        MissingExtra: the packages are not installed.
    """
    evidence_folder(settings)
    check_recipients(settings.evidence.recipients)


def evidence_id(raw_hash: str) -> str:
    """The id under which a raw trace is kept."""
    return raw_hash[:16]


def raw_hashes(earlier: Any) -> list[str]:
    """The raw hashes of the incidents that a case was made of before its present one (``earlier`` of its source)."""
    return [str(one.get("raw_hash")) for one in earlier if isinstance(one, dict)] if earlier else []


def keep_raw(
    traces: Sequence[Trace], records: Sequence[SanitizationRecord], retention: RetentionClass, settings: Settings
) -> tuple[Kept, ...]:
    """Encrypts and keeps raw traces, with the records of their sanitizing.

    Raises:
        As `refuse_keeping`.
    """
    folder = evidence_folder(settings)
    terms = terms_of_traces(traces, policy_of(settings), project_key(settings))
    found = []
    for trace, record, named in zip(traces, records, terms, strict=True):
        plain = b"".join(encode_trace(trace))
        about = Evidence(
            evidence_id(record.raw_hash), now_utc(), retention, None, len(plain), record.policy_version, record.key_id
        )
        _audit(folder, "keep", acting("", settings), "ingest", [about.id])
        found.append(Kept(about.id, keep_evidence(folder, about, plain, named, settings.evidence.recipients)))
    return tuple(found)


def list_evidence(settings: Settings, *, actor: str = "") -> list[Listed]:
    """What is kept; the audit log is checked on the way.

    Raises:
        IntegrityError: a file or the audit log is broken.
    """
    folder = evidence_folder(settings)
    read_audit(folder)
    made: dict[str, list[str]] = {}
    for case in list_cases(settings.cases):
        for raw_hash in (case.raw_hash, *raw_hashes(case.earlier)):
            made.setdefault(evidence_id(raw_hash), []).append(case.id)
    found = [Listed(one, tuple(made.get(one.id, ()))) for one in iter_evidence(folder)]
    if found:
        _audit(folder, "list", acting(actor, settings), "", [])
    return found


def lost_evidence(settings: Settings) -> list[str]:
    """The ids of what can't be read any more though nobody meant to destroy it."""
    folder = evidence_folder(settings)
    meant = unfinished_evidence(folder)
    return [one for one in without_key(folder) if one not in meant]


def unfinished_evidence(folder: Path) -> dict[str, str]:
    """What was begun to be destroyed, and not ended: ids, and why, as the audit log says.

    Raises:
        IntegrityError: the audit log is broken.
    """
    half = without_key(folder)
    if not half:
        return {}
    acts = [line for line in read_audit(folder) if line["action"] in _DESTROYING]
    meant = {one: str(line["reason"]) for line in acts for one in line.get("evidence", ())}
    return {one: meant[one] for one in half if one in meant}


def nothing_kept(settings: Settings) -> str:
    """That nothing was ever kept in the named folder, as where its disk is not there; empty where something was."""
    folder = evidence_folder(settings)
    if ever_kept(folder):
        return ""
    what = "nothing was ever kept there" if folder.is_dir() else "there is no such folder"
    return f"no evidence in {folder}: {what}; if there should be some, is its disk mounted?"


def open_evidence(evidence: str, identity: Path, settings: Settings, *, actor: str = "", reason: str = "") -> bytes:
    """One raw trace, as a native trace file.

    Raises:
        InputError: there is no such evidence, or the identity may not read it.
        IntegrityError: it was changed after writing.
    """
    folder = evidence_folder(settings)
    identities = read_identities(identity)
    found = find_evidence(folder, evidence)
    _audit(folder, "show", acting(actor, settings), reason, [found.id])
    return read_evidence(folder, found, identities)


def hold_evidence(evidence: str, settings: Settings, *, actor: str, reason: str) -> Evidence:
    """Forbids destroying a piece of evidence.

    Raises:
        InputError: there is none, it is on hold already, or actor or reason is missing.
    """
    folder, who = evidence_folder(settings), named_actor(actor, reason, settings)
    found = find_evidence(folder, evidence)
    if found.hold is not None:
        raise InputError(
            f"it is on hold since {found.hold.at}, by {found.hold.actor}: {found.hold.reason}",
            f"evidence {found.id}",
            f"evalkit evidence release {found.id}",
        )
    _audit(folder, "hold", who, reason, [found.id])
    write_retention(folder, found, found.retention, Hold(who, reason, now_utc()))
    return find_evidence(folder, found.id)


def release_evidence(evidence: str, settings: Settings, *, actor: str, reason: str) -> Evidence:
    """Takes a hold away; the class from before counts again.

    Raises:
        InputError: there is no such evidence, it is not on hold, or actor or reason is missing.
    """
    folder, who = evidence_folder(settings), named_actor(actor, reason, settings)
    found = find_evidence(folder, evidence)
    if found.hold is None:
        raise InputError("it is not on hold", f"evidence {found.id}", "evalkit evidence list")
    _audit(folder, "release", who, reason, [found.id])
    write_retention(folder, found, found.retention, None)
    return find_evidence(folder, found.id)


def apply_retention(settings: Settings, *, actor: str = "", dry_run: bool = False, now: str = "") -> LetGo:
    """Destroys what is past its class, ends what was interrupted at that, and gives both; in a dry run, what would be.

    Args:
        now: the time that counts, UTC; empty for the clock's.
    """
    folder, at = evidence_folder(settings), now or now_utc()
    found, half = expired(iter_evidence(folder), dict(settings.evidence.days), at), unfinished_evidence(folder)
    let_go = LetGo(tuple(found), tuple(half))
    if dry_run or not (found or half):
        return let_go
    who = acting(actor, settings)
    _audit(folder, "retention", who, _PAST, [*half, *(one.id for one in found)])
    for one_id, reason in half.items():
        destroy_evidence(folder, one_id, actor=who, reason=reason, at=at)
    for one in found:
        destroy_evidence(folder, one.id, actor=who, reason=f"{_PAST} ({one.effective})", at=at)
    return let_go


def read_identities(path: Path) -> list[object]:
    """The age identities in a file.

    Raises:
        InputError: there is no such file, or it holds none.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError("not a readable identity file", str(path), "pass a file that age-keygen wrote") from None
    return parse_identities(text, str(path))


def named_actor(actor: str, reason: str, settings: Settings) -> str:
    """Who acts, once both actor and reason are known.

    Raises:
        InputError: one of them is missing.
    """
    who = acting(actor, settings)
    for name, value in (("actor", who), ("reason", reason)):
        if not value.strip():
            raise InputError(f"the {name} is empty", "", f"pass --{name}")
    return who


def _audit(folder: Path, action: str, actor: str, reason: str, ids: list[str]) -> str:
    return append_audit(folder, action, actor=actor, reason=reason, at=now_utc(), facts={"evidence": [*ids]})
