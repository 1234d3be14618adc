"""Bundles of stepfork (``.sftrace``): a folder with ``manifest.json`` and ``events.jsonl``, schema 0.1.

A call and its result are two events, which become one step. The result names its call as parent; where it does not,
the next result of the same name belongs to it. An error below a call is that step's; one below the run is the run's
own, and not one more failure. A bundle without a run end is read as far as it goes.
Source: https://github.com/stepfork/stepfork (schema 0.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, TypeGuard

from evalkit.errors import IntegrityError, UnreadableTrace
from evalkit.trace.formats.chat import unix_seconds
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.stepfork_steps import Event, StepGatherer
from evalkit.trace.json_input import parse_json
from evalkit.trace.model import Status, StepError, Trace

__all__ = ["FORMAT"]

_STATUSES: dict[str, Status] = {"completed": "completed", "failed": "failed", "running": "unfinished"}
_MANIFEST, _EVENTS, _INTEGRITY = "manifest.json", "events.jsonl", "integrity.json"


class StepforkFormat:
    """A bundle folder."""

    name = "stepfork"

    def detect(self, source: Source) -> bool:
        """Whether it is a folder whose manifest says so, with an event log."""
        try:
            return _is_manifest(_json_file(source, _MANIFEST)) and source.member(_EVENTS) is not None
        except UnreadableTrace:
            return False

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """The bundle's one trace.

        Raises:
            UnreadableTrace: the manifest or an event breaks the format's rules.
            IntegrityError: a file is not the one that the bundle's integrity record names.
        """
        if source.member(_MANIFEST) is None and source.member(_EVENTS) is None:
            raise UnreadableTrace("a stepfork bundle is a folder", source.where, "pass the .sftrace folder")
        _check_integrity(source)
        manifest = _json_file(source, _MANIFEST)
        if not _is_manifest(manifest):
            raise UnreadableTrace("not stepfork's manifest", _place(source, _MANIFEST), "pass a stepfork bundle")
        events, torn = _events(source, report)
        yield _trace(manifest, events, torn, report)


FORMAT = StepforkFormat()


def _trace(manifest: dict[str, Any], events: list[Event], torn: bool, report: ReadReport) -> Trace:
    gathered = StepGatherer(events, report)
    steps = gathered.steps()
    start, end = gathered.start, gathered.end
    outcome = manifest.get("status")
    if outcome == "running" and end is not None:
        outcome = end.body.get("run_status")
    status = _STATUSES.get(str(outcome), "unfinished")
    kept = {key: manifest[key] for key in ("environment", "totals", "schema_version") if manifest.get(key) is not None}
    return Trace(
        id=str(manifest.get("run_id", "")),
        name=str(manifest.get("agent_name", "")),
        dialect=StepforkFormat.name,
        steps=steps,
        input=start.body.get("input") if start else None,
        output=end.body.get("output") if end else None,
        error=_failure(manifest.get("failure")) or gathered.run_error,
        status=status,
        started_at=start.at if start else unix_seconds(manifest.get("created_at")),
        ended_at=end.at if end else None,
        attributes=kept,
        gaps=tuple(_gaps(start, end, torn)),
    )


def _gaps(start: Event | None, end: Event | None, torn: bool) -> Iterator[str]:
    if start is None:
        yield "the run's start is missing"
    if end is None:
        yield "the run's end is missing"
    if torn:
        yield "the last event is torn: the recorder was stopped while writing it"


def _failure(failure: Any) -> StepError | None:
    if not isinstance(failure, dict):
        return None
    return StepError(str(failure.get("type") or "Error"), str(failure.get("message") or ""))


def _is_manifest(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and value.get("format") == "stepfork"


def _events(source: Source, report: ReadReport) -> tuple[list[Event], bool]:
    """The events, and whether the last line was torn off."""
    lines = _read(source, _EVENTS).split(b"\n")
    events: list[Event] = []
    known: set[str] = set()
    for number, line in enumerate(lines, 1):
        where = f"{_place(source, _EVENTS)}:{number}"
        if not line.strip():
            if number < len(lines):
                report.skipped["blank line: no event"] += 1
            continue
        try:
            events.append(_event(parse_json(line, where), where))
        except UnreadableTrace:
            if number < len(lines):  # a whole line ends with a newline, so the last item is what came after it
                raise
            report.skipped["torn line: cut off while it was written"] += 1
            return events, True
        if events[-1].id in known:
            raise UnreadableTrace("two events have one id", where, "export the bundle again")
        known.add(events[-1].id)
    return events, False


def _event(body: Any, where: str) -> Event:
    if not isinstance(body, dict) or not isinstance(body.get("type"), str) or not isinstance(body.get("id"), str):
        raise UnreadableTrace("an event lacks id or type", where, "export the bundle again")
    parent = body.get("parent_id")
    return Event(
        id=body["id"],
        type=body["type"],
        parent=parent if isinstance(parent, str) else None,
        name=str(body.get("name") or ""),
        at=unix_seconds(body.get("timestamp")),
        body=body,
    )


def _check_integrity(source: Source) -> None:
    if source.member(_INTEGRITY) is None:
        return
    record = _json_file(source, _INTEGRITY)
    files = record.get("files") if isinstance(record, dict) else None
    for name in (_MANIFEST, _EVENTS, "redactions.json"):
        wanted = files.get(name) if isinstance(files, dict) else None
        if wanted is not None and hashlib.sha256(_read(source, name)).hexdigest() != wanted:
            raise IntegrityError(
                "the file is not the one that integrity.json names", _place(source, name), "restore the bundle"
            )


def _json_file(source: Source, name: str) -> Any:
    return parse_json(_read(source, name), _place(source, name))


def _read(source: Source, name: str) -> bytes:
    data = source.member(name)
    if data is None:
        raise UnreadableTrace(
            "the bundle lacks this file, or it is a symbolic link", _place(source, name), "restore the bundle"
        )
    return data


def _place(source: Source, name: str) -> str:
    return f"{source.where}/{name}"
