"""`evalkit demo`: one incident from the recording to the open gate, offline, with the real commands' code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalkit.app.baselines import set_baseline
from evalkit.app.demo import agent
from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.app.gate import gate_run
from evalkit.app.ingest import ingest_trace, load_one
from evalkit.app.init import init_project
from evalkit.app.keys import make_sanitizer
from evalkit.app.life import Replays, promote_case, review_case
from evalkit.app.run import run_suite
from evalkit.app.run_model import Run
from evalkit.app.settings import Settings
from evalkit.app.show_cases import ingested_lines
from evalkit.app.show_runs import decision_lines, saving_lines
from evalkit.canonical import Json
from evalkit.capture.recording import record
from evalkit.playback.environment import environment_of

__all__ = ["record_incident", "walk"]

_MESSAGE = "Hi, order A-1001 arrived broken. Please refund it and tell me when the money is on its way."
_DUE: Json = {"name": "refund_order", "arguments": {"order_id": "A-1001", "amount": 129.0}}
"""What the customer should have got, once."""
_ERROR_RATE = 0.35
"""How often the demo's model confuses the tools, in the variant that went wrong."""
CASE_ID = "refund-twice"
_AGENT = "evalkit.app.demo.agent"
_SUITE = """\
# Blocks a release: every permanent case must pass.
name = "release"
target = "{target}"
mode = "live-model"

[select]
gate = true

[model]
base_url = "{base_url}"
"""


def walk(folder: Path | None, *, say: Callable[[str], Any]) -> tuple[Run, Run]:
    """Walks the loop; returns the buggy run and the fixed one.

    Args:
        folder: where to work; None for a temporary folder, whose report stays.
    """
    work = folder or Path(tempfile.mkdtemp(prefix="evalkit-demo-"))
    work.mkdir(parents=True, exist_ok=True)
    settings = Settings(root=work, cases=work / "cases", suites=work / "suites", reports=work / "reports", actor="demo",
                        pseudonym_key="00" * 32)  # fmt: skip  # the demo's people are invented: any key will do
    list(init_project(work))
    say("1. record: the agent answers a customer, and refunds twice")
    incident = work / "incident.trace"
    record_incident(incident, settings)
    say(f"   wrote {incident}")
    say("2. ingest: the incident becomes a case, with checks that fail on it")
    done = ingest_trace(
        load_one(str(incident)),
        settings,
        case_id=CASE_ID,
        expect={"effects": [_DUE]},
        title="The refund was paid twice",
        target=f"{_AGENT}:run_buggy",
        owner="payments",
    )
    _indent(ingested_lines(done), say)
    say("3. review and promote: the checks are read, the mended agent passes, the case becomes a permanent gate")
    review_case(CASE_ID, settings, actor="demo reviewer", reason="an order must not be refunded twice")
    with serving(ScriptedModel(_ERROR_RATE, seed=7)) as base_url:
        mended = Replays(3, f"{_AGENT}:run_fixed", "live-model", base_url)
        promote_case(CASE_ID, settings, actor="demo", reason="money was paid out twice", replays=mended)
    say("4. run the agent as it was, with a live model and frozen tools, until it is clear whether it passes")
    with serving(ScriptedModel(_ERROR_RATE, seed=7)) as base_url:
        suite = work / "suites" / "release.toml"
        suite.write_text(_SUITE.format(target=f"{_AGENT}:run_buggy", base_url=base_url), "utf-8")
        # the model's server is a thread of this process, which can't be forked then
        buggy = run_suite(suite, settings, executor="serial")
        _gate(buggy, settings, say)
        say("5. run the agent with the mended prompt, likewise")
        fixed = run_suite(suite, settings, executor="serial", overrides={"target": f"{_AGENT}:run_fixed"})
        fixed = _gate(fixed, settings, say)
    set_baseline([fixed.folder], settings, actor="demo", reason="the mended agent")
    say(f"the blocked release: {buggy.folder / 'report.html'}")
    say(f"the open one:        {fixed.folder / 'report.html'}")
    return buggy, fixed


def record_incident(path: Path, settings: Settings) -> None:
    """Records the run that went wrong: the model is certain to confuse the tools."""
    with (
        serving(ScriptedModel(error_rate=1.0)) as base_url,
        environment_of(base_url),
        record(path, name="refund-agent", input={"message": _MESSAGE}, sanitizer=make_sanitizer(settings)) as run,
    ):
        run.output = agent.run_buggy(_MESSAGE)


def _gate(run: Run, settings: Settings, say: Callable[[str], Any]) -> Run:
    decided = gate_run(run.folder, settings)
    _indent([*decision_lines(decided.decision), *saving_lines(decided)], say)
    return decided


def _indent(lines: Any, say: Callable[[str], Any]) -> None:
    for line in lines:
        say(f"   {line}")
