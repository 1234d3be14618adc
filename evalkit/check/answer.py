"""What the final answer is as a whole, or at one place: equal, of a form, near a number, like a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.canonical import same
from evalkit.check.model import Finding, Judge
from evalkit.check.params import known_only, pointer, text
from evalkit.check.schema import schema_of
from evalkit.check.values import ABSENT, at_pointer
from evalkit.check.view import final_json, final_text, shown
from evalkit.errors import InputError
from evalkit.shapes import is_number
from evalkit.trace.flow import answer_step
from evalkit.trace.model import Trace

__all__ = ["OUTPUT_EQUALS", "OUTPUT_NUMBER", "OUTPUT_SCHEMA", "OUTPUT_SIMILAR"]


class OutputEquals:
    """The final answer, or what stands in it at ``path`` (a JSON pointer), is exactly ``value``."""

    name = "output_equals"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return f"{_place(params)} is exactly {shown(params.get('value'))}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Compares as canonical JSON."""
        known_only(params, self.name, "value", "path")
        if "value" not in params:
            raise InputError("value is missing", f"check {self.name}", '"value": "REFUNDED"')
        wanted, path = params["value"], _path(params, self.name)

        def judge(trace: Trace) -> Finding:
            got = at_pointer(final_json(trace), path)
            passed = got is not ABSENT and _equal(wanted, got)
            if passed:
                return Finding(True, "the final answer is as expected", answer_step(trace))
            return Finding(False, f"expected {shown(wanted)}, got {_got(got)}", answer_step(trace))

        return judge


class OutputSchema:
    """The final answer, or what stands in it at ``path``, keeps the JSON ``schema``."""

    name = "output_schema"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return f"{_place(params)} has the form {shown(params.get('schema'), 200)}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Compiles the schema once."""
        known_only(params, self.name, "schema", "path")
        broken, path = schema_of(params.get("schema"), f"check {self.name}"), _path(params, self.name)

        def judge(trace: Trace) -> Finding:
            got = at_pointer(final_json(trace), path)
            why = "there is nothing" if got is ABSENT else broken(got)
            return Finding(not why, why or "the final answer has the form", answer_step(trace))

        return judge


class OutputNumber:
    """What stands in the final answer at ``path`` is the number ``value``, give or take ``tolerance`` (0).

    ``relative`` (0) is a tolerance as a share of ``value``; the larger of the two counts.
    """

    name = "output_number"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return f"{_place(params)} is {params.get('value')}, within {_allowed(params)}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Reads the numbers."""
        known_only(params, self.name, "path", "value", "tolerance", "relative")
        path = _path(params, self.name)
        for key in ("value", "tolerance", "relative"):
            if not is_number(params.get(key, 0)) or (key == "value" and key not in params):
                raise InputError(f"{key} is {params.get(key)!r}", f"check {self.name}", f'write "{key}": 0.5')
        for key in ("tolerance", "relative"):
            if params.get(key, 0) < 0:
                raise InputError(f"{key} is {params[key]}, below zero", f"check {self.name}", f'write "{key}": 0.5')
        wanted, allowed = params["value"], _allowed(params)

        def judge(trace: Trace) -> Finding:
            got = at_pointer(final_json(trace), path)
            number = _number(got)
            passed = number is not None and abs(number - wanted) <= allowed
            reason = f"expected {wanted} within {allowed}, got {_got(got)}"
            return Finding(passed, "the number is as expected" if passed else reason, answer_step(trace))

        return judge


class OutputSimilar:
    """The final answer's text is like ``text``: a similarity of at least ``least`` (0.8), 1 being equal.

    The similarity is the share of equal words in any order, by rapidfuzz's ``token_sort_ratio``.
    """

    name = "output_similar"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        return f"The final answer says about {shown(params.get('text'), 200)}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Compares in small letters."""
        known_only(params, self.name, "text", "least")
        wanted, least = text(params, "text", self.name), params.get("least", 0.8)
        if not is_number(least) or not 0 < least <= 1:
            raise InputError(f"least is {least!r}", f"check {self.name}", "write a number above 0, at most 1")

        def judge(trace: Trace) -> Finding:
            from rapidfuzz import fuzz

            body = final_text(trace)
            likeness = fuzz.token_sort_ratio(wanted.lower(), body.lower()) / 100
            reason = f"expected about {shown(wanted)}, got {shown(body)}: {likeness:.2f} alike, wanted {least}"
            passed = likeness >= least
            return Finding(passed, f"{likeness:.2f} alike" if passed else reason, answer_step(trace))

        return judge


def _path(params: Mapping[str, Any], type_name: str) -> str:
    return pointer(params.get("path", ""), "path", type_name)


def _place(params: Mapping[str, Any]) -> str:
    return f"In the final answer {params['path']}" if params.get("path") else "The final answer"


def _allowed(params: Mapping[str, Any]) -> float:
    return max(float(params.get("tolerance", 0)), float(params.get("relative", 0)) * abs(float(params.get("value", 0))))


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            return float(value.replace(",", "").lstrip("$€£¥ ").strip())
        except ValueError:
            return None
    return float(value) if is_number(value) else None


def _equal(wanted: Any, got: Any) -> bool:
    try:
        return same(wanted, got)
    except InputError:  # what is no JSON equals nothing
        return False


def _got(value: Any) -> str:
    return "nothing" if value is ABSENT else shown(value)


OUTPUT_EQUALS = OutputEquals()
OUTPUT_SCHEMA = OutputSchema()
OUTPUT_NUMBER = OutputNumber()
OUTPUT_SIMILAR = OutputSimilar()
