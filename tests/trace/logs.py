"""Logs of model calls, written and read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

__all__ = ["read", "shape"]


def read(tmp_path: Path, document: Any, report: ReadReport | None = None) -> list[Trace]:
    """The traces of a document, or of lines."""
    path = tmp_path / "log"
    lines = document if isinstance(document, tuple) else (document,)
    path.write_text("\n".join(json.dumps(each) for each in lines), "utf-8")
    return list(load_traces(path, report=report))


def shape(trace: Trace) -> list[tuple[str, str]]:
    """Kinds and names of the steps."""
    return [(step.kind, step.name) for step in trace.steps]
