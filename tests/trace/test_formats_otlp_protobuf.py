"""OTLP in protobuf's binary form gives what its JSON gives."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces
from tests.trace.otlp_builders import pairs
from tests.trace.test_formats_otlp import CHAT, VALUES

WRITTEN = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def span(number: int, attributes: dict[str, Any], trace: int = 1, parent: int = 0, **more: Any) -> dict[str, Any]:
    """A span in OTLP's JSON form."""
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": f"span {number}",
        "startTimeUnixNano": str(number * 10**9 + 1),
        "endTimeUnixNano": str(number * 10**9 + 5),
        "attributes": pairs(attributes),
        **more,
    }


def request(*spans: dict[str, Any]) -> dict[str, Any]:
    """An export request in OTLP's JSON form."""
    resource = {"attributes": pairs({"service.name": "shop"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def packed(document: dict[str, Any], message: Any = ExportTraceServiceRequest) -> bytes:
    """The same in protobuf, whose own JSON form has ids as base64."""

    def renamed(value: Any) -> Any:
        if isinstance(value, list):
            return [renamed(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key: base64.b64encode(bytes.fromhex(item)).decode() if key in IDS else renamed(item)
            for key, item in value.items()
        }

    return bytes(ParseDict(renamed(document), message()).SerializeToString())


def varint(value: int) -> bytes:
    """A varint."""
    return bytes([value & 0x7F | 0x80]) + varint(value >> 7) if value > 0x7F else bytes([value])


def by_four_bytes(messages: Iterable[bytes]) -> bytes:
    """As the collector's file exporter writes messages."""
    return b"".join(len(each).to_bytes(4, "big") + each for each in messages)


def by_varint(messages: Iterable[bytes]) -> bytes:
    """As OpenTelemetry's specification of file exporters wants them."""
    return b"".join(varint(len(each)) + each for each in messages)


SHAPES: dict[str, Callable[[Iterable[bytes]], bytes]] = {
    "one message": b"".join,  # messages of one kind, one after the other, are one message
    "four bytes": by_four_bytes,
    "varint": by_varint,
    "gzip": lambda messages: gzip.compress(by_four_bytes(messages)),
}


def read(folder: Path, data: bytes, report: ReadReport | None = None, **more: Any) -> list[Trace]:
    """The traces in some bytes."""
    path = folder / "export"
    path.write_bytes(data)
    return list(load_traces(path, report=report, **more))


def spans_of(data: st.DataObject) -> list[dict[str, Any]]:
    """Some spans of some traces."""
    attributes = st.dictionaries(st.text(), VALUES, max_size=3)
    events = st.lists(st.fixed_dictionaries({"name": st.text(), "attributes": attributes.map(pairs)}), max_size=2)
    status = st.sampled_from([{}, {"code": 1}, {"code": 2, "message": "no"}])
    made = [span(1, CHAT | {"gen_ai.operation.name": "chat"})]
    for number in range(2, data.draw(st.integers(2, 6))):
        more = {"events": data.draw(events), "status": data.draw(status), "links": [{"traceId": "", "spanId": ""}]}
        parent = data.draw(st.integers(0, 6))
        made.append(span(number, data.draw(attributes), data.draw(st.integers(1, 2)), parent, **more))
    return made


@WRITTEN
@given(data=st.data(), shape=st.sampled_from(sorted(SHAPES)))
def test_json_and_protobuf_give_equal_traces(tmp_path: Path, data: st.DataObject, shape: str) -> None:
    """Whatever stands in the spans, and however they are spread over messages: the same traces, the same counts."""
    spans = spans_of(data)
    at = data.draw(st.integers(1, len(spans)))
    requests = [request(*spans[:at]), request(*spans[at:])]
    first, second = ReadReport(), ReadReport()
    expected = read(tmp_path, "\n".join(map(json.dumps, requests)).encode(), first)
    assert read(tmp_path, SHAPES[shape](map(packed, requests)), second) == expected
    assert first == second


@pytest.mark.parametrize("shape", SHAPES)
def test_log_records_are_joined_to_their_spans(tmp_path: Path, shape: str) -> None:
    """Messages in log records, in a protobuf message of their own, are the span's; metrics are counted."""
    body = {"kvlistValue": {"values": pairs({"content": "Hi"})}}
    ids = {"traceId": f"{1:032x}", "spanId": f"{1:016x}"}
    record = {"eventName": "gen_ai.user.message", "timeUnixNano": "5", "body": body, **ids}
    logs = packed({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}, LogsData)
    metric = {"name": "m", "gauge": {"dataPoints": [{"asInt": "1"}]}}
    metrics = packed({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}, MetricsData)
    report = ReadReport()
    (trace,) = read(
        tmp_path, SHAPES[shape]([logs, metrics, packed(request(span(1, {"gen_ai.operation.name": "chat"})))]), report
    )
    assert trace.steps[0].input["messages"] == [{"role": "user", "content": "Hi"}]  # type: ignore[index,call-overload]
    assert report.skipped == {"metrics: not read": 1}


def test_doubles_and_bytes_have_the_form_of_json(tmp_path: Path) -> None:
    """Bytes are base64 text; a double that JSON can't write is its name."""
    raw = span(1, {"gen_ai.operation.name": "chat"})
    raw["attributes"] += [{"key": "b", "value": {"bytesValue": "AAH/"}}, {"key": "d", "value": {"doubleValue": "NaN"}}]
    (trace,) = read(tmp_path, packed(request(raw)))
    assert (trace.steps[0].attributes["b"], trace.steps[0].attributes["d"]) == ("AAH/", "NaN")


@pytest.mark.parametrize("shape", ["four bytes", "varint"])
def test_a_file_that_is_cut_off_is_refused_with_its_place(tmp_path: Path, shape: str) -> None:
    """Wherever the second message ends too soon, the byte from which on it is missing is named."""
    first, second = (packed(request(span(number, CHAT))) for number in (1, 2))
    whole, alone = SHAPES[shape]([first, second]), SHAPES[shape]([first])
    for at in range(len(alone) + 1, len(whole)):
        with pytest.raises(UnreadableTrace, match=r"export from byte \d+: cut off"):
            read(tmp_path, whole[:at])


def test_a_message_that_is_damaged_is_refused_with_its_place(tmp_path: Path) -> None:
    """A message that is no message of OTLP is named by its first byte, and so is a span without its ids."""
    good = packed(request(span(1, CHAT)))
    bad = good[:1] + b"\xff\xff\xff\xff" + good[5:]
    with pytest.raises(UnreadableTrace, match=f"export from byte {len(good) + 8}: no OTLP message"):
        read(tmp_path, by_four_bytes([good, bad]))
    with pytest.raises(UnreadableTrace, match="span 1 lacks its ids"):
        read(tmp_path, packed(request(span(1, CHAT), span(2, CHAT, spanId="aabb"))))


@WRITTEN
@given(st.binary(min_size=1, max_size=6), st.data())
def test_junk_in_a_message_is_read_or_refused(tmp_path: Path, junk: bytes, data: st.DataObject) -> None:
    """No damage raises anything but a typed error."""
    good = by_four_bytes([packed(request(span(1, CHAT)))] * 2)
    at = data.draw(st.integers(0, len(good) - 1))
    with suppress(UnreadableTrace):
        assert read(tmp_path, good[:at] + junk + good[at + len(junk) :], format="otlp")


def other_files() -> dict[str, bytes]:
    """Binaries that are not OTLP; some are protobuf."""
    archive, table = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packing:
        packing.writestr("a.json", "{}")
    pq.write_table(pa.table({"a": [1, 2]}), table)
    return {
        "zip": archive.getvalue(),
        "parquet": table.getvalue(),
        "two gzips": gzip.compress(gzip.compress(b"{}")),
        "another protobuf": b"\x0a\x10" + b"a" * 16 + b"\x12\x08" + b"b" * 8,
        "empty messages": by_four_bytes([b"", b""]),
        "spans without ids": packed(request({"name": "a"})),
        "utf-16": "{}".encode("utf-16"),
        "zeros": bytes(1000),
    }


@pytest.mark.parametrize("name", other_files())
def test_other_binaries_are_not_claimed(tmp_path: Path, name: str) -> None:
    """A file that only looks binary is refused, not read as an empty one."""
    with pytest.raises(UnreadableTrace, match="no format reads it"):
        read(tmp_path, other_files()[name])
