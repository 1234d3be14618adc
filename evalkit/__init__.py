"""evalkit: an AI agent's incident, once recorded, never comes back.

The public names, each loaded when it is first used:

- `record`, `tool`: record an agent.
- `retrieval`, `policy`, `approval`, `action_hash`, `state`, `side_effect`: steps other than tools and model calls.
- `load_traces`, `compare`: read and compare traces.
- `ingest`, `judge`, `read_case`, `write_case`: cases.
- `replay`, `run_suite`: replay them.
- `ab`: compare two prompts, models or agents on them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit.app.api import ab, ingest, judge, replay, run_suite
    from evalkit.app.recording import record
    from evalkit.capture.dependencies import action_hash, approval, policy, retrieval
    from evalkit.capture.state import side_effect, state
    from evalkit.capture.tools import tool
    from evalkit.case.store import read_case, write_case
    from evalkit.trace.diff import compare
    from evalkit.trace.read import load_traces

__all__ = [
    "ab",
    "action_hash",
    "approval",
    "compare",
    "ingest",
    "judge",
    "load_traces",
    "policy",
    "read_case",
    "record",
    "replay",
    "retrieval",
    "run_suite",
    "side_effect",
    "state",
    "tool",
    "write_case",
]

_HOMES = {
    "ab": "evalkit.app.api",
    "action_hash": "evalkit.capture.dependencies",
    "approval": "evalkit.capture.dependencies",
    "compare": "evalkit.trace.diff",
    "ingest": "evalkit.app.api",
    "judge": "evalkit.app.api",
    "load_traces": "evalkit.trace.read",
    "policy": "evalkit.capture.dependencies",
    "read_case": "evalkit.case.store",
    "record": "evalkit.app.recording",
    "replay": "evalkit.app.api",
    "retrieval": "evalkit.capture.dependencies",
    "run_suite": "evalkit.app.api",
    "side_effect": "evalkit.capture.state",
    "state": "evalkit.capture.state",
    "tool": "evalkit.capture.tools",
    "write_case": "evalkit.case.store",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'evalkit' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
