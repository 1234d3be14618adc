"""`record`: one run of an agent, written to a trace file as it happens."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evalkit.capture.environment import environment, run_environment
from evalkit.capture.http import http_capture
from evalkit.capture.plain import plain
from evalkit.capture.seam import Session, current_session, error_of
from evalkit.capture.threads import carry_context
from evalkit.capture.working_tree import dirty_patch
from evalkit.capture.writer import Sanitize, Sanitizes, TraceWriter
from evalkit.errors import UsageError
from evalkit.sanitize.policy import Policy
from evalkit.trace.model import KINDS, USER_MESSAGE, Kind, Status, Step, StepError, Trace

__all__ = ["Recording", "as_is", "default_sanitizer", "record"]

_MAX_PATCH_BYTES = 2**20
_ELSEWHERE = (
    "the run ended in another context than it began in, as in a generator that several threads or tasks go through: "
    "what it called there is not recorded"
)
_PROCESSES = (
    "further processes were started ({}): what they called stands in {}.PID where they were forked or the program was "
    "started by `evalkit record`, and else nowhere"
)


def record(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    input: Any = None,
    config: Any = None,
    with_patch: bool = False,
    sanitizer: Sanitize | Sanitizes | None = None,
    clock: Callable[[], float] = time.time,
) -> Recording:
    """Records what happens inside of a ``with`` or ``async with`` block to a new trace file.

    Tool calls (see `tool`) and model calls over httpx, httpx2, requests and aiohttp become steps, also from threads and
    tasks started in the block. An exception that leaves the block is recorded as the run's error, and goes on.

    Args:
        path: the file, which must not exist; missing folders are made.
        name: the agent's name; the file's name by default.
        input: what the agent is started with.
        config: what it is set up with: model, prompt version, policies, budget, whatever else decides how it behaves.
        with_patch: write also what the working tree's tracked files differ by from the commit, up to 1 MiB; without it
            only the hash of that is written.
        sanitizer: what each step goes through before it is written, and input, config and patch with it; None for the
            built-in rules with the user's key. `as_is` writes values as they are.
        clock: logical time, seconds since 1970 UTC.

    Raises:
        InputError: on entering, when the file exists or can't be made.
        ConfigError: on entering, when the sanitizer's key or a wire can't be loaded.
    """
    return Recording(
        Path(path), name=name, input=input, config=config, with_patch=with_patch, sanitizer=sanitizer, clock=clock
    )


def as_is(step: Step) -> Step:
    """A sanitizer that changes nothing: for runs on invented data only."""
    return step


def default_sanitizer(policy: Policy | None = None, key_file: Path | None = None) -> Sanitizes:
    """A sanitizer with a key from ``EVALKIT_PSEUDONYM_KEY``, else from a file.

    Args:
        policy: a project's rules; None for the built-in ones alone.
        key_file: None for the user's own.

    Raises:
        ConfigError: the key is malformed or can't be read.
    """
    from evalkit.sanitize.key import load_key
    from evalkit.sanitize.sanitizer import Sanitizer

    return Sanitizer(policy or Policy(), load_key(key_file, os.environ.get("EVALKIT_PSEUDONYM_KEY")))


class Recording:
    """One run being recorded; made by `record`. Inside of a replay, which answers the agent, nothing is recorded.

    Args:
        alone: whether the run is the whole process, whatever contexts its code has.

    Attributes:
        output: the run's final answer, set by the agent's caller.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str | None,
        input: Any,
        sanitizer: Sanitize | Sanitizes | None,
        clock: Callable[[], float],
        config: Any = None,
        with_patch: bool = False,
        lazily: bool = False,
        alone: bool = False,
    ) -> None:
        self.output: Any = None
        self._path = path
        self._name = name or path.name.partition(".")[0]
        self._input = input
        self._config = config
        self._with_patch = with_patch
        self._sanitizer = sanitizer
        self._clock = clock
        self._lazily = lazily
        self._alone = alone
        self._stack = ExitStack()
        self._writer: TraceWriter | None = None
        self._session: Session | None = None

    def __enter__(self) -> Self:
        if self._writer is not None:
            raise UsageError("a recording is one run and was used before", cure="call record() again for the next run")
        session = current_session()
        if session is not None and not session.records:  # else tools would be called for real in there
            self._session = session
            return self
        header = Trace(
            id=uuid.uuid4().hex,
            name=self._name,
            dialect="evalkit",
            steps=(),
            input=plain(self._input),
            started_at=self._clock(),
            attributes=self._attributes(),
        )
        sanitize = default_sanitizer() if self._sanitizer is None else self._sanitizer
        with ExitStack() as stack:  # undone when a later line fails
            self._writer = TraceWriter(self._path, header, sanitize, lazily=self._lazily)
            self._session = Session(None, self._writer, self._clock)
            self._place = self._session.alone() if self._alone else self._session.active()
            stack.enter_context(http_capture())
            stack.enter_context(carry_context())
            stack.enter_context(self._place)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self.end(None if error is None or _is_success(error) else error_of(error))

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, stack)

    @property
    def path(self) -> Path:
        """Where the trace goes."""
        return self._path if self._writer is None else self._writer.path

    @property
    def steps(self) -> int:
        """How many steps were begun so far."""
        return 0 if self._writer is None else self._writer.steps

    def note(self, kind: Kind, name: str, *, input: Any = None, output: Any = None) -> None:
        """Adds a step that is no call: a state change, a policy's decision taken in code, an approval.

        Raises:
            UsageError: the kind is unknown, or the recording is not running.
        """
        if kind not in KINDS:
            raise UsageError(f"step kind {kind!r} is unknown", cure=f"use one of: {', '.join(sorted(KINDS))}")
        self._running().note(kind, name, input=plain(input), output=plain(output))

    def user(self, text: str) -> None:
        """Adds a user's turn.

        Raises:
            UsageError: the recording is not running.
        """
        self._running().note("other", USER_MESSAGE, output={"role": "user", "content": text})

    def end(self, error: StepError | None) -> None:
        """Ends the run; what the agent does from here on is not recorded. `with` does this by itself."""
        self._stack.close()
        if self._writer is not None:
            status: Status = "completed" if error is None else "failed"
            gaps = [_ELSEWHERE] if self._place.elsewhere else []
            if self._session is not None and self._session.processes:
                gaps.append(_PROCESSES.format(self._session.processes, self._path.name))
            output, now = plain(self.output), self._clock()
            self._writer.finish(output=output, error=error, status=status, ended_at=now, gaps=gaps)

    def abandon(self) -> None:
        """Stops without writing an end, for when somebody else knows how the run ended."""
        self._stack.close()
        if self._writer is not None:
            self._writer.close()

    def _attributes(self) -> dict[str, Any]:
        folder = Path.cwd()
        found: dict[str, Any] = {"environment": environment(folder) if self._lazily else run_environment(folder)}
        if self._config is not None:
            found["config"] = plain(self._config)
        if self._with_patch:
            patch = dirty_patch(folder)
            if patch is not None and len(patch) <= _MAX_PATCH_BYTES:
                found["patch"] = patch.decode("utf-8", "backslashreplace")
        return found

    def _running(self) -> Session:
        if self._session is None:
            raise UsageError("the recording is not running", cure="call it inside of the with block")
        return self._session


def _is_success(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and error.code in (None, 0)
