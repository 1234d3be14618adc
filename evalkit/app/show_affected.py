"""What `evalkit affected` and `evalkit drift` show, as lines for people and as JSON with stable keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from evalkit.app.affected import Affected
from evalkit.app.drift import Drifted
from evalkit.errors import ExitCode
from evalkit.figures import counted
from evalkit.report.text import json_text
from evalkit.trace.visible import visible

__all__ = ["affected_json", "affected_lines", "drift_exit_code", "drift_json", "drift_lines"]


def affected_lines(found: Sequence[Affected]) -> Iterator[str]:
    """The touched cases with what touches each, and how many there are."""
    for one in found:
        gate = " [permanent gate]" if one.state == "permanent" else ""
        for touch in one.touches:
            yield visible(f"{one.case_id}{gate}: {touch.words}")
        if one.unknown:
            yield visible(f"{one.case_id}{gate}: not told: {one.unknown}")
    touched = sum(bool(one.touches) for one in found)
    yield f"{touched} of {counted(len(found), 'case')} touched"
    if touched:
        yield "re-record them (evalkit ingest --into CASE), or agree to them: evalkit reapprove CASE --reason WHY"


def affected_json(found: Sequence[Affected]) -> list[dict[str, Any]]:
    """All cases that were looked at."""
    return [
        {
            "case": one.case_id,
            "version": one.version,
            "state": one.state,
            "touches": [asdict(touch) for touch in one.touches],
            "unknown": one.unknown,
        }
        for one in found
    ]


def drift_lines(found: Sequence[Drifted]) -> Iterator[str]:
    """What drifted or was skipped, a line a difference, and how many calls there were of each kind."""
    for one in found:
        call = f"{one.case_id}: {one.tool}({json_text(one.arguments)})"
        if one.status in ("failed", "skipped"):
            yield visible(f"{call}: {one.status}: {one.reason}")
        for what, words in (("shape", one.shape), ("value", one.values)):
            yield from (visible(f"{call}: {what}: {word}") for word in words)
    statuses = Counter(one.status for one in found)
    yield ", ".join(f"{count} {status}" for status, count in statuses.items()) or "no call of these tools is recorded"


def drift_json(found: Sequence[Drifted]) -> list[dict[str, Any]]:
    """All calls."""
    return [asdict(one) for one in found]


def drift_exit_code(found: Sequence[Drifted], *, shape_only: bool) -> ExitCode:
    """1 where an answer drifted, 3 where nothing was called, else 0."""
    statuses = {one.status for one in found} - {"skipped"}
    if statuses & ({"shape", "failed"} if shape_only else {"shape", "failed", "values"}):
        return ExitCode.BLOCKED
    return ExitCode.DONE if statuses else ExitCode.INCONCLUSIVE
