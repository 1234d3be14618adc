"""How fast, and in how much memory, traces are read: one seeded run of OTLP spans in four shapes; prints JSON.

Usage: python ci/bench/read_speed.py [MEGABYTES] [REPEATS]

The spans are those of agents that talk to a model in the message style and use tools, at work twenty at a time: a
trace has one to forty model calls, each of which repeats the conversation so far, and is spread over several export
requests. Compared is `load_traces` with ``orjson.loads`` of the same bytes (of the document, or line by line); for
protobuf with the JSON document of the same spans. Each reading is a process of its own: its CPU and wall times are the
least of REPEATS, its peak is that of the resident memory, the interpreter and evalkit's imports included.
"""

from __future__ import annotations

import base64
import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

_WORDS = """order refund ticket customer the a of to is was shipped again please check status account policy returned
item price total café naïve 注文 город Straße delivery until window label address warehouse "quoted" it's 10.50 #A-1093
because however approved declined agent must never always cancel`def`\n-\n""".split(" ")
_TOOLS = ("get_order", "search_policy", "refund_order", "send_mail", "list_items")
_SECOND = 1_000_000_000
_AT_WORK = 20
_SPANS_A_REQUEST = 64


def prose(rng: random.Random, words: int) -> str:
    """Some text."""
    return " ".join(rng.choices(_WORDS, k=words))


def definitions(rng: random.Random) -> str:
    """The tools' definitions, as an agent sends them with each call."""
    text = {"type": "string", "description": prose(rng, 12)}
    parameters = {"type": "object", "properties": {"id": text, "reason": text}, "required": ["id"]}
    return json.dumps(
        [{"type": "function", "name": name, "description": prose(rng, 30), "parameters": parameters} for name in _TOOLS]
    )


