"""An error as the command line says it."""

from __future__ import annotations

from evalkit.errors import EvalkitError
from evalkit.trace.visible import visible

__all__ = ["error_text"]


def error_text(error: EvalkitError) -> str:
    """An error's lines, safe to show: a file's name or a value in it may come from whoever made the trace."""
    return "\n".join(visible(line) for line in str(error).split("\n"))
