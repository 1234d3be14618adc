"""What was approved, by whom, until when: approvals in one form, and the hash that ties them to an action.

An action is a tool and its arguments; its hash is `action_hash`. The hash is derived from the step wherever it is
needed and not stored: sanitizing replaces values on both sides alike, so that approval and call still meet, where a
stored hash of the original values would meet nothing (and could be searched for them).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evalkit.canonical import Json, digest
from evalkit.errors import EvalkitError
from evalkit.trace.model import Step

__all__ = ["Approval", "action_hash", "approval_of", "decided_otherwise", "decision_of"]

_NAMES: dict[str, tuple[str, ...]] = {
    "approved": ("approved", "granted", "allowed", "is_approved"),
    "approver": ("approver", "approved_by", "by", "who"),
    "at": ("at", "approved_at"),
    "until": ("until", "valid_until", "expires_at", "expires"),
}
_VERDICT_KEYS = (*_NAMES["approved"], "allow", "decision", "status")
_YES = frozenset({"approved", "approve", "granted", "allowed", "allow", "yes"})
_NO = frozenset({"rejected", "reject", "refused", "denied", "deny", "no"})
_OPPOSITE = {
    "approved": "rejected",
    "approve": "reject",
    "granted": "denied",
    "allowed": "denied",
    "allow": "deny",
    "yes": "no",
    "rejected": "approved",
    "reject": "approve",
    "refused": "approved",
    "denied": "allowed",
    "deny": "allow",
    "no": "yes",
}


@dataclass(frozen=True, slots=True)
class Approval:
    """One approval that was asked for.

    Attributes:
        seq: its step.
        approved: None when the step does not say.
        approver: who decided.
        action: the hash of the approved action; None when the step names no action.
        at, until: seconds since 1970 UTC; `until` is None for no end.
    """

    seq: int
    approved: bool | None
    approver: str | None
    action: str | None
    at: float | None
    until: float | None


def action_hash(tool: str, arguments: Json) -> str:
    """The hash of an action: hex SHA-256 over the canonical JSON of ``[tool, arguments]``.

    The arguments are those of the tool's step: by parameter name, defaults filled in.

    Raises:
        InputError: the arguments are no JSON.
    """
    return digest([tool, arguments])


def approval_of(step: Step) -> Approval:
    """A step of kind `approval`, read; an error in place of an answer is no approval."""
    told = decision_of(step.output)
    approved = told.get("approved")
    approver = told.get("approver")
    return Approval(
        seq=step.seq,
        approved=False if step.error is not None else approved if isinstance(approved, bool) else None,
        approver=approver if isinstance(approver, str) else None,
        action=_action(step.input) or _action(step.output),
        at=step.ended_at if told.get("at") is None else _seconds(told["at"]),
        until=_seconds(told.get("until")),
    )


def decision_of(answer: Json) -> dict[str, Json]:
    """An approver's answer in normal form: ``approved``, ``approver``, ``at``, ``until``, and what else it says.

    A bare truth value is `approved`; a word such as ``"granted"`` too; an answer of another kind stands under
    ``answer``.
    """
    if isinstance(answer, dict):
        found = dict(answer)
        for name, others in _NAMES.items():
            given = next((other for other in others if other in found), None)
            if given is not None and given != name:
                found[name] = found.pop(given)
        if "approved" not in found:
            word = found.get("decision", found.get("status"))
            if _truth(word) is not None:
                found["approved"] = _truth(word)
        return found
    truth = _truth(answer)
    return {"answer": answer} if truth is None else {"approved": truth}


def decided_otherwise(answer: Json, *, approved: bool) -> Json:
    """An approver's or a policy's answer with another verdict, in the form that `answer` has.

    An answer in which no verdict is found, or None, becomes a bare truth value.
    """
    if isinstance(answer, str) and _truth(answer) is not None:
        return answer if _truth(answer) is approved else _OPPOSITE[answer.lower()]
    if isinstance(answer, dict):
        changed = dict(answer)
        keys = [
            key for key in (*_NAMES["approved"], "allow", "decision", "status") if _truth(answer.get(key)) is not None
        ]
        for key in keys:
            changed[key] = decided_otherwise(answer[key], approved=approved)
        return changed if keys else approved
    return approved


def _truth(answer: Json) -> bool | None:
    if isinstance(answer, bool):
        return answer
    word = answer.lower() if isinstance(answer, str) else ""
    return True if word in _YES else False if word in _NO else None


def _action(body: Any) -> str | None:
    if not isinstance(body, dict):
        return None
    if isinstance(body.get("action_hash"), str):
        return str(body["action_hash"])
    action = body.get("action")
    if isinstance(action, dict):
        body = action
    if isinstance(body.get("tool"), str) and "arguments" in body:
        try:
            return action_hash(body["tool"], body["arguments"])
        except EvalkitError:
            return None
    return None


def _seconds(value: Json) -> float | None:
    """A time as seconds since 1970: a number, or ISO 8601 text (UTC where it names no zone)."""
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, int | float):
            return float(value)
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return None if moment is None else (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
