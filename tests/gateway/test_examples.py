"""Agents that know nothing of evalkit, in Node, Python and shell: replayed whole, and missed when they change."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.check.model import Check
from tests.build import a_case, a_trace, sanitized
from tests.gateway.conversations import model_step
from tests.gateway.shop import EXAMPLES, SAID
from tests.project import REPOSITORY, Project

EVALKIT = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); from evalkit.cli.main import main; main()"
STDIO = [sys.executable, "-c", EVALKIT, "gateway", "--mcp-stdio", "--session", "{mcp_url}"]
"""The MCP SDKs pass few variables to the servers that they start, so everything stands in the command."""


@pytest.fixture(scope="session")
def node_agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Node agent beside its packages, which npm installs."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    fcntl = pytest.importorskip("fcntl", reason="files can't be locked here")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "node"  # one for all workers
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "node_modules" / ".package-lock.json").exists():  # which npm writes last
            for name in ("package.json", "agent.mjs"):
                shutil.copy(EXAMPLES / name, folder / name)
            command = ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode:
                pytest.skip(f"npm could not install the agent's packages: {done.stderr.strip()[-300:]}")
    return folder / "agent.mjs"


def command(*argv: str, stdio: bool = False, **env: str) -> str:
    """A target as a table: the shop over streamable HTTP, or over stdio."""
    tools = {"SHOP_MCP_COMMAND": json.dumps(STDIO)} if stdio else {"SHOP_MCP_URL": "{mcp_url}"}
    return json.dumps({"type": "command", "argv": argv, "env": {**tools, **env}})


def replayed(project: Project, case_id: str, target: str) -> dict[str, Any]:
    """One replay's JSON."""
    done = project.run("replay", case_id, "--target", target, "--json")
    assert done.code in (0, 1, 3), done.err
    (body,) = done.json()
    found: dict[str, Any] = body
    return found


def assert_whole(body: dict[str, Any]) -> None:
    """The incident again: every recorded call was substituted, and nothing else was done."""
    assert (body["status"], body["misses"]) == ("failed", []), body["reason"]
    assert "got refund_order" in body["reason"]
    assert body["output"] == {"text": SAID}
    counts = body["counts"]
    assert (counts["tool_bodies"], counts["live_model"], counts["missed"]) == (0, 0, 0)
    assert counts["substituted"] == counts["recorded"] == 8


def assert_missed(body: dict[str, Any]) -> None:
    """The changed argument is named."""
    assert (body["status"], body["counts"]["missed"]) == ("missed", 1)
    assert "tool refund_order has no recorded answer" in body["reason"]
    assert "/amount: recorded 40.5, got 41" in body["reason"]


@pytest.mark.parametrize("stdio", [False, True], ids=["http", "stdio"])
def test_a_node_agent_is_replayed_whole(project: Project, shop: str, node_agent: Path, stdio: bool) -> None:
    """openai and the MCP SDK from npm, the tools over either transport."""
    assert_whole(replayed(project, shop, command("node", str(node_agent), stdio=stdio)))


def test_a_changed_node_agent_is_missed_by_its_path(project: Project, shop: str, node_agent: Path) -> None:
    """Another amount is no recorded call."""
    assert_missed(replayed(project, shop, command("node", str(node_agent), AMOUNT="41")))


def test_a_shell_agent_asks_anthropics_api(project: Project) -> None:
    """With curl, and an answer in plain text; another question is a miss."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    asked = {"model": "claude-test", "max_tokens": 100, "messages": [{"role": "user", "content": "What is MCP?"}]}
    said = "A protocol for tools."
    trace = a_trace(model_step(0, "anthropic", asked, said), input="What is MCP?", output=said)
    case = a_case(trace, checks=[Check("repeated_effect", {})])
    target = f"command: {EXAMPLES / 'agent.sh'}"
    done = evalkit.replay(case, target)
    assert (done.status, done.trace.output) == ("passed", said), done.reason
    assert (done.counts.substituted, done.counts.live_model) == (1, 0)
    other = evalkit.replay(replace(case, trace=sanitized(replace(trace, input="What is HTTP?"))), target)
    assert other.status == "missed"
    assert "/messages/0/content: recorded 'What is MCP?', got 'What is HTTP?'" in other.reason


@pytest.mark.parametrize("stdio", [False, True], ids=["http", "stdio"])
def test_a_python_agent_is_replayed_whole(project: Project, shop: str, stdio: bool) -> None:
    """The real SDKs, streaming although the recording did not."""
    assert_whole(replayed(project, shop, command(sys.executable, str(EXAMPLES / "agent.py"), stdio=stdio)))


def test_a_changed_python_agent_is_missed_by_its_path(project: Project, shop: str) -> None:
    """Another amount is no recorded call."""
    assert_missed(replayed(project, shop, command(sys.executable, str(EXAMPLES / "agent.py"), AMOUNT="41")))
