"""Secrets by the rules of gitleaks: keywords first, then the pattern, entropy, and the lists of what is none.

The data (`rules/gitleaks.json`, MIT, licence beside it) is made from gitleaks' own pinned file by
``ci/gitleaks_rules.py``. What the engine does with it follows gitleaks v8: a rule is tried where one of its keywords
stands in the text in any case; the secret is the group that the rule names, else the first group that took part, else
the whole match; its Shannon entropy must be above the rule's; an allow list over the secret, the match or the line
takes it back.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = ["GENERIC", "GitleaksRules", "SecretSpan", "entropy", "gitleaks_rules"]

GENERIC = "generic-api-key"
"""The rule for any assignment to something that is called a key, token or secret."""

_LONG = 20_000
"""From this many bytes on a rule reads the lines around its keywords only."""
_AROUND = 4_000
_SHORT = 6
_ASSIGNED = "(?:=|>|"
"""How the pattern goes on behind a key, in all rules for an assignment."""
_NEVER = r"[^\s\S]"


class SecretSpan(NamedTuple):
    """Where a secret stands, in bytes of UTF-8, and by which rule."""

    start: int
    end: int
    rule: str


class _Allow:
    """One allow list."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.target: str = body.get("regexTarget", "secret")
        self._stopwords = frozenset(word.lower().encode() for word in body.get("stopwords", ()))
        self._stops: Any = None
        self._patterns: tuple[str, ...] = tuple(body.get("regexes", ()))
        self._compiled: Any = None

    def takes(self, secret: bytes, match: bytes, line: bytes) -> bool:
        """Whether the secret is none after all."""
        if self._compiled is None:
            import ahocorasick_rs  # lazy: a compiled library that only sanitizing needs

            self._compiled = _compiled("|".join(f"(?:{pattern})" for pattern in self._patterns) or _NEVER)
            self._stops = ahocorasick_rs.BytesAhoCorasick(sorted(self._stopwords)) if self._stopwords else None
        target = {"match": match, "line": line}.get(self.target, secret)
        if self._compiled.search(target):
            return True
        return self._stops is not None and bool(self._stops.find_matches_as_indexes(secret.lower()))

    def names(self, secret: str) -> bool:
        """Whether the whole secret is one of the words that are none."""
        return secret.lower().encode() in self._stopwords

    def takes_match(self, match: bytes) -> bool:
        """As `takes`, for a list over whole matches."""
        return self.target == "match" and self.takes(b"", match, b"")


class _Rule:
    """One rule; its pattern is compiled when a keyword of it is first met."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.id: str = body["id"]
        self.keywords = tuple(word.encode() for word in body["keywords"])
        self._pattern: str = body["regex"]
        self.shortest: int = body["shortest"]
        self.assigns = _ASSIGNED in self._pattern
        self._entropy: float = body.get("entropy", 0)
        self._group: int = body.get("group", 0)
        self.allow = [_Allow(given) for given in body.get("allow", ())]
        self._regex: Any = None

    def find(self, data: bytes, start: int, end: int, allow: list[_Allow]) -> Iterator[SecretSpan]:
        """The secrets between two offsets of `data`."""
        if self._regex is None:
            self._regex = _compiled(self._pattern)
        part = data if start == 0 and end == len(data) else data[start:end]
        for match in self._regex.finditer(part):
            group = self._group or next((n for n in range(1, self._regex.groups + 1) if match.start(n) >= 0), 0)
            left, right = match.span(group)
            if right - left < _SHORT < match.end() - match.start():  # a group that only repeats something
                left, right = match.span()
            if left < right and self._holds(part, left, right, match, allow):
                yield SecretSpan(start + left, start + right, self.id)

    def _holds(self, data: bytes, left: int, right: int, match: Any, allow: list[_Allow]) -> bool:
        secret = data[left:right]
        if self._entropy and entropy(secret.decode("utf-8", "replace")) <= self._entropy:
            return False
        line_start, line_end = data.rfind(b"\n", 0, match.start()) + 1, data.find(b"\n", match.end())
        line = data[line_start : line_end if line_end >= 0 else len(data)]
        return not any(given.takes(secret, match.group(0), line) for given in (*self.allow, *allow))


class GitleaksRules:
    """The rules of a data file. Use `gitleaks_rules` for the package's own.

    Attributes:
        sha256: of the ``gitleaks.toml`` that they were made from.
    """

    def __init__(self, body: dict[str, Any]) -> None:
        self.sha256: str = body["sha256"]
        self._rules = [_Rule(rule) for rule in body["rules"]]
        self._allow = [_Allow(given) for given in body["allow"]]

    def __len__(self) -> int:
        return len(self._rules)

    @property
    def keywords(self) -> tuple[tuple[bytes, ...], ...]:
        """The keywords of every rule, lower case; one of them must stand in a text for the rule to be tried."""
        return tuple(rule.keywords for rule in self._rules)

    @property
    def key_words(self) -> tuple[tuple[bytes, ...], ...]:
        """The keywords of every rule that looks for them in a key, before a sign of assignment; none of the others'."""
        return tuple(rule.keywords if rule.assigns else () for rule in self._rules)

    @property
    def shortest(self) -> tuple[int, ...]:
        """The bytes of the shortest text that every rule can match."""
        return tuple(rule.shortest for rule in self._rules)

    def find(self, data: bytes, met: dict[int, tuple[int, int]]) -> Iterator[SecretSpan]:
        """The secrets in `data`.

        Args:
            data: UTF-8.
            met: the rules of which a keyword was met, by number, with the start of the first and the end of the last.
        """
        for number, (first, last) in met.items():
            if len(data) < self._rules[number].shortest:
                continue
            start, end = (0, len(data)) if len(data) <= _LONG else _window(data, first, last)
            yield from self._rules[number].find(data, start, end, self._allow)

    def is_allowed_assignment(self, assignment: str) -> bool:
        """Whether the rule for any assignment takes ``key = value`` for none (a public key, a key's name)."""
        data = assignment.encode()
        return any(given.takes_match(data) for given in self._general)

    def is_public(self, value: str) -> bool:
        """Whether the rule for any assignment knows a value for none (a word, a key that everybody has)."""
        return any(given.names(value) for given in self._general)

    @cached_property
    def _general(self) -> list[_Allow]:
        return [given for rule in self._rules if rule.id == GENERIC for given in rule.allow]


@lru_cache(maxsize=1)
def gitleaks_rules() -> GitleaksRules:
    """The rules that come with the package, read once."""
    return GitleaksRules(json.loads((files("evalkit.sanitize.rules") / "gitleaks.json").read_text("utf-8")))


@lru_cache(maxsize=4096)
def entropy(text: str) -> float:
    """Shannon entropy of the characters of `text`, in bits a character; 0 for the empty text."""
    counts, size = Counter(text).values(), len(text)
    return -sum([count / size * math.log2(count / size) for count in counts])


def _window(data: bytes, first: int, last: int) -> tuple[int, int]:
    return max(0, first - _AROUND), min(len(data), last + _AROUND)


_END = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
_WIDER_END = '(?:[\\x60\'"\\s;,)\\]}<>&|]|[^\\x00-\\x7F]|\\\\[nrt"]|$)'
"""What may stand behind a secret: upstream looks at code, where no Chinese character and no bracket follows."""


def _compiled(pattern: str) -> Any:
    import re2  # lazy: a C++ library that only sanitizing needs

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern.replace(_END, _WIDER_END).encode(), options=options)
