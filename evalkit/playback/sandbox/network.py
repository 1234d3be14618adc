"""A network namespace of one's own: no interface, no abstract sockets of others (man 7 network_namespaces)."""

from __future__ import annotations

import os

from evalkit.playback.sandbox.kernel import arm, syscall

__all__ = ["leave_network"]

_UNSHARE = (272, 97)
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000


def leave_network() -> None:
    """Moves this process, which must have one thread, into an empty network.

    Without the right to do so it goes through a user namespace, in which it stays the same user.

    Raises:
        OSError: the system allows neither (Docker's and Ubuntu 24.04's rules for ordinary users).
    """
    unshare = _UNSHARE[1 if arm() else 0]
    try:
        syscall(unshare, _NEW_NET)
        return
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
    syscall(unshare, _NEW_USER | _NEW_NET)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "wb") as file:
            file.write(text.encode())
