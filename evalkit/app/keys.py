"""The project's sanitizer: its policy from the settings, its key from outside of the repository."""

from __future__ import annotations

from evalkit.app.settings import Settings
from evalkit.sanitize.key import load_key
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer

__all__ = ["make_sanitizer", "policy_of", "project_key"]


def policy_of(settings: Settings) -> Policy:
    """The project's rules.

    Raises:
        ConfigError: a rule is none.
    """
    return Policy(
        allow=frozenset(settings.allow), hints=dict(settings.hints), patterns=settings.patterns, ner=settings.ner
    )


def make_sanitizer(settings: Settings) -> Sanitizer:
    """A fresh sanitizer of the project.

    Raises:
        ConfigError: the key is unreadable or too short, or a rule is none.
    """
    return Sanitizer(policy_of(settings), project_key(settings))


def project_key(settings: Settings) -> bytes:
    """The key that the project's pseudonyms are made with.

    Raises:
        ConfigError: it is unreadable or too short.
    """
    return load_key(settings.key_file, settings.pseudonym_key)
