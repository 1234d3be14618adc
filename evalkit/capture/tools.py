"""The `tool` decorator: a Python function becomes a dependency that is recorded, and answered in a replay."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from evalkit.capture.arguments import binder
from evalkit.capture.definition import DEFINITION, function_definition
from evalkit.capture.seam import Call, Session, Turn
from evalkit.capture.through import instrument, plain_shape
from evalkit.trace.effect import check_effect
from evalkit.trace.model import Effect

__all__ = ["tool"]

P = ParamSpec("P")
R = TypeVar("R")

_NOTHING: dict[str, Any] = {}


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def tool(*, effect: Effect | None = None, name: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def tool(function: Any = None, /, *, effect: Effect | None = None, name: str | None = None) -> Any:
    """Marks a function, or an async function, as a tool of the agent.

    Outside of recording and replay the function runs as it is. While recording, arguments (bound to parameter names,
    defaults filled in), result or exception, and times become a step; the first of a run also holds the tool's
    definition, from signature and docstring. In a frozen replay the body never runs.

    Args:
        effect: ``read``, ``write`` or ``pure``; without it, it is guessed from the name and marked as a guess.
        name: the capability's name; the function's own by default.

    Raises:
        UsageError: the effect is unknown, or the function is a generator (its answer is no single value).
    """
    if effect is not None:
        check_effect(effect)
    if function is None:
        return functools.partial(_instrument, effect=effect, name=name)
    return _instrument(function, effect=effect, name=name)


def _instrument(function: Callable[..., Any], *, effect: Effect | None, name: str | None) -> Callable[..., Any]:
    capability = name or function.__name__
    bind = binder(function)
    define = functools.cache(functools.partial(function_definition, capability, function))

    def begin(session: Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Turn:
        told = _NOTHING
        if session.records and session.wants_definition(capability):
            told = {DEFINITION: define()}
        return session.begin(Call("tool", capability, bind(args, kwargs), effect, None, told))

    return instrument(function, begin, plain_shape(function))
