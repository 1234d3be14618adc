"""A reference -> the target that it names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.playback.environment import loading
from evalkit.playback.targets.protocol import TARGETS, AnyTarget
from evalkit.playback.targets.reference import parse_reference

__all__ = ["make_target"]


def make_target(reference: str | Callable[..., Any], endpoint: str | None = None) -> AnyTarget:
    """The target of a reference (see `targets.reference`); a function stands for itself.

    Args:
        endpoint: base URL of the live model that it will ask; None for none.

    Raises:
        ConfigError: there is no such target, or the reference is of no form.
    """
    kind, rest = parse_reference(reference) if isinstance(reference, str) else ("python", reference)
    with loading(endpoint):
        return TARGETS.get(kind)(rest)
