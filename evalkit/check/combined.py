"""Several statements as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.check.model import Check, Finding, Judge, check_from_json
from evalkit.check.params import known_only
from evalkit.check.registry import CHECKS
from evalkit.errors import InputError
from evalkit.trace.model import Trace

__all__ = ["ALL_OF", "parts_of"]

_MAX_DEPTH = 5


class AllOf:
    """Each of ``checks`` (in a check's JSON form) holds; the reason names those that don't."""

    name = "all_of"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return " ".join(CHECKS.get(part.type).sentence(part.params) for part in parts_of(params))

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Compiles each part once."""
        known_only(params, self.name, "checks")
        judges = [CHECKS.get(part.type).compile(part.params) for part in parts_of(params)]

        def judge(trace: Trace) -> Finding:
            findings = [one(trace) for one in judges]
            wrong = [finding for finding in findings if not finding.passed]
            shown = wrong or findings
            steps = sorted({seq for finding in shown for seq in finding.steps})
            return Finding(not wrong, "; ".join(finding.reason for finding in shown), tuple(steps))

        return judge


def parts_of(params: Mapping[str, Any]) -> list[Check]:
    """The checks that an ``all_of`` holds.

    Raises:
        InputError: there are none, one is no check, or they are nested deeper than five levels.
    """
    bodies = params.get("checks")
    if not isinstance(bodies, list) or not bodies:
        raise InputError("checks is no list of checks", "check all_of", '"checks": [{"type": "...", "params": {}}]')
    if _depth(bodies) > _MAX_DEPTH:
        raise InputError(f"nested deeper than {_MAX_DEPTH} levels", "check all_of", "write one flat list")
    return [check_from_json(body, "check all_of") for body in bodies]


def _depth(bodies: Any) -> int:
    level, depth = [bodies], 0
    while level and depth <= _MAX_DEPTH:
        depth += 1
        parts = [
            one["params"]
            for body in level
            if isinstance(body, list)
            for one in body
            if isinstance(one, dict) and isinstance(one.get("params"), dict)
        ]
        level = [part["checks"] for part in parts if "checks" in part]
    return depth


ALL_OF = AllOf()
