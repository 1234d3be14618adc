"""What detecting yields: a text that is a value of a kind, and where it stands."""

from __future__ import annotations

from typing import NamedTuple

from evalkit.sanitize.policy import Kind

__all__ = ["Claim", "Span"]


class Claim(NamedTuple):
    """A text that is a value of a kind.

    Attributes:
        norm: the value's normal form; equal values have equal ones.
        text: the value as it stands.
    """

    kind: Kind
    norm: str
    text: str


class Span(NamedTuple):
    """A claim in its place.

    Attributes:
        start: the first character.
        end: the character behind the last.
        rule: the name of the rule that found it (``gitleaks:github-pat``, ``nanp``).
        sure: whether the form or its surroundings leave no doubt; the others are for a person to look at.
    """

    start: int
    end: int
    claim: Claim
    rule: str
    sure: bool = True
