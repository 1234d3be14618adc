"""The working copy: an agent's project without what is nobody's business (keys, settings of the shell, old reports).

Landlock can't deny a file inside of a folder that it allows, so the project's own folder is never allowed.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["enter_copy", "stage"]

_LARGEST = 50 << 20
_SECRET_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".age", ".keystore")
_MANIFEST = "run.json"
_OF_A_RUN = ("journal.jsonl", "samples.parquet")
"""What evalkit keeps of a run, beside its manifest: of many runs there is far more than of an agent's code."""
_LEFT_OUT = frozenset({"node_modules", "__pypackages__", "dist", "build"})


def stage(project: Path, copy: Path, without: Iterable[Path] = ()) -> list[str]:
    """Copies a project to `copy`; gives what was left out, as paths within it.

    Left out are hidden files and folders, virtual environments, evalkit's runs, keys by their names, files of more than
    50 MB, what is neither file nor folder (links too), what may not be read, and `without`.
    """
    left: list[str] = []
    others = {Path(os.path.abspath(path)) for path in (*without, copy)}
    for folder, names, files in os.walk(project):
        here = Path(folder)
        target = copy / here.relative_to(project)
        target.mkdir(parents=True, exist_ok=True)
        kept = [name for name in names if _is_source(here / name) and (here / name).absolute() not in others]
        left += [str((here / name).relative_to(project)) for name in names if name not in kept]
        names[:] = kept
        for name in files:
            if not _copied(here / name, target / name):
                left.append(str((here / name).relative_to(project)))
    return sorted(left)


def _copied(path: Path, target: Path) -> bool:
    if _hidden_or_secret(path.name) or path.is_symlink():
        return False
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return False
        shutil.copyfile(path, target)
        shutil.copystat(path, target)  # so that compiled modules are still fresh
    except (FileNotFoundError, PermissionError):  # it was removed meanwhile, or an agent could not read it either
        return False
    return True


def enter_copy(project: Path, copy: Path) -> None:
    """Makes imports that led into the project lead into its copy."""
    root = str(project.absolute())
    here = [str(copy / os.path.relpath(entry or root, root)) for entry in sys.path if _within(entry or root, root)]
    sys.path[:] = [*here, *(entry for entry in sys.path if not _within(entry or root, root))]


def _within(entry: str, root: str) -> bool:
    return entry == root or entry.startswith(root + os.sep)


def _is_source(folder: Path) -> bool:
    name = folder.name
    if name.startswith(".") or name in _LEFT_OUT or folder.is_symlink() or (folder / "pyvenv.cfg").exists():
        return False
    return not (folder / _MANIFEST).exists() or not any((folder / kept).exists() for kept in _OF_A_RUN)


def _hidden_or_secret(name: str) -> bool:
    return name.startswith(".") or name.endswith(_SECRET_ENDINGS)
