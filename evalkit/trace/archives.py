"""Zip and tar archives as folders: members are read one by one and never unpacked to disk.

Refused by name, because an archive may be made to harm: a name that leads out of the archive, a name that stands twice,
an encrypted member, an archive inside an archive (see `trace.read`), more members or bytes than any export has, and a
total that is far more than the archive's size. Links are listed, not followed.
"""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import PurePosixPath
from typing import IO, TypeAlias, cast

from evalkit.errors import UnreadableTrace
from evalkit.trace.content import MAX_RATIO, RATIO_COUNTS_FROM, Content, readable
from evalkit.trace.places import MAX_DEPTH, Place, PlaceKind
from evalkit.trace.visible import visible

__all__ = ["archive_kind", "open_archive"]

_Opener: TypeAlias = Callable[[], IO[bytes]]

_MAX_MEMBERS = 100_000
_MAX_TOTAL_BYTES = 16 * 1024**3
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and empty
_TAR_MAGIC_AT = 257
_ENCRYPTED = 0x1
_UNIX = 3
_KINDS: dict[int, PlaceKind] = {0o040000: "folder", 0o100000: "file", 0: "file", 0o120000: "link"}
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, struct.error, ValueError, OverflowError, EOFError)


def archive_kind(head: bytes) -> str:
    """``zip``, ``tar``, or nothing for what is no archive."""
    if head.startswith(_ZIP_MAGIC):
        return "zip"
    return "tar" if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar" else ""


@contextmanager
def open_archive(place: Place, content: Content) -> Iterator[Place]:
    """The archive as a folder; its members can be read as long as the context lasts.

    A packed tar is unpacked in memory, for its members can't be reached otherwise.

    Raises:
        UnreadableTrace: it is damaged, or larger than the limits.
    """
    kind = archive_kind(content.head)
    with io.BytesIO(content.data()) if content.gzipped else content.opened() as stream:
        try:
            with readable(place.where):
                opened = zipfile.ZipFile(stream) if kind == "zip" else tarfile.TarFile(fileobj=stream)
                members = [*(_in_zip(opened) if isinstance(opened, zipfile.ZipFile) else _in_tar(opened))]
        except _BROKEN as error:
            raise UnreadableTrace(f"the {kind} data is damaged: {error}", place.where, "copy the file again") from None
        with opened:
            _check_limits(members, content.packed_bytes, place.where)
            inside = _tree(place.where, [_checked(member, place.where) for member in members])
            yield replace(place, kind="folder", path=None, inside=lambda: inside)


def _in_zip(archive: zipfile.ZipFile) -> Iterator[tuple[Place, int]]:
    """The members, each named by its whole way, with its unpacked size."""
    for info in archive.infolist():
        mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
        kind = "folder" if info.is_dir() else _KINDS.get(mode & 0o170000, "special")
        problem = None
        if info.flag_bits & _ENCRYPTED:
            problem = UnreadableTrace("the member is encrypted", cure="unpack it with its password, and pass the file")
        opened = _zip_opener(archive, info)
        place = Place(info.filename, "", kind, None, opened, info.compress_size, problem=problem)
        yield place, info.file_size


def _zip_opener(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Opener:
    def opened() -> IO[bytes]:
        try:
            return archive.open(info)
        except (ValueError, struct.error) as error:  # its own header is damaged, or names it otherwise
            raise zipfile.BadZipFile(str(error)) from None

    return opened


def _in_tar(archive: tarfile.TarFile) -> Iterator[tuple[Place, int]]:
    for info in archive:
        kind: PlaceKind = "special"
        if info.isreg():
            kind = "file"
        elif info.isdir():
            kind = "folder"
        elif info.issym() or info.islnk():
            kind = "link"
        yield Place(info.name, "", kind, None, _tar_opener(archive, info), info.size), info.size


def _tar_opener(archive: tarfile.TarFile, info: tarfile.TarInfo) -> _Opener:
    return lambda: cast("IO[bytes]", archive.extractfile(info))


def _check_limits(members: list[tuple[Place, int]], stored_bytes: int, where: str) -> None:
    total = sum(size for _, size in members)
    if len(members) > _MAX_MEMBERS:
        raise UnreadableTrace(f"{len(members)} members, {_MAX_MEMBERS} at most", where, "split the archive")
    if total > _MAX_TOTAL_BYTES:
        raise UnreadableTrace(f"{total} bytes unpacked, {_MAX_TOTAL_BYTES} at most", where, "split the archive")
    if total > max(RATIO_COUNTS_FROM, MAX_RATIO * stored_bytes):
        raise UnreadableTrace(
            f"it unpacks to more than {MAX_RATIO} times its size, as a decompression bomb does",
            where,
            "unpack it yourself, and pass the folder",
        )


def _checked(member: tuple[Place, int], archive: str) -> Place:
    """A member with its place, and its problem if it has one that its header shows."""
    place, _ = member
    where = f"{archive}!{visible(place.name)}"
    what = "" if place.problem is None else place.problem.what
    cure = "make the archive again" if place.problem is None else place.problem.cure
    if _leads_out(place.name):
        what = "the member's name leads out of the archive"
    elif len(PurePosixPath(place.name).parts) > MAX_DEPTH:
        what = f"the member lies deeper than {MAX_DEPTH} folders"
    problem = UnreadableTrace(what, where, cure) if what else None
    return replace(place, where=where, archived=True, problem=problem)


def _leads_out(name: str) -> bool:
    drive = len(name) > 1 and name[1] == ":"
    return name.startswith("/") or drive or "\\" in name or "\0" in name or ".." in name.split("/")


def _tree(where: str, members: Iterable[Place]) -> list[Place]:
    """The members as folders in folders; those that can't be read stand at the top, so that they are met."""
    files: dict[tuple[str, ...], Place] = {}
    refused: list[Place] = []
    for place in members:
        parts = PurePosixPath(place.name).parts
        if place.problem is not None:
            refused.append(place)
        elif not parts or place.kind == "folder":  # folders follow from the names of the files
            continue
        elif parts in files:
            problem = UnreadableTrace("two members have this name", place.where, "make the archive again")
            refused.append(replace(place, problem=problem))
        else:
            files[parts] = replace(place, name=parts[-1])
    return [*refused, *_grouped(where + "!", sorted(files.items()))]


def _grouped(where: str, files: list[tuple[tuple[str, ...], Place]]) -> Iterator[Place]:
    for name, group in groupby(files, key=lambda item: item[0][0]):
        below: list[tuple[tuple[str, ...], Place]] = []
        for parts, place in group:
            if len(parts) == 1:
                yield place
            else:
                below.append((parts[1:], place))
        if below:
            yield _folder(name, f"{where}{visible(name)}", below)


def _folder(name: str, where: str, files: list[tuple[tuple[str, ...], Place]]) -> Place:
    return Place(name, where, "folder", inside=lambda: [*_grouped(where + "/", files)], archived=True)
