"""Several statements as one, and the opposite of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.check.model import Check, Finding, Judge, check_from_json
from evalkit.check.params import known_only
from evalkit.check.registry import CHECKS
from evalkit.errors import InputError
from evalkit.trace.model import Trace

__all__ = ["ALL_OF", "ANY_OF", "NOT", "parts_of"]

_MAX_DEPTH = 5
_WHERE = "check all_of, any_of or not"


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


class AnyOf:
    """At least one of ``checks`` (in a check's JSON form) holds."""

    name = "any_of"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return " Or: ".join(CHECKS.get(part.type).sentence(part.params) for part in parts_of(params))

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Compiles each part once."""
        known_only(params, self.name, "checks")
        judges = [CHECKS.get(part.type).compile(part.params) for part in parts_of(params)]

        def judge(trace: Trace) -> Finding:
            findings = []
            for one in judges:
                findings.append(one(trace))
                if findings[-1].passed:
                    return findings[-1]
            steps = sorted({seq for finding in findings for seq in finding.steps})
            return Finding(False, "none holds: " + "; ".join(finding.reason for finding in findings), tuple(steps))

        return judge


class Not:
    """``check`` (in a check's JSON form) does not hold."""

    name = "not"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        (part,) = parts_of(params)
        return f"It does not hold that: {CHECKS.get(part.type).sentence(part.params)}"

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Turns the part's finding round."""
        known_only(params, self.name, "check")
        (part,) = parts_of(params)
        one = CHECKS.get(part.type).compile(part.params)

        def judge(trace: Trace) -> Finding:
            found = one(trace)
            return Finding(
                not found.passed, f"{'holds' if found.passed else 'does not hold'}: {found.reason}", found.steps
            )

        return judge


def parts_of(params: Mapping[str, Any]) -> list[Check]:
    """The checks that an ``all_of``, an ``any_of`` (``checks``) or a ``not`` (``check``) holds.

    Raises:
        InputError: there are none, one is no check, or they are nested deeper than five levels.
    """
    bodies = _bodies(params)
    if not isinstance(bodies, list) or not bodies:
        raise InputError("checks is no list of checks", _WHERE, '"checks": [{"type": "...", "params": {}}]')
    if _depth(bodies) > _MAX_DEPTH:
        raise InputError(f"nested deeper than {_MAX_DEPTH} levels", _WHERE, "write one flat list")
    return [check_from_json(body, _WHERE) for body in bodies]


def _bodies(params: Mapping[str, Any]) -> Any:
    return [params["check"]] if "check" in params else params.get("checks")


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
        level = [_bodies(part) for part in parts if "checks" in part or "check" in part]
    return depth


ALL_OF = AllOf()
ANY_OF = AnyOf()
NOT = Not()
