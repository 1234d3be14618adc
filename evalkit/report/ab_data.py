"""``ab.json``: an A/B verdict for machines. Keys are stable: they are only ever added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evalkit.verdict.ab import ABVerdict, ArmOfCase, CasePair, Loss

__all__ = ["SCHEMA", "ab_json"]

SCHEMA = "evalkit.ab/1"


def ab_json(found: ABVerdict, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict; differences are b less a, rates shares from 0 to 1.

    Args:
        facts: of the run: where it is, whether the arms took turns; added as they are.
    """
    return {
        "schema": SCHEMA,
        **facts,
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
