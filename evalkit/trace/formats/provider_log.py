"""Logs of raw model calls, whatever the provider: what the formats of the single providers share.

A log is JSON or JSON Lines: records (see `provider_records`), one, a list, or a page ``{"data": [...]}``; a bare list
of messages; a list of such lists; or one message a line. The format's name is the dialect of the first record; a log
that mixes providers is read all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.documents import documents, first_document
from evalkit.trace.formats.exchanges import record_traces
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.provider_openai import is_chat_message
from evalkit.trace.formats.provider_records import Record, dialect_of, record_of
from evalkit.trace.formats.seen import SeenItems
from evalkit.trace.model import Trace

__all__ = ["ProviderLogFormat"]

_PAGES = ("data", "requests", "logs")


@dataclass(frozen=True, slots=True)
class ProviderLogFormat:
    """The logs whose first record is of one dialect."""

    name: str

    def detect(self, source: Source) -> bool:
        """Whether the first record of the document, or of the lines, is of this dialect."""
        found = first_document(source)
        if source.document() is None and _is_line_message(found):
            return dialect_of(_messages_on_lines(source)) == self.name
        return any(dialect_of(item) == self.name for item in _items(found)[:1])

    def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
        """One trace for each conversation.

        Raises:
            UnreadableTrace: no record is in it.
        """
        if source.document() is None and _is_line_message(first_document(source)):
            items: Iterator[Json] = iter([_messages_on_lines(source)])
        else:
            items = (item for _, document in documents(source) for item in _items(document))
        records: list[Record] = []
        seen = SeenItems()
        for item in items:
            record = record_of(item, report, seen)
            if record is None:
                report.skipped["record: no model call in it"] += 1
            else:
                records.append(record)
        if not records:
            raise UnreadableTrace("no model call is in it", source.where, "pass a log of requests and responses")
        yield from record_traces(records, self.name, report)


def _items(document: Json) -> list[Json]:
    """The records of a document."""
    if isinstance(document, list):
        return [document] if document and _is_message(document[0]) else document
    if isinstance(document, dict):
        page = next((document[key] for key in _PAGES if isinstance(document.get(key), list)), None)
        if isinstance(page, list) and "messages" not in document:
            return page
    return [document]


def _is_message(item: Json) -> bool:
    """Whether an item of a list is a message rather than a record."""
    if not isinstance(item, dict) or not isinstance(item.get("role"), str):
        return False
    return is_chat_message(item) or "parts" in item


def _is_line_message(item: Json) -> bool:
    return is_chat_message(item) and isinstance(item, dict) and "type" not in item and "messages" not in item


def _messages_on_lines(source: Source) -> list[Json]:
    try:
        return [document for _, document in documents(source)]
    except UnreadableTrace:
        return []
