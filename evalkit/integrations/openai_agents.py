"""OpenAI Agents SDK: tools go through the seam; handoffs and agents used as tools become `agent` steps.

A function tool is met inside of the SDK's own error handling: an exception is recorded as one, and becomes the text
that the model is told in a replay as it did live.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from evalkit.canonical import Json, parse_exact
from evalkit.capture.definition import DEFINITION, definition_of
from evalkit.capture.plain import plain
from evalkit.capture.rebuild import rebuild_output
from evalkit.capture.seam import Answer, Call, current_session
from evalkit.capture.through import Shape, given, plain_shape, through_async, written
from evalkit.capture.tools import marked_name
from evalkit.errors import UsageError
from evalkit.integrations.effects import Effects, stated
from evalkit.integrations.openai_agents_local import call_name, instrument_local, is_local
from evalkit.trace.model import Effect

__all__ = ["instrument"]

_MARK = "_evalkit_instrumented"
_NAMES = ("handoffs", "on_invoke_handoff", "on_invoke_tool", "executor", "editor")
"""What an agent, a handoff, and tools have."""
_IMPLEMENTATION = "_invoke_tool_impl"
"""Where the SDK keeps a `function_tool`'s body apart from its error handling; what lacks it is met as a whole."""


def instrument(agents: Any, *, effects: Effects | None = None) -> Any:
    """Records tools and handoffs; tools are answered in a replay, agents run.

    Args:
        agents: an `Agent` (with all that it can hand over to), a `FunctionTool`, a `Handoff`, or several of these;
            changed in place, once. A tool whose function is an `evalkit.tool` of its name is recorded by that alone.
            Agents among an agent's handoffs become `Handoff` objects, as the SDK makes of them.
        effects: by patterns of tool names; other tools' effects are guessed, or configured in ``evalkit.toml``.

    Returns:
        `agents`.

    Raises:
        UsageError: an effect is unknown; or it is none of these.
    """
    effect_of = stated(effects)
    if isinstance(agents, str) or not (isinstance(agents, Iterable) or any(hasattr(agents, name) for name in _NAMES)):
        raise UsageError(
            f"a {type(agents).__name__} is no agent, function tool or handoff",
            cure="give the agent, or its tools: instrument(Agent(...))",
        )
    for found in _parts(agents, set()):
        if getattr(found, _MARK, False):
            continue
        setattr(found, _MARK, True)
        if hasattr(found, "on_invoke_handoff"):
            found.on_invoke_handoff = _handing_over(found, found.on_invoke_handoff)
        elif not hasattr(found, "on_invoke_tool"):
            instrument_local(found, effect_of(call_name(found)))
        elif marked_name(getattr(found, "__wrapped__", None)) != found.name:
            _instrument(found, effect_of(found.name))
    return agents


def _parts(given: Any, seen: set[int]) -> Iterator[Any]:
    """The tools and handoffs of agents, each once."""
    if id(given) in seen:
        return
    seen.add(id(given))
    if hasattr(given, "on_invoke_handoff") or hasattr(given, "on_invoke_tool") or is_local(given):
        yield given
    elif hasattr(given, "handoffs"):
        from agents import Handoff, handoff

        others = [one for one in given.handoffs if not isinstance(one, Handoff)]
        given.handoffs = [one if isinstance(one, Handoff) else handoff(one) for one in given.handoffs]
        for part in (*given.tools, *given.handoffs, *others):
            yield from _parts(part, seen)
    elif isinstance(given, Iterable) and not isinstance(given, str):
        for one in given:
            yield from _parts(one, seen)


def _instrument(tool: Any, effect: Effect | None) -> None:
    invoker = tool.on_invoke_tool
    if hasattr(invoker, _IMPLEMENTATION):
        setattr(invoker, _IMPLEMENTATION, _through_seam(tool, effect, getattr(invoker, _IMPLEMENTATION)))
    else:
        tool.on_invoke_tool = _through_seam(tool, effect, invoker)


def _through_seam(tool: Any, effect: Effect | None, invoke: Callable[..., Any]) -> Callable[..., Any]:
    is_agent = getattr(tool, "_is_agent_tool", False)
    body = getattr(tool, "__wrapped__", None)
    shape = Shape(written, functools.partial(_rebuilt, body))

    @functools.wraps(invoke)
    async def through_seam(context: Any, arguments: str) -> Any:
        session = current_session()
        if session is None:
            return await invoke(context, arguments)
        told = {}
        if not is_agent and session.wants_definition(tool.name):
            schema = getattr(tool, "params_json_schema", {"type": "string"})  # a custom tool takes a text
            told = {DEFINITION: definition_of(tool.name, tool.description, plain(schema))}
        kind, known = ("agent", None) if is_agent else ("tool", effect)
        turn = session.begin(Call(kind, tool.name, _parsed(arguments), known, None, told))  # type: ignore[arg-type]  # one of two literals
        return await through_async(turn, shape, functools.partial(invoke, context, arguments))

    return through_seam


def _handing_over(handoff: Any, invoke: Callable[..., Any]) -> Callable[..., Any]:
    shape = Shape(lambda agent: Answer({"agent": agent.name}), plain_shape(invoke).rebuilt)

    @functools.wraps(invoke)
    async def hand_over(context: Any, arguments: str) -> Any:
        session = current_session()
        if session is None:
            return await invoke(context, arguments)
        told = {"handoff": handoff.tool_name}
        turn = session.begin(Call("agent", handoff.agent_name, _parsed(arguments), attributes=told))
        return await through_async(turn, shape, functools.partial(invoke, context, arguments))

    return hand_over


def _rebuilt(body: Callable[..., Any] | None, answer: Answer) -> Any:
    output = given(answer)
    return output if body is None else rebuild_output(output, body)


def _parsed(arguments: str) -> Json:
    """Arguments as the object that they spell; the text itself where they spell none."""
    try:
        value: Json = parse_exact(arguments) if arguments else {}
    except ValueError:
        return arguments
    return value if isinstance(value, dict) else arguments
