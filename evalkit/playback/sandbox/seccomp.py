"""The system call filter: a classic BPF program that the kernel runs before each call (man 2 seccomp).

Allowed is what computing needs: files (Landlock governs which), memory, threads, and pairs of sockets within the
process, which asyncio wakes itself with. Everything in `syscalls` is refused, and so is a call in another machine's
convention.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from evalkit.playback.sandbox.kernel import arm, syscall
from evalkit.playback.sandbox.syscalls import CONDITIONAL, IGNORED, LAST_KNOWN, REFUSED, number

__all__ = ["filter_program", "restrict_calls"]

_LOAD, _JUMP_EQUAL, _JUMP_FROM, _JUMP_SET, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X86_64, _ARM64 = 0xC000003E, 0xC00000B7
_SECCOMP = (317, 277)
_FILTER_MODE, _ALL_THREADS = 1, 1
_NR_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16

_CLONE_THREAD = 0x10000
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE_MASK = 1, 1, 0xF
_IOCTLS = (0x5412, 0x541C, 0x8901, 0x8902)
"""TIOCSTI, TIOCLINUX: typing into the user's terminal. FIOSETOWN, SIOCSPGRP: having others signalled."""
_FCNTLS = (8, 15)
"""F_SETOWN, F_SETOWN_EX: likewise."""
_ACCESS_AND_TRUNCATE, _TRUNCATE_ONLY = 0o1003, 0o1000
"""O_ACCMODE | O_TRUNC, and O_RDONLY with O_TRUNC: emptying what may only be read, before Landlock's third version."""

_Line = tuple[int, int, int, int]


def restrict_calls() -> None:
    """Puts the filter on every thread of this process, for good.

    Raises:
        OSError: the kernel has no seccomp filters, or refuses them here.
    """
    program = filter_program(os.getpid())
    code = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    syscall(_SECCOMP[1 if arm() else 0], _FILTER_MODE, _ALL_THREADS, ctypes.create_string_buffer(described, 16))


def filter_program(pid: int) -> bytes:
    """The program for the process `pid`, which may signal itself and nobody else: 8 bytes an instruction."""
    lines: list[_Line] = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_JUMP_EQUAL, 1, 0, _ARM64 if arm() else _X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NR_AT),
        (_JUMP_FROM, 0, 1, LAST_KNOWN + 1),  # also x32's calls, which have bit 30 set
        _refuse(errno.ENOSYS),
    ]
    for table, answer in ((REFUSED, errno.EPERM), (IGNORED, 0)):
        for numbers in table.values():
            found = number(numbers)
            if found is not None:
                lines += [(_JUMP_EQUAL, 0, 1, found), _refuse(answer)]
    for name, rules in _judged(pid).items():
        found = number(CONDITIONAL[name])
        if found is not None:
            lines += [(_JUMP_EQUAL, 0, len(rules), found), *rules]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def _judged(pid: int) -> dict[str, list[_Line]]:
    """The calls whose arguments decide; each block ends in a return."""
    allow, deny = (_RETURN, 0, 0, _ALLOW), _refuse(errno.EPERM)
    own = [_argument(0), (_JUMP_EQUAL, 0, 1, pid), allow, deny]
    truncating = [(_AND, 0, 0, _ACCESS_AND_TRUNCATE), (_JUMP_EQUAL, 1, 0, _TRUNCATE_ONLY), allow, deny]
    return {
        "clone": [_argument(0), (_JUMP_SET, 0, 1, _CLONE_THREAD), allow, deny],
        "clone3": [_refuse(errno.ENOSYS)],  # its flags are behind a pointer; libc falls back to clone
        "socketpair": [
            _argument(0), (_JUMP_EQUAL, 0, 4, _AF_UNIX),
            _argument(1), (_AND, 0, 0, _SOCK_TYPE_MASK), (_JUMP_EQUAL, 0, 1, _SOCK_STREAM), allow, deny,
        ],
        "sendto": [
            _argument(4), (_JUMP_EQUAL, 0, 3, 0), _argument(4, high=True), (_JUMP_EQUAL, 0, 1, 0), allow, deny,
        ],
        "kill": own,
        "tgkill": own,
        "prlimit64": [_argument(0), (_JUMP_EQUAL, 1, 0, 0), (_JUMP_EQUAL, 0, 1, pid), allow, deny],
        "ioctl": [_argument(1), *_none_of(_IOCTLS), allow, deny],
        "fcntl": [_argument(1), *_none_of(_FCNTLS), allow, deny],
        "open": [_argument(1), *truncating],
        "openat": [_argument(2), *truncating],
        "openat2": [_refuse(errno.ENOSYS)],  # as clone3
    }  # fmt: skip


def _none_of(values: tuple[int, ...]) -> list[_Line]:
    """Goes on to the next line when the value is none of these, else to the one after it."""
    return [(_JUMP_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]


def _argument(index: int, *, high: bool = False) -> _Line:
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * index + 4 * high)


def _refuse(code: int) -> _Line:
    return (_RETURN, 0, 0, _ERRNO | code)
