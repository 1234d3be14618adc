"""A caller in the agent's own process: calls run in threads, so that synchronous and asynchronous agents may wait."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from evalkit.capture.caller import ModelRequest, ModelResponse
from evalkit.playback.endpoint.budget import Budget
from evalkit.playback.endpoint.calls import LiveModel
from evalkit.playback.endpoint.ledger import LEDGER_NAME, Ledger
from evalkit.playback.endpoint.model import Endpoint
from evalkit.playback.endpoint.prices import Price

__all__ = ["LocalCaller", "account", "local_caller"]

_LAST_WAIT_S = 2.0


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
    """Calls an endpoint from here, each call in a thread; close it."""

    def __init__(self, model: LiveModel) -> None:
        self._model = model
        self._threads: dict[int, threading.Thread] = {}

    def takes(self, url: str) -> bool:
        """Whether a request is the endpoint's."""
        return self._model.takes(url)

    def submit(self, request: ModelRequest) -> Future[ModelResponse]:
        """Begins a call."""
        found: Future[ModelResponse] = Future()
        found.set_running_or_notify_cancel()
        # a daemon, unlike an executor's threads: a call that nobody waits for must not hold up the end of the process
        threading.Thread(target=self._run, args=(request, found), name="evalkit-model", daemon=True).start()
        return found

    def owns_thread(self) -> bool:
        """Whether the code that asks is this caller's own."""
        return threading.get_ident() in self._threads

    def close(self) -> None:
        """Lets no further try begin, waits for calls under way for a moment, and lets go of connections."""
        self._model.stop()
        until = time.monotonic() + _LAST_WAIT_S
        for thread in list(self._threads.values()):
            thread.join(max(0.0, until - time.monotonic()))
        self._model.close()

    def _run(self, request: ModelRequest, found: Future[ModelResponse]) -> None:
        own = threading.get_ident()
        self._threads[own] = threading.current_thread()
        try:
            answer = self._model.call(request)
        except BaseException as error:  # noqa: BLE001  # whoever waits is told
            found.set_exception(error)
        else:
            found.set_result(answer)
        finally:
            del self._threads[own]
