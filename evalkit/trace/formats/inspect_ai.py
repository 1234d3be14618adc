"""Inspect logs: ``.eval`` archives, JSON logs of every version, one sample's JSON, or a bare list of events.

A log is ``{"version", "status", "eval": {"task", ...}, "samples": [...]}``; each sample of each epoch is a trace. What
a sample means: `inspect_sample` and `inspect_events`; the archive: `inspect_archive`.
Source: https://github.com/UKGovernmentBEIS/inspect_ai and https://inspect.aisi.org.uk/eval-logs.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.shapes import dicts
from evalkit.trace.formats.inspect_archive import inspect_json, is_archive, opened
from evalkit.trace.formats.inspect_sample import DIALECT, Log, sample_trace
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.model import Trace

__all__ = ["FORMAT"]

_HEAD = (b'"version"', b'"status"', b'"eval"')
_OWN = {
    "model": ("model", "input", "output"),
    "tool": ("function", "arguments"),
    "span_begin": ("id", "name"),
    "step": ("action", "name"),
    "sample_init": ("sample",),
}
"""What events that only Inspect writes hold."""


class InspectFormat:
    """A log, its archive, or a part of one."""

    name = DIALECT

    def detect(self, source: Source) -> bool:
        """Whether it is an archive with a log's header, or a document of one of the shapes."""
        if is_archive(source):
            return True
        if not source.head.lstrip().startswith((b"{", b"[")):
            return False
        document = _document(source)
        return _is_log(document) or _is_sample(document) or bool(_events(document))

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace for each sample and epoch.

        Raises:
            UnreadableTrace: it is no log of Inspect, or breaks its rules.
        """
        if is_archive(source):
            yield from _archived(source, report)
            return
        document = _document(source)
        if isinstance(document, dict) and _is_log(document):
            yield from _logged(document, source.where, report)
        elif isinstance(document, dict) and _is_sample(document):
            yield sample_trace(document, Log(), source.where, report)
        elif events := _events(document):
            yield sample_trace({"id": "events", "events": events}, Log(), source.where, report)
        else:
            raise UnreadableTrace("no Inspect log", source.where, "pass an .eval or .json log of Inspect")


FORMAT = InspectFormat()


def _document(source: Source) -> Json:
    """The document, also where NaN in it keeps it from being JSON; None when it is none."""
    document = source.document()
    if document is not None or not all(mark in source.head for mark in _HEAD):
        return document
    try:
        return inspect_json(source.data(), source.where)
    except UnreadableTrace:
        return None


def _archived(source: Source, report: ReadReport) -> Iterator[Trace]:
    with opened(source) as archive:
        log = Log(archive.header())
        for where, sample in archive.samples():
            yield sample_trace(sample, log, where, report)
        _say_when_empty(log, report)


def _logged(document: dict[str, Any], where: str, report: ReadReport) -> Iterator[Trace]:
    log = Log({key: value for key, value in document.items() if key != "samples"})
    samples = document.get("samples")
    for at, sample in enumerate(samples if isinstance(samples, list) else []):
        if not isinstance(sample, dict):
            raise UnreadableTrace("a sample is no object", f"{where}: samples[{at}]", "export the log again")
        yield sample_trace(sample, log, f"{where}: samples[{at}]", report)
    _say_when_empty(log, report)


def _say_when_empty(log: Log, report: ReadReport) -> None:
    if not log.ids:
        report.skipped[f"Inspect log: it holds no samples (status {str(log.header.get('status'))[:20]})"] += 1


def _is_log(document: Json) -> bool:
    spec = document.get("eval") if isinstance(document, dict) else None
    return isinstance(document, dict) and "status" in document and isinstance(spec, dict) and "task" in spec


def _is_sample(document: Json) -> bool:
    if not isinstance(document, dict) or not {"id", "epoch", "input"} <= document.keys():
        return False
    return "target" in document and isinstance(document.get("messages"), list)


def _events(document: Json) -> list[Any]:
    """The events of a transcript that stands alone; none for other logs, many of which have events with times."""
    held = document.get("events") if isinstance(document, dict) else document
    events = dicts(held)
    if not isinstance(held, list) or len(events) < len(held) or not all("timestamp" in each for each in events):
        return []
    ours = any(all(key in each for key in _OWN.get(str(each.get("event")), ("",))) for each in events)
    return [*events] if ours else []
