"""``arms.json``: what an A/B run is to compare, written before its first turn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import orjson

from evalkit.errors import InputError, IntegrityError
from evalkit.playback.endpoint.budget import Budget
from evalkit.suite.disk import write_whole
from evalkit.verdict.ab import METRICS, Metric

__all__ = ["ARMS_NAME", "ABPlan", "read_plan", "write_plan"]

ARMS_NAME = "arms.json"


@dataclass(frozen=True, slots=True)
class ABPlan:
    """What ``arms.json`` holds.

    Attributes:
        names: the arms in words.
        samples: a case and arm.
        blocks: see `suite.turns.turns`.
        budget: of both arms together.
    """

    names: tuple[str, str]
    samples: int
    blocks: int
    primary: Metric
    alpha: float
    budget: Budget


def write_plan(folder: Path, plan: ABPlan) -> None:
    """Writes the plan; it appears whole or not at all."""
    body = {
        "format": 1, "names": plan.names, "samples": plan.samples, "blocks": plan.blocks, "primary": plan.primary,
        "alpha": plan.alpha, "budget": plan.budget.json(),
    }  # fmt: skip
    write_whole(folder / ARMS_NAME, orjson.dumps(body, option=orjson.OPT_INDENT_2), durable=True)


def read_plan(folder: Path) -> ABPlan:
    """The plan of an A/B run.

    Raises:
        InputError: there is none.
        IntegrityError: it is broken.
    """
    path = folder / ARMS_NAME
    try:
        body = orjson.loads(path.read_bytes())
        name_a, name_b = body["names"]
        primary = body["primary"]
        if primary not in METRICS:
            raise ValueError(f"no metric {primary!r}")
        return ABPlan(
            (name_a, name_b),
            int(body["samples"]),
            int(body["blocks"]),
            primary,
            float(body["alpha"]),
            Budget(**body["budget"]),
        )
    except FileNotFoundError:
        raise InputError("there is no A/B run", str(folder), "pass a folder that evalkit ab made") from None
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise IntegrityError(f"the plan is broken: {error}", str(path), "start the A/B run again") from None
