"""Where a run took place, for its manifest: interpreter, packages, system, commit."""

from __future__ import annotations

import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["environment", "git", "now_utc"]

_PACKAGES = ("evalkit", "openai", "pyarrow", "pydantic", "pytest-xdist")


def environment(root: Path) -> dict[str, Any]:
    """The facts as JSON; what can't be found out is absent."""
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: text for name in _PACKAGES if (text := _version(name))},
    }
    commit = git(root, "rev-parse", "HEAD")
    if commit:
        found["commit"] = commit
        found["dirty"] = bool(git(root, "status", "--porcelain", "--untracked-files=no"))
    return found


def git(root: Path, *arguments: str) -> str | None:
    """What git prints, stripped; None where git, the repository or the object is missing."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def now_utc() -> str:
    """The time as ISO 8601 UTC with seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
