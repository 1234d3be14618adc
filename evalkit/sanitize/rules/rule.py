"""What a rule of our own is: one pattern, RE2, whose one group is the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from evalkit.sanitize.policy import Kind

__all__ = ["LEFT", "Gate", "Rule"]

Gate: TypeAlias = Literal["any", "named", "digit", "number", "cjk", "around"]

LEFT = r"(?:^|[^0-9A-Za-z\p{Nd}])"
"""No ASCII letter and no digit before: part of the pattern, for RE2 has no look-behind."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern.

    Attributes:
        name: for the checks in `forms`, for messages and counts.
        gate: which texts it can be in: those with a ``digit``, those with Chinese characters (``cjk``), ``any``, or only
            ``around`` certain signs (an e-mail address around its @). A ``number`` is in texts with a digit, too, and
            what is ``named`` in any. Each gate's patterns are tried as one RE2 set; mere numbers and words about them
            together, or a list of names and all else, would make an automaton of many times their states.
        pattern: RE2, one group: the value.
        whole: whether no ASCII letter or digit may follow the value.
        around: the signs of the gate ``around``, with the bytes that may stand before and behind them.
        beside: the name of a rule; where that one's pattern matches, this one is tried too.
        sure: whether the form alone says what it is. What is found by a guess is listed for a person.
    """

    name: str
    kind: Kind
    gate: Gate
    pattern: str
    whole: bool = True
    around: tuple[tuple[str, ...], int, int] = ((), 0, 0)
    beside: str = ""
    sure: bool = True
