"""What a replayed agent says and calls, sanitized before anyone keeps or prints it.

A replay stands in the case's world: its input and its frozen answers hold surrogates, and most of what it says are
texts of the case. So only what holds a text that the case doesn't is looked through for what is raw, once for equal
replays. An agent may bring raw values of its own (a support address in its prompt): its arguments are sanitized when no
fixture has them as they are, which is how the recording came to its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.playback.kept import Kept, trace_digest, trace_text
from evalkit.sanitize.register import Register
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Step, StepError, Trace

__all__ = ["MakeSanitizer", "Outputs"]

MakeSanitizer = Callable[[], Sanitizer]
"""Makes the project's sanitizer; called once, when something has to be sanitized."""


class Outputs:
    """Sanitizes the replays of one case.

    A value that the case holds has the surrogate that it has there, and no other value has it.

    Args:
        case: its texts were sanitized when it was made.
        make: None to keep everything as it is.
    """

    def __init__(self, case: Case, make: MakeSanitizer | None) -> None:
        self._incident = case.incident
        self._register = Register((case.trace.record.surrogates,))
        self._make = make
        self._base: Sanitizer | None = None
        self._known: set[str] | None = None
        self._kept: dict[bytes, Kept] = {}  # by text, which is quicker to find than a digest is to compute
        self._now: Sanitizer | None = None

    @property
    def active(self) -> bool:
        """Whether there is a sanitizer."""
        return self._make is not None

    def start(self) -> None:
        """A replay begins: what an earlier one gave away makes no difference to it."""
        self._now = None

    def arguments(self, arguments: Json) -> Json:
        """A call's arguments, sanitized.

        Raises:
            InputError: they are no JSON.
        """
        return arguments if self._make is None else self._sanitizer().value(arguments)

    def kept(self, trace: Trace) -> Kept:
        """The trace as it may be kept; that of an equal one where there was one."""
        text = trace_text(trace)
        known = self._kept.get(text)
        if known is None:
            digest = trace_digest(text)
            known = Kept(trace, text, digest) if self._make is None else self._clean(trace, text, digest)
            self._kept[text] = known
        return known

    def _clean(self, trace: Trace, text: bytes, digest: str) -> Kept:
        known = self._texts_known()
        steps = tuple(step for step in trace.steps if not known.issuperset(_texts_of_step(step)))
        if not steps and known.issuperset(_texts_of_run(trace)):
            return Kept(trace, text, digest)
        if self._now is None and self._project().leaves(trace, fresh=steps, clean=known):
            return Kept(trace, text, digest)
        given = replace(trace, id="")  # made up here, and new for each case
        clean = self._sanitizer().trace(given, fresh=steps)
        if clean is given:
            return Kept(trace, text, digest)
        text = trace_text(clean)
        return Kept(replace(clean, id=trace.id), text, trace_digest(text))

    def _texts_known(self) -> set[str]:
        if self._known is None:
            self._known = set(_texts_of(self._incident))
        return self._known

    def _sanitizer(self) -> Sanitizer:
        if self._now is None:
            self._now = self._project().fresh(self._texts_known(), self._register)
        return self._now

    def _project(self) -> Sanitizer:
        if self._base is None:
            assert self._make is not None
            self._base = self._make()
        return self._base


def _texts_of(trace: Trace) -> list[str]:
    return [*_texts_of_run(trace), *chain.from_iterable(map(_texts_of_step, trace.steps))]


def _texts_of_run(trace: Trace) -> list[str]:
    return _texts([trace.input, trace.output], trace.error)


def _texts_of_step(step: Step) -> list[str]:
    return _texts([step.name, step.model, step.input, step.output, dict(step.attributes)], step.error)


def _texts(nodes: list[Any], error: StepError | None) -> list[str]:
    """Every text in some values, keys too; long numbers as texts, because they may be somebody's."""
    if error is not None:
        nodes += (error.type, error.message, error.module, error.stack)
    found: list[str] = []
    for node in nodes:  # it grows meanwhile
        kind = type(node)
        if kind is str:
            found.append(node)
        elif kind is dict:
            found += node
            nodes += node.values()
        elif kind is list:
            nodes += node
        elif kind is int and node > 999_999:
            found.append(str(node))
    return found
