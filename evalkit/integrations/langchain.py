"""LangChain and LangGraph: tools of any kind, in a graph or alone, sync and async, go through the seam.

What is recorded is the tool's body: arguments as it gets them (without what the framework injects), and what it gives.
Everything around it (parsing, callbacks, error handling, the ToolMessage) runs live, in a replay too. Arguments that
the tool's schema refuses never reach the body and so are no step; the model's next call shows the refusal. A body that
`interrupt` leaves is a step that failed so, and leaves again in a replay; going on is a step of its own.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from evalkit.capture.copies import copies
from evalkit.capture.definition import DEFINITION, definition_of
from evalkit.capture.plain import plain
from evalkit.capture.rebuild import rebuild_output
from evalkit.capture.seam import Answer, Call, Session, Turn, current_session
from evalkit.capture.through import Shape, given, through, through_async, written
from evalkit.capture.tools import marked_name
from evalkit.errors import UsageError
from evalkit.integrations.effects import Effects, stated
from evalkit.trace.model import Effect

__all__ = ["instrument"]

_TYPE = "langchain_type"
_INTERRUPTS = "langgraph_interrupts"
_SEND = "send"
_INSIDE: ContextVar[int | None] = ContextVar("evalkit_langchain_tool", default=None)
"""The tool whose body runs: an async tool without a body of its own runs the sync one, which is the same call."""


def instrument(tools: Any, *, effects: Effects | None = None) -> Any:
    """Records tools, and answers them in a replay.

    Args:
        tools: a `BaseTool`, a `ToolNode`, a graph, or several of these; changed in place, once. A tool whose function
            is an `evalkit.tool` of its name is recorded by that alone.
        effects: by patterns of tool names; other tools' effects are guessed, or configured in ``evalkit.toml``.

    Returns:
        `tools`.

    Raises:
        UsageError: an effect is unknown; or there is no tool to be found.
    """
    effect_of = stated(effects)
    found = list(_tools_in(tools))
    if not found and not (isinstance(tools, list | tuple) and not tools):
        raise UsageError(
            f"there is no tool in this {type(tools).__name__}: what a node's own code calls can't be seen from outside",
            cure="give the tools themselves: instrument([lookup, refund])",
        )
    for tool in found:
        if "_run" not in vars(tool) and not _is_marked(tool):
            _instrument(tool, effect_of(tool.name))
    return tools


def _tools_in(given: Any) -> Iterator[Any]:
    if hasattr(given, "tools_by_name"):
        yield from given.tools_by_name.values()
    elif hasattr(given, "_run"):
        yield given
    elif hasattr(given, "nodes"):  # a graph: name to node, which binds what it runs once it is compiled
        for node in given.nodes.values():
            yield from _tools_in(getattr(node, "bound", getattr(node, "runnable", None)))
    elif isinstance(given, Iterable) and not isinstance(given, str | dict):
        for one in given:
            yield from _tools_in(one)


def _is_marked(tool: Any) -> bool:
    return any(marked_name(getattr(tool, body, None)) == tool.name for body in ("func", "coroutine"))


def _instrument(tool: Any, effect: Effect | None) -> None:
    run, arun = tool._run, tool._arun
    define = functools.cache(functools.partial(_definition, tool))
    shape = Shape(_written, functools.partial(_rebuilt, tool, getattr(tool, "func", None) or run))
    own = {name for body in (run, arun) for name in inspect.signature(body).parameters}

    def begin(session: Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Turn:
        names = define()["parameters"].get("properties", {})
        others = {name: value for name, value in _not_injected(tool, kwargs).items() if name not in own}
        given = {
            **dict(zip(names or ("input",), args, strict=False)),
            **{name: kwargs[name] for name in names if name in kwargs},
            **{name: value for name, value in others.items() if name not in names},
        }
        told = {DEFINITION: define()} if session.wants_definition(tool.name) else {}
        return session.begin(Call("tool", tool.name, plain(given), effect, None, told))

    @functools.wraps(run)
    def _run(*args: Any, **kwargs: Any) -> Any:
        session = current_session()
        if session is None or _INSIDE.get() == id(tool):
            return run(*args, **kwargs)

        turn = begin(session, args, kwargs)

        def do() -> Any:
            with _body(tool, turn):
                return run(*args, **kwargs)

        return through(turn, shape, do)

    @functools.wraps(arun)
    async def _arun(*args: Any, **kwargs: Any) -> Any:
        session = current_session()
        if session is None or _INSIDE.get() == id(tool):
            return await arun(*args, **kwargs)

        turn = begin(session, args, kwargs)

        async def do() -> Any:
            with _body(tool, turn):
                return await arun(*args, **kwargs)

        return await through_async(turn, shape, do)

    vars(tool).update(_run=_run, _arun=_arun)  # past pydantic, which knows no such fields


def _not_injected(tool: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the framework did not put there itself; a schema need not name all that a body takes."""
    without = getattr(tool, "_filter_injected_args", None)
    return {} if without is None else without(kwargs)


@contextmanager
def _body(tool: Any, turn: Turn) -> Iterator[None]:
    token = _INSIDE.set(id(tool))
    try:
        yield
    except Exception as error:
        if type(error).__name__ == "GraphInterrupt":
            turn.note({_INTERRUPTS: [{"value": plain(each.value), "id": each.id} for each in error.args[0]]})
        raise
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
    if name == "Command":
        fields = {field.name: getattr(output, field.name) for field in dataclasses.fields(output)}
        output = {**fields, "goto": _goto(output.goto)}
    answer = written(output)
    if name in ("ToolMessage", "Command"):
        answer.attributes = {**answer.attributes, _TYPE: name}
    return answer


def _goto(goto: Any) -> Any:
    """Where a command leads; what it sends to a node as an object."""
    if isinstance(goto, list | tuple):
        return [_goto(each) for each in goto]
    return {_SEND: goto.node, "arg": goto.arg} if type(goto).__name__ == "Send" else goto


def _led(goto: Any) -> Any:
    from langgraph.types import Send

    if isinstance(goto, list):
        return [_led(each) for each in goto]
    return Send(goto[_SEND], _with_messages(goto["arg"])) if isinstance(goto, dict) and _SEND in goto else goto


def _with_messages(state: Any) -> Any:
    """A state with the messages in it that it had."""
    if isinstance(state, dict) and isinstance(state.get("messages"), list):
        return {**state, "messages": [_message(each) for each in state["messages"]]}
    return state


def _rebuilt(tool: Any, function: Any, answer: Answer) -> Any:
    if isinstance(interrupts := answer.attributes.get(_INTERRUPTS), list):
        from langgraph.errors import GraphInterrupt
        from langgraph.types import Interrupt

        raise GraphInterrupt([Interrupt(**copies(each)()) for each in interrupts])
    output: Any = given(answer)
    kind = answer.attributes.get(_TYPE)
    if kind == "ToolMessage":
        return _message(output)
    if kind == "Command":
        from langgraph.types import Command

        return Command(**{**output, "update": _with_messages(output.get("update")), "goto": _led(output.get("goto"))})
    if tool.response_format == "content_and_artifact" and isinstance(output, list):
        return tuple(output)
    return rebuild_output(output, function)


def _message(body: Any) -> Any:
    from langchain_core.messages import messages_from_dict

    if not isinstance(body, dict) or "type" not in body:  # a pair of role and text, say
        return tuple(body) if isinstance(body, list) else body
    return messages_from_dict([{"type": body["type"], "data": body}])[0]
