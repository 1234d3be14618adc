"""What people and scripts see of evidence and of forgetting. Nothing here names a subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from evalkit.app.evidence import Kept, Listed
from evalkit.app.forget import CaseFound, Forgetting
from evalkit.trace.visible import visible
from evalkit.vault.model import Evidence

__all__ = ["evidence_json", "forgetting_json", "forgetting_lines", "kept_lines", "listed_json"]

_NOT_REACHED = (
    "backups, snapshots and copies of the evidence folder: a wrapped key that was copied still opens its trace",
    "git history, other clones and branches, and CI's artifacts: they hold the old versions, with surrogates",
    "raw trace files that lie elsewhere, such as the source of an ingest",
    "what else the same person is called: a name does not tell their e-mail, nor an e-mail their ids; name all of them",
)
"""What forgetting can't do, said each time."""


def kept_lines(kept: Iterable[Kept]) -> Iterator[str]:
    """What `ingest` says of raw traces."""
    for one in kept:
        yield (
            f"kept raw, encrypted: evidence {one.id}"
            if one.fresh
            else (f"not kept again: evidence {one.id} is there already, or was destroyed")
        )


def evidence_json(one: Evidence) -> dict[str, Any]:
    """A piece of evidence as plain JSON."""
    return {
        "id": one.id,
        "kept_at": one.kept_at,
        "retention": one.effective,
        "hold": None if one.hold is None else one.hold.as_json(),
        "size_bytes": one.size_bytes,
        "policy_version": one.policy_version,
        "key_id": one.key_id,
    }


def listed_json(one: Listed) -> dict[str, Any]:
    """A line of `evidence list` as plain JSON."""
    return {**evidence_json(one.evidence), "cases": list(one.cases)}


def forgetting_json(found: Forgetting) -> dict[str, Any]:
    """What was forgotten, or would be, as plain JSON."""
    return {
        "done": found.done,
        "evidence": list(found.evidence),
        "cases": [
            {"id": case.id, "gone": [number for number, _, _ in case.gone], "became": case.number,
             "rewritten": case.became is not None, "warnings": list(case.warnings)}
            for case in found.cases
        ],
        "runs": [str(run.path) for run in found.runs],
        "maybe": list(found.maybe),
        "other_key": list(found.strange),
        "left": list(found.left),
        "not_reached": [*_not_reached(found)],
        "audit": found.audit,
    }  # fmt: skip


def forgetting_lines(found: Forgetting) -> Iterator[str]:
    """What was forgotten, or would be, for people."""
    destroyed, rewritten, removed = (
        ("destroyed", "rewritten", "removed") if found.done else ("to destroy", "to rewrite", "to remove")
    )
    if found.empty:
        yield "nothing of this subject was found"
    yield from (f"{destroyed}: evidence {one}" for one in found.evidence)
    for case in found.cases:
        yield from _case_lines(case, rewritten, removed)
    yield from (f"{removed}: run {visible(str(run.path))}, {len(run.files)} files" for run in found.runs)
    yield from (f"left, holds a part of the name only: {one}" for one in found.maybe)
    yield from (f"not searched, made with another project key: {one}" for one in found.strange)
    yield from (f"left, names the subject; change it yourself: {visible(one)}" for one in found.left)
    yield "not reached:"
    yield from (f"  {one}" for one in _not_reached(found))
    if found.audit:
        yield f"audit line: {found.audit}"


def _not_reached(found: Forgetting) -> Iterator[str]:
    if found.absent:
        yield visible(found.absent)
    yield from _NOT_REACHED


def _case_lines(case: CaseFound, rewritten: str, removed: str) -> Iterator[str]:
    numbers = ", ".join(f"v{number}" for number, _, _ in case.gone)
    if case.became is not None:
        yield f"{rewritten}: case {case.id} as v{case.number}; {removed}: {numbers}"
    else:
        yield f"{removed}: case {case.id} {numbers}; v{case.number} and later are free of the subject"
    yield from (f"  see to it: {warning}" for warning in case.warnings)