def trace(rng: random.Random) -> Iterator[dict[str, Any]]:
    """The spans of one run in the order in which they end."""
    trace_id, root = f"{rng.getrandbits(128):032x}", f"{rng.getrandbits(64):016x}"
    clock = 1_750_000_000 * _SECOND + rng.randrange(10**15)
    began, tools = clock, definitions(rng)
    history: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"type": "text", "content": prose(rng, rng.randrange(5, 200))}]}
    ]
    system = json.dumps([{"type": "text", "content": prose(rng, rng.randrange(50, 600))}])

    def span(name: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
        nonlocal clock
        clock += rng.randrange(_SECOND // 100, 5 * _SECOND)
        ids = {"traceId": trace_id, "spanId": f"{rng.getrandbits(64):016x}", "parentSpanId": root}
        times = {"startTimeUnixNano": str(clock - _SECOND // 200), "endTimeUnixNano": str(clock)}
        listed = [{"key": key, "value": any_value(value)} for key, value in attributes.items()]
        return {**ids, "name": name, "kind": 3, **times, "attributes": listed, "status": {}, **more}

    for turn in range(int(1.1 ** rng.uniform(0, 39))):
        given, tool, call = json.dumps(history), rng.choice(_TOOLS), f"call_{rng.getrandbits(96):024x}"
        arguments = {"id": f"A-{rng.randrange(10**6)}", "reason": prose(rng, 8)}
        asks = {"type": "tool_call", "id": call, "name": tool, "arguments": arguments}
        answer = {"role": "assistant", "parts": [{"type": "text", "content": prose(rng, 20)}, asks]}
        yield span(
            "chat gpt-4.1",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "gpt-4.1",
                "gen_ai.response.model": "gpt-4.1-2025-04-14",
                "gen_ai.request.temperature": 0.2,
                "gen_ai.request.max_tokens": 4096,
                "gen_ai.response.id": f"chatcmpl-{rng.getrandbits(96):024x}",
                "gen_ai.response.finish_reasons": ["tool_calls"],
                "gen_ai.usage.input_tokens": len(given) // 4,
                "gen_ai.usage.output_tokens": 80,
                "server.address": "api.openai.com",
                "gen_ai.system_instructions": system,
                "gen_ai.tool.definitions": tools,
                "gen_ai.input.messages": given,
                "gen_ai.output.messages": json.dumps([{**answer, "finish_reason": "tool_call"}]),
            },
        )
        rows = [{"id": at, "note": prose(rng, 10), "price": 9.5} for at in range(int(1.1 ** rng.uniform(0, 50)))]
        result = json.dumps({"status": "ok", "items": rows})
        yield span(
            f"execute_tool {tool}",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": call,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.arguments": json.dumps(arguments),
                "gen_ai.tool.call.result": result,
            },
        )
        if turn % 3 == 0:
            yield span("POST", {"http.request.method": "POST", "url.full": "https://shop.example/api", "n": 1})
        tells = {"type": "tool_call_response", "id": call, "response": result}
        history += [answer, {"role": "tool", "parts": [tells]}]
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support", "gen_ai.provider.name": "openai"}
    yield span("invoke_agent support", about, spanId=root, parentSpanId="", startTimeUnixNano=str(began))


def any_value(value: Any) -> dict[str, Any]:
    """An attribute's value in OTLP's form."""
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def requests(rng: random.Random, size: int) -> Iterator[bytes]:
    """Export requests as JSON, `size` bytes in all: spans of the traces at work, as they end."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "support"}}]}
    working, batch, made = [trace(rng) for _ in range(_AT_WORK)], list[dict[str, Any]](), 0
    while working:
        at = rng.randrange(len(working))
        span = next(working[at], None)
        if span is not None:
            batch.append(span)
        elif made < size:
            working[at] = trace(rng)
        else:
            del working[at]
        if len(batch) == _SPANS_A_REQUEST or not working:
            scope = {"scope": {"name": "bench", "version": "1"}, "spans": batch}
            data = orjson.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]})
            made, batch = made + len(data), []
            yield data


def write(folder: Path, size: int) -> dict[str, Path]:
    """The run in each shape; each is written as it is made, so that this takes little memory too."""
    paths = {shape: folder / shape for shape in ("jsonl", "document", "array", "protobuf")}
    lines, document, array, protobuf = (path.open("wb") for path in paths.values())
    with lines, document, array, protobuf:
        document.write(b'{"resourceSpans":[')
        for at, data in enumerate(requests(random.Random(1), size)):
            comma = b"," if at else b""
            lines.write(data + b"\n")
            document.write(comma + data[len(b'{"resourceSpans":[') : -len(b"]}")])
            array.write((comma or b"[") + data)
            packed = to_protobuf(orjson.loads(data))
            protobuf.write(len(packed).to_bytes(4, "big") + packed)
        document.write(b"]}")
        array.write(b"]")
    return paths


def to_protobuf(request: dict[str, Any]) -> bytes:
    """An export request in protobuf's binary form."""
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    for resource in request["resourceSpans"]:
        for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
            for key in ("traceId", "spanId", "parentSpanId"):  # hex in OTLP's JSON, base64 in protobuf's own
                span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return bytes(ParseDict(request, TracesData()).SerializeToString())


def orjson_seconds(path: Path, repeats: int) -> float:
    """The least CPU seconds of parsing a file with orjson alone, collector off, as one document or line by line."""
    data = path.read_bytes()
    parts = data.splitlines() if path.name == "jsonl" else [data]
    times = []
    for _ in range(repeats):
        gc.collect()
        began = time.process_time()
        for part in parts:
            orjson.loads(part)
        times.append(time.process_time() - began)
    return min(times)


_CHILD = """
import json, resource, sys, time
from evalkit.trace.read import load_traces
began, clock = time.process_time(), time.perf_counter()
traces = steps = 0
for trace in load_traces(sys.argv[1]):
    traces += 1
    steps += len(trace.steps)
used, passed = time.process_time() - began, time.perf_counter() - clock
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"cpu_s": used, "wall_s": passed, "peak_mb": peak / 1024, "traces": traces, "steps": steps}))
"""


def evalkit_reading(path: Path, repeats: int) -> dict[str, Any]:
    """Reading a file with evalkit in a fresh process: the quickest of `repeats`."""
    found = [
        json.loads(subprocess.run([sys.executable, "-c", _CHILD, path], stdout=subprocess.PIPE, check=True).stdout)
        for _ in range(repeats)
    ]
    return {**min(found, key=lambda each: each["cpu_s"]), "wall_s": min(each["wall_s"] for each in found)}


def in_child(work: Callable[..., float], *args: Any) -> float:
    """A number from a forked process, so that this one's memory stays small."""
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(work, args)


def measure(size: int, repeats: int) -> dict[str, Any]:
    """All shapes."""
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), size)
        results: dict[str, Any] = {}
        for shape, path in paths.items():
            same = paths["document"] if shape == "protobuf" else path
            plain = in_child(orjson_seconds, same, repeats)
            found = evalkit_reading(path, repeats)
            results[shape] = {
                "bytes": path.stat().st_size,
                "orjson_cpu_s": round(plain, 2),
                **{name: round(value, 2) for name, value in found.items()},
                "ratio": round(found["cpu_s"] / plain, 2),
            }
        return results


if __name__ == "__main__":
    megabytes, repeats = ([int(each) for each in sys.argv[1:]] + [200, 3][len(sys.argv) - 1 :])[:2]
    print(json.dumps(measure(megabytes * 1_000_000, repeats), indent=1))
