"""The next version of a case with texts replaced, in header and steps alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from evalkit.case.header import case_from_header, header_json
from evalkit.case.model import Case, LifeEvent
from evalkit.sanitize.digests import trace_digest
from evalkit.sanitize.register import Surrogates
from evalkit.trace.file import step_from_json, step_json
from evalkit.trace.model import Step

__all__ = ["FIXED", "Replacing", "rewritten_case"]

FIXED = ("format", "id", "version", "parent", "state", "sanitization", "steps_hash", "digest", "closed_modes")
"""Header fields that hold no words of the trace, or that follow from others."""


class Replacing(Protocol):
    """What replaces texts, such as `sanitize.subject.Eraser`."""

    def text(self, text: str) -> str:
        """One text."""

    def value(self, node: Any) -> Any:
        """A JSON value."""

    def surrogates(self, surrogates: Surrogates) -> Surrogates:
        """What a record says of surrogates, asked for last."""


def rewritten_case(case: Case, parent: str, by: Replacing, event: LifeEvent) -> Case:
    """The next version of `case` with everything replaced.

    Args:
        parent: the digest of `case`.
        event: what the case's life says of it; its state is the present one.
    """
    header = header_json(case, "")
    changed = {key: value if key in FIXED else by.value(value) for key, value in header.items()}
    on_path = set(case.kept)
    steps = [(_step(step, by), step.seq in on_path) for step in case.trace.trace.steps]
    clean = case_from_header(changed, steps, f"case {case.id}")
    before = case.trace.record
    record = replace(
        before,
        sanitized_hash=trace_digest(clean.trace.trace),
        unsure=tuple(map(by.text, before.unsure)),
        surrogates=by.surrogates(before.surrogates),
    )
    trace = clean.trace.admitted(clean.trace.trace, record)
    return clean.revised(parent, trace=trace, life=(*clean.life, event))


def _step(step: Step, by: Replacing) -> Step:
    body: dict[str, Any] = step_json(step)
    kept: dict[str, Any] = {key: body[key] for key in ("kind", "effect", "effect_source") if key in body}
    return step_from_json({**by.value(body), **kept})
