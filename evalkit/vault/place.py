"""Where evidence may lie: outside of every git work tree, unless git ignores the place."""

from __future__ import annotations

import subprocess
from pathlib import Path

from evalkit.errors import ConfigError

__all__ = ["check_place"]


def check_place(folder: Path) -> Path:
    """The folder, resolved.

    Raises:
        ConfigError: git would commit what lies in it, or might (git can't be asked), or it is no folder.
    """
    place = folder.expanduser().resolve()
    if place.exists() and not place.is_dir():
        raise ConfigError("the evidence folder is a file", str(place), "name a folder")
    for parent in (place, *place.parents):
        if (parent / ".git").exists() and not _ignored(place, parent):
            raise ConfigError(
                "the evidence folder lies inside of a git work tree, and git does not ignore it",
                str(place),
                f"name a folder outside of {parent}, or add it to {parent / '.gitignore'}",
            )
    return place


def _ignored(place: Path, tree: Path) -> bool:
    """Whether git ignores what lies in the folder; a file is asked for, since ``evidence/`` means folders only."""
    try:
        asked = subprocess.run(
            ["git", "check-ignore", "--quiet", "--", str(place / "audit.jsonl")],
            cwd=tree, capture_output=True, timeout=30, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0
