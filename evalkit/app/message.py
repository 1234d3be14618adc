"""An error as people are told it."""

from __future__ import annotations

from evalkit.errors import EvalkitError
from evalkit.trace.visible import visible

__all__ = ["error_text"]


def error_text(error: EvalkitError) -> str:
    """An error in one line, and its cure in another.

    Safe to show: a file's name or a value in it may come from whoever made the trace. A line break there would begin a
    line of its own, which a CI service may take for a command.
    """
    told = visible(f"{error.where}: {error.what}" if error.where else error.what)
    return f"{told}\n  cure: {visible(error.cure)}" if error.cure else told
