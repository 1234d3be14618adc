"""One call of a dependency, taken through the seam: asked first, done for real if nobody answers, told in any case."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from evalkit.capture.copies import copies
from evalkit.capture.plain import AS_THEY_ARE, plain
from evalkit.capture.rebuild import adapter_of, rebuild_error
from evalkit.capture.seam import Answer, Session, Turn, current_session, is_cancelled
from evalkit.errors import UsageError

__all__ = ["Shape", "given", "instrument", "plain_shape", "through", "through_async", "written"]


_AWAITED = "awaited"
"""The attribute of a step whose function is no async one, and gave something to await: which, a key of `_READY`."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How what a dependency gives is written down, and made again from what is written.

    Attributes:
        written: the live result as an answer; must not raise.
        rebuilt: what the caller gets in place of the live result; raises what the recorded call raised.
    """

    written: Callable[[Any], Answer]
    rebuilt: Callable[[Answer], Any]


def plain_shape(function: Callable[..., Any]) -> Shape:
    """Results as plain JSON, made again as what `function` is annotated to return."""

    def rebuilt(answer: Answer) -> Any:
        output = given(answer) if answer.handed is None else answer.handed()
        adapt = adapter_of(function)
        return output if adapt is None else adapt(output)

    return Shape(written, rebuilt)


def written(output: Any) -> Answer:
    """A result as an answer, with what of it can't be written."""
    lost: list[str] = []
    written = plain(output, 0, lost)
    return Answer(
        written, attributes={"gaps": [f"the result held {what}" for what in dict.fromkeys(lost)]} if lost else {}
    )


def given(answer: Answer) -> Any:
    """What a recorded answer holds, as an object of the caller's own: it may change it, and the recording stays.

    Raises:
        the recorded error, if there is one.
    """
    if answer.error is not None:
        raise rebuild_error(answer.error)
    handed = answer.handed
    if handed is None:
        handed = answer.handed = copies(answer.output)
    return handed()


def through(turn: Turn, shape: Shape, do: Callable[[], Any]) -> Any:
    """The substitute, or what `do` gives."""
    answer = turn.answer
    if answer is not None:
        turn.end(answer)
        return shape.rebuilt(answer)
    with turn.inside():
        output = do()
    # An async function behind a plain one. Other things that can be awaited, as Ray's, may be used otherwise as well.
    if type(output) not in AS_THEY_ARE:
        if inspect.iscoroutine(output):
            return _awaited(turn, shape, output, "coroutine")
        if asyncio.isfuture(output):
            return output.get_loop().create_task(_awaited(turn, shape, output, "future"))
    turn.end(shape.written(output))
    return output


async def _awaited(turn: Turn, shape: Shape, pending: Awaitable[Any], what: str) -> Any:
    """What is awaited of a plain function's result; its call ends then."""
    turn.note({_AWAITED: what})
    with turn.inside():
        output = await pending
    turn.end(shape.written(output))
    return output


async def _later(rebuilt: Callable[[Answer], Any], turn: Turn, answer: Answer) -> Any:
    if is_cancelled(answer):
        await turn.cancelled_again()
    return rebuilt(answer)


def _at_once(rebuilt: Callable[[Answer], Any], turn: Turn, answer: Answer) -> asyncio.Future[Any]:
    return asyncio.ensure_future(_later(rebuilt, turn, answer))


_READY: dict[Any, Callable[[Callable[[Answer], Any], Turn, Answer], Awaitable[Any]]] = {
    "coroutine": _later,
    "future": _at_once,
}


async def through_async(turn: Turn, shape: Shape, do: Callable[[], Awaitable[Any]]) -> Any:
    """The substitute, or what awaiting `do` gives."""
    if turn.answer is not None:
        turn.end(turn.answer)
        return await _later(shape.rebuilt, turn, turn.answer)
    with turn.inside():
        output = await do()
    turn.end(shape.written(output))
    return output


def instrument(
    function: Callable[..., Any],
    begin: Callable[[Session, tuple[Any, ...], dict[str, Any]], Turn],
    shape: Shape,
) -> Callable[..., Any]:
    """`function`, or an async function, going through the session where there is one, and as it is elsewhere.

    Raises:
        UsageError: the function is a generator (its answer is no single value).
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(
            f"{function.__qualname__} is a generator: its answer is no single value",
            cure="decorate a function that returns the collected result",
        )
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def async_wrapper(*args: Any, **kwargs: Any) -> Any:
            session = current_session()
            if session is None:
                return await function(*args, **kwargs)
            turn = begin(session, args, kwargs)
            return await through_async(turn, shape, functools.partial(function, *args, **kwargs))

        return async_wrapper

    rebuilt = shape.rebuilt

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        session = current_session()
        if session is None:
            return function(*args, **kwargs)
        turn = begin(session, args, kwargs)
        if (answer := turn.answer) is not None:
            turn.end(answer)
            if _AWAITED in answer.attributes:
                return _READY.get(answer.attributes[_AWAITED], _later)(rebuilt, turn, answer)
            return rebuilt(answer)
        return through(turn, shape, functools.partial(function, *args, **kwargs))

    return wrapper
