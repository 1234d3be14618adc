"""Our own rules, compiled: which of them match in a text, and where.

The patterns of one gate are one RE2 set, so that a text is read once for all of them; a pattern of which the set says
that it matches is then matched alone. What stands around a rare sign (an @) is only looked for around it: its long
repeats would make the automaton of a large text very large.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from evalkit.sanitize.rules.rule import Rule

__all__ = ["RuleSet", "compiled"]

_DIGIT = re.compile(rb"[0-9]")
_WHOLE_TEXT = re.compile(r"\\[Az]|\(\?[a-zA-Z]*-")
"""What the start and end of a line can't stand for: ``\\A``, ``\\z``, and flags taken back."""


class RuleSet:
    """Rules, ready to be matched. The indexes that it gives are those of `rules`.

    Attributes:
        by_line: whether several texts can be asked for together, one a line (see `in_lines`): no pattern of a user's
            speaks of the start or end of the whole text.
    """

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._compiled: list[Any] = [None] * len(rules)
        self._by_line: list[Any] = [None] * len(rules)
        self._any, self._named, self._digit, self._number, self._cjk = (
            _Gate(rules, gate) for gate in ("any", "named", "digit", "number", "cjk")
        )
        self.by_line = not any(_WHOLE_TEXT.search(rule.pattern) for rule in rules)
        around = {
            at: [sign.encode() for sign in rule.around[0]] for at, rule in enumerate(rules) if rule.gate == "around"
        }
        self._signs = {at: _one_of(signs) for at, signs in around.items()}
        self._any_sign = _one_of(sign for signs in around.values() for sign in signs)
        names = {rule.name: at for at, rule in enumerate(rules)}
        self._beside = [(names.get(rule.beside, -1), at) for at, rule in enumerate(rules) if rule.beside]

    def in_lines(self, data: bytes) -> list[int]:
        """The rules that match in one of the lines of `data`, those of the gate ``around`` left aside."""
        found = self._any.match(data)
        found += self._named.match(data)
        if _DIGIT.search(data) is not None:
            found += self._number.match(data)
            found += self._digit.match(data)
        if not data.isascii():
            found += self._cjk.match(data)
        return found

    def lines_with(self, index: int, data: bytes, starts: Sequence[int]) -> Iterator[int]:
        """The numbers of the lines in which a rule matches.

        Args:
            starts: where lines start in `data`, and last where another one would.
        """
        compiled = self._by_line[index]
        if compiled is None:
            compiled = self._by_line[index] = _compile("(?m)" + self.rules[index].pattern)
        at = 0
        while at < len(data) and (match := compiled.search(data, at, len(data))) is not None:
            line = bisect_right(starts, match.start()) - 1
            yield line
            at = starts[line + 1]

    def worth(self, data: bytes, among: Sequence[int] | None = None) -> list[int]:
        """The rules that may match in `data`, UTF-8; those of the gate ``around`` where one of their signs is.

        Args:
            among: those of other gates that may; all of them where not given.
        """
        found = self.in_lines(data) if among is None else list(among)
        if self._any_sign.search(data) is not None:
            found += [at for at, sign in self._signs.items() if sign.search(data) is not None]
        for trigger, at in self._beside:
            if trigger in found:
                found.append(at)
        return found

    def signs(self, data: bytes) -> list[int]:
        """Where the signs of the gate ``around`` stand in `data`."""
        return [sign.start() for sign in self._any_sign.finditer(data)]

    def matches(self, index: int, data: bytes, at: int, stop: int) -> Any:
        """The first match of a rule between two offsets of `data`, None if there is none."""
        compiled = self._compiled[index]
        if compiled is None:
            compiled = self._compiled[index] = _compile(self.rules[index].pattern)
        return compiled.search(data, at, stop)

    def windows(self, index: int, data: bytes) -> Iterator[tuple[int, int]]:
        """The parts of `data` that a rule has to be matched in, in order; they don't overlap."""
        rule = self.rules[index]
        if rule.gate != "around":
            yield 0, len(data)
            return
        _, before, behind = rule.around
        start = stop = -1
        for sign in self._signs[index].finditer(data):
            left, right = max(0, sign.start() - before), min(len(data), sign.end() + behind)
            if left > stop:
                if stop >= 0:
                    yield start, stop
                start = left
            stop = right
        if stop >= 0:
            yield start, stop


@lru_cache(maxsize=16)
def compiled(rules: tuple[Rule, ...]) -> RuleSet:
    """The set of some rules. Kept, as making it takes longer than to sanitize a small trace."""
    return RuleSet(rules)


class _Gate:
    """The set of one gate's patterns."""

    def __init__(self, rules: tuple[Rule, ...], gate: str) -> None:
        import re2  # lazy: a C++ library that only sanitizing needs

        kept = [(at, rule) for at, rule in enumerate(rules) if rule.gate == gate and not rule.beside]
        self._indexes = [at for at, _ in kept]
        self._set: Any = re2.Set.SearchSet()
        for _, rule in kept:
            self._set.Add("(?m)" + rule.pattern)  # several texts may be asked for at once, one a line
        self._set.Compile()

    def match(self, data: bytes) -> list[int]:
        """The rules that match somewhere."""
        numbers = self._set.Match(data) if self._indexes else None
        return [self._indexes[number] for number in numbers] if numbers else []


def _one_of(signs: Iterable[bytes]) -> re.Pattern[bytes]:
    """What finds the first of some signs; nothing where there are none."""
    return re.compile(b"|".join(map(re.escape, sorted(set(signs)))) or rb"(?!)")


def _compile(pattern: str) -> Any:
    import re2  # lazy: see above

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern.encode(), options=options)
