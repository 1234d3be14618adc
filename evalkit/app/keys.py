"""The project's sanitizer: its policy from the settings, its key from outside of the repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.app.settings import Settings
from evalkit.sanitize.key import key_at_hand, load_key
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.register import Register, Surrogates
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.select import list_cases

__all__ = [
    "as_believed",
    "library_register",
    "make_sanitizer",
    "output_sanitizer",
    "policy_of",
    "project_key",
    "register_of",
    "sanitizing_json",
]


def policy_of(settings: Settings, source: str = "", tags: Sequence[str] = ()) -> Policy:
    """The project's rules, with those on top that are for `source` (a trace's path) or one of `tags`.

    Later rules add to the earlier ones; of two actions for a kind, or two kinds for a key, the later wins.

    Raises:
        ConfigError: a rule is none.
    """
    rules = [rule for rule in settings.policies if rule.holds(source, tags)]
    return Policy(
        version="+".join(rule.version for rule in rules if rule.version) or "1",
        allow=frozenset(text for rule in rules for text in rule.allow),
        hints=dict(hint for rule in rules for hint in rule.hints),
        patterns=tuple(pattern for rule in rules for pattern in rule.patterns),
        actions=dict(action for rule in rules for action in rule.actions),
        allow_patterns=tuple(pattern for rule in rules for pattern in rule.allow_patterns),
        allow_paths=tuple(path for rule in rules for path in rule.allow_paths),
        ner=settings.ner,
    )


def make_sanitizer(
    settings: Settings, source: str = "", tags: Sequence[str] = (), register: Register | None = None
) -> Sanitizer:
    """A fresh sanitizer of the project; see `policy_of`.

    Args:
        register: the project's surrogates so far; None for those that its cases tell of.

    Raises:
        ConfigError: the key is unreadable or too short, or a rule is none.
    """
    known = library_register(settings) if register is None else register
    return Sanitizer(policy_of(settings, source, tags), project_key(settings), register=known)


def library_register(settings: Settings, *first: Surrogates) -> Register:
    """The surrogates that the project's cases tell of; the cases are read when the first value is asked for.

    Args:
        first: those that are believed before all others.
    """
    return Register(_Told(settings.cases, first))


@dataclass(frozen=True, slots=True)
class _Told:
    cases: Path
    first: tuple[Surrogates, ...]

    def __iter__(self) -> Iterator[Surrogates]:
        yield from self.first
        yield from (case.surrogates for case in as_believed(list_cases(self.cases)))


def register_of(cases: Iterable[CaseRef], *first: Surrogates) -> Register:
    """The surrogates that some cases tell of; see `library_register`."""
    return Register((*first, *(case.surrogates for case in as_believed(cases))))


def as_believed(cases: Iterable[CaseRef]) -> list[CaseRef]:
    """Permanent cases first, then by id: where two disagree about a surrogate, the earlier one keeps its own."""
    return sorted(cases, key=lambda case: (case.state != "permanent", case.id))


def project_key(settings: Settings, *, make: bool = True) -> bytes:
    """The key that the project's pseudonyms are made with.

    Args:
        make: whether one is made where there is none.

    Raises:
        ConfigError: it is unreadable or too short, or missing.
    """
    return load_key(settings.key_file, settings.pseudonym_key, make=make)


def output_sanitizer(settings: Settings) -> Sanitizer:
    """The sanitizer for what replays say: as `make_sanitizer`, but no key is made where there is none.

    Raises:
        ConfigError: there is a key, and it can't be used; or a rule is none.
    """
    key = key_at_hand(settings.key_file, settings.pseudonym_key)
    return Sanitizer(policy_of(settings), key, register=library_register(settings))


def sanitizing_json(settings: Settings) -> dict[str, Any]:
    """What another process needs to make the same, but for the key: that it finds in its file or the environment."""
    return {"policy": policy_of(settings).as_json(), "key_file": str(settings.key_file) if settings.key_file else ""}
