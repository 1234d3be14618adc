"""The seam between an agent and its world: every call to a dependency goes through one `Session`.

An **Answerer** maps a `Call` to an `Answer`, or to None: "not mine, do the real thing". Recording asks an answerer that
knows nothing (the real thing is done and observed); a frozen replay asks one that knows the case; a live-model replay
asks one that knows the case's tools only. Answerers are composed by wrapping; deciding never waits, so the same seam
serves synchronous and asynchronous code, and a wrapper differs only in how it does the real thing.

An **Observer** is told when a step starts and when it ends: the file writer and the replay's collector are observers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, Protocol

from evalkit.canonical import Json
from evalkit.capture.caller import Caller
from evalkit.capture.stack import stack_of
from evalkit.trace.effect import guess_effect
from evalkit.trace.model import Effect, EffectSource, Kind, Step, StepError, Usage

__all__ = [
    "NOWHERE",
    "Answer",
    "Answerer",
    "Call",
    "Counts",
    "Observer",
    "Position",
    "Real",
    "Session",
    "Turn",
    "current_position",
    "current_session",
    "error_of",
    "is_cancelled",
]


@dataclass(slots=True)  # not frozen, like `Answer`: every call makes both, and freezing triples the time of that
class Call:
    """A call to a dependency, before it is answered; nobody changes it.

    Attributes:
        kind: `tool`, `model`, `retrieval`, `policy` or `approval`; `agent` for a sub-agent, which nobody answers for.
        name: the capability: the tool's name; ``chat`` for models.
        arguments: plain JSON in the normal form of `trace.model`.
        effect: None asks for a guess from the name (tools only).
        model: the model asked for, for kind `model`.
        known: set by an answerer: what it knows the call by. Calls with one and the same are alike to the letter.
    """

    kind: Kind
    name: str
    arguments: Json
    effect: Effect | None = None
    model: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    known: object | None = None


@dataclass(slots=True)
class Answer:
    """What came back: an output or an error; nobody changes it.

    Attributes:
        substituted: whether it came from an answerer; False when the real thing was done.
        at: logical time at which it came, seconds since 1970; None takes the session's clock.
        raised: the live exception object behind `error`, when there is one; never stored.
        configured: the effect that the project's settings gave the recorded call; it holds in the replay too.
        wrote: whether the recorded call was declared to write: it does in the replay, whatever is declared by now.
        kept: whether this very object is a recording's own answer, which stays as it is; no changed copy is one.
        handed: makes the copies of `output` that are handed out (see `capture.copies`); made when first needed.
    """

    output: Json = None
    error: StepError | None = None
    usage: Usage | None = None
    model: str | None = None
    substituted: bool = False
    at: float | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    raised: BaseException | None = None
    configured: Effect | None = None
    wrote: bool = False
    kept: bool = field(default=False, init=False, compare=False)
    handed: Callable[[], Any] | None = field(default=None, init=False, compare=False)


@dataclass(frozen=True, slots=True)
class Real:
    """Do the real thing, and note these attributes with its step."""

    attributes: Mapping[str, Any]


class Answerer(Protocol):
    """Answers calls in place of the real dependency."""

    def answer(self, call: Call) -> Answer | Real | None:
        """The answer, or `Real` or None for "do the real thing". Must not block."""
        ...


class Observer(Protocol):
    """Is told what happens, in order of happening; must not raise."""

    def started(self, step: Step) -> None:
        """A step began: no output yet. A substituted call ends at once and is not announced."""
        ...

    def ended(self, step: Step) -> None:
        """A step ended: the whole step."""
        ...


@dataclass(slots=True)
class Counts:
    """What a session did, in calls.

    Attributes:
        tool_bodies: real bodies of tools, retrievals, policies and approvals executed.
        live_model: real model calls attempted.
        substituted: calls answered by the answerer.
    """

    tool_bodies: int = 0
    live_model: int = 0
    substituted: int = 0


class Turn:
    """One call under way. Exactly one of `end` and `fail` closes it."""

    __slots__ = ("_session", "answer", "call", "ended_at", "lacks", "outcome", "parent", "seq", "started_at")

    def __init__(self, session: Session, call: Call, seq: int, started_at: float) -> None:
        self._session = session
        self.call = call
        self.parent = _PARENT.get()
        self.started_at = started_at
        self.seq = seq
        self.answer: Answer | None = None
        """The substitute, or None: the caller does the real thing."""
        self.outcome: Answer | None = None
        """What the call came to; None while it is under way."""
        self.ended_at: float | None = None
        self.lacks: Callable[[], list[str]] | None = None
        """Of a recorded call, what its step does not tell of its arguments; asked when it ends."""

    def note(self, attributes: Mapping[str, Any]) -> None:
        """Further attributes of the step."""
        self.call = dataclasses.replace(self.call, attributes={**self.call.attributes, **attributes})

    def end(self, answer: Answer) -> None:
        """The call was answered."""
        if self.lacks is not None and (gaps := self.lacks()):
            told = {"gaps": [*gaps, *answer.attributes.get("gaps", ())]}
            answer = dataclasses.replace(answer, attributes={**answer.attributes, **told})
        self.outcome = answer
        self.ended_at = self._session.now() if answer.at is None else answer.at
        if answer is self.answer:
            self._session.took(self)
        else:
            self._session.ended(self.step())

    def fail(self, error: BaseException) -> None:
        """The real thing raised."""
        told = {"gaps": [lost]} if self._session.records and (lost := _lost_of(error)) else {}
        self.end(Answer(error=error_of(error), raised=error, attributes=told))

    async def cancelled_again(self) -> None:
        """Waits, as the recorded call did until somebody cancelled it: nobody knows what it would have said.

        Raises:
            asyncio.CancelledError: now it is, too.
        """
        await self._session.cancelled(self.call)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While the real thing runs: calls made meanwhile become children; an exception closes the turn."""
        token = _PARENT.set(self.seq)
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        finally:
            with suppress(ValueError):  # a coroutine that is thrown away is closed in whatever context that is noticed
                _PARENT.reset(token)

    def step(self) -> Step:
        """The step that the call comes to, as far as it has come."""
        call, answer = self.call, self.outcome or _NONE_YET
        effect, source = (None, None) if call.kind != "tool" else _effect(call, answer)
        return Step(
            self.seq,
            call.kind,
            call.name,
            call.arguments,
            answer.output,
            answer.error,
            self.parent,
            effect,
            source,
            self.started_at,
            self.ended_at,
            answer.model or call.model,
            answer.usage,
            {**call.attributes, **answer.attributes} if answer.attributes else call.attributes,
        )


