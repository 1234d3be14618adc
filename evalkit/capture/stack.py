"""An exception's traceback as text that says nothing of the machine it came from.

Paths are told from the folder that Python found them by (``sys.path``, the working directory), so that a trace holds
neither a user's home nor where a build machine keeps its checkouts, and two machines' tracebacks are the same text.
"""

from __future__ import annotations

import os
import re
import sys
import traceback

__all__ = ["stack_of"]

_FILE = re.compile(r'(?m)^([ |+]*File ")([^"\n]+)(")')


def stack_of(error: BaseException) -> str:
    """The traceback as Python prints it; a path outside of every known folder is cut down to the file's name."""
    text = "".join(traceback.format_exception(error))
    roots = sorted(_roots(), key=len, reverse=True)
    return _FILE.sub(lambda found: f"{found[1]}{_told(found[2], roots)}{found[3]}", text)


def _roots() -> set[str]:
    try:
        return {os.path.join(os.path.abspath(path), "") for path in (*sys.path, os.getcwd())}
    except OSError:  # the working directory is gone
        return {os.path.join(path, "") for path in sys.path if os.path.isabs(path)}


def _told(path: str, roots: list[str]) -> str:
    if not os.path.isabs(path):
        return path  # relative to the working directory, or no file: <string>
    inside = next((path[len(root) :] for root in roots if path.startswith(root)), os.path.basename(path))
    return inside.replace(os.sep, "/")
