"""Where and when a run took place, for its manifest."""

from __future__ import annotations

import getpass
import hashlib
import secrets
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evalkit.app.settings import Settings
from evalkit.canonical import Json
from evalkit.capture import environment as process
from evalkit.capture.working_tree import patch_now

__all__ = ["acting", "environment", "fresh_run_id", "now_utc"]

_OWN = ("**/*.history.jsonl", "**/*.baseline.parquet")
"""Files that runs and blessings write, and that no agent reads: they make no tree another one than its commit."""
_PACKAGES = ("openai", "pyarrow", "pydantic", "pytest-xdist", "time-machine")


def environment(root: Path) -> dict[str, Json]:
    """What a trace's header says of its process, the versions of what a run leans on, and what the tree was changed by.

    That is ``git_dirty``, and ``git_patch``: hex SHA-256 of what tracked files differ by from the commit. Both are None
    where git could not tell.
    """
    found = process.environment(root)
    found["versions"] = {name: text for name in _PACKAGES if (text := _version(name))}
    if found["git_commit"]:
        patch = patch_now(root, _OWN)
        found["git_dirty"] = None if patch is None else bool(patch)
        found["git_patch"] = hashlib.sha256(patch).hexdigest() if patch else None if patch is None else ""
    return found


def now_utc() -> str:
    """The time as ISO 8601 UTC with seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def fresh_run_id(name: str) -> str:
    """An id for a run of what has that name; ids sort by time."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{name}-{secrets.token_hex(2)}"


def acting(named: str, settings: Settings) -> str:
    """Who acts: whom the command names, else ``EVALKIT_ACTOR``, else the system's user; empty when nobody is known."""
    if named or settings.actor:
        return named or settings.actor
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user without a name
        return ""


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
