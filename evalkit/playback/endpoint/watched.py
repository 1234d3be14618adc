"""A caller for one replay: its time limit stands still while it waits, and what halted it is known afterwards."""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from evalkit.capture.caller import Caller, ModelRequest, ModelResponse
from evalkit.playback.deadline import Deadline
from evalkit.playback.endpoint.model import EndpointHalt, GivenUp

__all__ = ["MOST_CALLS", "TooManyCalls", "WatchedCaller"]

MOST_CALLS = 200
"""Model calls of one replay: waiting for them is not the agent's time, so no time limit ends an agent in circles."""


class TooManyCalls(BaseException):
    """Stops an agent that goes in circles; no `Exception`, as `deadline.ReplayTimeout`."""


class WatchedCaller:
    """Wraps a caller.

    Attributes:
        halt: the first call that had no answer, whatever the agent made of it.
    """

    def __init__(self, inner: Caller, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline
        self._count = 0
        self.halt: EndpointHalt | None = None
        self._under_way: set[Future[ModelResponse]] = set()

    def takes(self, url: str) -> bool:
        """Whether a request is the endpoint's."""
        return self._inner.takes(url)

    def submit(self, request: ModelRequest) -> Future[ModelResponse]:
        """Begins a call.

        Raises:
            TooManyCalls: the replay made `MOST_CALLS`.
        """
        self._count += 1
        if self._count > MOST_CALLS:
            raise TooManyCalls(f"stopped after {MOST_CALLS} model calls")
        told: Future[ModelResponse] = Future()
        told.set_running_or_notify_cancel()
        self._under_way.add(told)
        replay = self._deadline.waits()

        def done(found: Future[ModelResponse]) -> None:
            self._deadline.goes_on(replay)
            error = found.exception()
            if isinstance(error, EndpointHalt) and self.halt is None:
                self.halt = error  # before the one who waits goes on
            self._under_way.discard(told)
            with suppress(InvalidStateError):  # it was given up
                if error is None:
                    told.set_result(found.result())
                else:
                    told.set_exception(error)

        self._inner.submit(request).add_done_callback(done)
        return told

    def give_up(self) -> None:
        """Ends the waiting of all who wait: the replay is over. The endpoint may answer yet, and is paid for it."""
        for told in list(self._under_way):
            with suppress(InvalidStateError):
                told.set_exception(GivenUp("the replay ended before the answer did"))
