"""What the final answer holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalkit.canonical import Json
from evalkit.check.model import Finding, Judge
from evalkit.check.params import flag, known_only, text
from evalkit.check.values import ABSENT, at_pointer, pattern_of
from evalkit.check.view import contains, final_json, final_text, shown
from evalkit.errors import InputError
from evalkit.trace.flow import answer_step
from evalkit.trace.model import Trace

__all__ = ["OUTPUT_CONTAINS", "OUTPUT_FIELDS", "OUTPUT_MATCHES"]

_ANY_TEXT = (b"", b"\n \n", bytes(range(32, 127)))
"""What matches all of these says nothing; an answer that must be blank, or without some sign, is not so."""


class OutputFields:
    """The final answer holds ``fields``: a JSON subset, objects field by field, lists as a whole."""

    name = "output_fields"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        stated = [f"{pointer or '/'} is {shown(value)}" for pointer, value in _stated(params.get("fields"))]
        return f"In the final answer {', '.join(stated)}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Compares each field that is stated."""
        known_only(params, self.name, "fields")
        if not isinstance(params.get("fields"), dict) or not params["fields"]:
            raise InputError("fields states nothing", f"check {self.name}", '"fields": {"severity": "P0"}')
        stated = list(_stated(params["fields"]))

        def judge(trace: Trace) -> Finding:
            output = final_json(trace)
            wrong = [
                f"{pointer or '/'}: expected {shown(value)}, got {_got(output, pointer)}"
                for pointer, value in stated
                if not _holds(output, pointer, value)
            ]
            if not wrong:
                return Finding(True, "every stated field of the final answer is as expected", answer_step(trace))
            return Finding(False, "; ".join(wrong), answer_step(trace))

        return judge


class OutputContains:
    """The final answer's text contains ``text``; ``ignore_case`` (true) compares without case."""

    name = "output_contains"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return f"The final answer contains {shown(params.get('text'))}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Searches the text."""
        known_only(params, self.name, "text", "ignore_case")
        wanted, fold = text(params, "text", self.name), flag(params, "ignore_case", self.name, True)
        needle = wanted.casefold() if fold else wanted

        def judge(trace: Trace) -> Finding:
            body = final_text(trace)
            if needle in (body.casefold() if fold else body):
                return Finding(True, "the final answer contains it", answer_step(trace))
            reason = f"expected {shown(wanted)} in the final answer, got {shown(body)}"
            return Finding(False, reason, answer_step(trace))

        return judge


class OutputMatches:
    """The final answer's text matches ``pattern`` somewhere: RE2 syntax, so that no pattern can run away."""

    name = "output_matches"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return f"The final answer matches the pattern {params.get('pattern')}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Compiles the pattern once."""
        known_only(params, self.name, "pattern")
        pattern = text(params, "pattern", self.name)
        found = pattern_of(pattern, f"check {self.name}")
        if all(found.search(one) is not None for one in _ANY_TEXT):
            raise InputError(f"{pattern!r} matches any text", f"check {self.name}", "state what must be there")

        def judge(trace: Trace) -> Finding:
            body = final_text(trace)
            if found.search(body.encode()) is not None:  # of a text it would count the characters before each group
                return Finding(True, "the final answer matches", answer_step(trace))
            return Finding(False, f"expected a match of {pattern}, got {shown(body)}", answer_step(trace))

        return judge


def _stated(fields: Any, pointer: str = "") -> Iterator[tuple[str, Json]]:
    if isinstance(fields, dict) and fields:
        for key, value in fields.items():
            yield from _stated(value, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    else:
        yield pointer, fields


def _holds(output: Json, pointer: str, value: Json) -> bool:
    found = at_pointer(output, pointer)
    return found is not ABSENT and contains(found, value)


def _got(output: Json, pointer: str) -> str:
    found = at_pointer(output, pointer)
    return "nothing" if found is ABSENT else shown(found)


OUTPUT_FIELDS = OutputFields()
OUTPUT_CONTAINS = OutputContains()
OUTPUT_MATCHES = OutputMatches()
