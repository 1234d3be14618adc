"""The project's sanitizer: its policy from the settings, its key from outside of the repository."""

from __future__ import annotations

from evalkit.app.settings import Settings
from evalkit.sanitize import Policy, Sanitizer, load_key

__all__ = ["make_sanitizer"]


def make_sanitizer(settings: Settings) -> Sanitizer:
    """A fresh sanitizer of the project.

    Raises:
        ConfigError: the key is unreadable or too short.
    """
    key = load_key(settings.key_file, settings.pseudonym_key or None)
    return Sanitizer(Policy(allow=settings.allow, key_hints=settings.key_hints), key)
