"""``ab.json``: an A/B verdict for machines. Keys are stable: they are only ever added."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from evalkit.verdict.ab import ABVerdict, ArmOfCase, CasePair, Loss

__all__ = ["SCHEMA", "ABOrigin", "ab_json"]

SCHEMA = "evalkit.ab/1"


@dataclass(frozen=True, slots=True)
class ABOrigin:
    """Where a verdict comes from.

    Attributes:
        folder: of the whole; None where two runs were compared that there were.
        run_a, run_b: the folder of the arm's run.
        interleaved: whether the arms took turns.
        stopped: why the runs stopped before their end; empty for whole ones.
    """

    folder: str | None
    run_a: str
    run_b: str
    interleaved: bool
    stopped: str


def ab_json(found: ABVerdict, origin: ABOrigin) -> dict[str, Any]:
    """The verdict; differences are b less a, rates shares from 0 to 1."""
    return {
        "schema": SCHEMA,
        "folder": origin.folder,
        "runs": {"a": origin.run_a, "b": origin.run_b},
        "interleaved": origin.interleaved,
        "stopped": origin.stopped,
        "arms": {"a": found.a, "b": found.b},
        "sentence": found.sentence,
        "better": found.better,
        "primary": found.primary,
        "alpha": found.alpha,
        "deterministic": found.deterministic,
        "pass_rate": None if found.rate is None else {**asdict(found.rate), "difference": found.rate.difference},
        "metrics": {change.metric: asdict(change) for change in found.metrics},
        "lost": {"a": _loss(found.loss_a), "b": _loss(found.loss_b), "unequal": found.unequal_loss},
        "notes": list(found.notes),
        "cases": [_pair(pair) for pair in found.pairs],
    }


def _pair(pair: CasePair) -> dict[str, Any]:
    return {**asdict(pair), "a": _arm(pair.a), "b": _arm(pair.b)}


def _arm(arm: ArmOfCase) -> dict[str, Any]:
    return {**asdict(arm), "n": arm.n, "rate": arm.rate}


def _loss(loss: Loss) -> dict[str, Any]:
    return {**asdict(loss), "share": loss.share}
