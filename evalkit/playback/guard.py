"""The network of a frozen world: nothing is reached, or the live model alone.

An audit hook asks the guard that is active. It also sees `_socket` and C code that raises Python's events. There is no
event for what is sent over a connection that was made before, such as a client's where the agent's module is loaded:
there the methods of Python's sockets ask, in the replay's own thread, since others may be a debugger's or a server's.
"""

from __future__ import annotations

import functools
import ipaddress
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import urlsplit

from evalkit.capture.patching import Patches
from evalkit.playback.fixtures import ReplayHalt

__all__ = ["Guard", "sends_at_hand"]

_NETWORK_EVENTS = frozenset(
    {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind"}
)


@dataclass(slots=True)
class Guard:
    """Refuses the network, but for one endpoint.

    Attributes:
        host, port: the live model's endpoint; None refuses everything.
        refused: what was refused, in words.
        excused: whether the code that asks may reach anything: the body of a tool that is live on purpose.
        refuse: is told what is refused, and raises.
    """

    host: str | None = None
    port: int | None = None
    refused: list[str] = field(default_factory=list)
    excused: Callable[[], bool] | None = None
    refuse: Callable[[str], NoReturn] = field(init=False)
    _thread: int = 0

    def __post_init__(self) -> None:
        self.refuse = self._halts

    @classmethod
    def for_endpoint(cls, base_url: str | None) -> Guard:
        """A guard that lets only `base_url`'s host and port through."""
        if base_url is None:
            return cls()
        parts = urlsplit(base_url)
        return cls(parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))

    @contextmanager
    def active(self) -> Iterator[None]:
        """While active, every socket of this process asks this guard."""
        _install_hook()
        self._thread = threading.get_ident()
        _ACTIVE.append(self)
        try:
            with sends_at_hand():
                yield
        finally:
            _ACTIVE.remove(self)

    def check(self, event: str, args: tuple[Any, ...]) -> None:
        """Lets a network event pass or halts the replay."""
        if event == "socket.bind":
            return  # a bound socket sends nothing; asyncio's self-pipe binds on some systems
        if event in ("socket.getaddrinfo", "socket.gethostbyname"):
            target: Any = (args[0], args[1] if len(args) > 1 else self.port)
            allowed = self.host is not None and args[0] in (self.host, self.host.encode())
        else:
            target = args[1] if len(args) > 1 else None
            allowed = self._reaches_endpoint(target)
        if not allowed and not (self.excused is not None and self.excused()):
            sentence = f"network refused: {event.removeprefix('socket.')} {_shown(target)}"
            if self.host is not None:
                sentence += f"; only the live model is reached, at {self.host}:{self.port}"
            self.refuse(sentence)

    def check_kept(self, connection: socket.socket) -> None:
        """Lets something pass that is sent over a connection, or halts the replay."""
        if threading.get_ident() != self._thread:
            return
        try:
            peer = connection.getpeername()
        except OSError:  # there is none: sending tells that by itself
            return
        if not peer or _is_a_log(connection) or self._reaches_endpoint(peer):  # two ends in one process have no names
            return
        if self.excused is None or not self.excused():
            self.refuse(f"network refused: send {_shown(peer)}, over a connection that was made before the replay")

    def _halts(self, sentence: str) -> NoReturn:
        self.refused.append(sentence)
        raise ReplayHalt(sentence)

    def _reaches_endpoint(self, target: Any) -> bool:
        if self.host is None or not isinstance(target, tuple) or len(target) < 2 or target[1] != self.port:
            return False
        return str(target[0]) == self.host or _is_address_of(str(target[0]), self.host)


_ACTIVE: list[Guard] = []
_HOOKED: list[bool] = []


def _asking(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def send(self: Any, *args: Any, **options: Any) -> Any:
        if _ACTIVE:
            _ACTIVE[-1].check_kept(self)
        return original(self, *args, **options)

    return send


def _place(patches: Patches) -> None:
    for name in ("send", "sendall"):
        patches.replace_method(socket.socket, name, _asking)

    def patch_ssl(module: Any) -> None:
        for name in ("send", "sendall", "write"):
            patches.replace_method(module.SSLSocket, name, _asking)

    patches.when_loaded("ssl", "SSLSocket", patch_ssl)


_PATCHES = Patches(_place)


@contextmanager
def sends_at_hand() -> Iterator[None]:
    """Inside, what is sent asks the active guard, if any; entered for many cases, it is set up only once."""
    with _PATCHES.active():
        yield


def _is_a_log(connection: socket.socket) -> bool:
    """Whether it leads to the system's log, which keeps what a replay says as a file would."""
    return connection.family == getattr(socket, "AF_UNIX", None) and connection.type == socket.SOCK_DGRAM


def _install_hook() -> None:
    """Audit hooks can't be removed, so one is added at most once and asks the active guard, if any."""
    if not _HOOKED:
        sys.addaudithook(_audit)
        _HOOKED.append(True)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _ACTIVE and event in _NETWORK_EVENTS:
        _ACTIVE[-1].check(event, args)


def _is_address_of(address: str, host: str) -> bool:
    if host == "localhost":
        try:
            return ipaddress.ip_address(address).is_loopback
        except ValueError:
            return False
    return not host.replace(".", "").isdigit() and ":" not in host  # the name was checked when it was resolved


def _shown(target: Any) -> str:
    if isinstance(target, tuple) and len(target) >= 2:
        return f"{target[0]}:{target[1]}"
    return str(target)
