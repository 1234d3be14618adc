"""Tools of the OpenAI Agents SDK that the model knows by type and the host carries out: shells and `apply_patch`.

Each becomes a tool step of the name that the model's call has (``shell_call``), with what it is to do as arguments.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

from evalkit.capture.plain import plain
from evalkit.capture.seam import Answer, Call, current_session
from evalkit.capture.through import Shape, given, through_async, written
from evalkit.trace.model import Effect

__all__ = ["call_name", "instrument_local", "is_local"]

_TYPE = "agents_type"
_RESULTS = ("ShellResult", "ApplyPatchResult")
_EDITS = ("create_file", "update_file", "delete_file")


def is_local(tool: Any) -> bool:
    """Whether the host carries out what the tool is asked for."""
    return callable(getattr(tool, "executor", None)) or getattr(tool, "editor", None) is not None


def call_name(tool: Any) -> str:
    """The name that the model's calls of a tool have in a trace."""
    return f"{getattr(tool, 'type', tool.name)}_call"


def instrument_local(tool: Any, effect: Effect | None) -> None:
    """Lets what a tool does go through the seam; changes the tool in place."""
    do = functools.partial(_through_seam, call_name(tool), effect)
    if hasattr(tool, "editor"):
        tool.editor = _Editor(tool.editor, do)
    else:
        tool.executor = do(tool.executor, lambda request: request.data.action)


class _Editor:
    """An editor whose changes go through the seam."""

    def __init__(self, editor: Any, do: Callable[..., Any]) -> None:
        self._editor = editor
        for name in _EDITS:
            setattr(self, name, do(getattr(editor, name), _operation))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._editor, name)


def _operation(operation: Any) -> dict[str, Any]:
    fields = {field.name: getattr(operation, field.name) for field in dataclasses.fields(operation)}
    return {name: value for name, value in fields.items() if name != "ctx_wrapper"}


def _through_seam(
    name: str, effect: Effect | None, act: Callable[[Any], Any], asked: Callable[[Any], Any]
) -> Callable[..., Any]:
    async def do(request: Any) -> Any:
        output = act(request)
        return await output if inspect.isawaitable(output) else output

    @functools.wraps(act)
    async def through_seam(request: Any) -> Any:
        session = current_session()
        if session is None:
            return await do(request)
        turn = session.begin(Call("tool", name, plain(asked(request)), effect))
        return await through_async(turn, _SHAPE, functools.partial(do, request))

    return through_seam


def _written(output: Any) -> Answer:
    answer, kind = written(output), type(output).__name__
    if kind in _RESULTS:
        answer.attributes = {**answer.attributes, _TYPE: kind}
    return answer


def _rebuilt(answer: Answer) -> Any:
    output, kind = given(answer), answer.attributes.get(_TYPE)
    if kind not in _RESULTS:
        return output
    from agents import editor, tool
    from pydantic import TypeAdapter

    return TypeAdapter(getattr(tool if hasattr(tool, kind) else editor, kind)).validate_python(output)


_SHAPE = Shape(_written, _rebuilt)
