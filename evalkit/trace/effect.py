"""What a tool does to the world, guessed from its name where nobody declared it.

A guess errs towards ``write``: a read taken for a write costs a person a second look, a write taken for a read could
let a repeated refund pass. The words are verbs of English API names in general; no tool of any domain is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import get_args

from evalkit.errors import UsageError
from evalkit.trace.model import Effect

__all__ = ["check_effect", "effect_by_pattern", "guess_effect", "is_handover", "runs_code"]

_READ = frozenset(
    "get list search find lookup fetch read query check view describe count show browse retrieve load inspect is has "
    "can verify validate monitor scan detect peek status history ls cat grep head tail stat select exists download "
    "preview open visit scroll locate test explain compare diff track identify authenticate".split()
)
_PURE = frozenset(
    "calculate calculator compute think reason plan format convert parse sum add_numbers average eval evaluate now "
    "today classify summarize summarise translate estimate extract tokenize reflect".split()
)
_HANDOVER_VERB = frozenset("transfer handoff hand escalate route forward".split())
_HANDOVER_TO = frozenset("human humans agent agents operator person representative support specialist".split())
_RUN_VERB = frozenset("execute exec run python bash shell".split())
_CODE = frozenset("code command commands python bash shell script terminal interpreter cell notebook sql".split())
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def check_effect(effect: str) -> None:
    """Refuses what is no effect.

    Raises:
        UsageError: it is neither ``read``, ``write`` nor ``pure``.
    """
    if effect not in get_args(Effect):
        raise UsageError(f"effect {effect!r} is unknown", cure="use one of: read, write, pure")


def effect_by_pattern(name: str, patterns: Iterable[tuple[str, Effect]]) -> Effect | None:
    """The effect of the first pattern (``refund_*``) that `name` matches; None when none does."""
    return next((effect for pattern, effect in patterns if fnmatchcase(name, pattern)), None)


@lru_cache(maxsize=4096)
def guess_effect(name: str) -> Effect:
    """The likely effect of a tool called `name`, from the first verb in it; ``write`` when none is known."""
    words = _words(name)
    for word in words[:2]:  # a prefix such as a server's name may come before the verb
        if word in _READ:
            return "read"
        if word in _PURE:
            return "pure"
    return "write"


@lru_cache(maxsize=4096)
def is_handover(name: str) -> bool:
    """Whether a tool called `name` hands the conversation to a person or another agent."""
    words = _words(name)
    return any(word in _HANDOVER_VERB for word in words) and any(word in _HANDOVER_TO for word in words)


@lru_cache(maxsize=4096)
def runs_code(name: str) -> bool:
    """Whether a tool called `name` runs what it is given: what it does to the world is in the code, not in its name."""
    words = _words(name)
    return any(word in _CODE for word in words) and (len(words) == 1 or any(word in _RUN_VERB for word in words))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name.rsplit(".", 1)[-1].rsplit("/", 1)[-1])]
