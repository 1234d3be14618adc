"""Where traces lie: files and folders, on disk or in an archive, seen in one way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Literal, TypeAlias

from evalkit.errors import EvalkitError, UnreadableTrace
from evalkit.trace.content import Content, readable
from evalkit.trace.formats.protocol import Source
from evalkit.trace.visible import visible

__all__ = ["MAX_DEPTH", "Place", "PlaceKind", "disk_place", "file_source", "folder_source"]

PlaceKind: TypeAlias = Literal["file", "folder", "link", "special"]

_BUFFER_BYTES = 256 * 1024  # lines of traces are long
MAX_DEPTH = 64
"""Folders inside of one another that are still gone into."""


def _nothing() -> list[Place]:
    return []


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder.

    Attributes:
        name: its last part.
        where: the whole way to it, for messages, safe to show.
        path: on disk; None for standard input and in an archive.
        opened: a fresh, seekable stream of a file.
        stored_bytes: how large a file is as it is stored.
        inside: what a folder holds, sorted by name.
        archived: whether it lies in an archive.
        problem: why it can't be read, when that is known without opening it.
    """

    name: str
    where: str
    kind: PlaceKind
    path: Path | None = None
    opened: Callable[[], IO[bytes]] = BytesIO
    stored_bytes: int = 0
    inside: Callable[[], list[Place]] = _nothing
    archived: bool = False
    problem: EvalkitError | None = None

    def content(self) -> Content:
        """The file's content; raises `UnreadableTrace`."""
        if self.problem is not None:
            raise self.problem
        return Content(self.where, self.opened, self.stored_bytes)


def disk_place(path: Path, where: str) -> Place:
    """What is at a path; links are not followed."""
    with readable(where):
        found = path.lstat()
        if path.is_symlink():
            return Place(path.name, where, "link", path)
        if path.is_dir():
            return Place(path.name, where, "folder", path, inside=lambda: [*_on_disk(path, where)])
        if path.is_file():
            return Place(path.name, where, "file", path, lambda: path.open("rb", _BUFFER_BYTES), found.st_size)
    return Place(path.name, where, "special", path)


def _on_disk(folder: Path, where: str) -> Iterator[Place]:
    with readable(where):
        paths = sorted(folder.iterdir())
    for path in paths:
        spot = visible(str(Path(where, path.name)))
        try:
            yield disk_place(path, spot)
        except UnreadableTrace as problem:  # it went away, or may not be looked at
            yield Place(path.name, spot, "file", path, problem=problem)


def file_source(place: Place, content: Content) -> Source:
    """A file as the formats see it."""
    held = content.head, content.data, content.lines, content.document, content.blocks
    return Source(place.where, place.path, *held)


def folder_source(folder: Place, inside: list[Place]) -> Source:
    """A folder as the formats see it."""
    files = {place.name: place for place in inside if place.kind == "file"}

    def member(name: str) -> bytes | None:
        return files[name].content().data() if name in files else None

    return Source(folder.where, folder.path, b"", bytes, lambda: iter(()), lambda: None, member=member)
