"""One statement about a trace that is true or false, with a reason.

A `Check` is data: it is stored in a case, read by people, and judged against any trace. What it means is its type's
business (`check.registry`); a type compiles a check's parameters once into a function of a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, TypeAlias

from evalkit.canonical import Json, digest
from evalkit.errors import InputError
from evalkit.trace.model import Trace

__all__ = ["Check", "CheckResult", "CheckType", "Finding", "Judge", "check_from_json", "check_json", "checks_digest"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What judging one check on one trace came to.

    Attributes:
        passed: whether the statement holds.
        reason: one sentence; for a failed check what was found against what was wanted.
        steps: the trace's steps (`seq`) that show it.
    """

    passed: bool
    reason: str
    steps: tuple[int, ...] = ()


Judge: TypeAlias = Callable[[Trace], Finding]


class CheckType(Protocol):
    """One kind of statement."""

    name: str
    """The name in a check's ``type``."""

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        ...

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """The function that judges a trace.

        Raises:
            InputError: the parameters are not of the type's form.
        """
        ...


@dataclass(frozen=True, slots=True)
class Check:
    """One statement of a case.

    Attributes:
        type: name in the registry.
        params: the type's parameters, JSON.
        gating: False for an observation: judged and shown, but it fails no sample.
        rule: which rule proposed it (``expect``, ``contrast``, ``incident:repeated_effect``, ``manual`` ...).
        evidence: the incident's steps (`seq`) that it came from.
        confidence: 0 to 1, how sure the rule is that a healthy run keeps it.
        note: a person's remark.
    """

    type: str
    params: Mapping[str, Json] = field(default_factory=dict)
    gating: bool = True
    rule: str = "manual"
    evidence: tuple[int, ...] = ()
    confidence: float = 1.0
    note: str = ""

    @property
    def id(self) -> str:
        """Short and stable: the type and what is stated, not who stated it."""
        return f"{self.type}-{digest({'type': self.type, 'params': dict(self.params)})[:8]}"


_FIELDS = frozenset(field.name for field in fields(Check))


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check with its finding on one trace."""

    check: Check
    passed: bool
    reason: str
    steps: tuple[int, ...] = ()

    @property
    def gating(self) -> bool:
        """Whether a failure fails the sample."""
        return self.check.gating


def check_json(check: Check) -> dict[str, Json]:
    """A check as stored in a case; fields at their default are left out."""
    found: dict[str, Json] = {"type": check.type, "params": dict(check.params)}
    if not check.gating:
        found["gating"] = False
    if check.rule != "manual":
        found["rule"] = check.rule
    if check.evidence:
        found["evidence"] = list(check.evidence)
    if check.confidence != 1.0:
        found["confidence"] = check.confidence
    if check.note:
        found["note"] = check.note
    return found


def check_from_json(body: Any, where: str = "") -> Check:
    """The check that `check_json` wrote, or that a person did.

    Raises:
        InputError: not an object with a ``type``, or an unknown field.
    """
    if not isinstance(body, dict) or not isinstance(body.get("type"), str):
        raise InputError("a check is an object with a type", where, 'write {"type": "not_called", "params": {...}}')
    if not isinstance(body.get("params") or {}, dict):
        raise InputError("the params of a check are an object", where, 'write "params": {"name": "refund"}')
    unknown = body.keys() - _FIELDS
    if unknown:
        raise InputError(f"unknown field of a check: {', '.join(sorted(unknown))}", where, "remove or correct it")
    evidence, confidence = body.get("evidence", []), body.get("confidence", 1.0)
    for key, right, wanted in (
        ("gating", type(body.get("gating", True)) is bool, "true or false"),
        ("evidence", type(evidence) is list and all(type(seq) is int for seq in evidence), "a list of step numbers"),
        ("confidence", type(confidence) in (int, float) and 0 <= confidence <= 1, "a number from 0 to 1"),
    ):
        if not right:
            raise InputError(f"{key} of a check is {wanted}, not {body[key]!r}", where, "correct it")
    return Check(
        type=body["type"],
        params=body.get("params") or {},
        gating=body.get("gating", True),
        rule=str(body.get("rule", "manual")),
        evidence=tuple(evidence),
        confidence=float(confidence),
        note=str(body.get("note", "")),
    )


def checks_digest(checks: Iterable[Check]) -> str:
    """What a case demands, in 16 hex digits: equal while its gating checks are."""
    return digest([*sorted(check.id for check in checks if check.gating)])[:16]
