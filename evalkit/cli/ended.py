"""The exit code of a command that loads an agent: `os._exit`, called by the agent, skips whatever would say so.

Some libraries call it as the interpreter ends, with 0, since their threads would keep it from ending: a run that is
blocked would come to 0. One that is called before the command has come to its end would hide that nothing was done.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, NoReturn

from evalkit.errors import ExitCode

__all__ = ["end_with", "keep_exit_code"]

_CODES: list[int] = []
"""What the command came to, once it has."""


def keep_exit_code() -> None:
    """From now on this process ends with the command's own code; its forks end as they like."""
    system: Any = os
    process, end = os.getpid(), os._exit

    def _exit(status: int) -> NoReturn:
        if os.getpid() != process:
            end(status)
        if not _CODES:
            sys.stderr.write(
                f"error: the agent ended this process, by os._exit({status})\n"
                "  cure: take that out of what is loaded with the agent; with --executor fork a replay may do it\n"
            )
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the agent may have closed it
                stream.flush()
        end(_CODES[-1] if _CODES else int(ExitCode.WRONG_INPUT))

    system._exit = _exit


def end_with(code: int) -> NoReturn:
    """Ends the command, whatever is done as the interpreter ends."""
    _CODES.append(code)
    sys.exit(code)
