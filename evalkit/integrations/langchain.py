"""LangChain and LangGraph: tools of any kind, in a graph or alone, sync and async, go through the seam.

What is recorded is the tool's body: arguments as it gets them (without what the framework injects), and what it gives.
Everything around it (parsing, callbacks, error handling, the ToolMessage) runs live, in a replay too. Arguments that
the tool's schema refuses never reach the body and so are no step; the model's next call shows the refusal.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from evalkit.capture.definition import DEFINITION, definition_of
from evalkit.capture.plain import plain
from evalkit.capture.rebuild import rebuild_output
from evalkit.capture.seam import Answer, Call, Session, Turn, current_session
from evalkit.capture.through import Shape, given, through, through_async
from evalkit.integrations.effects import Effects, stated
from evalkit.trace.model import Effect

__all__ = ["instrument"]

_TYPE = "langchain_type"
_INSIDE: ContextVar[int | None] = ContextVar("evalkit_langchain_tool", default=None)
"""The tool whose body runs: an async tool without a body of its own runs the sync one, which is the same call."""


def instrument(tools: Any, *, effects: Effects | None = None) -> Any:
    """Records tools, and answers them in a replay.

    Args:
        tools: a `BaseTool`, a `ToolNode`, a compiled graph, or several of these; changed in place, once.
        effects: by patterns of tool names; other tools' effects are guessed, or configured in ``evalkit.toml``.

    Returns:
        `tools`.
    """
    effect_of = stated(effects)
    for tool in _tools_in(tools):
        if "_run" not in vars(tool):
            _instrument(tool, effect_of(tool.name))
    return tools


def _tools_in(given: Any) -> Iterator[Any]:
    if hasattr(given, "tools_by_name"):
        yield from given.tools_by_name.values()
    elif hasattr(given, "_run"):
        yield given
    elif hasattr(given, "nodes"):  # a compiled graph: name to node, which binds what it runs
        for node in given.nodes.values():
            yield from _tools_in(getattr(node, "bound", None))
    elif isinstance(given, Iterable) and not isinstance(given, str | dict):
        for one in given:
            yield from _tools_in(one)


def _instrument(tool: Any, effect: Effect | None) -> None:
    run, arun = tool._run, tool._arun
    define = functools.cache(functools.partial(_definition, tool))
    shape = Shape(_written, functools.partial(_rebuilt, tool, getattr(tool, "func", None) or run))

    def begin(session: Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Turn:
        names = define()["parameters"].get("properties", {})
        given = {**dict(zip(names or ("input",), args, strict=False)), **{n: kwargs[n] for n in names if n in kwargs}}
        told = {DEFINITION: define()} if session.wants_definition(tool.name) else {}
        return session.begin(Call("tool", tool.name, plain(given), effect, None, told))

    @functools.wraps(run)
    def _run(*args: Any, **kwargs: Any) -> Any:
        session = current_session()
        if session is None or _INSIDE.get() == id(tool):
            return run(*args, **kwargs)

        def do() -> Any:
            with _body(tool):
                return run(*args, **kwargs)

        return through(begin(session, args, kwargs), shape, do)

    @functools.wraps(arun)
    async def _arun(*args: Any, **kwargs: Any) -> Any:
        session = current_session()
        if session is None or _INSIDE.get() == id(tool):
            return await arun(*args, **kwargs)

        async def do() -> Any:
            with _body(tool):
                return await arun(*args, **kwargs)

        return await through_async(begin(session, args, kwargs), shape, do)

    vars(tool).update(_run=_run, _arun=_arun)  # past pydantic, which knows no such fields


@contextmanager
def _body(tool: Any) -> Iterator[None]:
    token = _INSIDE.set(id(tool))
    try:
        yield
    finally:
        _INSIDE.reset(token)


def _definition(tool: Any) -> dict[str, Any]:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    try:
        function = convert_to_openai_tool(tool)["function"]
    except Exception:  # noqa: BLE001  # a schema that no model could be shown
        return definition_of(tool.name, tool.description, {})
    return definition_of(tool.name, function.get("description"), function.get("parameters", {}))


def _written(output: Any) -> Answer:
    name = type(output).__name__
    return Answer(plain(output), attributes={_TYPE: name} if name in ("ToolMessage", "Command") else {})


def _rebuilt(tool: Any, function: Any, answer: Answer) -> Any:
    output: Any = given(answer)
    kind = answer.attributes.get(_TYPE)
    if kind == "ToolMessage":
        return _message(output)
    if kind == "Command":
        from langgraph.types import Command

        update = output.get("update")
        if isinstance(update, dict) and isinstance(update.get("messages"), list):
            update = {**update, "messages": [_message(message) for message in update["messages"]]}
        return Command(**{**output, "update": update})
    if tool.response_format == "content_and_artifact" and isinstance(output, list):
        return tuple(output)
    return rebuild_output(output, function)


def _message(body: dict[str, Any]) -> Any:
    from langchain_core.messages import messages_from_dict

    return messages_from_dict([{"type": body.get("type", "tool"), "data": body}])[0]
