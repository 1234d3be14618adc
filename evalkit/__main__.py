"""The console script ``evalkit``, also as ``python -m evalkit``."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FunctionType

from evalkit.cli.ended import end_with, keep_exit_code
from evalkit.cli.hashes import fix_hashes
from evalkit.cli.numpy_calmly import load_numpy
from evalkit.errors import ExitCode

__all__ = ["main", "with_room_for_frames"]

_FRAME_SLOTS = 33_000
"""A little more than 256 kB: Python rounds up to 512, and keeps the frames of what is called in the rest."""


def main() -> None:
    """Readies the process before most of it is loaded, then does what the command line says."""
    replays = sys.argv[1:2] in (["replay"], ["run"], ["ab"]) and "--help" not in sys.argv
    if replays:
        fix_hashes()  # may start the process anew
    gc.set_threshold(200_000, 20, 20)  # a command makes many objects and drops few: looking for garbage cost it a tenth
    try:
        with_room_for_frames(_replays if replays else _command)
    except KeyboardInterrupt:  # while the command is loaded; later it sees to that itself
        sys.stderr.write("interrupted\n")
        end_with(int(ExitCode.INTERRUPTED))
    finally:
        gc.freeze()  # the interpreter looks for garbage three times as it ends: 0.1 s, and then all memory goes anyway


def _replays() -> None:
    keep_exit_code()
    load_numpy()
    _command()


def _command() -> None:
    from evalkit.cli.main import main as command

    command()


def with_room_for_frames(function: Callable[[], None]) -> None:
    """Calls a function where there is room for all frames below.

    Python keeps frames in pieces of memory of 16 kB. A loop whose calls go over the end of a piece maps another one and
    gives it back with every call: 6 µs, and loading numpy took 60 ms longer where it lay so.
    """
    roomy = FunctionType(_called.__code__.replace(co_stacksize=_FRAME_SLOTS), globals())
    roomy(function)


def _called(function: Callable[[], None]) -> None:
    function()


if __name__ == "__main__":
    main()
