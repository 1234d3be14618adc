"""Tools that are called for real, outside of any replay: found by name, where somebody says that they only read."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from evalkit.app.live_http import http_call
from evalkit.app.settings import Settings
from evalkit.canonical import Json
from evalkit.capture.plain import plain
from evalkit.capture.tools import declared_effect, marked_tools
from evalkit.errors import ConfigError
from evalkit.playback.targets.python import load_function
from evalkit.playback.targets.reference import is_outside
from evalkit.trace.model import Effect, Step

__all__ = ["LiveTool", "OtherArguments", "live_tools", "named_tool"]

if TYPE_CHECKING:
    from evalkit.app.live_mcp import McpServer

_READS: frozenset[Effect | None] = frozenset({"read", "pure"})


class OtherArguments(Exception):
    """The tool takes other arguments than it did."""


def as_it_is(answer: Json, recorded: Json) -> Json:
    """An answer that needs no other form."""
    return answer


@dataclass(frozen=True, slots=True)
class LiveTool:
    """A tool that can be called.

    Attributes:
        call: gives the plain answer to some arguments; raises what the tool raises.
        effects: that it declares itself: each that a function, a mark of that name, or a server says.
        in_form_of: an answer, and a recorded one: the answer in the form of that.
    """

    name: str
    call: Callable[[Mapping[str, Any]], Json]
    effects: tuple[Effect | None, ...]
    in_form_of: Callable[[Json, Json], Json] = as_it_is

    def must_only_read(self, configured: Effect | None, recorded: Iterable[Step]) -> None:
        """Refuses a tool that somebody says changes the world, or of which nobody says that it only reads.

        Raises:
            ConfigError: it must not be called.
        """
        told = [step.effect for step in recorded if step.effect_source in ("declared", "configured")]
        effects = {effect for effect in (configured, *self.effects, *told) if effect is not None}
        if effects and effects <= _READS:
            return
        what = "changes the world" if effects else "may change the world: nobody says that it only reads"
        cure = f'[tools."{self.name}"] effect = "read", if it only reads'
        raise ConfigError(f"{self.name} {what}; it is not called", f"--tool {self.name}", cure)

    def answer(self, arguments: Mapping[str, Any], timeout_s: float) -> tuple[Json, BaseException | None]:
        """The plain answer, or what was raised; a call that takes too long is left to itself."""
        came: list[tuple[Json, BaseException | None]] = []
        thread = threading.Thread(target=lambda: came.append(self._called(arguments)), daemon=True)
        thread.start()
        thread.join(timeout_s)
        return came[0] if came else (None, TimeoutError(f"no answer in {timeout_s:g} s"))

    def _called(self, arguments: Mapping[str, Any]) -> tuple[Json, BaseException | None]:
        try:
            return self.call(arguments), None
        except Exception as error:  # noqa: BLE001  # whatever a foreign tool raises is its answer
            return None, error


def named_tool(text: str) -> tuple[str, str]:
    """Name and place of ``name`` or ``name=module:function``.

    Raises:
        ConfigError: it is a pattern: what is called for real is named.
    """
    name, _, place = text.partition("=")
    if not name or any(c in name for c in "*?["):
        raise ConfigError(f"a tool that is called for real is named, not {text!r}", "--tool", "--tool lookup_order")
    return name, place


def live_tools(
    wanted: Mapping[str, str], targets: Iterable[str], settings: Settings, stack: ExitStack, timeout_s: float
) -> dict[str, LiveTool]:
    """The tools: from where their place says, by the settings' URLs, as the targets' modules mark them, of MCP servers.

    Args:
        targets: modules that may mark them with `evalkit.tool`.
        settings: which URLs and MCP servers are asked; a server is started for a tool that nothing else has.
        stack: ends the servers.
        timeout_s: of one call.

    Raises:
        ConfigError: a module can't be imported, a server can't be reached, or there is no such tool.
    """
    loaded = sorted({target for target in targets if target and not is_outside(target)})
    for target in loaded:
        load_function(target)
    found: dict[str, LiveTool] = {}
    servers: dict[str, McpServer] = {}
    for name, place in wanted.items():
        url = next((one for one in settings.urls if fnmatchcase(name, one.tools)), None)
        marked = dict(mark for target in loaded for mark in marked_tools(name, target.partition(":")[0]))
        effects = tuple(marked.values())
        if place:
            function = load_function(place)
            found[name] = LiveTool(name, _calling(function), (*effects, declared_effect(function)))
        elif url is not None:
            found[name] = LiveTool(name, http_call(url, timeout_s), effects)
        elif marked:
            found[name] = LiveTool(name, _calling(_only(name, [*marked])), effects)
        else:
            found[name] = _of_servers(name, settings, servers, stack, timeout_s) or _nowhere(name, loaded, servers)
    return found


def _only(name: str, functions: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """The one function that is marked as a tool: of several, each agent means its own.

    Raises:
        ConfigError: there are several.
    """
    if len(functions) == 1:
        return functions[0]
    where = [f"{function.__module__}:{function.__qualname__}" for function in functions]
    cure = f"pass --target for the cases of one agent, or --tool {name}={where[0]}"
    raise ConfigError(f"{len(where)} functions are marked as tool {name!r}: {', '.join(where)}", f"--tool {name}", cure)


def _calling(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Json]:
    def call(arguments: Mapping[str, Any]) -> Json:
        try:
            inspect.signature(function).bind(**arguments)
        except TypeError as error:
            raise OtherArguments(str(error)) from None
        result = function(**arguments)
        return plain(asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result)

    return call


def _of_servers(
    name: str, settings: Settings, servers: dict[str, McpServer], stack: ExitStack, timeout_s: float
) -> LiveTool | None:
    """Of the first server that has such a tool."""
    if not settings.mcp:
        return None
    from evalkit.app.live_mcp import McpServer, in_form_of

    for place in settings.mcp:
        if place.name not in servers:
            servers[place.name] = McpServer(place, stack, timeout_s)
        server = servers[place.name]
        if name in server.tools:
            return LiveTool(name, partial(server.call, name), (server.effect_of(name),), in_form_of)
    return None


def _nowhere(name: str, loaded: Sequence[str], servers: Iterable[str]) -> NoReturn:
    where = ", ".join(loaded) or "no target"
    asked = "".join(f", MCP server {server}" for server in servers)
    cure = f"pass --target module:function, or --tool {name}=module:function; or name its place in the settings"
    raise ConfigError(f"no tool {name!r} is marked with evalkit.tool in {where}{asked}", f"--tool {name}", cure)


async def _awaited(result: Any) -> Any:
    return await result
