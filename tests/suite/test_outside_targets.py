"""Suites whose agents are programs or services: every executor, the gate, and what a sandbox refuses."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.gateway.agents import CALL, REFUNDS, service
from tests.project import Project


@pytest.fixture
def case_id(project: Project) -> str:
    """A permanent case."""
    return project.promoted()


def suite(project: Project, target: str, **keys: Any) -> str:
    """A suite file; `target` is TOML."""
    lines = [f"target = {target}", *(f"{key} = {value}" for key, value in {"samples": 3, **keys}.items())]
    project.write("suites/release.toml", "\n".join([*lines, "[select]", "gate = true", ""]))
    return "suites/release.toml"


def command(code: str = REFUNDS) -> str:
    """A program as a table in TOML."""
    return f'{{ type = "command", argv = {json.dumps([sys.executable, "-c", CALL + code])} }}'


@pytest.mark.parametrize("executor", ["serial", "fork", "xdist"])
def test_every_executor_runs_programs(project: Project, case_id: str, executor: str) -> None:
    """Each sample has a session of its own, also side by side; the run and its gate say how little is kept in."""
    if executor == "fork" and sys.platform != "linux":
        pytest.skip("forking is for Linux")
    done = project.spawn("run", suite(project, command()), "--executor", executor, "-n", "2", "--out", "reports/run")
    assert done.code == 0, done.err
    assert "3 of 3 samples passed" in done.out or "PASS" in done.out
    assert "gateway: model and tools only" in done.out
    gate = project.spawn("gate", "reports/run")
    assert (gate.code, "gateway: model and tools only" in gate.out) == (0, True)


def test_a_program_with_the_incident_blocks_the_gate(project: Project, case_id: str) -> None:
    """As a function with it does."""
    code = REFUNDS.replace('"REFUNDS", "1"', '"REFUNDS", "2"')
    assert project.run("run", suite(project, command(code)), "--out", "reports/run", "-n", "1").code == 1
    assert project.run("gate", "reports/run").code == 1


def test_a_program_that_never_asks_the_gateway_is_not_measured(project: Project, case_id: str) -> None:
    """What it did, it did elsewhere: no check that nothing bad happened may pass for want of having seen anything."""
    done = project.run("run", suite(project, command("print('done')"), retries=0), "--out", "reports/run", "-n", "1")
    assert done.code == 3, done.err
    assert "asked the gateway nothing" in done.out
    gate = project.run("gate", "reports/run")
    assert (gate.code, "INCONCLUSIVE" in gate.out) == (3, True)
    asks = "import urllib.request\nurllib.request.urlopen(os.environ['OPENAI_BASE_URL'] + '/models').read()\n"
    sees = suite(project, command(f"import os\n{asks}print('nothing is to be done')"))
    done = project.run("run", sees, "--out", "reports/asked", "-n", "1")
    assert "asked the gateway nothing" not in done.out


def test_a_service_is_run_by_its_url(project: Project, case_id: str) -> None:
    """In a suite, or by the flag; one that is down is inconclusive, which holds the gate."""

    def agent(headers: dict[str, str], given: Any) -> tuple[int, Any]:
        import urllib.request

        for name in ("lookup", "refund"):
            params = {"name": name, "arguments": given}
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
            with urllib.request.urlopen(urllib.request.Request(headers["x-evalkit-mcp-url"], body)) as response:
                answer = json.load(response)["result"]["structuredContent"]
        return 200, {"done": answer}

    with service(agent) as url:
        assert project.run("run", suite(project, json.dumps(url)), "-n", "1").code == 0
        done = project.run("run", suite(project, '"no:thing"'), "--target", url, "-n", "1")
        assert done.code == 0, done.err
    done = project.run("run", suite(project, json.dumps(url)), "-n", "1", "--out", "reports/down")
    assert (done.code, "INCONCLUSIVE" in done.out) == (3, True)


def test_a_sandbox_refuses_them(project: Project, case_id: str) -> None:
    """With the reason, and what to do; whether the suite or the case names the target."""
    done = project.spawn("run", suite(project, command(), sandbox="true"))
    assert done.code == 2
    assert "a sandbox starts no programs" in done.err
    assert "without a sandbox" in done.err


def test_a_mended_program_proves_a_case(project: Project) -> None:
    """`ingest` verifies the pruning with the program as it was, `promote` wants one of the mended one's replays."""
    broken = json.dumps({"type": "command", "argv": [sys.executable, "-c", CALL + REFUNDS], "env": {"REFUNDS": "2"}})
    assert project.ingested("twice", "--target", broken) == "twice"
    assert "pruning: verified by replay of" in project.run("show", "twice").out
    assert project.run("review", "twice", "--accept-all", "--reason", "read them").code == 0
    mended = json.dumps({"type": "command", "argv": [sys.executable, "-c", CALL + REFUNDS]})
    for target, code in ((broken, 2), (mended, 0)):
        done = project.run("promote", "twice", "--reason", "paid twice", "--replay", "1", "--target", target)
        assert done.code == code, done.err


def test_a_program_that_is_not_there_stops_the_run(project: Project, case_id: str) -> None:
    """It is no sample's outcome: nothing of it could be measured."""
    done = project.run("run", suite(project, '"command: no-such-program"'), "-n", "1")
    assert (done.code, "there is no program" in done.err) == (2, True)
