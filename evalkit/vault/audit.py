"""The audit log of an evidence folder, ``audit.jsonl``: one line an act, chained by hashes, only ever appended to.

A line is ``{"seq", "at", "action", "actor", "reason", ..., "prev", "hash"}``; `hash` is the hex SHA-256 over the text
of the line before ``,"hash"``, `prev` the line before's hash. A line that is changed, moved or taken out of the middle
is seen; lines that are cut off the end are not, which is why a hash also stands in what `evalkit forget` prints and in
the tombstones. No line names a subject.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from evalkit.canonical import Json, exact_text, parse_exact
from evalkit.errors import IntegrityError

__all__ = ["AUDIT_NAME", "append_audit", "read_audit"]

AUDIT_NAME = "audit.jsonl"
_HASH_BYTES = len(',"hash":""}\n') + 64


def append_audit(
    folder: Path, action: str, *, actor: str, reason: str, at: str, facts: Mapping[str, Json] | None = None
) -> str:
    """Adds a line and gives its hash; the line is on the disk before this returns.

    Raises:
        IntegrityError: the last line is torn or not of the log's form.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(folder / AUDIT_NAME, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+b") as file:
        _lock(file)
        last = _last_line(file, str(folder / AUDIT_NAME))
        body: dict[str, Json] = {
            "seq": 0 if last is None else last["seq"] + 1,
            "at": at,
            "action": action,
            "actor": actor,
            "reason": reason,
            **(facts or {}),
            "prev": "" if last is None else last["hash"],
        }
        text = exact_text(body)[:-1]
        link = hashlib.sha256(text).hexdigest()
        file.seek(0, os.SEEK_END)
        file.write(text + f',"hash":"{link}"}}\n'.encode())
        file.flush()
        os.fsync(file.fileno())
    return link


def read_audit(folder: Path) -> list[dict[str, Any]]:
    """All lines, checked; none where nothing was ever kept.

    Raises:
        IntegrityError: a line was changed, moved or taken out.
    """
    path = folder / AUDIT_NAME
    if not path.exists():
        return []
    found: list[dict[str, Any]] = []
    previous = ""
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True)):
        body = _checked(line, f"{path}:{number + 1}")
        if body["seq"] != number or body["prev"] != previous:
            raise _broken(f"{path}:{number + 1}")
        previous = body["hash"]
        found.append(body)
    return found


def _last_line(file: BinaryIO, where: str) -> dict[str, Any] | None:
    size = file.seek(0, os.SEEK_END)
    if not size:
        return None
    block = 4096
    while True:
        file.seek(max(0, size - block))
        tail = file.read(block)
        lines = tail.splitlines(keepends=True)
        if len(lines) > 1 or block >= size:
            return _checked(lines[-1], f"{where}, last line")
        block *= 2


def _checked(line: bytes, where: str) -> dict[str, Any]:
    try:
        body = parse_exact(line)
        link = body["hash"]
        whole = hashlib.sha256(line[:-_HASH_BYTES]).hexdigest() == link and line.endswith(b"\n")
        if not whole or type(body["seq"]) is not int or not isinstance(body["prev"], str):
            raise _broken(where)
    except (KeyError, TypeError, ValueError):
        raise _broken(where) from None
    return dict(body)


def _broken(where: str) -> IntegrityError:
    return IntegrityError(
        "the audit log was changed after writing, or its line is torn", where, "restore it from a copy, and ask why"
    )


def _lock(file: BinaryIO) -> None:
    """One writer at a time, where the system has such locks; released when the file is closed."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.lockf(file, fcntl.LOCK_EX)
