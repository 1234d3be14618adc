"""A case's header: everything but the steps, as one JSON object in the Parquet schema's metadata.

Key ``evalkit.case`` of the schema. ``steps_hash`` ties it to the rows; ``digest`` is the SHA-256 of the header's text
without ``digest``, and so of the whole version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from evalkit.canonical import Json, exact_text
from evalkit.case.model import STATES, Case, Dropped, LifeEvent, check_case_id
from evalkit.check.model import check_from_json, check_json
from evalkit.errors import InputError
from evalkit.sanitize.model import SanitizationRecord, SanitizedTrace
from evalkit.trace.file import error_json
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Step, StepError, Trace
from evalkit.trace.modes import closed_modes
from evalkit.trace.sound import sound

__all__ = ["CASE_FORMAT_VERSION", "case_from_header", "header_digest", "header_json", "refuse_strange_format"]

CASE_FORMAT_VERSION = 2
"""In format 1 a row's hash was over the whole text of its input."""


def header_json(case: Case, steps_hash: str) -> dict[str, Any]:
    """The header of `case`, digest included."""
    header: dict[str, Any] = {
        "format": CASE_FORMAT_VERSION,
        "id": case.id,
        "version": case.version,
        "parent": case.parent,
        "title": case.title,
        "signature": case.signature,
        "state": case.state,
        "life": [_event_json(event) for event in case.life],
        "checks": [check_json(check) for check in case.checks],
        "dropped": [[drop.seq, drop.kind, drop.name, drop.reason] for drop in case.dropped],
        "source": dict(case.source),
        "sanitization": case.trace.record.as_json(),
        "evidence": case.evidence,
        "closed_modes": dict(case.closed),
        "strength": dict(case.strength),
        "target": case.target,
        "owner": case.owner,
        "link": case.link,
        "volatile": {name: list(paths) for name, paths in case.volatile.items()},
        **({"on_miss": dict(case.on_miss)} if case.on_miss else {}),
        "tags": list(case.tags),
        "pruning": dict(case.pruning),
        "fingerprint": case.fingerprint,
        "proof": list(case.proof),
        **({"approved": dict(case.approved)} if case.approved else {}),
        "trace": _trace_json(case.incident),
        "steps_hash": steps_hash,
    }
    return {**header, "digest": header_digest(header)}


def header_digest(header: Mapping[str, Json]) -> str:
    """The digest of a header: the hex SHA-256 of its JSON text without ``digest``, keys in the stored order."""
    return hashlib.sha256(exact_text({key: value for key, value in header.items() if key != "digest"})).hexdigest()


def refuse_strange_format(header: Mapping[str, Any], where: str) -> None:
    """Refuse a case of a later format.

    Raises:
        InputError: it is one.
    """
    if header.get("format") not in range(1, CASE_FORMAT_VERSION + 1):
        raise InputError(
            f"case format {header.get('format')!r} is not known (this evalkit reads up to {CASE_FORMAT_VERSION})",
            where,
            "upgrade evalkit",
        )


def case_from_header(header: Mapping[str, Any], steps: list[tuple[Step, bool]], where: str) -> Case:
    """The case of a header and its rows.

    Raises:
        InputError: the header is of a later format, or lacks a field.
    """
    refuse_strange_format(header, where)
    try:
        if not header["life"]:
            raise ValueError("its life is empty")
        trace = sound(_trace_from(header["trace"], [step for step, _ in steps]), where, ReadReport())
        # cases written before modes were kept: what they hold tells
        closed = header["closed_modes"] if "closed_modes" in header else closed_modes(trace)
        return Case(
            id=check_case_id(header["id"]),
            version=int(header["version"]),
            parent=None if header["parent"] is None else _text(header, "parent"),
            title=str(header["title"]),
            trace=SanitizedTrace.admitted(
                trace,
                SanitizationRecord.from_json(header["sanitization"]),
            ),
            kept=tuple(step.seq for step, kept in steps if kept),
            checks=tuple(check_from_json(check, where) for check in header["checks"]),
            life=tuple(_event_from(event) for event in header["life"]),
            dropped=tuple(_dropped(*drop) for drop in header["dropped"]),
            source=dict(header["source"]),
            signature=_text(header, "signature"),
            evidence=float(header["evidence"]),
            strength=dict(header.get("strength", {})),  # files from before it was measured lack it
            closed={str(mode): str(reason) for mode, reason in dict(closed).items()},
            target=_text(header, "target"),
            owner=_text(header, "owner"),
            link=_text(header, "link"),
            volatile={name: tuple(_texts(paths)) for name, paths in header["volatile"].items()},
            on_miss=dict(header.get("on_miss", {})),
            tags=tuple(_texts(header["tags"])),
            pruning=dict(header.get("pruning", {})),
            fingerprint=str(header.get("fingerprint", "")),
            proof=tuple(_texts(header.get("proof", []))),
            approved=dict(header.get("approved", {})),
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise InputError(f"the header lacks what a case needs ({type(error).__name__}: {error})", where,
                         "restore the file from version control") from None  # fmt: skip


def _event_json(event: LifeEvent) -> dict[str, Json]:
    found: dict[str, Json] = {"state": event.state, "actor": event.actor, "reason": event.reason, "at": event.at}
    return {**found, "proved": event.proved} if event.proved else found


def _event_from(body: Mapping[str, Any]) -> LifeEvent:
    if body["state"] not in STATES:
        raise ValueError(f"unknown state {body['state']!r}")
    proved = str(body.get("proved", ""))
    return LifeEvent(body["state"], _text(body, "actor"), _text(body, "reason"), _text(body, "at"), proved)


def _dropped(seq: Any, kind: Any, name: Any, reason: Any) -> Dropped:
    if type(seq) is not int or not all(isinstance(text, str) for text in (kind, name, reason)):
        raise TypeError("a dropped step is a number and three texts")
    return Dropped(seq, kind, name, reason)


def _text(body: Mapping[str, Any], key: str) -> str:
    text = body[key]
    if not isinstance(text, str):
        raise TypeError(f"{key} is no text")
    return text


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("no list of texts")
    return values


def _trace_json(trace: Trace) -> dict[str, Json]:
    return {
        "id": trace.id,
        "name": trace.name,
        "dialect": trace.dialect,
        "input": trace.input,
        "output": trace.output,
        "error": error_json(trace.error),
        "status": trace.status,
        "started_at": trace.started_at,
        "ended_at": trace.ended_at,
        "attributes": dict(trace.attributes),
        "gaps": list(trace.gaps),
    }


def _trace_from(body: Mapping[str, Any], steps: list[Step]) -> Trace:
    fields = dict(body)
    error = fields.pop("error")
    return Trace(
        steps=tuple(steps),
        gaps=tuple(fields.pop("gaps")),
        error=None if error is None else StepError(**error),
        **fields,
    )
