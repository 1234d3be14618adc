"""Which project a folder belongs to: the nearest one, at it or above it, that has settings."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["SETTINGS_NAME", "SHARED_NAME", "from_here", "from_root", "has_settings", "project_here", "project_root"]

SETTINGS_NAME = "evalkit.toml"
SHARED_NAME = "pyproject.toml"


def project_root(folder: Path) -> Path | None:
    """The folder of the settings that hold for `folder`; None where no settings do.

    They are looked for up to the top of the repository, so that no file outside of it changes what is run.
    """
    place = folder.resolve()
    for one in (place, *place.parents):
        if has_settings(one):
            return one
        if os.path.exists(one / ".git"):
            return None
    return None


def project_here() -> Path:
    """The folder of the project that the current one is in; the current one where there is no project."""
    here = Path.cwd()
    return project_root(here) or here


def has_settings(folder: Path) -> bool:
    """Whether a folder's files hold settings, be they right or wrong."""
    if os.path.exists(folder / SETTINGS_NAME):
        return True
    try:
        return "[tool.evalkit" in (folder / SHARED_NAME).read_text("utf-8", "replace")
    except OSError:
        return False


def from_root(path: str) -> str:
    """A path as it is told from the project's folder, given as it is told from the current one."""
    root = _root_above(path)
    return path if root is None else os.path.relpath(path, root)


def from_here(path: str) -> str:
    """A path as it is told from the current folder, given as it is told from the project's."""
    root = _root_above(path)
    return path if root is None else os.path.relpath(root / path)


def _root_above(path: str) -> Path | None:
    """The project's folder where that makes a difference: above the current one, and for a relative path."""
    if not path or os.path.isabs(path):
        return None
    here = Path.cwd()
    root = project_root(here)
    return None if root == here else root
