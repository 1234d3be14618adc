"""What is left where a subject was forgotten: ``cases/<id>/forgotten.json``, one entry an act.

An entry says which versions went, with their digests, and which version took their place, so that `evalkit check` can
tell an explained gap from a lost file, and a lock or a history that names an old digest still makes sense. It never
says who was forgotten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalkit.case.pointer import refuse_pointer
from evalkit.errors import IntegrityError

__all__ = ["TOMBSTONE_NAME", "Tombstone", "add_tombstone", "gone_versions", "read_tombstones"]

TOMBSTONE_NAME = "forgotten.json"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """One act of forgetting in one case.

    Attributes:
        versions: number and digest of the versions that went.
        became: the version that follows them.
        audit: hash of the evidence folder's audit line; empty where there is no such folder.
    """

    at: str
    actor: str
    reason: str
    versions: tuple[tuple[int, str], ...]
    became: int
    audit: str = ""


def add_tombstone(folder: Path, tombstone: Tombstone) -> Path:
    """Adds an entry to a case's tombstone; the file is replaced at once."""
    path = folder / TOMBSTONE_NAME
    body = [asdict(one) for one in (*read_tombstones(folder), tombstone)]
    temporary = path.with_name(f".{path.name}.writing")
    temporary.write_text(json.dumps({"format": 1, "forgotten": body}, ensure_ascii=False, indent=1) + "\n", "utf-8")
    os.replace(temporary, path)
    return path


def read_tombstones(folder: Path) -> list[Tombstone]:
    """The entries of a case's tombstone, oldest first.

    Raises:
        InputError: Git LFS has it, and did not fetch it.
        IntegrityError: the file is not of its form.
    """
    path = folder / TOMBSTONE_NAME
    if not path.exists():
        return []
    try:
        return [_entry(body) for body in json.loads(path.read_text("utf-8"))["forgotten"]]
    except (KeyError, TypeError, ValueError):
        refuse_pointer(path)
        raise IntegrityError("not a tombstone", str(path), "restore the file from version control") from None


def gone_versions(tombstones: Iterable[Tombstone]) -> dict[int, str]:
    """Number and digest of every version that the tombstones account for."""
    return {number: digest for one in tombstones for number, digest in one.versions}


def _entry(body: dict[str, Any]) -> Tombstone:
    versions = tuple((int(number), str(digest)) for number, digest in body["versions"])
    at, actor, reason, audit = (str(body[name]) for name in ("at", "actor", "reason", "audit"))
    return Tombstone(at, actor, reason, versions, int(body["became"]), audit)
