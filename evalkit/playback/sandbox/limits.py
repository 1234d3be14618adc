"""Limits of memory, file size and descriptors (man 2 setrlimit), and only the descriptors that are meant."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable

from evalkit.playback.sandbox.model import Policy

if sys.platform != "win32":
    import resource  # now: a confined process of another user may not be able to read the standard library

__all__ = ["close_others", "set_limits"]

_PAGE = 4096


def set_limits(policy: Policy) -> None:
    """Sets both limits, so that they can't be raised again.

    Raises:
        OSError, ValueError: the system refused.
    """
    used = _address_space()
    wanted = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, policy.file_size),
        (resource.RLIMIT_NOFILE, policy.open_files),
        (resource.RLIMIT_AS, used + policy.memory),
    ]
    if policy.cpu_s:
        wanted.append((resource.RLIMIT_CPU, policy.cpu_s))
    for which, most in wanted:
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))


def close_others(keep: Iterable[int]) -> None:
    """Closes every descriptor but standard output, error and `keep`; standard input reads nothing from now on.

    A parent's connections and files opened for writing would else stay usable: no layer looks at open descriptors.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    wanted = {0, 1, 2, *keep}
    for descriptor in [int(name) for name in os.listdir("/proc/self/fd")]:
        if descriptor not in wanted:
            with contextlib.suppress(OSError):  # the listing's own is closed already
                os.close(descriptor)


def _address_space() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * _PAGE
