"""`evalkit drift` of tools that are no Python functions: of MCP servers, and behind URLs."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.build import a_trace, tool_step
from tests.project import Outcome, Project

ORDER = {"order": "7", "amount": 5.0, "note": None}


def ingested(project: Project, name: str, output: Any, order: str = "7", case: str = "asked") -> None:
    """A case whose agent once asked a tool about an order."""
    step = tool_step(0, name, {"order": order}, output)
    paid = tool_step(1, "refund", {"order": order}, {"ok": True}, effect="write")
    again = tool_step(2, "refund", {"order": order}, {"ok": True}, effect="write")
    trace = replace(a_trace(step, paid, again, input={"order": order}, output={"done": True}), id="i")
    project.write("i.trace", trace)
    done = project.run("ingest", "i.trace", "--id", case, "--new")
    assert done.code == 0, done.err


def drift(project: Project, tool: str, *options: str, case: str = "asked") -> Outcome:
    """The command on that case."""
    return project.run("drift", case, "--tool", tool, "--reason", "nightly", *options)


def mcp_server(project: Project) -> Path:
    """The settings name a real server; the file in which it says what it did."""
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    log = project.root / "server.log"
    server = Path(__file__).parents[1] / "integrations" / "mcp_server.py"
    project.write("evalkit.toml", f"[mcp.shop]\nargv = {json.dumps([sys.executable, str(server), str(log)])}\n")
    return log


@pytest.mark.parametrize(
    "recorded",
    [
        ORDER,
        json.dumps(ORDER, indent=2),
        {"content": [{"type": "text", "text": json.dumps(ORDER, indent=2)}], "structuredContent": ORDER},
    ],
)
def test_the_tool_of_an_mcp_server_is_called(project: Project, recorded: Any) -> None:
    """Over stdio, where the server says that it only reads; compared in whichever form the answer was recorded."""
    log = mcp_server(project)
    ingested(project, "process_order", recorded)
    done = drift(project, "process_order", "--json")
    assert done.code == 0, done.out + done.err
    assert [one["status"] for one in done.json()] == ["same"]
    assert log.read_text("utf-8").splitlines() == ["started", "process_order 7"]


def test_the_tool_of_an_mcp_server_behind_a_url_is_called(project: Project) -> None:
    """Over streamable HTTP, as over stdio; a server that is gone is named."""
    pytest.importorskip("mcp.server.mcpserver", reason="mcp 2 is not installed")
    log = project.root / "server.log"
    ingested(project, "process_order", ORDER)
    with served(log) as url:
        project.write("evalkit.toml", f'[mcp.shop]\nurl = "{url}"\n')
        done = drift(project, "process_order", "--json")
        assert done.code == 0, done.out + done.err
        assert [one["status"] for one in done.json()] == ["same"]
        assert log.read_text("utf-8").splitlines() == ["started", "process_order 7"]
    done = drift(project, "process_order", "--timeout", "20")
    assert (done.code, "the MCP server shop can't be reached" in done.err) == (2, True), done.err


def test_another_answer_of_an_mcp_server_is_drift(project: Project) -> None:
    """A value, told with its place. Settings that call a tool harmless don't outweigh a server that says otherwise."""
    mcp_server(project)
    ingested(project, "process_order", {**ORDER, "amount": 6.0})
    done = drift(project, "process_order")
    assert (done.code, "/amount: 6.0 then, 5.0 now" in done.out) == (1, True), done.out
    with (project.root / "evalkit.toml").open("a") as settings:
        settings.write('[tools."get_money_back"]\neffect = "read"\n')
    ingested(project, "get_money_back", "refunded 9", order="9", case="failing")
    done = drift(project, "get_money_back", case="failing")
    assert (done.code, "changes the world" in done.err) == (2, True), done.err  # the server says so


def test_what_an_mcp_server_changes_or_does_not_have_is_not_called(project: Project) -> None:
    """Nor is a server asked that is none: refused, with its name."""
    log = mcp_server(project)
    ingested(project, "get_money_back", "refunded 7")
    done = drift(project, "get_money_back")
    assert (done.code, "changes the world" in done.err) == (2, True), done.err
    done = drift(project, "nothing")
    assert (done.code, "MCP server shop" in done.err) == (2, True), done.err
    assert log.read_text("utf-8").splitlines() == ["started"] * 2
    project.write("evalkit.toml", f"[mcp.shop]\nargv = {json.dumps([sys.executable, '-c', 'print(1)'])}\n")
    done = drift(project, "get_money_back", "--timeout", "20")
    assert (done.code, "the MCP server shop can't be reached" in done.err) == (2, True), done.err
    for text in ("[mcp.shop]\n", '[mcp.shop]\nargv = ["x"]\nurl = "http://x/mcp"\n'):
        project.write("evalkit.toml", text)
        assert "a server has argv or url, and not both" in drift(project, "nothing").err


def test_the_tool_behind_a_url_is_called(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the arguments as JSON or as a query, and the headers that the settings name; a status can say no."""
    monkeypatch.setenv("SHOP_TOKEN", "t0ken")
    ingested(project, "lookup", ORDER)
    with shop() as url:
        place = f'effect = "read"\nurl = "{url}/lookup"\nheaders = {{ Authorization = "Bearer ${{SHOP_TOKEN}}" }}\n'
        project.write("evalkit.toml", f'[tools."look*"]\n{place}')
        done = drift(project, "lookup")
        assert done.code == 0, done.out + done.err
        project.write("evalkit.toml", f'[tools."look*"]\n{place}method = "GET"\n')
        assert drift(project, "lookup").code == 0
        assert _Shop.seen == [("POST", {"order": "7"}, "Bearer t0ken"), ("GET", "/lookup?order=7", "Bearer t0ken")]
        project.write("evalkit.toml", f'[tools."look*"]\neffect = "read"\nurl = "{url}/gone"\n')
        done = drift(project, "lookup")
        assert (done.code, "raises StatusError now: status 404: no such place" in done.out) == (1, True), done.out
        project.write("evalkit.toml", f'[tools."look*"]\n{place.replace("read", "write")}')
        assert "changes the world" in drift(project, "lookup").err
        project.write("evalkit.toml", f'[tools."look*"]\n{place}')
        monkeypatch.delenv("SHOP_TOKEN")
        assert drift(project, "lookup").code == 2
    assert len(_Shop.seen) == 3


class _Shop(BaseHTTPRequestHandler):
    """Answers about orders, and notes what it was asked."""

    seen: ClassVar[list[tuple[str, Any, str | None]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(("POST", body, self.headers["Authorization"]))
        self._answer()

    def do_GET(self) -> None:
        self.seen.append(("GET", self.path, self.headers["Authorization"]))
        self._answer()

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def _answer(self) -> None:
        found = self.path.startswith("/lookup")
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(json.dumps(ORDER).encode() if found else b"no such place")


@contextmanager
def served(log: Path) -> Iterator[str]:
    """A real MCP server; its URL."""
    server = Path(__file__).parents[1] / "integrations" / "mcp_server.py"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(server), str(log), str(port)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@contextmanager
def shop() -> Iterator[str]:
    """A service of orders; its URL."""
    _Shop.seen.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Shop)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
