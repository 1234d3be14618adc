"""The `tool` decorator: a Python function becomes a dependency that is recorded, and answered in a replay."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar, overload

from evalkit.capture.arguments import binder, capability_of, what_lacks
from evalkit.capture.definition import DEFINITION, function_definition
from evalkit.capture.seam import Call, Session, Turn
from evalkit.capture.through import instrument, plain_shape
from evalkit.trace.effect import check_effect
from evalkit.trace.model import Effect

__all__ = ["declared_effect", "marked_name", "marked_tools", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

_NOTHING: dict[str, Any] = {}
_MARK = "__evalkit_tool__"


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
        UsageError: the effect is unknown; or it is no function, or has no name or signature; or it is a generator (its
            answer is no single value).
    """
    if effect is not None:
        check_effect(effect)
    if function is None:
        return functools.partial(_instrument, effect=effect, name=name)
    return _instrument(function, effect=effect, name=name)


def _instrument(function: Callable[..., Any], *, effect: Effect | None, name: str | None) -> Callable[..., Any]:
    capability = capability_of(function, name)
    bind = binder(function)
    define = functools.cache(functools.partial(function_definition, capability, function))

    def begin(session: Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Turn:
        lost: list[str] = []
        arguments = bind(args, kwargs, lost)
        if not session.records:
            return session.begin(Call("tool", capability, arguments, effect, None, _NOTHING))
        told = {DEFINITION: define()} if session.wants_definition(capability) else _NOTHING
        turn = session.begin(Call("tool", capability, arguments, effect, None, told))
        turn.lacks = functools.partial(what_lacks, bind, args, kwargs, arguments, lost)
        return turn

    through = instrument(function, begin, plain_shape(function))
    setattr(through, _MARK, (capability, effect))
    return through


def marked_name(function: Any) -> str | None:
    """The tool that a function is marked as, so that who calls it need not record it; None where it has no mark."""
    mark = vars(function).get(_MARK) if isinstance(function, FunctionType) else None
    return None if mark is None else str(mark[0])


def declared_effect(function: Callable[..., Any]) -> Effect | None:
    """The effect that a function's own mark declares; None where it has no mark, or that says none."""
    mark = vars(function).get(_MARK) if isinstance(function, FunctionType) else None
    return None if mark is None else mark[1]


def marked_tools(name: str, module: str) -> list[tuple[Callable[..., Any], Effect | None]]:
    """The different functions that are marked as this tool, with the effects that they declare.

    Args:
        module: the agent's. What it holds, or imported by name, goes before what any other loaded module holds: another
            agent of the same process may have a tool of that name.
    """
    own = sys.modules.get(module)
    return _marked(name, [own]) or _marked(name, list(sys.modules.values()))


def _marked(name: str, modules: Iterable[Any]) -> list[tuple[Callable[..., Any], Effect | None]]:
    found: dict[int, tuple[Callable[..., Any], Effect | None]] = {}
    for module in modules:
        for value in list(vars(module).values()) if isinstance(module, ModuleType) else ():
            mark = vars(value).get(_MARK) if isinstance(value, FunctionType) else None
            if mark is not None and mark[0] == name:
                found[id(value)] = value, mark[1]
    return [*found.values()]
