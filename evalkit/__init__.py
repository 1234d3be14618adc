"""evalkit: an AI agent's incident, once recorded, never comes back.

The public names, each loaded when it is first used:

- `tool`, `record`: record an agent.
- `load_traces`, `compare`: read and compare traces.
- `ingest`, `judge`, `read_case`, `write_case`: cases.
- `replay`, `run_suite`: replay them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit.app.api import ingest, judge, replay, run_suite
    from evalkit.capture.recording import record
    from evalkit.capture.tools import tool
    from evalkit.case.store import read_case, write_case
    from evalkit.trace.diff import compare
    from evalkit.trace.read import load_traces

__all__ = [
    "compare",
    "ingest",
    "judge",
    "load_traces",
    "read_case",
    "record",
    "replay",
    "run_suite",
    "tool",
    "write_case",
]

_HOMES = {
    "compare": "evalkit.trace.diff",
    "ingest": "evalkit.app.api",
    "judge": "evalkit.app.api",
    "load_traces": "evalkit.trace.read",
    "read_case": "evalkit.case.store",
    "record": "evalkit.capture.recording",
    "replay": "evalkit.app.api",
    "run_suite": "evalkit.app.api",
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
