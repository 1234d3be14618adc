"""`evalkit gateway`: a session for an agent that somebody else starts, ended by a signal or with standard input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalkit.trace.read import load_traces
from tests.capture.scripted_server import completion, json_reply, scripted_server
from tests.project import Project

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")


@pytest.fixture
def case_id(project: Project) -> str:
    """An order that was refunded twice."""
    return project.ingested()


class Gateway:
    """The command, running in a process of its own."""

    def __init__(self, project: Project, *arguments: str) -> None:
        self.env_file = project.root / "gateway.env"
        command = [sys.executable, "-m", "evalkit", "gateway", *arguments, "--env-file", str(self.env_file)]
        self.process = subprocess.Popen(
            command, cwd=project.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def variables(self) -> dict[str, str]:
        """What the agent's environment is to hold, once the session is open."""
        while not self.env_file.exists():
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.02)
        lines = self.env_file.read_text("utf-8").splitlines()
        return dict(line.removeprefix("export ").split("=", 1) for line in lines)

    def end(self, by: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Exit code, standard output and error."""
        self.process.send_signal(by)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def started(project: Project) -> Iterator[list[Gateway]]:
    """The processes of a test; ended with it."""
    running: list[Gateway] = []
    yield running
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def post(url: str, body: Any) -> Any:
    """The JSON that comes back; None for nothing."""
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode())) as response:
        raw = response.read()
    return json.loads(raw) if raw else None


def message(name: str, arguments: Any, request_id: int = 1) -> dict[str, Any]:
    """A tool call over MCP."""
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def test_a_session_is_one_replay(project: Project, case_id: str, started: list[Gateway]) -> None:
    """The variables are printed and written; at the end come verdict, counts and trace, as of an in-process replay."""
    running = Gateway(project, case_id, "--out", "replayed.trace")
    started.append(running)
    variables = running.variables()
    assert set(variables) == {
        "OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "EVALKIT_MCP_URL",
    }  # fmt: skip
    assert running.env_file.stat().st_mode & 0o077 == 0
    for name in ("lookup", "refund"):
        assert "result" in post(variables["EVALKIT_MCP_URL"], message(name, {"order": 7}))
    assert post(variables["ANTHROPIC_BASE_URL"] + "/output", {"done": {"ok": True}}) is None
    code, out, err = running.end()
    assert code == 0, err
    assert f"export OPENAI_BASE_URL={variables['OPENAI_BASE_URL']}" in out
    assert "tool bodies executed 0, live model attempts 0, recorded 3, substituted 2, missed 0" in out
    assert 'the case\'s input: {"order":7}' in err
    assert not running.env_file.exists()
    (trace,) = load_traces(project.root / "replayed.trace")
    assert [step.name for step in trace.steps] == ["lookup", "refund"]
    assert trace.output == {"done": {"ok": True}}
    assert trace.attributes["replay"]["target"] == "whoever connects"


def test_the_incident_again_is_a_failure(project: Project, case_id: str, started: list[Gateway]) -> None:
    """By exit code; ctrl-C ends the session, too."""
    running = Gateway(project, case_id, "--json", "--token", "mine")
    started.append(running)
    url = running.variables()["EVALKIT_MCP_URL"]
    assert url.endswith("/mine/mcp")
    for name in ("lookup", "refund", "refund"):
        post(url, message(name, {"order": 7}))
    code, out, _ = running.end(signal.SIGINT)
    body = json.loads(out)
    assert (code, body["status"], body["counts"]["substituted"]) == (1, "failed", 3)


def test_tools_over_standard_input_and_output(project: Project, case_id: str, started: list[Gateway]) -> None:
    """Standard output is the protocol's alone; the end of standard input is the end of the session."""
    running = Gateway(project, case_id, "--mcp-stdio", "--out", "replayed.trace")
    started.append(running)
    lines = [json.dumps(message("lookup", {"order": 7})), "{", json.dumps(message("lookup", {"order": 8}, 2))]
    out, err = running.process.communicate("\n".join([*lines, ""]), timeout=60)
    first, second, third = (json.loads(line) for line in out.splitlines())
    assert first["result"]["structuredContent"]["amount"] == 5.0
    assert second["error"]["code"] == -32700
    assert "/order: recorded 7, got 8" in third["error"]["message"]
    assert running.process.returncode == 3
    assert "missed: call 2" in err
    assert (project.root / "replayed.trace").exists()


def test_standard_input_and_output_join_a_session(project: Project, case_id: str, started: list[Gateway]) -> None:
    """What an MCP client starts shares the replay of the session that it names."""
    running = Gateway(project, case_id, "--json")
    started.append(running)
    url = running.variables()["EVALKIT_MCP_URL"]
    command = [sys.executable, "-m", "evalkit", "gateway", "--mcp-stdio", "--session", url]
    lines = json.dumps(message("refund", {"order": 7})) + '\n{"jsonrpc": "2.0", "method": "notifications/x"}\n'
    joined = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, check=True)
    (answer,) = joined.stdout.splitlines()
    assert json.loads(answer)["result"]["structuredContent"] == {"ok": True}
    _, out, _ = running.end()
    assert json.loads(out)["counts"]["substituted"] == 1
    gone = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, check=True)
    assert "can't be reached" in json.loads(gone.stdout)["error"]["message"]


