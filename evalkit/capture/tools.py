"""The `tool` decorator: a Python function becomes a dependency that is recorded, and answered in a replay."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast, overload

from evalkit.canonical import Json
from evalkit.capture.plain import AS_THEY_ARE, plain
from evalkit.capture.rebuild import rebuild_error, rebuild_output
from evalkit.capture.seam import Answer, Call, Session, Turn, current_session
from evalkit.errors import UsageError
from evalkit.trace.model import Effect

__all__ = ["tool"]

P = ParamSpec("P")
R = TypeVar("R")

_EFFECTS = ("read", "write", "pure")
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def tool(*, effect: Effect | None = None, name: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def tool(function: Any = None, /, *, effect: Effect | None = None, name: str | None = None) -> Any:
    """Marks a function, or an async function, as a tool of the agent.

    Outside of recording and replay the function runs as it is. While recording, arguments (bound to parameter names,
    defaults filled in), result or exception, and times become a step. In a frozen replay the body never runs.

    Args:
        effect: ``read``, ``write`` or ``pure``; without it, it is guessed from the name and marked as a guess.
        name: the capability's name; the function's own by default.

    Raises:
        UsageError: the effect is unknown, or the function is a generator (its answer is no single value).
    """
    if effect is not None and effect not in _EFFECTS:
        raise UsageError(f"effect {effect!r} is unknown", cure="use one of: read, write, pure")
    if function is None:
        return functools.partial(_instrument, effect=effect, name=name)
    return _instrument(function, effect=effect, name=name)


def _instrument(function: Callable[..., Any], *, effect: Effect | None, name: str | None) -> Callable[..., Any]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(
            f"{function.__qualname__} is a generator: its answer is no single value",
            cure="decorate a function that returns the collected result",
        )
    capability = name or function.__name__
    bind = _binder(function)

    def begin(session: Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Turn:
        return session.begin(Call("tool", capability, bind(args, kwargs), effect))

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def async_wrapper(*args: Any, **kwargs: Any) -> Any:
            session = current_session()
            if session is None:
                return await function(*args, **kwargs)
            turn = begin(session, args, kwargs)
            if turn.answer is not None:
                return _substitute(turn, turn.answer, function)
            with turn.inside():
                output = await function(*args, **kwargs)
            turn.end(Answer(plain(output)))
            return output

        return async_wrapper

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        session = current_session()
        if session is None:
            return function(*args, **kwargs)
        turn = begin(session, args, kwargs)
        if turn.answer is not None:
            return _substitute(turn, turn.answer, function)
        with turn.inside():
            output = function(*args, **kwargs)
        turn.end(Answer(plain(output)))
        return output

    return wrapper


def _substitute(turn: Turn, answer: Answer, function: Callable[..., Any]) -> Any:
    turn.end(answer)
    if answer.error is not None:
        raise rebuild_error(answer.error)
    return rebuild_output(answer.output, function)


def _binder(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Json]]:
    """What turns a call's arguments into an object by parameter name; the receiver of a method is left out."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    skip = 1 if parameters and parameters[0].name in ("self", "cls") else 0
    named = parameters[skip:]
    if any(parameter.kind in _VARIADIC for parameter in named):
        return functools.partial(_bind_by_signature, signature, skip)
    names = [parameter.name for parameter in named]
    defaults = {p.name: p.default for p in named if p.default is not inspect.Parameter.empty}

    def bind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Json]:
        given = {**defaults, **dict(zip(names, args[skip:], strict=False)), **kwargs}
        return given if AS_THEY_ARE.issuperset(map(type, given.values())) else cast("dict[str, Json]", plain(given))

    return bind


def _bind_by_signature(
    signature: inspect.Signature, skip: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Json]:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:  # the body will raise the same error, in its own words
        return cast("dict[str, Json]", plain({"args": args[skip:], **kwargs}))
    bound.apply_defaults()
    found: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[skip:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            found.update(value)
        else:
            found[name] = value
    return cast("dict[str, Json]", plain(found))