class Begun(NamedTuple):
    """What an agent has begun beside itself: a thread, a process, work for a pool.

    Attributes:
        name: in words.
        goes_on: waits for its end, so many seconds at most; whether it goes on.
    """

    name: str
    goes_on: Callable[[float], bool]


class Session:
    """One run being recorded or replayed: numbers the steps, asks the answerer, tells the observer.

    Args:
        answerer: substitutes answers; None does the real thing always.
        observer: is told of every step.
        took: is told of each substituted call that ended, in the observer's place; for one that makes steps of them
            later, if at all.
        clock: logical time in seconds since 1970 UTC.
        first: number of the first step.
        rewrite: changes the body of a model request on its way out, given the name of its wire; None changes nothing.
        caller: sends the requests of a live model; None leaves that to the agent's client.
    """

    def __init__(
        self,
        answerer: Answerer | None,
        observer: Observer,
        clock: Callable[[], float],
        *,
        first: int = 0,
        took: Callable[[Turn], None] | None = None,
        rewrite: Callable[[str, Mapping[str, Any]], dict[str, Any]] | None = None,
        caller: Caller | None = None,
    ) -> None:
        self._answerer = answerer
        self._observer = observer
        self._numbers = count(first)  # next() on it is atomic: threads may begin calls at once
        self.now = clock
        self.rewrite = rewrite
        self.caller = caller
        self.ended = observer.ended
        self.took = self._told if took is None else took
        self.counts = Counts()
        self.bodies: set[int] = set()
        """Numbers of the steps whose real bodies were run."""
        self.records = answerer is None
        """Whether the real thing is done always, and so has to be told in full."""
        self.begun: list[Begun] | None = None if self.records else []
        """Of a replay, what Python would wait for at the end of a script."""
        self.processes = 0
        """How many the agent started by `multiprocessing`, outside of its tools."""
        self.uncancelled: list[Call] = []
        """Of a replay, calls that wait to be cancelled, as they were when they were recorded."""
        self.is_over: Callable[[], bool] = lambda: False
        """Whether the replay was broken off, so that what is cancelled now is by nobody of the agent's."""
        self._defined: set[str] = set()

    def begin(self, call: Call) -> Turn:
        """Starts a call; the turn holds the substitute if there is one.

        Raises:
            what the answerer raises, when it refuses to answer.
        """
        turn = Turn(self, call, next(self._numbers), self.now())
        if self._answerer is not None:
            try:
                answer = self._answerer.answer(call)
            except BaseException:
                self._observer.started(turn.step())
                raise
            if isinstance(answer, Answer):
                turn.answer = answer
                self.counts.substituted += 1
                return turn
            if answer is not None:
                turn.note(answer.attributes)
        self._observer.started(turn.step())
        if call.kind == "model":
            self.counts.live_model += 1
        elif call.kind != "agent":
            self.counts.tool_bodies += 1
            self.bodies.add(turn.seq)
        return turn

    async def cancelled(self, call: Call) -> None:
        """Waits until the agent cancels `call`."""
        import asyncio  # code that awaits has loaded it

        self.uncancelled.append(call)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            if not self.is_over():
                self.uncancelled.remove(call)

    def done_elsewhere(self, call: Call, answer: Answer) -> None:
        """Adds a call whose real thing was done where nobody could ask for an answer first."""
        turn = Turn(self, call, next(self._numbers), self.now())
        self.counts.tool_bodies += 1
        turn.end(answer)

    def began(self, name: str, goes_on: Callable[[float], bool]) -> None:
        """The agent began something beside itself (see `Begun`), which a replay waits for at its end."""
        if self.begun is not None:
            self.begun.append(Begun(name, goes_on))

    def answered_by(self, answerer: Answerer) -> None:
        """From now on this one is asked."""
        self._answerer = answerer

    def wants_definition(self, name: str) -> bool:
        """Whether the next step should tell the definition of the tool `name`: the first of its steps in a recording.

        A replay needs none: recorded answers bring their attributes along.
        """
        if not self.records or name in self._defined:
            return False
        self._defined.add(name)
        return True

    def note(self, step_kind: Kind, name: str, *, input: Json = None, output: Json = None) -> None:
        """Adds a step that is no call: a user's turn, a state change, a policy decision taken in code."""
        now = self.now()
        step = Step(next(self._numbers), step_kind, name, input, output, parent=_PARENT.get(), started_at=now)
        self._observer.started(step)
        self._observer.ended(dataclasses.replace(step, ended_at=now))

    def _told(self, turn: Turn) -> None:
        self.ended(turn.step())

    def active(self) -> Taken:
        """Makes this the current session of the context, and of threads started in it, inside of a ``with`` block."""
        return Taken(self, None)

    def alone(self) -> Alone:
        """The same; code whose context knows of no session belongs to it, too: it is the only run in this process."""
        return Alone(self, None)


