"""What the agent tells the user: amounts and counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evalkit.check.model import Finding, Judge
from evalkit.check.params import known_only
from evalkit.check.view import shown, spoken
from evalkit.errors import InputError
from evalkit.shapes import is_number
from evalkit.trace.flow import answer_step
from evalkit.trace.model import Trace

__all__ = ["TELLS", "numbers_in"]

_NUMBER = re.compile(r"(?<![\w.,/:-])\$?(\d{1,3}(?:,\d{3})+|\d{1,15})(\.\d{1,6})?(?![\w/:-]|[.,]\d)")


class Tells:
    """The agent says each number of ``values`` in one of its answers; ``1,250.00`` and ``$1250`` are the same."""

    name = "tells"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        values = params.get("values") or []
        return f"The agent tells the user {' and '.join(_plain(value) for value in values)}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Reads the numbers in what the agent said."""
        known_only(params, self.name, "values")
        values = params.get("values")
        if not isinstance(values, list) or not values or not all(is_number(value) for value in values):
            raise InputError(f"values is {values!r}", f"check {self.name}", '"values": [1250]')
        wanted = {float(value) for value in values}

        def judge(trace: Trace) -> Finding:
            told = {number: seq for seq, text in spoken(trace) for number in numbers_in(text)}
            missing = sorted(wanted - told.keys())
            if not missing:
                return Finding(True, "the agent said it", tuple(sorted({told[number] for number in wanted})))
            said = [_plain(number) for number in list(told)[-5:]]
            expected = ", ".join(_plain(number) for number in missing)
            return Finding(False, f"expected the agent to say {expected}, it said {shown(said)}", answer_step(trace))

        return judge


def numbers_in(text: str) -> Iterator[float]:
    """The numbers in a text that stand alone: no part of a date, a time or an identifier."""
    for match in _NUMBER.finditer(text):
        yield float(match[1].replace(",", "") + (match[2] or ""))


def _plain(value: float) -> str:
    return f"{value:,.2f}".removesuffix(".00")


TELLS = Tells()
