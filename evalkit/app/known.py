"""An incident that the library knows already: refused, offered as a new version, or added as one.

Three degrees. The very same record is refused. The same run from another exporter is refused, too, unless somebody
says what it is to be. An incident with a case's signature that was asked much the same is offered: it is that case
again (``into``), or one of its own (``new``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from evalkit.canonical import Json
from evalkit.case.model import FIXTURE_OF, Case, LifeEvent
from evalkit.case.store import case_versions, read_case
from evalkit.distil.merge import merged_checks
from evalkit.distil.recurrence import alike, identifiers, opening
from evalkit.distil.strength import strength
from evalkit.errors import CaseRefused, InputError
from evalkit.sanitize.model import SanitizedTrace
from evalkit.suite.case_ref import CaseRef
from evalkit.trace.model import Step, Trace
from evalkit.trace.paths import united

__all__ = ["added_to", "refuse_known", "refuse_lookalike"]

_BOTH_WAYS = "pass --into {} --reason WHY to make it a new version of that case, or --new to make a case of its own"


def refuse_known(incident: SanitizedTrace, print_of: str, library: Iterable[CaseRef], *, decided: bool) -> None:
    """Refuses an incident that is a case, or a case's earlier version, already.

    Args:
        print_of: its fingerprint.
        library: the cases there are.
        decided: somebody said what it is to be, so that a run that only does the same is welcome.

    Raises:
        CaseRefused: it is.
    """
    for known in library:
        for raw_hash, print_of_known in _incidents(known):
            cure = f"evalkit show {known.id}; evalkit edit {known.id} makes a new version"
            if raw_hash == incident.record.raw_hash:
                what = f"this incident is case {known.id} already (version {known.version})"
            elif print_of and print_of == print_of_known and not decided:
                what = (
                    f"this run is case {known.id} already (version {known.version}): the same calls, results and "
                    "answer, whatever recorded it"
                )
                cure += f"; if it happened again: {_BOTH_WAYS.format(known.id)}"
            else:
                continue
            raise CaseRefused(what, f"trace {incident.trace.id}", cure)


def refuse_lookalike(made: Case, root: Path, library: Iterable[CaseRef]) -> None:
    """Refuses a new case whose incident looks like a case's.

    Args:
        library: the cases that it may be like; none where it is said to be one of its own.

    Raises:
        CaseRefused: it does; the cure names both ways on.
        InputError: its id is taken.
    """
    if case_versions(root / made.id):
        raise InputError(f"there is a case {made.id!r} of another incident", str(root), "pass --id")
    for known in library:
        if known.signature != made.signature or known.state == "retired":
            continue
        before = read_case(known.path)
        if not _same_situation(before.incident, made.incident):
            continue
        about = ", about the same record" if identifiers(before.incident) & identifiers(made.incident) else ""
        raise CaseRefused(
            f"looks like case {known.id} (same signature, {made.signature}; same situation{about})",
            f"trace {made.source['trace_id']}",
            _BOTH_WAYS.format(known.id),
        )


def added_to(before: Case, digest: str, made: Case, healthy: Sequence[Trace], actor: str, reason: str, at: str) -> Case:
    """The next version of a case, which has seen its incident again: the newer incident, and what both broke.

    A permanent case stays one; any other is proposed again.

    Raises:
        InputError: the case is retired, or actor or reason is missing.
        CaseRefused: the case is permanent, and would gate on what nothing healthy is shown to pass.
    """
    if before.state == "retired":
        raise InputError("the case is retired", f"case {before.id}", f"evalkit review {before.id}, or pass --new")
    checks = tuple(merged_checks(before.checks, before.incident, made.checks, made.incident, healthy))
    known_gates = {check.id for check in before.gating}
    further = [check.id for check in checks if check.gating and check.id not in known_gates]
    if before.permanent and further and not made.proof:
        raise CaseRefused(
            f"the case is permanent, and nothing shows that a healthy agent passes what is new: {', '.join(further)}",
            f"case {before.id}",
            "pass --passing healthy.trace, a healthy run of the newer incident's task, or --new",
        )
    strong = strength(checks, healthy, made.incident)
    earlier: Json = {
        "trace_id": before.source.get("trace_id"),
        "raw_hash": before.trace.record.raw_hash,
        "fingerprint": before.fingerprint,
        "version": before.version,
    }
    known = before.source.get("earlier")
    event = LifeEvent("permanent" if before.permanent else "proposed", actor, reason, at)
    trace = made.trace.trace
    whole = replace(trace, steps=(*trace.steps, *_further(before, trace)))
    moved = before.moved(digest, event)
    return replace(
        moved,
        trace=SanitizedTrace.admitted(whole, made.trace.record),
        kept=made.kept,
        dropped=made.dropped,
        checks=checks,
        source={**made.source, "earlier": [*(known if isinstance(known, list) else []), earlier]},
        signature=made.signature,
        evidence=made.evidence,
        strength={} if strong is None else strong.as_json(),
        target=made.target or before.target,
        tags=tuple(dict.fromkeys((*before.tags, *made.tags))),
        link=made.link or before.link,
        pruning=made.pruning,
        fingerprint=made.fingerprint,
        proof=made.proof,
        volatile=united(before.volatile, made.volatile),
        approved={},
    )


def _incidents(known: CaseRef) -> Iterator[tuple[str, str]]:
    """Raw hash and fingerprint of each incident that a case has seen."""
    yield known.raw_hash, known.fingerprint
    for one in known.earlier:
        if isinstance(one, dict):
            yield str(one.get("raw_hash")), str(one.get("fingerprint"))


def _same_situation(one: Trace, other: Trace) -> bool:
    """Asked much the same; where nothing was asked in words, with the same tools at hand."""
    if opening(one) or opening(other):
        return alike(one, other)
    return {step.name for step in one.of_kind("tool")} == {step.name for step in other.of_kind("tool")}


def _further(before: Case, trace: Trace) -> Iterator[Step]:
    """The healthy runs' answers of the version before: a mended agent may still ask for them."""
    number = max((step.seq for step in trace.steps), default=-1)
    for step in before.trace.trace.steps:
        if FIXTURE_OF in step.attributes:
            number += 1
            yield replace(step, seq=number)
