"""What the gateway costs: a session, a tool call over MCP, a model call over HTTP.

    python ci/bench/gateway.py [--rounds N] [--calls N]

Measured: CPU time of this process, which is both the gateway and a client that does nothing but ask over one open
connection (http.client); so it is an upper bound of the gateway's own part. A session is opened, ended and judged.
Medians of the rounds.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import time
from typing import Any

from evalkit.canonical import Json
from evalkit.case.model import Case, LifeEvent
from evalkit.check.model import Check
from evalkit.playback.replay import prepare
from evalkit.playback.targets.protocol import Surroundings
from evalkit.sanitize.model import SanitizationRecord, SanitizedTrace
from evalkit.trace.model import Step, Trace
from evalkit.wire.registry import WIRES

ASKED = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "lookup", "arguments": {"order": 7}}}


class Client:
    """An agent that makes the same call so often."""

    place = (0, "")

    def __init__(self, path: str, body: Any, calls: int) -> None:
        self._path = path
        self._body = json.dumps(body).encode()
        self._calls = calls
        self.spent_s = 0.0

    def run_outside(self, given: Json, around: Surroundings) -> Json:
        """Makes the calls over one connection."""
        connection = http.client.HTTPConnection("127.0.0.1", around.address.port)
        connection.connect()
        path = f"/{around.address.token}{self._path}"
        began = time.process_time()
        for _ in range(self._calls):
            connection.request("POST", path, self._body)
            response = connection.getresponse()
            data = response.read()
            assert response.status == 200, data
        self.spent_s = time.process_time() - began
        connection.close()
        return None


def a_case() -> Case:
    """One tool call, one model call."""
    asked = WIRES.get("openai_chat").request(json.dumps(ASKED).encode())
    assert asked is not None
    steps = (
        Step(0, "tool", "lookup", {"order": 7}, {"amount": 5.0}, effect="read", effect_source="declared"),
        Step(1, "model", "chat", asked.asked, {"role": "assistant", "content": "Hi."}, model="m"),
    )
    record = SanitizationRecord("1", "0" * 64, "0" * 16, "1" * 64, "2" * 64)
    trace = SanitizedTrace.admitted(Trace("t", "agent", "evalkit", steps, started_at=0.0), record)
    return Case(
        id="bench",
        title="bench",
        version=1,
        trace=trace,
        kept=(0, 1),
        checks=(Check("repeated_effect", {}),),
        life=(LifeEvent("proposed", "bench", "bench", "2026-01-01T00:00:00Z"),),
    )


def main() -> None:
    """Prints the numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=300)
    given = parser.parse_args()
    prepared = prepare(a_case())
    sessions: list[float] = []
    waits: list[float] = []
    spent: dict[str, list[float]] = {"tool call over MCP": [], "model call (chat completions)": []}
    for _ in range(given.rounds):
        nobody = Client("/mcp", CALL, 0)
        began, began_wall = time.process_time(), time.perf_counter()
        prepared.replay(nobody)
        sessions.append((time.process_time() - began) * 1000)
        waits.append((time.perf_counter() - began_wall) * 1000)
        for name, path, body in zip(spent, ("/mcp", "/v1/chat/completions"), (CALL, ASKED), strict=True):
            client = Client(path, body, given.calls)
            prepared.replay(client)
            spent[name].append(client.spent_s / given.calls * 1e6)
    print(f"a session: {statistics.median(sessions):.1f} ms CPU, {statistics.median(waits):.1f} ms wall")
    for name, found in spent.items():
        print(f"{name}: {statistics.median(found):.0f} µs CPU, client included")


if __name__ == "__main__":
    main()
