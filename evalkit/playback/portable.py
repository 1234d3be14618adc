"""Replays as bytes: how they come out of a confined process, where nothing of the agent's may be unpickled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, get_args

from evalkit.canonical import exact_text, parse_exact
from evalkit.capture.seam import Counts
from evalkit.case.model import Case
from evalkit.check.model import CheckResult
from evalkit.errors import InputError
from evalkit.playback.kept import Kept, trace_digest, trace_from_json
from evalkit.playback.model import Difference, Miss, Replay, ReplayStatus

__all__ = ["replays_from_bytes", "replays_to_bytes"]


def replays_to_bytes(replays: Sequence[Replay]) -> bytes:
    """Some replays as one JSON text."""
    return exact_text([_told(replay) for replay in replays])


def replays_from_bytes(data: bytes, case: Case) -> list[Replay]:
    """The replays of a case that a text tells.

    Raises:
        InputError: it is none that `replays_to_bytes` wrote.
    """
    try:
        return [_replay(body, case) for body in parse_exact(data)]
    except (InputError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        what = f"the sandbox gave no replays: {type(error).__name__}: {error}"
        raise InputError(what, f"case {case.id}", "the agent may have tampered with them") from None


def _told(replay: Replay) -> dict[str, Any]:
    return {
        "id": replay.id,
        "status": replay.status,
        "results": [[result.passed, result.reason, list(result.steps)] for result in replay.results],
        "counts": asdict(replay.counts),
        "recorded": replay.recorded,
        "reason": replay.reason,
        "misses": [asdict(miss) for miss in replay.misses],
        "duration_s": replay.duration_s,
        "text": replay.text.decode(),
        "stopped": replay.stopped,
    }


def _replay(body: dict[str, Any], case: Case) -> Replay:
    if body["status"] not in get_args(ReplayStatus):
        raise ValueError(f"no status is {body['status']!r}")
    text = body["text"].encode()
    found = body["results"]
    if len(found) not in (0, len(case.checks)):
        raise ValueError("other checks than the case's")
    return Replay(
        id=str(body["id"]),
        kept=Kept(trace_from_json(text, str(body["id"])), text, trace_digest(text)),
        status=body["status"],
        results=tuple(
            CheckResult(check, bool(passed), str(reason), tuple(map(int, steps)))
            for check, (passed, reason, steps) in zip(case.checks, found, strict=False)
        ),
        counts=Counts(**{name: int(count) for name, count in body["counts"].items()}),
        recorded=int(body["recorded"]),
        reason=str(body["reason"]),
        misses=tuple(_miss(miss) for miss in body["misses"]),
        duration_s=float(body["duration_s"]),
        stopped=str(body["stopped"]),
    )


def _miss(body: dict[str, Any]) -> Miss:
    differences = tuple(Difference(**difference) for difference in body["differences"])
    return replace(Miss(**{**body, "differences": ()}), differences=differences)
