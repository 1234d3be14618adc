"""Traces from anywhere: a file, a folder, an archive, standard input; compressed or not; in any registered format.

The format is judged by content, and a format is asked before a container is opened: a log that is a zip goes to its
reader whole. What no format reads is refused with what was seen in it; only what clearly is no trace (a README beside
the traces, a picture) is passed over, and stands in the report.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from evalkit.errors import InputError, IntegrityError, UnreadableTrace
from evalkit.trace.archives import archive_kind, open_archive
from evalkit.trace.content import read_all
from evalkit.trace.detection import claiming_format, claims, no_trace, unknown_format
from evalkit.trace.formats.protocol import ReadReport, Source, TraceFormat
from evalkit.trace.formats.registry import FORMATS
from evalkit.trace.model import Trace
from evalkit.trace.places import MAX_DEPTH, Place, disk_place, file_source, folder_source
from evalkit.trace.sound import sound

__all__ = ["load_traces"]


def load_traces(
    source: str | Path, *, format: str | None = None, report: ReadReport | None = None, keep_going: bool = False
) -> Iterator[Trace]:
    """The traces in `source`, one at a time.

    Args:
        source: a file, a folder or an archive (zip, tar, tar.gz; all files in it, in the order of their names; links
            and hidden files are not read, and counted), or ``-`` for standard input. Gzip is unpacked.
        format: the name of the format; None finds it out from the content.
        report: is filled with what was read, what was passed over, and why.
        keep_going: note in ``report.unreadable`` what can't be read, and go on with the next file. Otherwise the first
            such file ends the reading.

    Raises:
        UnreadableTrace: nothing is there, no format reads a file, or a file breaks its format's rules.
        IntegrityError: a hash in a file does not hold.
        ConfigError: no format is called `format`.
    """
    reading = _Reading(
        None if format is None else FORMATS.get(format), ReadReport() if report is None else report, keep_going
    )
    yield from reading.start(source)


@dataclass(slots=True)
class _Reading:
    """One call of `load_traces`: what was asked for, and how many files were read as traces."""

    chosen: TraceFormat | None
    report: ReadReport
    keep_going: bool
    files: int = 0

    def start(self, source: str | Path) -> Iterator[Trace]:
        try:
            place = _place(source)
            if place.kind == "folder":
                yield from self._whole_folder(place)
            else:
                yield from self._file(place, alone=True)
        except (InputError, IntegrityError) as error:
            self._note(error)

    def _whole_folder(self, folder: Place) -> Iterator[Trace]:
        """A folder or archive in which something must be found."""
        met = len(self.report.unreadable)
        yield from self._folder(folder, 0)
        if self.files or len(self.report.unreadable) > met:
            return
        passed = ", ".join(sorted({*self.report.passed_over.values(), *self.report.skipped}))
        what = f"none of its files is a trace ({passed})" if passed else "it holds no file"
        raise UnreadableTrace(what, folder.where, "pass what holds the traces")

    def _archive_among_files(self, folder: Place) -> Iterator[Trace]:
        met = self.files + len(self.report.unreadable)
        yield from self._folder(folder, 0)
        if self.files + len(self.report.unreadable) == met:  # many documents are zips inside
            self.report.passed_over[folder.where] = "an archive without traces"

    def _folder(self, folder: Place, depth: int) -> Iterator[Trace]:
        if depth > MAX_DEPTH:
            raise UnreadableTrace(f"deeper than {MAX_DEPTH} folders", folder.where, "pass a folder further down")
        inside = folder.inside()
        bundle = folder_source(folder, inside)
        reader = self._claims(bundle)
        if reader is not None:
            yield from self._read(reader, bundle)
            return
        for place in inside:
            try:
                yield from self._in_folder(place, depth)
            except (InputError, IntegrityError) as error:
                self._note(error)

    def _in_folder(self, place: Place, depth: int) -> Iterator[Trace]:
        if place.problem is not None:
            raise place.problem
        if place.kind == "link":
            self.report.skipped["symbolic link: not followed"] += 1
        elif place.name.startswith("."):
            self.report.skipped["hidden file: not read"] += 1
        elif place.kind == "special":
            self.report.skipped["special file: not read"] += 1
        elif place.kind == "folder":
            yield from self._folder(place, depth + 1)
        else:
            yield from self._file(place, alone=False)

    def _file(self, place: Place, *, alone: bool) -> Iterator[Trace]:
        """A file.

        Args:
            alone: it is what was asked for, and not one among many.
        """
        content = place.content()
        source = file_source(place, content)
        reader = self._claims(source)
        if reader is None and archive_kind(content.head):
            if place.archived:
                raise UnreadableTrace("an archive inside an archive is not opened", place.where, "unpack the outer one")
            with open_archive(place, content) as folder:
                yield from self._whole_folder(folder) if alone else self._archive_among_files(folder)
            return
        reason = "" if reader is not None or alone else no_trace(content.head)
        if reason:
            self.report.passed_over[place.where] = reason
            return
        reader = reader or self.chosen
        if reader is None:
            raise unknown_format(source, content.problem)
        yield from self._read(reader, source)

    def _read(self, reader: TraceFormat, source: Source) -> Iterator[Trace]:
        self.files += 1
        for trace in reader.read(source, self.report):
            yield sound(trace, source.where, self.report)

    def _claims(self, source: Source) -> TraceFormat | None:
        if self.chosen is not None:
            return self.chosen if claims(self.chosen, source) else None
        return claiming_format(source)

    def _note(self, error: InputError | IntegrityError) -> None:
        if not self.keep_going:
            raise error
        self.report.unreadable.append(error)


def _place(source: str | Path) -> Place:
    """What `source` names; a link that is named is followed."""
    if source == "-":
        data = read_all(sys.stdin.buffer, "-")
        return Place("-", "-", "file", None, lambda: BytesIO(data), len(data))
    path = Path(source)
    place = disk_place(path, str(path))
    return disk_place(path.resolve(), str(path)) if place.kind == "link" else place
