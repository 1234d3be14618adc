"""Agent services as targets: told where their model and tools are, and judged by their answer."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from dataclasses import replace
from typing import Any

import pytest

import evalkit
from evalkit.case.model import Case
from evalkit.case.store import find_case
from evalkit.errors import ConfigError
from tests.capture.scripted_server import completion, json_reply, scripted_server
from tests.gateway.agents import service
from tests.project import Project


@pytest.fixture
def case(project: Project) -> Case:
    """An order that was refunded twice."""
    return evalkit.read_case(find_case(project.ingested(), project.root / "cases"))


def call(url: str, name: str, arguments: Any) -> Any:
    """A tool call of the service, over MCP."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(message).encode())) as response:
        answer = json.load(response)
    return answer["result"]["structuredContent"] if "result" in answer else answer["error"]["message"]


def refunds(headers: dict[str, str], given: Any) -> tuple[int, Any]:
    """The mended agent: it finds its tools by the header."""
    call(headers["x-evalkit-mcp-url"], "lookup", given)
    return 200, {"done": call(headers["x-evalkit-mcp-url"], "refund", given)}


def test_a_service_is_judged_by_its_answer(case: Case) -> None:
    """Its calls are substituted; each request says where they go."""
    with service(refunds) as url:
        done = evalkit.replay(case, url)
    assert (done.status, done.trace.output) == ("passed", {"done": {"ok": True}})
    assert (done.counts.substituted, done.counts.tool_bodies) == (2, 0)


def test_a_service_with_fixed_base_urls(case: Case) -> None:
    """Was started with them; the gateway is where they lead."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = f"http://127.0.0.1:{port}/mcp"
    seen: dict[str, str] = {}

    def agent(headers: dict[str, str], given: Any) -> tuple[int, Any]:
        seen.update(headers)
        return refunds({"x-evalkit-mcp-url": own}, given)

    with service(agent) as url:
        target = json.dumps({"type": "http", "url": url, "port": port, "headers": {"X-Tenant": "test"}})
        assert evalkit.replay(case, target).status == "passed"
        with socket.create_server(("127.0.0.1", port)), pytest.raises(ConfigError, match=r"port \d+ can't be had"):
            evalkit.replay(case, target)
    assert (seen["x-tenant"], seen["x-evalkit-mcp-url"]) == ("test", own)


def test_a_miss_names_the_path(case: Case) -> None:
    """Whatever the service answers."""

    def stray(headers: dict[str, str], _: Any) -> tuple[int, Any]:
        return 200, call(headers["x-evalkit-mcp-url"], "lookup", {"order": 8})

    with service(stray) as url:
        done = evalkit.replay(case, url)
    assert (done.status, "/order: recorded 7, got 8" in done.reason) == ("missed", True)


@pytest.mark.parametrize(("status", "outcome"), [(400, "failed"), (500, "failed"), (302, "failed"), (503, "errored")])
def test_a_status_is_the_agents_failure_or_an_outage(case: Case, status: int, outcome: str) -> None:
    """A service that refuses has failed; one that is not there says nothing about the agent."""
    with service(lambda *_: (status, {"detail": "no"})) as url:
        done = evalkit.replay(case, url)
    assert (done.status, str(status) in done.reason) == (outcome, True)


def test_no_service_is_no_verdict(case: Case) -> None:
    """Nobody listens."""
    done = evalkit.replay(case, "http://127.0.0.1:9/run")
    assert (done.status, done.results) == ("errored", ())
    assert "can't be reached" in done.reason


def test_waiting_for_a_live_model_is_not_the_services_time(case: Case) -> None:
    """A model that thinks for longer than the service may take costs it nothing."""

    def agent(headers: dict[str, str], _: Any) -> tuple[int, Any]:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "refund?"}]}).encode()
        asked = urllib.request.Request(headers["x-evalkit-openai-base-url"] + "/chat/completions", body)
        with urllib.request.urlopen(asked) as response:
            return 200, json.load(response)["choices"][0]["message"]["content"]

    with scripted_server() as server, service(agent) as url:
        server.will(replace(json_reply(completion("Yes.")), delay_s=3.0))
        done = evalkit.replay(case, url, mode="live-model", base_url=server.url, timeout_s=1.5)
    assert (done.trace.output, done.trace.error, done.counts.live_model) == ("Yes.", None, 1), done.reason


def test_a_service_that_takes_too_long(case: Case) -> None:
    """Is not waited for; it counts as failed, as a function does."""

    over = threading.Event()

    def slow(*_: Any) -> tuple[int, Any]:
        over.wait()
        return 200, None

    with service(slow) as url:
        done = evalkit.replay(case, url, timeout_s=0.5)
        over.set()
    assert (done.status, "stopped after 0.5 s" in done.reason) == ("failed", True)
