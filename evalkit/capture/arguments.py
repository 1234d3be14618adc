"""A call's arguments as an object by parameter name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from evalkit.canonical import Json
from evalkit.capture.plain import AS_THEY_ARE, plain

__all__ = ["Binder", "binder"]

Binder: TypeAlias = "Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Json]]"

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


def binder(function: Callable[..., Any]) -> Binder:
    """What turns the arguments of a call of `function` into an object, defaults filled in.

    The receiver of a method is left out. What the function does not take is told as it was given (``args``, and by
    name): the body raises then, and no recorded call that it took is this one.
    """
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    skip = 1 if parameters and parameters[0].name in ("self", "cls") else 0
    named = parameters[skip:]
    if any(parameter.kind in _VARIADIC for parameter in named):
        return functools.partial(_bind_by_signature, signature, skip)
    names = [parameter.name for parameter in named if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    most = len(names) + skip
    defaults = {p.name: p.default for p in named if p.default is not inspect.Parameter.empty}

    def bind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Json]:
        given = defaults.copy()
        if args:
            if len(args) > most:
                return _not_taken(args[skip:], kwargs)
            given.update(zip(names, args[skip:] if skip else args))  # noqa: B905  # what `strict` says costs time
        if kwargs:
            if len(args) > skip and not kwargs.keys().isdisjoint(names[: len(args) - skip]):
                return _not_taken(args[skip:], kwargs)
            given.update(kwargs)
        for value in given.values():
            if type(value) not in AS_THEY_ARE:
                return cast("dict[str, Json]", plain(given))
        return given

    return bind


def _bind_by_signature(
    signature: inspect.Signature, skip: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Json]:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return _not_taken(args[skip:], kwargs)
    bound.apply_defaults()
    found: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[skip:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            found.update(value if found.keys().isdisjoint(value) else {name: value})
        else:
            found[name] = value
    return cast("dict[str, Json]", plain(found))


def _not_taken(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Json]:
    """Arguments that the function will refuse, in its own words."""
    return cast("dict[str, Json]", plain({"args": args, **kwargs}))