def test_a_live_model_stands_behind_it(project: Project, case_id: str, started: list[Gateway]) -> None:
    """Asked at the endpoint of the flag, with what the flags change; a declared fault meets a frozen tool."""
    with scripted_server() as server:
        server.will(json_reply(completion("Yes.")))
        flags = ["--base-url", server.url, "--reason", "a test", "--fault", "tool=refund,kind=error", "--model", "m-2"]
        running = Gateway(project, case_id, "--json", *flags)
        started.append(running)
        variables = running.variables()
        asked = {"model": "m-1", "messages": [{"role": "user", "content": "refund?"}]}
        said = post(variables["OPENAI_BASE_URL"] + "/chat/completions", asked)
        assert said["choices"][0]["message"]["content"] == "Yes."
        refused = post(variables["EVALKIT_MCP_URL"], message("refund", {"order": 7}))
        assert refused["result"]["isError"]
        _, out, err = running.end()
        assert [each["body"]["model"] for each in server.requests] == ["m-2"]
    body = json.loads(out)
    assert (body["counts"]["live_model"], body["counts"]["substituted"]) == (1, 1), err
    assert (body["manifest"]["mode"], body["output"]) == ("simulation", "Yes.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name a CASE"),
        (["--mcp-stdio"], "name a CASE"),
        (["--mcp-stdio", "--session", "http://127.0.0.1:1/other"], "no MCP endpoint"),
        (["refund-twice", "--session", "http://127.0.0.1:1/mcp"], "CASE starts one"),
        (["refund-twice", "--mode", "live-model"], "needs an endpoint"),
        (["refund-twice", "--base-url", "http://x/v1", "--mode", "live-model"], "say why"),
        (["refund-twice", "--token", "a/b"], "letters, digits"),
        (["nothing"], "nothing"),
    ],
)
def test_what_can_not_be_served(project: Project, case_id: str, arguments: list[str], words: str) -> None:
    """Is said before anything is opened."""
    done = project.run("gateway", *arguments)
    assert (done.code, words in done.err) == (2, True), done.err


def test_a_port_that_is_taken(project: Project, case_id: str, started: list[Gateway]) -> None:
    """Is named."""
    running = Gateway(project, case_id)
    started.append(running)
    port = running.variables()["OPENAI_BASE_URL"].split(":")[2].split("/")[0]
    done = project.run("gateway", case_id, "--port", port)
    assert (done.code, f"port {port} can't be had" in done.err) == (2, True)


def test_the_environment_names_the_session_to_join(
    project: Project, case_id: str, started: list[Gateway], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So that an agent which passes its environment on needs no argument."""
    running = Gateway(project, case_id)
    started.append(running)
    env = {**os.environ, **running.variables()}
    command = [sys.executable, "-m", "evalkit", "gateway", "--mcp-stdio"]
    lines = '{"jsonrpc": "2.0", "id": 5, "method": "ping"}'
    joined = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, check=True, env=env)
    assert json.loads(joined.stdout) == {"jsonrpc": "2.0", "id": 5, "result": {}}
