"""``--filter``: which of a suite's cases to run, in a line.

Words must all hold; a word's alternatives stand between commas; ``!`` before a word turns it round::

    refund-*,cancel-*  tag:money  !signature:RETRIEVAL_*  gate
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from evalkit.errors import ConfigError
from evalkit.suite.case_ref import CaseRef

__all__ = ["parse_filter"]

_FILTER = "ID* | id:ID* | tag:NAME* | state:STATE | signature:NAME* | gate; words: and, commas: or, !: not."

Test = Callable[[CaseRef], bool]


def parse_filter(text: str) -> Test:
    """The test that a filter is.

    Raises:
        ConfigError: it has no word, or one of an unknown kind.
    """
    words = [_word(word) for word in text.split()]
    if not words:
        raise ConfigError("an empty filter", "--filter", _FILTER)
    return lambda case: all(word(case) for word in words)


def _word(word: str) -> Test:
    wanted, kinds = not word.startswith("!"), word.removeprefix("!").split(",")
    tests = [_one(part, word) for part in kinds]
    return lambda case: any(test(case) for test in tests) == wanted


def _one(part: str, word: str) -> Test:
    kind, colon, pattern = part.partition(":")
    if not colon:
        kind, pattern = ("gate", "gate") if part == "gate" else ("id", part)
    if kind not in _KINDS or not pattern or pattern.startswith("!"):  # it would mean every case
        raise ConfigError(f"no filter: {part!r}", f"--filter {word!r}", _FILTER)
    texts = _KINDS[kind]
    return lambda case: any(fnmatchcase(text, pattern) for text in texts(case))


_KINDS: dict[str, Callable[[CaseRef], tuple[str, ...]]] = {
    "id": lambda case: (case.id,),
    "tag": lambda case: case.tags,
    "state": lambda case: (case.state,),
    "signature": lambda case: (case.signature,),
    "gate": lambda case: ("gate",) if case.state == "permanent" else (),
}
