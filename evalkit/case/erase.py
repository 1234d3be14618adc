"""Taking a subject out of a case: the next version, in which nothing leads back to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json, exact_text
from evalkit.case.header import header_json
from evalkit.case.model import Case, LifeEvent
from evalkit.case.rewritten import FIXED, rewritten_case
from evalkit.case.rows import steps_to_columns
from evalkit.case.view import render_view
from evalkit.errors import SanitizationFailed
from evalkit.sanitize.subject import Presence, Subject
from evalkit.trace.file import step_json

__all__ = ["case_texts", "erased_case", "presence_in_case"]


def presence_in_case(case: Case, subject: Subject) -> Presence:
    """Whether a subject is in a version of a case."""
    surrogates = case.trace.record.surrogates
    return subject.among(surrogates).presence(case_texts(case), surrogates)


def case_texts(case: Case) -> Iterator[str]:
    """Every text that a version's files hold, one value each."""
    yield from _texts({key: value for key, value in header_json(case, "").items() if key not in FIXED})
    for step in case.trace.trace.steps:
        yield from _texts(step_json(step))


def erased_case(case: Case, parent: str, subject: Subject, event: LifeEvent) -> Case:
    """The next version of `case` without the subject; the same stand-in in all places.

    Args:
        parent: the digest of `case`.
        event: what the case's life says of it; its state is the present one.

    Raises:
        SanitizationFailed: the subject would still be in what is written.
    """
    subject = subject.among(case.trace.record.surrogates)
    found = rewritten_case(case, parent, subject.eraser(), event)
    # a digest of the whole incident would confirm a guess; the raw hash still knows the incident again
    found = replace(found, fingerprint="", source=_without_fingerprints(found.source))
    _refuse_left(found, subject)
    return found


def _without_fingerprints(source: Mapping[str, Json]) -> dict[str, Json]:
    earlier = source.get("earlier")
    if not isinstance(earlier, list):
        return dict(source)
    return {**source, "earlier": [{**one, "fingerprint": ""} if isinstance(one, dict) else one for one in earlier]}


def _refuse_left(case: Case, subject: Subject) -> None:
    """Look once more at what will be in the files, as they will spell it."""
    columns = steps_to_columns(case.trace.trace.steps, case.kept)
    written = [value for column in columns.values() for value in column if isinstance(value, str)]
    for text in (*written, exact_text(header_json(case, "")).decode(), render_view(case)):
        if subject.presence((text,)) == "whole":
            raise SanitizationFailed(
                "the subject would still be in the case; nothing was changed", f"case {case.id}", "report it as a bug"
            )


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from _texts(value)
    elif isinstance(node, list | tuple):
        for item in node:
            yield from _texts(item)
    elif type(node) is int:
        yield str(node)
