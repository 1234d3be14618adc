"""Model calls seen, and answered, at the HTTP client: no SDK is wrapped, and none can tell.

httpx, httpx2, requests and aiohttp are known: the method that every request goes through is replaced while a session
may be active, in whichever of them is loaded, now or later. A request outside of any session, or one that no
wire knows, goes straight through. A streamed answer flows through piece by piece as it comes; its step ends when the
stream does, or when the caller closes it.

Attributes of a recorded step: ``wire``, ``endpoint`` (no query), ``request_extra``, ``requested_model`` (where another
one answered), ``missing`` (``["input"]`` where the provider keeps messages that the request only refers to),
``status``, ``stream``, ``extra`` (the wire's) and ``ended``, for a stream that did not come to its end:
``raised`` (reading it failed), ``cut`` (the server ended it) or ``closed`` (the caller did).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from evalkit.capture.patching import Patches
from evalkit.wire.registry import WIRES

__all__ = ["http_capture"]


class _Family(NamedTuple):
    """What patches one library, loaded with it, and a name that the library has once it is loaded."""

    patcher: str
    loaded: str

    def patch(self, patches: Patches, library: Any) -> None:
        """Replaces the library's methods."""
        module, _, name = self.patcher.partition(":")
        function: Callable[[Patches, Any], None] = getattr(importlib.import_module(module), name)
        function(patches, library)


_FAMILIES = {
    "httpx": _Family("evalkit.capture.http_httpx:patch_httpx", "AsyncClient"),
    "httpx2": _Family("evalkit.capture.http_httpx:patch_httpx", "AsyncClient"),
    "requests": _Family("evalkit.capture.http_requests:patch_requests", "Session"),
    "aiohttp": _Family("evalkit.capture.http_aiohttp:patch_aiohttp", "ClientSession"),
}


@contextmanager
def http_capture() -> Iterator[None]:
    """While active, model calls over the known libraries made inside of a session go through that session.

    Raises:
        ConfigError: a third party's wire failed to load.
    """
    with _PATCHES.active():
        yield


def _place(patches: Patches) -> None:
    list(WIRES.items())  # a wire that fails to load is reported here, not inside of the agent
    for name, family in _FAMILIES.items():
        patches.when_loaded(name, family.loaded, partial(family.patch, patches))


_PATCHES = Patches(_place)
