"""`evalkit forget`: name -> find -> refuse what is on hold -> rewrite the cases -> destroy evidence and runs -> tell.

Everything is found, and every new version made and looked through, before anything is changed; the audit line comes
next. What a crash leaves half done is finished by the same command: it finds again what is still there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit.app.environment import now_utc
from evalkit.app.evidence import evidence_folder, evidence_id, named_actor, nothing_kept, raw_hashes
from evalkit.app.forget_runs import RunFound, find_runs, name_files, remove_run
from evalkit.app.keys import library_register, policy_of, project_key
from evalkit.app.locks import update_lock
from evalkit.app.settings import Settings
from evalkit.canonical import Json
from evalkit.case.erase import erased_case, presence_in_case
from evalkit.case.lock import read_unmerged_lock
from evalkit.case.model import Case, LifeEvent
from evalkit.case.store import iter_cases, read_with_digest, write_case
from evalkit.case.tombstone import Tombstone, add_tombstone
from evalkit.case.view import write_view
from evalkit.check.judge import judge_checks
from evalkit.errors import InputError
from evalkit.sanitize.key import key_id
from evalkit.sanitize.subject import Presence, Subject, named_words
from evalkit.vault.audit import append_audit
from evalkit.vault.index import sought
from evalkit.vault.shred import shred
from evalkit.vault.store import destroy_evidence, iter_evidence, read_evidence, subject_terms

__all__ = ["CaseFound", "Forgetting", "forget_subject"]

_SAID = "a subject was forgotten: "


@dataclass(frozen=True, slots=True)
class CaseFound:
    """One case that the subject is in.

    Attributes:
        gone: number, digest and file of the versions that go: all up to the last one that the subject is in.
        became: the version that follows them, to be written; None where the newest version is free of the subject.
        number: the version that follows.
        warnings: what a person must see to afterwards, a sentence each.
    """

    id: str
    gone: tuple[tuple[int, str, Path], ...]
    became: Case | None
    number: int
    evidence: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What forgetting a subject comes to, or would.

    Attributes:
        evidence: ids of the raw traces that are destroyed.
        cases: the cases that get a new version, or lose old ones.
        runs: what is removed under the reports folder.
        maybe: what holds only a part of the subject's name, and is left: ``case refund-twice``.
        strange: what was made with another project key, and can't be searched by this one.
        left: files that name the subject and are a person's to change.
        absent: that no evidence was searched, though a folder is named; empty where there was some.
        audit: hash of the audit line; empty in a dry run, or without an evidence folder.
    """

    evidence: tuple[str, ...]
    cases: tuple[CaseFound, ...]
    runs: tuple[RunFound, ...]
    maybe: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    absent: str = ""
    audit: str = ""
    done: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing of the subject was found."""
        return not (self.evidence or self.cases or self.runs)


def forget_subject(
    subjects: Sequence[str],
    settings: Settings,
    *,
    actor: str,
    reason: str,
    identities: Sequence[Any] = (),
    dry_run: bool = False,
) -> Forgetting:
    """Removes a person, account or number from evidence, cases and runs.

    Args:
        subjects: names, e-mails, numbers, ids, all of the same subject.
        identities: of `vault.sealing.parse_identities`; with them the raw traces are read too, and not only their
            index.

    Raises:
        ConfigError: there is no project key.
        InputError: a subject is none, actor or reason is missing or names the subject, or evidence is on legal hold.
        IntegrityError: a case or a piece of evidence is broken; nothing was changed.
        SanitizationFailed: the subject would still be in a new version; nothing was changed.
    """
    who = named_actor(actor, reason, settings)
    subject = Subject.named(
        subjects, policy_of(settings), project_key(settings, make=False), library_register(settings)
    )
    _refuse_named(subject, subjects, who, reason)
    event_reason = _SAID + reason
    found = _find(subject, subjects, settings, who, event_reason, identities)
    folder = _folder(settings)
    _refuse_held(found, folder)
    if dry_run:
        return found
    locked = read_unmerged_lock(settings.cases) if found.cases else []
    audit = "" if folder is None else _audit(folder, "forget", who, reason, found)
    for case in found.cases:
        _rewrite(case, settings.cases, Tombstone(now_utc(), who, reason, (), case.number, audit))
    if found.cases:
        update_lock(settings.cases, locked)
    for run in found.runs:
        remove_run(run, actor=who, reason=reason, at=now_utc())
    if folder is not None:
        for one in found.evidence:
            destroy_evidence(folder, one, actor=who, reason=event_reason, at=now_utc())
        audit = _audit(folder, "forgotten", who, reason, found)
    return replace(found, audit=audit, done=True)


def _find(
    subject: Subject, names: Sequence[str], settings: Settings, actor: str, reason: str, identities: Sequence[Any]
) -> Forgetting:
    cases: list[CaseFound] = []
    maybe: list[str] = []
    strange: list[str] = []
    own = key_id(project_key(settings))
    for case_id, versions in iter_cases(settings.cases):
        read = [(number, path, *read_with_digest(path)) for number, path in versions]
        presences = [presence_in_case(case, subject) for _, _, case, _ in read]
        if "whole" in presences:
            cases.append(_case_found(case_id, read, presences, subject, actor, reason))
        elif "part" in presences:
            maybe.append(f"case {case_id}")
        if any(case.trace.record.key_id != own for _, _, case, _ in read):
            strange.append(f"case {case_id}")
    evidence, maybe_evidence, strange_evidence = _find_evidence(subject, cases, settings, own, identities)
    return Forgetting(
        evidence,
        tuple(cases),
        tuple(find_runs(settings.reports, subject)),
        (*maybe, *maybe_evidence),
        (*strange, *strange_evidence),
        tuple(name_files(settings, subject, names)),
        "" if settings.evidence.folder is None else nothing_kept(settings),
    )


def _case_found(
    case_id: str,
    read: list[tuple[int, Path, Case, str]],
    presences: list[Presence],
    subject: Subject,
    actor: str,
    reason: str,
) -> CaseFound:
    last = max(at for at, presence in enumerate(presences) if presence == "whole")
    gone = tuple((number, digest, path) for number, path, _, digest in read[: last + 1])
    raw = [
        one for _, _, case, _ in read for one in (case.trace.record.raw_hash, *raw_hashes(case.source.get("earlier")))
    ]
    evidence = tuple(dict.fromkeys(map(evidence_id, raw)))
    if last + 1 < len(read):
        return CaseFound(case_id, gone, None, read[last + 1][0], evidence)
    _, _, newest, digest = read[-1]
    made = erased_case(newest, digest, subject, LifeEvent(newest.state, actor, reason, now_utc()))
    return CaseFound(case_id, gone, made, made.version, evidence, tuple(_warnings(newest, made, subject)))


def _warnings(before: Case, after: Case, subject: Subject) -> Iterator[str]:
    if subject.presence((after.id,)) != "none":
        yield "its id names the subject: make the case again under another id"
    if not any(result.gating and not result.passed for result in judge_checks(after.checks, after.incident)):
        yield f"no gating check fails on its incident any more: evalkit edit {after.id} --checks FILE"
    if {check.id for check in before.gating} != {check.id for check in after.gating}:
        yield "its checks named the subject and changed: set the baselines that count it again"


def _find_evidence(
    subject: Subject, cases: Iterable[CaseFound], settings: Settings, own: str, identities: Sequence[Any]
) -> tuple[tuple[str, ...], list[str], list[str]]:
    folder = _folder(settings)
    if folder is None:
        return (), [], []
    wanted = sought(subject.claims, project_key(settings))
    kept = {one.id: one for one in iter_evidence(folder)}
    presences = {name: wanted.presence(terms) for name, terms in subject_terms(folder)}
    for case in cases:
        presences |= {name: "whole" for name in case.evidence if name in kept}
    for name, one in kept.items() if identities else ():
        if presences.get(name) != "whole":
            raw = read_evidence(folder, one, identities).decode("utf-8", "replace")
            presences[name] = "whole" if subject.presence((raw,)) == "whole" else presences.get(name, "none")
    return (
        tuple(sorted(name for name, presence in presences.items() if presence == "whole")),
        [f"evidence {name}" for name, presence in presences.items() if presence == "part"],
        [f"evidence {name}" for name, one in kept.items() if one.key_id != own],
    )


def _rewrite(found: CaseFound, cases: Path, tombstone: Tombstone) -> None:
    """The new version first, then the tombstone, then the old versions go: no moment without a gate."""
    if found.became is not None:
        write_case(found.became, cases)
    versions = tuple((number, digest) for number, digest, _ in found.gone)
    add_tombstone(cases / found.id, replace(tombstone, versions=versions))
    if found.became is not None:
        write_view(found.became, cases)
    for _, _, path in found.gone:
        shred(path)


def _refuse_held(found: Forgetting, folder: Path | None) -> None:
    if folder is None:
        return
    for one in iter_evidence(folder):
        if one.hold is not None and one.id in found.evidence:
            raise InputError(
                f"on legal hold since {one.hold.at}, by {one.hold.actor}: {one.hold.reason}; nothing was changed",
                f"evidence {one.id}",
                f"evalkit evidence release {one.id} --reason WHY, once the hold may end",
            )


def _refuse_named(subject: Subject, names: Sequence[str], actor: str, reason: str) -> None:
    """Actor and reason stay in tombstones and audit log."""
    words = {word for claim in subject.claims if claim.kind == "name" for word in named_words(claim)}
    for label, text in (("actor", actor), ("reason", reason)):
        low = text.casefold()
        said = any(name.strip().casefold() in low for name in names) or any(word in low.split() for word in words)
        if said or subject.presence((text,)) != "none":
            raise InputError(
                f"the {label} names the subject, and would be kept",
                "",
                f"pass a --{label} that does not, such as a ticket",
            )


def _folder(settings: Settings) -> Path | None:
    return None if settings.evidence.folder is None else evidence_folder(settings)


def _audit(folder: Path, action: str, actor: str, reason: str, found: Forgetting) -> str:
    facts: dict[str, Json] = {
        "evidence": [*found.evidence],
        "cases": [case.id for case in found.cases],
        "runs": [run.path.name for run in found.runs],
    }
    return append_audit(folder, action, actor=actor, reason=reason, at=now_utc(), facts=facts)
