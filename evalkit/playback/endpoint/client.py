"""Which HTTP library asks a live model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["client_library"]


def client_library() -> Any:
    """httpx, by the name under which the OpenAI SDK at hand brings it along; loaded, so that forks need not do it."""
    try:
        return import_module("httpx2")
    except ImportError:
        return import_module("httpx")
