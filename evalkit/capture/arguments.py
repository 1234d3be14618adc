"""A call's arguments as an object by parameter name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from evalkit.canonical import Json
from evalkit.capture.plain import AS_THEY_ARE, plain
from evalkit.errors import UsageError

__all__ = ["Binder", "binder", "capability_of", "what_lacks"]

Binder: TypeAlias = "Callable[[tuple[Any, ...], dict[str, Any], list[str]], dict[str, Json]]"
"""Positional and named arguments; and a list that gets what of them the object does not hold, in words."""

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


def capability_of(function: Any, name: str | None) -> str:
    """The name under which a marked function is recorded: the one given, else its own.

    Raises:
        UsageError: it is no function, or has no name or signature; or the name given is none.
    """
    if isinstance(function, staticmethod | classmethod | property):
        kind = type(function).__name__
        raise UsageError(
            f"a {kind} is marked, and no function", cure=f"put the mark below @{kind}, next to the function"
        )
    if not callable(function):
        raise UsageError(f"what is marked must be a function, got {type(function).__name__}", cure="@evalkit.tool()")
    try:
        inspect.signature(function)
    except (TypeError, ValueError):
        raise UsageError(
            f"{function!r} tells no signature, so its arguments have no names", cure="mark a function around it"
        ) from None
    if name is None:
        name = getattr(function, "__name__", None)
    if not isinstance(name, str) or not name:
        raise UsageError(
            f"a name is a text, got {name!r}" if name is not None else f"a {type(function).__name__} has no name",
            cure='give it one: evalkit.tool(name="refund_order")',
        )
    return name


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

    def bind(args: tuple[Any, ...], kwargs: dict[str, Any], lost: list[str]) -> dict[str, Json]:
        given = defaults.copy()
        if args:
            if len(args) > most:
                return _not_taken(args[skip:], kwargs, lost)
            given.update(zip(names, args[skip:] if skip else args))  # noqa: B905  # what `strict` says costs time
        if kwargs:
            if len(args) > skip and not kwargs.keys().isdisjoint(names[: len(args) - skip]):
                return _not_taken(args[skip:], kwargs, lost)
            given.update(kwargs)
        for value in given.values():
            if type(value) not in AS_THEY_ARE:
                return cast("dict[str, Json]", plain(given, 0, lost))
        return given

    return bind


def what_lacks(bind: Binder, args: tuple[Any, ...], kwargs: dict[str, Any], told: Json, lost: list[str]) -> list[str]:
    """What a recorded call does not tell of its arguments, once it has ended, in words.

    Args:
        told: the arguments as they are recorded.
        lost: what of them was not, when the call began.
    """
    found = [f"the arguments held {what}" for what in dict.fromkeys(lost)]
    try:
        changed = bind(args, kwargs, []) != told
    except Exception:  # noqa: BLE001  # an object's own code may fail; a recorder never breaks the agent that it watches
        return found
    return [*found, "its arguments were changed while it ran, which they are not in a replay"] if changed else found


def _bind_by_signature(
    signature: inspect.Signature, skip: int, args: tuple[Any, ...], kwargs: dict[str, Any], lost: list[str]
) -> dict[str, Json]:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return _not_taken(args[skip:], kwargs, lost)
    bound.apply_defaults()
    found: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[skip:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            found.update(value if found.keys().isdisjoint(value) else {name: value})
        else:
            found[name] = value
    return cast("dict[str, Json]", plain(found, 0, lost))


def _not_taken(args: tuple[Any, ...], kwargs: dict[str, Any], lost: list[str]) -> dict[str, Json]:
    """Arguments that the function will refuse, in its own words."""
    return cast("dict[str, Json]", plain({"args": args, **kwargs}, 0, lost))