_NONE_YET = Answer()
_LOST: Any = object()
_SESSION: ContextVar[Session | None] = ContextVar("evalkit_session")
_PARENT: ContextVar[int | None] = ContextVar("evalkit_parent", default=None)
_ALONE: list[Session] = []


def current_session() -> Session | None:
    """The session of this context; None outside of recording and replay.

    An empty context, as C code's threads and some frameworks' tasks have it, belongs to the run that is alone here.
    """
    found: Any = _SESSION.get(_LOST)
    if found is not _LOST:
        return found  # type: ignore[no-any-return]  # what `Taken` sets
    return _ALONE[-1] if _ALONE else None


@dataclass(frozen=True, slots=True)
class Position:
    """Where in a run some code is: its session and the step around it. For carrying into threads."""

    session: Session | None
    parent: int | None

    def taken(self) -> Taken:
        """Code inside of a ``with`` block of it is at this position."""
        return Taken(self.session, self.parent)


class Taken:
    """A position while it is taken; a class, since every replay enters it and a generator costs three times that.

    Attributes:
        elsewhere: whether it was left in another context than it was taken in, as a generator does that several threads
            or tasks drive, or that is thrown away.
    """

    __slots__ = ("_before", "_parent", "_session", "elsewhere")

    def __init__(self, session: Session | None, parent: int | None) -> None:
        self._session = session
        self._parent = parent
        self.elsewhere = False

    def __enter__(self) -> None:
        self._before = _SESSION.set(self._session), _PARENT.set(self._parent)

    def __exit__(self, *_: object) -> None:
        session, parent = self._before
        try:
            _PARENT.reset(parent)
            _SESSION.reset(session)
        except ValueError:
            self.elsewhere = True
            if _SESSION.get(_LOST) is self._session:  # a copy of the context that it was taken in
                _PARENT.set(None)
                _SESSION.set(_LOST)


class Alone(Taken):
    """A session that is the process's only one while it is taken."""

    __slots__ = ()

    def __enter__(self) -> None:
        super().__enter__()
        assert self._session is not None
        _ALONE.append(self._session)

    def __exit__(self, *_: object) -> None:
        _ALONE.remove(self._session)  # type: ignore[arg-type]  # it is none only where nothing is taken
        super().__exit__()


NOWHERE = Position(None, None)
"""Outside of every run."""


def current_position() -> Position:
    """Where this context is."""
    return Position(current_session(), _PARENT.get())


def is_cancelled(answer: Answer) -> bool:
    """Whether the call was cancelled by whoever awaited it."""
    error = answer.error
    return error is not None and error.type == "CancelledError" and (error.module or "").partition(".")[0] == "asyncio"


def error_of(error: BaseException) -> StepError:
    """An exception as plain data, with its traceback (see `capture.stack`)."""
    kind = type(error)
    return StepError(kind.__name__, _message(error), kind.__module__, stack_of(error))


def _lost_of(error: BaseException) -> str:
    """What an exception held beside its message, in words: a replay raises one that lacks it. Empty for nothing."""
    fields = getattr(error, "__dict__", {})
    names = [name for name, value in fields.items() if not name.startswith("_") and value is not None]
    return f"the error's {', '.join(names)} is not recorded, so that a replay's has none" if names else ""


def _message(error: BaseException) -> str:
    """What it says; an exception's own code may fail at that."""
    try:
        return str(error)
    except Exception as fault:  # noqa: BLE001  # the agent's
        return f"<its text can't be had: {type(fault).__name__}>"


def _effect(call: Call, answer: Answer) -> tuple[Effect, EffectSource]:
    if answer.configured is not None:
        return answer.configured, "configured"
    if answer.wrote:
        return "write", "declared"
    return (guess_effect(call.name), "guessed") if call.effect is None else (call.effect, "declared")
