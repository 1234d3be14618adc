"""Where a project's file was in another commit: in a folder that was moved since, or that no settings name any more."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from evalkit.app.base_ref import base_ref
from evalkit.app.settings import cases_named, project_table
from evalkit.capture.git import ask_git
from evalkit.case.pointer import named_by_pointer
from evalkit.errors import InputError

__all__ = ["BaseTree", "base_tree"]


def base_tree(root: Path, base: str) -> BaseTree:
    """The files of the commit that a reference names.

    Raises:
        InputError: git knows no such reference, or it is the name of two things.
    """
    found = base_ref(root, base)
    return BaseTree(root, found.commit, found.name)


class BaseTree:
    """The files of a commit, by their paths from the top of git's working tree.

    Args:
        root: the project's folder, which may lie below the top.
        base: what people call the commit.
    """

    def __init__(self, root: Path, commit: str, base: str) -> None:
        self._root, self.commit, self.base = root, commit, base
        self._top = Path(ask_git(root, "rev-parse", "--show-toplevel").text or str(root)).resolve()

    def left(self) -> BaseTree | None:
        """The files of the commit in which the current branch left this one; None where that can't be told."""
        fork = ask_git(self._root, "merge-base", self.commit, "HEAD").text
        if not fork:
            return None
        return self if fork == self.commit else BaseTree(self._root, fork, self.base)

    def find(self, name: str, cases: Path) -> str:
        """The path of the file `name` in the folder of cases; empty where the commit has none.

        That folder is the one that the commit's own settings name; or the one that counts here; or the only one of the
        project that has such a file; or the one from which it is gone since.

        Raises:
            InputError: the cases are in no folder of this repository, or it can't be told which file is meant.
        """
        here = self._inside(cases, name)
        for place in (self._by_settings(name) if self._named_here(cases) else here, here):
            if place in self._files:
                return place
        found = [place for place in self._files if place.rpartition("/")[2] == name and self._may_be_meant(place)]
        if len(found) > 1:
            raise InputError(
                f"{self.base} has no {here}, but {len(found)} other gate locks: {', '.join(found[:3])}",
                str(self._root),
                "set cases in evalkit.toml to the folder whose lock counts",
            )
        return found[0] if found else ""

    def below(self, folder: Path) -> list[str]:
        """The paths of the files in what is a folder here; none where it is no part of this repository."""
        try:
            inside = self._inside(folder)
        except InputError:
            return []
        return [place for place in self._files if not inside or _holds(inside, place)]

    def has(self, place: str) -> bool:
        """Whether the commit has a file."""
        return place in self._files

    def content(self, place: str) -> bytes:
        """The content of a file.

        Raises:
            InputError: git can't read it.
        """
        found = ask_git(self._root, "cat-file", "blob", f"{self.commit}:{place}")
        if found.out is None:
            cure = "git fetch origin (the object may be missing here)"
            raise InputError(f"git can't read {place} of {self.base}: {found.fault}", str(self._root), cure)
        return found.out

    def text(self, place: str) -> str:
        """The content of a file of text; raises as `content` does."""
        return self.content(place).decode("utf-8", "replace")

    def holds_as(self, path: Path) -> bool | None:
        """Whether the commit has a file as it is here, byte by byte; None where it has none in that place."""
        try:
            place = self._inside(path)
        except InputError:
            return None
        if place not in self._files:
            return None
        then, now = self.content(place), path.read_bytes()
        return then == now or named_by_pointer(then) == hashlib.sha256(now).hexdigest()

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """What the commit's files say of the project, see `app.settings.project_table`."""
        project = self._inside(self._root)
        return project_table(lambda own: self.text(place) if (place := _joined(project, own)) in self._files else None)

    def _named_here(self, cases: Path) -> bool:
        """Whether the project's file says where the cases are, and not a variable of the environment."""
        return cases == self._root / cases_named(project_table(lambda name: _content(self._root / name)))

    def _by_settings(self, name: str) -> str:
        """The file in the folder that the commit's settings name; no link of today is followed."""
        full = Path(os.path.normpath(self._root.resolve() / cases_named(self.settings)))
        return _joined(_relative(full, self._top), name) if full.is_relative_to(self._top) else ""

    @cached_property
    def _files(self) -> dict[str, bool]:
        """Every file, and whether it is a submodule."""
        listed = ask_git(self._root, "ls-tree", "-r", "--full-tree", "-z", self.commit)
        if listed.out is None:
            cure = f"git fetch origin, then git ls-tree {self.commit}"
            raise InputError(f"git can't list the files of {self.base}: {listed.fault}", str(self._root), cure)
        entries = (os.fsdecode(entry).partition("\t") for entry in listed.out.split(b"\0") if entry)
        return {path: told.split(" ")[1] == "commit" for told, _, path in entries}

    def _may_be_meant(self, place: str) -> bool:
        project = self._inside(self._root)
        return place.startswith(project and f"{project}/") or not (self._top / place).exists()

    def _inside(self, path: Path, name: str = "") -> str:
        """A path as git has it.

        Raises:
            InputError: it is elsewhere, or in another repository.
        """
        full = path.resolve()
        if not full.is_relative_to(self._top):
            what = f"{path} is not in git's working tree {self._top}"
            raise InputError(what, str(self._root), "keep the cases in the repository")
        found = _relative(full, self._top)
        if module := next((path for path, is_one in self._files.items() if is_one and _holds(path, found)), ""):
            what = f"{module} is a submodule in {self.base}, and its gate lock is in another repository"
            raise InputError(what, str(self._root), "keep the cases in the repository")
        return _joined(found, name)


def _relative(path: Path, top: Path) -> str:
    return "" if path == top else path.relative_to(top).as_posix()


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _joined(folder: str, name: str) -> str:
    return "/".join(part for part in (folder, name) if part)


def _content(path: Path) -> str | None:
    return path.read_text("utf-8", errors="replace") if path.is_file() else None
