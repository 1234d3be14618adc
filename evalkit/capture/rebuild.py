"""Recorded answers as the Python values that an agent expects: exceptions of their own type, results of theirs.

Traces are hostile data, so nothing is imported because a trace names it: an exception's class is taken only from the
built-ins and from modules that the agent has loaded itself, and must be an `Exception`; a result's type is what the
tool's own annotation says.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

from evalkit.canonical import Json
from evalkit.trace.model import StepError

__all__ = ["RecordedError", "adapter_of", "rebuild_error", "rebuild_output"]

_PLAIN = (str, int, float, bool, dict, list, type(None), object)


class RecordedError(Exception):
    """A recorded exception whose class is not at hand.

    Attributes:
        type: the recorded class name.
        module: the recorded module, None when the source did not say.
    """

    def __init__(self, type: str, message: str, module: str | None = None) -> None:
        super().__init__(type, message, module)
        self.type = type
        self.message = message
        self.module = module

    def __str__(self) -> str:
        return f"{self.type}: {self.message}"


def rebuild_error(error: StepError) -> BaseException:
    """The exception to raise for a recorded error: its own class where that is safe, else `RecordedError`."""
    found = _exception_class(error)
    if found is not None:
        try:
            made = found(error.message)
        except Exception:  # noqa: BLE001  # a class with a constructor of its own: made without it
            made = found.__new__(found)
            made.args = (error.message,)
        if issubclass(found, KeyError) and error.message[:1] in "'\"":
            made.args = (error.message[1:-1],)  # str(KeyError) is the repr of its key
        return made
    return RecordedError(error.type, error.message, error.module)


def rebuild_output(output: Json, function: Callable[..., Any]) -> Any:
    """`output` as the type that `function` is annotated to return; as it is when that says nothing or does not fit."""
    adapt = adapter_of(function)
    return output if adapt is None else adapt(output)


def _exception_class(error: StepError) -> type[Exception] | None:
    module = sys.modules.get(error.module) if error.module else builtins
    found = getattr(module, error.type, None)
    if isinstance(found, type) and issubclass(found, Exception):
        return found
    return None


@functools.lru_cache(maxsize=1024)
def adapter_of(function: Callable[..., Any]) -> Callable[[Json], Any] | None:
    """What makes an output the type that `function` is annotated to return; None where it stays as it is."""
    try:
        wanted = typing.get_type_hints(function).get("return")
    except Exception:  # noqa: BLE001  # an annotation that can't be evaluated says nothing
        return None
    if wanted is None or not _needs_adapting(wanted):
        return None
    from pydantic import TypeAdapter

    try:
        validate = TypeAdapter(wanted).validate_python
    except Exception:  # noqa: BLE001  # pydantic has no schema for the type
        return None

    def adapted(output: Json) -> Any:
        try:
            return validate(output)
        except ValueError:  # pydantic's ValidationError: the recording is older than the annotation
            return output

    return adapted


def _needs_adapting(wanted: Any) -> bool:
    if wanted is Any or wanted in _PLAIN:
        return False
    if typing.is_typeddict(wanted):
        return False
    origin = typing.get_origin(wanted)
    if origin in (dict, list, typing.Union, types.UnionType):
        return any(_needs_adapting(part) for part in typing.get_args(wanted))
    if origin in (typing.Literal, typing.Annotated):
        return False
    return origin is not None or inspect.isclass(wanted)
