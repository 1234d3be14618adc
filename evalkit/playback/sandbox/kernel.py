"""System calls by number, for those that Python and libc don't name. Linux on x86-64 and arm64."""

from __future__ import annotations

import ctypes
import os
import platform
import sys

__all__ = ["MACHINE", "arm", "supported", "syscall"]

MACHINE = platform.machine()
"""Read once, when it is imported: `platform` may start a process, which a sandbox forbids."""


def supported() -> bool:
    """Whether the sandbox knows this system's numbers: Linux, 64-bit, x86-64 or arm64."""
    return sys.platform == "linux" and MACHINE in ("x86_64", "aarch64") and sys.maxsize > 2**32


def arm() -> bool:
    """Whether this is arm64, which has its own numbers for older calls."""
    return MACHINE == "aarch64"


def syscall(number: int, *arguments: object) -> int:
    """Makes a system call.

    Raises:
        OSError: the kernel refused, with its errno.
    """
    libc = _libc()
    passed = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    done: int = libc.syscall(ctypes.c_long(number), *passed)
    if done == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return done


_LIBC: list[ctypes.CDLL] = []


def _libc() -> ctypes.CDLL:
    if not _LIBC:
        _LIBC.append(ctypes.CDLL(None, use_errno=True))
        _LIBC[0].syscall.restype = ctypes.c_long
    return _LIBC[0]
