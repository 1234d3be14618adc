"""A caller in the agent's own process: calls run in threads, so that synchronous and asynchronous agents may wait."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from evalkit.capture.caller import ModelRequest, ModelResponse
from evalkit.playback.endpoint.budget import Budget
from evalkit.playback.endpoint.calls import LiveModel
from evalkit.playback.endpoint.ledger import LEDGER_NAME, Ledger
from evalkit.playback.endpoint.model import Endpoint
from evalkit.playback.endpoint.prices import Price

__all__ = ["LocalCaller", "account", "local_caller"]

_AT_ONCE = 64


@contextmanager
def account(endpoint: Endpoint | None, budget: Budget) -> Iterator[Ledger]:
    """An account for replays that are no run: gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="evalkit-account-") as folder:
        yield Ledger.opened(Path(folder) / LEDGER_NAME, budget, 1 if endpoint is None else endpoint.concurrency)


@contextmanager
def local_caller(endpoint: Endpoint, ledger: Ledger, prices: Sequence[Price] = ()) -> Iterator[LocalCaller]:
    """A caller, closed at the end of the block.

    Raises:
        ConfigError: a header of the endpoint names a variable that is not set.
    """
    caller = LocalCaller(LiveModel(endpoint, ledger, prices))
    try:
        yield caller
    finally:
        caller.close()


class LocalCaller:
    """Calls an endpoint from here; close it, for it has threads."""

    def __init__(self, model: LiveModel) -> None:
        self._model = model
        self._own: set[int] = set()
        self._pool: ThreadPoolExecutor | None = None

    def takes(self, url: str) -> bool:
        """Whether a request is the endpoint's."""
        return self._model.takes(url)

    def submit(self, request: ModelRequest) -> Future[ModelResponse]:
        """Begins a call."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_AT_ONCE, "evalkit-model", self._noted)
        return self._pool.submit(self._model.call, request)

    def owns_thread(self) -> bool:
        """Whether the code that asks is this caller's own."""
        return threading.get_ident() in self._own

    def close(self) -> None:
        """Waits for the calls under way, and ends the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        self._model.close()

    def _noted(self) -> None:
        self._own.add(threading.get_ident())
