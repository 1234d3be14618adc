"""Small programs and services that are agents; they speak MCP over plain HTTP, so that they start quickly."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["CALL", "REFUNDS", "program", "service", "table"]

CALL = """
import json, os, sys, time, urllib.request

def call(name, arguments, url=os.environ.get("EVALKIT_MCP_URL")):
    params = {"name": name, "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body)) as response:
        answer = json.load(response)
    if "error" in answer:
        sys.exit(answer["error"]["message"])
    return answer["result"].get("structuredContent")
"""

REFUNDS = """
given = json.load(sys.stdin)
call("lookup", given)
for _ in range(int(os.environ.get("REFUNDS", "1"))):
    done = call("refund", given)
print(json.dumps({"done": done}))
"""
"""Refunds the order that it is given, as often as the variable says."""


def table(*argv: str, **keys: Any) -> str:
    """A command as a target's text."""
    return json.dumps({"type": "command", "argv": argv, **keys})


def program(code: str, **keys: Any) -> str:
    """A Python program as a target's text."""
    return table(sys.executable, "-c", CALL + code, **keys)


@contextmanager
def service(answer: Callable[[dict[str, str], Any], tuple[int, Any]]) -> Iterator[str]:
    """An agent service while the block runs; gives its URL.

    Args:
        answer: status and body for a request's headers (names in lower case) and input.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, body = answer({name.lower(): value for name, value in self.headers.items()}, given)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True  # the replay did not wait for the answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/run"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
