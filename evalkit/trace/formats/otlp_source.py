"""A source as batches of OTLP spans, whatever its shape and size, none of which holds more than a part of it.

Shapes are: one export request, a list of them, JSON Lines of them (the collector's file exporter writes one a line),
and protobuf (see `otlp_protobuf`). A document that is small is parsed whole; in a large one, spans and log records are
read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.canonical import Json
from evalkit.errors import UnreadableTrace
from evalkit.trace.formats import otlp_protobuf
from evalkit.trace.formats.documents import documents
from evalkit.trace.formats.otlp_spans import Batch, decode, is_otlp
from evalkit.trace.formats.protocol import SMALL_BYTES, Source
from evalkit.trace.json_input import parse_json, parse_json_lines
from evalkit.trace.json_reader import JsonReader

__all__ = ["batches"]

_BATCH_BYTES = 1024**2
_PARTS = {"resourceSpans": ("scopeSpans", "spans"), "resourceLogs": ("scopeLogs", "logRecords")}


def batches(source: Source) -> Iterator[Batch]:
    """The spans and log records of a source, in order.

    Raises:
        UnreadableTrace: it breaks the form of JSON, protobuf or OTLP; the message names the line or the byte.
    """
    if otlp_protobuf.is_binary(source.head):
        yield from otlp_protobuf.batches(source)
        return
    before = 0
    for where, document in _documents(source):
        batch = decode([(where, document)], before)
        before += len(batch.spans)
        yield batch


def _documents(source: Source) -> Iterator[tuple[str, Json]]:
    start = source.start()
    if len(start) <= SMALL_BYTES:
        yield from documents(source)
    elif _has_lines(start, source.where):
        yield from parse_json_lines(source.lines(), source.where)
    else:
        reader = JsonReader(source.blocks(), source.where)
        while reader.peek():
            yield from _walked(reader)


def _has_lines(start: bytes, where: str) -> bool:
    """Whether the first line is a request of its own: then it is likely that each is."""
    first, newline, _ = start.partition(b"\n")
    try:
        return bool(newline) and is_otlp(parse_json(first, where))
    except UnreadableTrace:
        return False


def _walked(reader: JsonReader) -> Iterator[tuple[str, Json]]:
    """A request, or a list of requests, as many small requests."""
    if reader.peek() == "[":
        for _ in reader.items():
            yield from _walked_request(reader)
    else:
        yield from _walked_request(reader)


def _walked_request(reader: JsonReader) -> Iterator[tuple[str, Json]]:
    if reader.peek() != "{":
        yield reader.place(), reader.value()
        return
    rest: dict[str, Json] = {}
    found = False
    for key in reader.members():
        if key in _PARTS and reader.peek() == "[":
            found = True
            for _ in reader.items():
                yield from _walked_resource(reader, key, *_PARTS[key])
        else:
            rest[key] = reader.value()
    if is_otlp(rest) or not found:
        yield reader.place(), rest


def _walked_resource(reader: JsonReader, key: str, scopes: str, records: str) -> Iterator[tuple[str, Json]]:
    """The parts of one resource; what describes the resource is with each where it stands first, as SDKs write it."""
    if reader.peek() != "{":
        reader.value()
        return
    about: dict[str, Json] = {}
    for name in reader.members():
        if name == scopes and "resource" in about and reader.peek() == "[":
            for _ in reader.items():
                for where, held in _walked_records(reader, records):
                    yield where, {key: [{**about, scopes: [{records: held}]}]}
        else:
            about[name] = reader.value()
    if scopes in about:
        yield reader.place(), {key: [about]}


def _walked_records(reader: JsonReader, records: str) -> Iterator[tuple[str, list[Json]]]:
    if reader.peek() != "{":
        reader.value()
        return
    for name in reader.members():
        if name != records or reader.peek() != "[":
            reader.value()
            continue
        where, held, began = reader.place(), list[Json](), reader.taken
        for _ in reader.items():
            held.append(reader.value())
            if reader.taken - began > _BATCH_BYTES:
                yield where, held
                where, held, began = reader.place(), [], reader.taken
        yield where, held
