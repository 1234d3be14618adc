"""The built-in rules, all in one list: secrets, numbers, and what is said to be something.

Boundaries are ASCII (no letter or digit beside the value), because ``\\b`` in Python takes a Chinese character for a
word character and so misses a number that stands in Chinese text. The left one is part of the pattern (RE2 has no
look-behind); the right one is checked after the match.
"""

from __future__ import annotations

from evalkit.sanitize.rules.numbers import NUMBER_RULES
from evalkit.sanitize.rules.rule import Rule
from evalkit.sanitize.rules.said_names import NAME_RULES
from evalkit.sanitize.rules.said_numbers import SAID_NUMBER_RULES
from evalkit.sanitize.rules.said_places import PLACE_RULES
from evalkit.sanitize.rules.secrets import SECRET_RULES

__all__ = ["RULES", "Rule"]

RULES: tuple[Rule, ...] = (*SECRET_RULES, *NUMBER_RULES, *NAME_RULES, *PLACE_RULES, *SAID_NUMBER_RULES)
