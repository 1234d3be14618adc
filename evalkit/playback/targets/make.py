"""A reference -> the target that it names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.playback.targets.protocol import TARGETS, AnyTarget
from evalkit.playback.targets.reference import parse_reference

__all__ = ["make_target"]


def make_target(reference: str | Callable[..., Any]) -> AnyTarget:
    """The target of a reference (see `targets.reference`); a function stands for itself.

    Raises:
        ConfigError: there is no such target, or the reference is of no form.
    """
    kind, rest = parse_reference(reference) if isinstance(reference, str) else ("python", reference)
    return TARGETS.get(kind)(rest)
