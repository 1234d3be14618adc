"""What a run ran on, cheaply: read from files, and no package is imported; git is started where it must be asked."""

from __future__ import annotations

import contextlib
import hashlib
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evalkit.canonical import Json
from evalkit.capture.git import ask_git
from evalkit.capture.working_tree import dirty_patch

__all__ = ["environment", "git_commit", "run_environment"]


_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def environment(folder: Path) -> dict[str, Json]:
    """Facts about this process for a trace's header.

    Args:
        folder: where the agent's code is looked for; usually the working directory.

    Returns:
        ``python``, ``implementation``, ``os``, ``machine``, ``evalkit`` (None when it is not installed),
        ``git_commit`` (None outside of a repository) and ``packages``: hex SHA-256 over the sorted names and versions
        of all installed packages.
    """
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "os": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "evalkit": _own_version(),
        "git_commit": git_commit(folder),
        "packages": _packages_digest(),
    }


def run_environment(folder: Path) -> dict[str, Json]:
    """`environment`, and in a repository ``git_patch``: hex SHA-256 of what tracked files differ by from the commit.

    It is the hash of ``git diff HEAD --binary``; empty text for no difference, None where git could not tell.
    """
    found = environment(folder)
    if found["git_commit"] is not None:
        patch = dirty_patch(folder)
        found["git_patch"] = hashlib.sha256(patch).hexdigest() if patch else None if patch is None else ""
    return found


def git_commit(folder: Path) -> str | None:
    """The commit that is checked out in the repository around `folder`, in hex; None when there is none."""
    here = folder.absolute()  # a relative one has no parents
    place = next((one for one in (here, *here.parents) if (one / ".git").exists()), None)
    if place is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        if _COMMIT.fullmatch(found := _head(*_folders(place)) or ""):
            return found
    return ask_git(place, "rev-parse", "--quiet", "--verify", "HEAD").text  # of a link to a branch, of a reftable


def _folders(place: Path) -> tuple[Path, Path]:
    """Where git keeps what is of a working tree alone, and what it shares with others."""
    git = place / ".git"
    if git.is_dir():
        return git, git
    own = place / git.read_text("utf-8").removeprefix("gitdir:").strip()  # a worktree or submodule
    common = own / "commondir"
    return own, own / common.read_text("utf-8").strip() if common.is_file() else own


def _head(own: Path, common: Path) -> str | None:
    head = (own / "HEAD").read_text("utf-8").strip()
    if not head.startswith("ref: "):
        return head or None
    name = head.removeprefix("ref: ")
    for folder in (own, common):
        if (folder / name).is_file():
            return (folder / name).read_text("utf-8").strip()
    packed = common / "packed-refs"
    for line in packed.read_text("utf-8").splitlines() if packed.is_file() else ():
        commit, _, packed_name = line.partition(" ")
        if packed_name == name:
            return commit
    return None


def _packages_digest() -> str:
    found: set[str] = set()
    for entry in sys.path:
        try:
            names = [path.name for path in Path(entry or ".").iterdir()]
        except OSError:  # a zip file, or a folder that is gone
            continue
        found.update(name.rpartition(".")[0] for name in names if name.endswith((".dist-info", ".egg-info")))
    return hashlib.sha256("\n".join(sorted(found)).encode("utf-8", "replace")).hexdigest()


def _own_version() -> str | None:
    try:
        return version("evalkit")
    except PackageNotFoundError:
        return None
