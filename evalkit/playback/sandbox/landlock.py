"""Landlock: which files this process may read and write, kept by the kernel (man 7 landlock).

It governs contents, names and links; not modes, owners and times, nor sockets with a path: `seccomp` refuses those.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from evalkit.playback.sandbox.kernel import syscall

__all__ = ["restrict_files"]

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_QUERY, _PATH_BENEATH = 1, 1

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK, _MAKE_SOCK = 1 << 6, 1 << 11, 1 << 9
_EXECUTE, _TRUNCATE, _IOCTL_DEV = 1 << 0, 1 << 14, 1 << 15
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""ABI -> how many file rights it knows; later ones know as many as 5."""
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random")


def restrict_files(readable: Iterable[Path], writable: Path) -> int:
    """Leaves this thread only `readable` for reading, `writable` for both, and no TCP; gives the ABI.

    Threads made later inherit it, those that run already don't. `PR_SET_NO_NEW_PRIVS` must be set.

    Raises:
        OSError: the kernel refused.
    """
    abi = _version()
    handled = (1 << _RIGHTS.get(abi, 16)) - 1
    network = 0b11 if abi >= 4 else 0
    scoped = 0b11 if abi >= 6 else 0
    attributes = struct.pack("QQQ", handled, network, scoped)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    ruleset = syscall(_CREATE, ctypes.create_string_buffer(attributes, len(attributes)), len(attributes), 0)
    try:
        for path in readable:
            _allow(ruleset, path, (_READ_FILE | _READ_DIR) & handled)
        for device in _DEVICES:
            _allow(ruleset, Path(device), (_READ_FILE | _WRITE_FILE) & handled)
        refused = _EXECUTE | _MAKE_CHAR | _MAKE_BLOCK | _MAKE_SOCK | _IOCTL_DEV
        _allow(ruleset, writable, handled & ~refused)
        syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    return abi


def _version() -> int:
    return syscall(_CREATE, None, 0, _VERSION_QUERY)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    """Adds a rule; a path that is not there needs none."""
    with contextlib.suppress(FileNotFoundError, PermissionError, NotADirectoryError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                rights &= _OF_FILES
            rule = struct.pack("=Qi", rights, descriptor)
            syscall(_ADD, ruleset, _PATH_BENEATH, ctypes.create_string_buffer(rule, len(rule)), 0)
        finally:
            os.close(descriptor)
