"""OTLP files that are larger than what is parsed at once."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.read import load_traces
from tests.trace.otlp_builders import pairs
from tests.trace.test_formats_otlp import messages, text
from tests.trace.test_formats_otlp_protobuf import by_four_bytes, packed, request, span

TRACES, ROUNDS = 60, 8
FILLER = "x" * 40_000
ROOM = 34 * 1024**2
"""What may be held of files of 38 MB: the store's 16, and some blocks and batches."""


def long_span(trace: int, number: int) -> dict[str, Any]:
    """A model call whose messages say which it is, at length."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": messages(("user", [text(f"{trace}.{number}"), text(FILLER)])),
        "gen_ai.output.messages": messages(("assistant", [text(f'"{{[é {trace}.{number}\\' + FILLER)])),
    }
    return span(number, attributes, trace, parent=1 if number > 1 else 0)


@cache
def requests() -> list[dict[str, Any]]:
    """Each round has the next span of each trace: no trace is whole before the last."""
    return [
        request(long_span(trace, number), long_span(trace + 1, number))
        for number in range(1, ROUNDS + 1)
        for trace in range(1, TRACES, 2)
    ]


@cache
def in_protobuf() -> list[bytes]:
    """The same in protobuf."""
    return [packed(each) for each in requests()]


def as_lines() -> Iterator[bytes]:
    """A request a line."""
    return (json.dumps(each).encode() + b"\n" for each in requests())


def as_list() -> Iterator[bytes]:
    """A list of requests."""
    yield b"["
    for at, each in enumerate(requests()):
        yield (b"," if at else b"") + json.dumps(each, indent=1).encode()
    yield b"]"


def as_document() -> Iterator[bytes]:
    """A document of many resources."""
    yield b'{"resourceSpans": ['
    for at, each in enumerate(requests()):
        yield (b"," if at else b"") + json.dumps(each["resourceSpans"][0]).encode()
    yield b"]}"


def as_one_resource() -> Iterator[bytes]:
    """A document of one resource of one scope."""
    resource = json.dumps({"attributes": pairs({"service.name": "shop"})}).encode()
    yield b'{"resourceSpans": [{"resource": ' + resource + b', "scopeSpans": [{"spans": ['
    for at, each in enumerate(requests()):
        spans = json.dumps(each["resourceSpans"][0]["scopeSpans"][0]["spans"], ensure_ascii=False).encode()
        yield (b"," if at else b"") + spans[1:-1]
    yield b'], "schemaUrl": "u"}]}]}'


def as_protobuf() -> Iterator[bytes]:
    """The collector's file in protobuf."""
    return (by_four_bytes([each]) for each in in_protobuf())


def as_one_message() -> Iterator[bytes]:
    """One message in protobuf."""
    return iter(in_protobuf())


@pytest.mark.parametrize("written", [as_lines, as_list, as_document, as_one_resource, as_protobuf, as_one_message])
def test_a_large_file_is_read_whole_in_little_memory(tmp_path: Path, written: Callable[[], Iterator[bytes]]) -> None:
    """Whatever the shape, traces come out whole and in order though each is spread over the file, which is not held."""
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.writelines(written())
    assert path.stat().st_size > 35e6
    report = ReadReport()
    tracemalloc.start()
    try:
        for at, trace in enumerate(load_traces(path, report=report), 1):
            asked = [step.input["messages"][0]["content"][0]["text"] for step in trace.steps]  # type: ignore[index,call-overload]
            assert trace.id == f"{at:032x}"
            assert asked == [f"{at}.{number}" for number in range(1, ROUNDS + 1)]
            assert [step.parent for step in trace.steps] == [None, *[0] * (ROUNDS - 1)]
            assert trace.attributes == {"service": "shop"}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert at == TRACES
    assert report.steps == {"model": TRACES * ROUNDS}
    assert peak < ROOM


@pytest.mark.parametrize("resource_last", [False, True])
def test_a_large_document_is_read_as_a_small_one(tmp_path: Path, resource_last: bool) -> None:
    """Log records, unknown members, junk among the lists and the order of members: the same traces and counts."""
    record = {
        "eventName": "gen_ai.user.message",
        "traceId": f"{1:032x}",
        "spanId": f"{1:016x}",
        "body": {"stringValue": "Hi"},
    }
    document: dict[str, Any] = request(span(1, {"gen_ai.operation.name": "chat"}), span(2, {"a": 1}, 2))
    resource = document["resourceSpans"][0]
    resource["scopeSpans"][0] |= {"scope": {"name": "s"}, "schemaUrl": "u"}
    if resource_last:
        resource["resource"] = resource.pop("resource")
    document["resourceSpans"] += [7, {"scopeSpans": "x"}, {"scopeSpans": [3]}, {"scopeSpans": [{"spans": [None]}]}]
    document |= {
        "resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}],
        "resourceMetrics": [{}],
        "other": {"a": 1},
    }
    found = []
    for size in (0, 9_000_000):
        padded = {"padding": "x" * size, **document}
        (tmp_path / "x").write_bytes(gzip.compress(json.dumps(padded).encode(), 1))
        report = ReadReport()
        found.append((list(load_traces(tmp_path / "x", format="otlp", report=report)), report))
    assert found[0] == found[1]
    assert [trace.id for trace in found[0][0]] == [f"{1:032x}", f"{2:032x}"]
    assert found[0][1].skipped == {"metrics: not read": 1}


@pytest.mark.parametrize(
    ("end", "said"),
    [("", "cut off"), ("]}]}", "not JSON"), ('{"name": NaN}]}]}]}', "NaN"), ('{"name": "x"}]}]}]}', "span 240 lacks")],
)
def test_a_mistake_in_a_large_document_has_its_place(tmp_path: Path, end: str, said: str) -> None:
    """What breaks at the end of a large file is refused with the byte from which on it is wrong."""
    half = [each for at, each in enumerate(as_one_resource()) if at <= TRACES * 2]
    (tmp_path / "x").write_bytes(b"".join(half) + b"," + end.encode())
    with pytest.raises(UnreadableTrace, match=said) as refused:
        list(load_traces(tmp_path / "x"))
    assert int(refused.value.where.rpartition(" ")[2]) > 8_000_000
