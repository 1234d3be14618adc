"""Raw evidence on disk, apart from the repository.

``<folder>/audit.jsonl`` and for each trace ``<folder>/traces/<id>/``:

- ``about.json``: id, time, size, policy version, key id. Authenticated with the ciphertext, so it can't be exchanged.
- ``data.bin``: nonce and ciphertext of the native trace.
- ``key.age``: the data key, wrapped to the recipients.
- ``subjects.json``: the index terms of everybody in it (see `index`).
- ``retention.json``: class and hold.
- ``destroyed.json``: all that is left once it was destroyed.

A piece of evidence appears whole (a folder is renamed) and is destroyed key first, so that what a crash leaves behind
can't be read.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.canonical import canonical
from evalkit.errors import InputError, IntegrityError
from evalkit.vault.model import CLASSES, Destroyed, Evidence, Hold, RetentionClass
from evalkit.vault.sealing import Sealed, open_sealed, seal
from evalkit.vault.shred import shred

__all__ = [
    "destroy_evidence",
    "ever_kept",
    "find_evidence",
    "iter_destroyed",
    "iter_evidence",
    "keep_evidence",
    "read_evidence",
    "subject_terms",
    "without_key",
    "write_retention",
]

FORMAT = 1
_ABOUT, _DATA, _KEY, _SUBJECTS, _RETENTION, _DESTROYED = (
    "about.json", "data.bin", "key.age", "subjects.json", "retention.json", "destroyed.json",
)  # fmt: skip
_TRACES = "traces"
_SHREDDED = (_KEY, _DATA, _SUBJECTS, _RETENTION, _ABOUT)
"""In this order: without the key the rest is noise, and the terms go before what says whose they are."""
_ID = re.compile(r"[0-9a-f]{16}")


def keep_evidence(
    folder: Path, evidence: Evidence, plain: bytes, terms: frozenset[str], recipients: Sequence[str]
) -> bool:
    """Encrypts a raw trace and keeps it; False where it is kept already, or was destroyed before.

    Raises:
        ConfigError, InputError, MissingExtra: as `sealing.seal`.
    """
    target = _place(folder, evidence.id)
    if target.exists():
        return False
    about = _about_bytes(evidence)
    sealed = seal(plain, recipients, about)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = target.parent / f".writing-{secrets.token_hex(8)}"
    fresh.mkdir(mode=0o700)
    try:
        for name, data in (
            (_ABOUT, about),
            (_DATA, sealed.data),
            (_KEY, sealed.wrapped_key),
            (_SUBJECTS, json.dumps(sorted(terms)).encode()),
            (_RETENTION, _retention_bytes(evidence.retention, evidence.hold)),
        ):
            _write(fresh / name, data)
        os.rename(fresh, target)
    except OSError:
        if target.exists():  # another process kept the same trace meanwhile
            return False
        raise
    finally:
        if fresh.exists():
            for path in fresh.iterdir():
                path.unlink()
            fresh.rmdir()
    return True


def ever_kept(folder: Path) -> bool:
    """Whether anything was kept in there, be it destroyed by now."""
    return (folder / _TRACES).is_dir()


def iter_evidence(folder: Path) -> Iterator[Evidence]:
    """What is kept, by id.

    Raises:
        IntegrityError: a file is missing or not of its form.
    """
    for path in _folders(folder):
        if not (path / _DESTROYED).exists() and (path / _KEY).exists():
            yield _evidence(path)


def iter_destroyed(folder: Path) -> Iterator[Destroyed]:
    """What was destroyed, by id."""
    for path in _folders(folder):
        if (path / _DESTROYED).exists():
            body = _json(path / _DESTROYED)
            yield Destroyed(path.name, *(str(body.get(name, "")) for name in ("at", "actor", "reason")))


def without_key(folder: Path) -> list[str]:
    """The ids of what nobody can read any more though no note says that it was destroyed."""
    return [path.name for path in _folders(folder) if not ((path / _DESTROYED).exists() or (path / _KEY).exists())]


def find_evidence(folder: Path, evidence_id: str) -> Evidence:
    """One piece of evidence, by its id or the start of it.

    Raises:
        InputError: there is none, several start so, or it was destroyed.
        IntegrityError: its key is gone, or a file is not of its form.
    """
    found = [path for path in _folders(folder) if path.name.startswith(evidence_id)] if evidence_id else []
    if len(found) != 1:
        many = "several pieces of evidence start with" if found else "no evidence"
        raise InputError(f"{many} {evidence_id!r}", str(folder), "evalkit evidence list")
    gone = next((one for one in iter_destroyed(folder) if one.id == found[0].name), None)
    if gone is not None:
        why = f" on {gone.at}: {gone.reason}"
        raise InputError(f"evidence {found[0].name} was destroyed{why}", str(folder), "evalkit evidence list")
    if not (found[0] / _KEY).exists():
        raise IntegrityError(
            "its wrapped key is gone, and no note says that it was destroyed: the file was lost, or destroying it was "
            "interrupted",
            str(found[0]),
            "restore the evidence folder from a copy, or finish what destroyed it",
        )
    return _evidence(found[0])


def read_evidence(folder: Path, evidence: Evidence, identities: Sequence[Any]) -> bytes:
    """The raw native trace.

    Raises:
        InputError: none of the identities is a recipient.
        IntegrityError: it was changed after writing.
    """
    path = _place(folder, evidence.id)
    sealed = Sealed(_bytes(path / _DATA), _bytes(path / _KEY))
    return open_sealed(sealed, identities, _bytes(path / _ABOUT), f"evidence {evidence.id}")


def subject_terms(folder: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """The index: for each id the terms of everybody in it; of what a crash left half destroyed, too."""
    for path in _folders(folder):
        if (path / _SUBJECTS).exists():
            terms = _json(path / _SUBJECTS)
            if not isinstance(terms, list):
                raise _broken(path / _SUBJECTS)
            yield path.name, frozenset(map(str, terms))


def write_retention(folder: Path, evidence: Evidence, retention: RetentionClass, hold: Hold | None) -> None:
    """Gives a piece of evidence another class, or a hold, or takes the hold away."""
    path = _place(folder, evidence.id) / _RETENTION
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    _write(temporary, _retention_bytes(retention, hold))
    os.replace(temporary, path)


def destroy_evidence(folder: Path, evidence_id: str, *, actor: str, reason: str, at: str) -> None:
    """Destroys a piece of evidence: key, ciphertext and index terms; a tombstone stays. May be done again."""
    path = _place(folder, evidence_id)
    for name in _SHREDDED:
        shred(path / name)
    if not (path / _DESTROYED).exists():
        body = {"format": FORMAT, "id": evidence_id, "at": at, "actor": actor, "reason": reason}
        _write(path / _DESTROYED, json.dumps(body, ensure_ascii=False).encode())


def _place(folder: Path, evidence_id: str) -> Path:
    if not _ID.fullmatch(evidence_id):
        raise InputError(f"{evidence_id[:40]!r} is no id of evidence", cure="evalkit evidence list")
    return folder / _TRACES / evidence_id


def _folders(folder: Path) -> list[Path]:
    root = folder / _TRACES
    return sorted(path for path in root.iterdir() if _ID.fullmatch(path.name)) if root.is_dir() else []


def _about_bytes(evidence: Evidence) -> bytes:
    return canonical(
        {
            "format": FORMAT,
            "id": evidence.id,
            "kept_at": evidence.kept_at,
            "size_bytes": evidence.size_bytes,
            "policy_version": evidence.policy_version,
            "key_id": evidence.key_id,
        }
    )


def _retention_bytes(retention: RetentionClass, hold: Hold | None) -> bytes:
    return canonical({"class": retention, "hold": None if hold is None else hold.as_json()})


def _evidence(path: Path) -> Evidence:
    about, kept = _json(path / _ABOUT), _json(path / _RETENTION)
    try:
        if about["id"] != path.name or about["format"] != FORMAT or kept["class"] not in CLASSES:
            raise _broken(path)
        return Evidence(
            id=path.name,
            kept_at=str(about["kept_at"]),
            retention=kept["class"],
            hold=None if kept["hold"] is None else Hold.from_json(kept["hold"]),
            size_bytes=int(about["size_bytes"]),
            policy_version=str(about["policy_version"]),
            key_id=str(about["key_id"]),
        )
    except (KeyError, TypeError, ValueError):
        raise _broken(path) from None


def _json(path: Path) -> Any:
    try:
        found: Mapping[str, Any] | list[Any] = json.loads(_bytes(path))
    except ValueError:
        raise _broken(path) from None
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise _broken(path) from None


def _broken(path: Path) -> IntegrityError:
    return IntegrityError(
        "a file of the evidence is missing or broken", str(path), "restore the evidence folder from a copy"
    )


def _write(path: Path, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
