"""Where a project's file was in another commit: in a folder that was moved since, or that no settings name any more."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from evalkit.app.base_ref import base_ref
from evalkit.app.settings_read import cases_named, project_table
from evalkit.capture.git import ask_git
from evalkit.case.pointer import named_by_pointer
from evalkit.errors import InputError
from evalkit.project import SETTINGS_NAME, has_settings

__all__ = ["BaseTree", "base_tree"]

_LINK, _MODULE = "120000", "160000"
_MOST_LINKS = 40


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
        project, without those in its folders, that has such a file; or the one from which it is gone since.

        Raises:
            InputError: the cases are in no folder of this repository, or it can't be told which file is meant.
        """
        here = self._inside(cases, name)
        for place in (self._followed(self._by_settings(name)) if self._named_here(cases) else here, here):
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

    def below(self, named: str, folder: Path) -> list[str]:
        """The paths of the files in the folder that the commit's settings name, then of those in what is one here.

        Args:
            named: as the settings have it.
            folder: none where it is no part of this repository.
        """
        folders = dict[str, None]()
        if (there := self._from_root(named)) is not None:
            folders[self._followed(there)] = None
        with contextlib.suppress(InputError):
            folders[self._inside(folder)] = None
        return [place for inside in folders for place in self._files if not inside or _holds(inside, place)]

    def place_of(self, path: Path) -> str:
        """Where the commit would have a file that is here; empty where it is in no folder of this repository."""
        with contextlib.suppress(InputError, ValueError):  # of another repository, or another drive
            # no link of today is followed, where that leads to a place
            return self._from_root(os.path.relpath(path, self._root)) or self._inside(path)
        return ""

    def place_from_root(self, named: str) -> str:
        """Where it has a file that its own files name, as told from the project's folder; empty as above."""
        return self._from_root(named) or ""

    def has_folder(self, named: str) -> bool:
        """Whether the commit has files in a folder, told from the project's."""
        there = self._from_root(named)
        if there is None:
            return False
        folder = self._followed(there)
        return any(_holds(folder, place) for place in self._files)

    def has(self, place: str) -> bool:
        """Whether the commit has a file."""
        return bool(place) and self._followed(place) in self._files

    def content(self, place: str) -> bytes:
        """The content of a file.

        Raises:
            InputError: git can't read it, or Git LFS has it, and did not fetch it.
        """
        found = self.fetched(place)
        if found is None:
            what = f"Git LFS did not fetch {place} of {self.base}"
            raise InputError(what, str(self._root), f"git lfs fetch origin {self.commit}")
        return found

    def fetched(self, place: str) -> bytes | None:
        """The same; None where Git LFS has it, and did not fetch it."""
        found = self._blob(self._followed(place))
        if not (named := named_by_pointer(found)):
            return found
        for path in (self._top / place, self._lfs / named[:2] / named[2:4] / named):
            with contextlib.suppress(OSError):
                if hashlib.sha256(fetched := path.read_bytes()).hexdigest() == named:
                    return fetched
        return None

    @cached_property
    def _lfs(self) -> Path:
        """Where Git LFS keeps what it has fetched, unless the repository's settings say otherwise."""
        return self._root / (ask_git(self._root, "rev-parse", "--git-common-dir").text or ".git") / "lfs" / "objects"

    def _blob(self, place: str) -> bytes:
        found = ask_git(self._root, "cat-file", "blob", f"{self.commit}:{place}")
        if found.out is None:
            cure = "git fetch origin (the object may be missing here)"
            raise InputError(f"git can't read {place} of {self.base}: {found.fault}", str(self._root), cure)
        return found.out

    def text(self, place: str) -> str:
        """The content of a file of text; raises as `content` does."""
        return self.content(place).decode("utf-8", "replace")

    def holds_as(self, place: str, path: Path) -> bool:
        """Whether a file of the commit is as one that is here, byte by byte."""
        then, now = self._blob(self._followed(place)), path.read_bytes()
        return then == now or named_by_pointer(then) == hashlib.sha256(now).hexdigest()

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """What the commit's files say of the project, see `app.settings_read.project_table`."""
        return self._settings_in(self._inside(self._root))

    def _named_here(self, cases: Path) -> bool:
        """Whether the project's file says where the cases are, and not a variable of the environment."""
        return cases == self._root / cases_named(project_table(lambda name: _content(self._root / name)))

    def _by_settings(self, name: str) -> str:
        """The file in the folder that the commit's settings name; no link of today is followed."""
        return self._from_root(f"{cases_named(self.settings)}/{name}") or ""

    def _from_root(self, path: str) -> str | None:
        """A path that is told from the project's folder; None where it leads out of the repository."""
        full = Path(os.path.normpath(self._root.resolve() / path))
        return _relative(full, self._top) if full.is_relative_to(self._top) else None

    def _followed(self, place: str) -> str:
        """Where a path leads by the commit's own links; as it is where that is nowhere in the repository."""
        path = place
        for _ in range(_MOST_LINKS):
            parts = path.split("/")
            starts = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
            link = next((start for start in starts if self._files.get(start) == _LINK), "")
            if not link:
                return path
            target = os.fsdecode(self._blob(link))
            path = os.path.normpath(os.path.join("/", os.path.dirname(link), target) + path[len(link) :])[1:]
        return place

    @cached_property
    def _files(self) -> dict[str, str]:
        """Every file, and its mode: links and submodules are none of their own."""
        listed = ask_git(self._root, "ls-tree", "-r", "--full-tree", "-z", self.commit)
        if listed.out is None:
            cure = f"git fetch origin, then git ls-tree {self.commit}"
            raise InputError(f"git can't list the files of {self.base}: {listed.fault}", str(self._root), cure)
        entries = (os.fsdecode(entry).partition("\t") for entry in listed.out.split(b"\0") if entry)
        return {path: told.partition(" ")[0] for told, _, path in entries}

    @cached_property
    def _not_checked_out(self) -> frozenset[str]:
        """The files that a sparse checkout leaves out: they are not here, and are not gone either."""
        listed = ask_git(self._root, "ls-files", "-t", "-z", "--full-name", ":/").out or b""
        return frozenset(os.fsdecode(entry[2:]) for entry in listed.split(b"\0") if entry.startswith(b"S "))

    def _may_be_meant(self, place: str) -> bool:
        """Whether a lock may be this project's: what is in its folder and no other one's, or was moved or is gone."""
        if not (self._top / place).exists() and place not in self._not_checked_out:
            return True
        project = self._inside(self._root)
        return place.startswith(project and f"{project}/") and not self._is_anothers(place)

    def _is_anothers(self, place: str) -> bool:
        """Whether a file is of a project in a folder of this one, in the commit and here."""
        project = PurePosixPath(self._inside(self._root))
        between = (one for one in PurePosixPath(place).parents if one != project and one.is_relative_to(project))
        hidden = place in self._not_checked_out  # as are the settings beside it, perhaps
        return any((hidden or has_settings(self._top / one)) and self._had_settings(str(one)) for one in between)

    def _had_settings(self, folder: str) -> bool:
        return self.has(f"{folder}/{SETTINGS_NAME}") or bool(self._settings_in(folder))

    def _settings_in(self, folder: str) -> Mapping[str, Any]:
        return project_table(lambda own: self.text(place) if self.has(place := _joined(folder, own)) else None)

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
        modules = (one for one, mode in self._files.items() if mode == _MODULE and _holds(one, found))
        if module := next(modules, ""):
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
