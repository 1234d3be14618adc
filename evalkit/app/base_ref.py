"""Which commit a reference means, and that it means one: a tag goes before a branch of its name."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from evalkit.capture.git import ask_git
from evalkit.errors import InputError

__all__ = ["BaseRef", "base_ref"]

_REMOTE = "refs/remotes/"
_KINDS = {"refs/tags/": "tag", "refs/heads/": "branch", _REMOTE: "remote branch"}
_OF_A_REFERENCE = re.compile(r"[\^~:]|@\{")
"""What begins a step from a reference to another commit, as in ``main~1``."""
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHALLOW, _IN_CI = "this is a shallow clone:", "in CI, fetch-depth: 0"
_OF_OTHERS = re.compile(r"dubious ownership in repository at '(.+)'")


@dataclass(frozen=True, slots=True)
class BaseRef:
    """A commit, and what people call it."""

    commit: str
    name: str


def base_ref(root: Path, reference: str) -> BaseRef:
    """The commit that a reference names.

    Raises:
        InputError: git knows no such reference, or it is the name of two things that are not the same.
    """
    where = str(root)
    if reference.startswith("-"):
        raise InputError(f"git knows no {reference!r}", where, "pass --against origin/main")
    _refuse_two(root, reference)
    found = ask_git(root, "rev-parse", "--quiet", "--verify", f"{reference}^{{commit}}")
    if not found.text:
        inside = ask_git(root, "rev-parse", "--is-shallow-repository")
        if inside.text is None:
            raise InputError(f"git can't be asked for {reference!r}: {inside.fault}", where, _way_in(inside.fault))
        raise InputError(f"git knows no {reference!r}", where, _fetched(reference, shallow=inside.text == "true"))
    return BaseRef(found.text, reference.removeprefix(_REMOTE).removeprefix("refs/heads/"))


def _refuse_two(root: Path, reference: str) -> None:
    """Whoever may push a tag could have a branch compared with what it names, and git only warns of it."""
    name = _OF_A_REFERENCE.split(reference)[0]
    places = [f"{kind}{name}" for kind in _KINDS] if name else []
    told = ask_git(root, "for-each-ref", "--format=%(objectname) %(*objectname) %(refname)", *places).text or ""
    commits: dict[str, str] = {}
    for line in told.splitlines():
        *objects, place = line.split()
        if place in places:
            commits[place] = objects[-1]
    if len(set(commits.values())) > 1:
        words = " and a ".join(word for kind, word in _KINDS.items() if f"{kind}{name}" in commits)
        full = max(commits, key=places.index)
        raise InputError(f"{name!r} is a {words}, of other commits", str(root), f"pass --against {full}")


def _way_in(fault: str) -> str:
    others = _OF_OTHERS.search(fault)
    if others:
        return f"git config --global --add safe.directory {shlex.quote(others[1])}, where its files are to be trusted"
    return "run it in the repository, where git is installed"


def _fetched(reference: str, *, shallow: bool) -> str:
    """What brings it here: a command to paste, so that a strange name is not said again."""
    if not _PLAIN.fullmatch(reference):
        step = _OF_A_REFERENCE.search(reference) is not None
        return f"{_SHALLOW} git fetch --unshallow ({_IN_CI})" if step and shallow else "pass --against origin/main"
    if _COMMIT.fullmatch(reference):
        return f"git fetch origin {reference}"
    remote, slash, branch = reference.removeprefix(_REMOTE).partition("/")
    if not slash or not branch:
        remote, branch = "origin", reference
    told = f"git fetch {remote} {branch}:{_REMOTE}{remote}/{branch}, and pass --against {remote}/{branch}"
    return f"{_SHALLOW} {told} ({_IN_CI})" if shallow else told
