"""MCP: what a client asks of a server goes through the seam. For the package `mcp`, versions 1 and 2.

`call_tool` becomes a step of the tool's own name; its effect is the one stated, else what the server's annotations say
(``readOnlyHint``). The other requests become steps named ``mcp.list_tools``, ``mcp.read_resource`` and so on. A run's
first call asks for the list of tools where the agent did not, so that every recording holds their schemas. A result
that says ``isError`` is the step's output and its error: the agent got it as a value, and gets it so in a replay.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

from evalkit.capture.definition import DEFINITION, definition_of
from evalkit.capture.plain import plain
from evalkit.capture.seam import Call, Session, current_session
from evalkit.capture.through import through_async
from evalkit.errors import UsageError
from evalkit.integrations.effects import Effects, stated
from evalkit.integrations.mcp_forms import RESULTS, as_asked, as_sent, effect_of_hints

__all__ = ["connected", "instrument"]

_ASKED = {
    "list_tools": ("cursor", "params"),
    "list_resources": ("cursor", "params"),
    "list_resource_templates": ("cursor", "params"),
    "list_prompts": ("cursor", "params"),
    "read_resource": ("uri",),
    "get_prompt": ("name", "arguments"),
    "call_tool": ("name", "arguments"),
}
"""Requests, and what of their arguments is recorded: callbacks, timeouts and metadata are not."""


def instrument(session: Any, *, effects: Effects | None = None) -> Any:
    """Records the requests of a `ClientSession` (or `Client`), and answers them in a replay.

    Args:
        session: is changed in place, once; its connection must be open in a replay too, see `connected`.
        effects: by patterns of tool names; wins over the server's annotations.

    Returns:
        The session.

    Raises:
        UsageError: an effect is unknown; or it is no session.
    """
    if not hasattr(session, "call_tool"):
        raise UsageError(
            f"a {type(session).__name__} is no MCP session, which has call_tool",
            cure="give one ClientSession or Client at a time; one that is yet to be opened goes to connected()",
        )
    if not isinstance(getattr(session.call_tool, "__self__", None), _Requests):
        _Requests(effects).take_over(session)
    return session


@asynccontextmanager
async def connected(
    connect: Callable[[], AbstractAsyncContextManager[Any]], *, effects: Effects | None = None
) -> AsyncIterator[Any]:
    """The session that ``connect()`` opens, instrumented; a frozen replay opens none and needs no server.

    The list of tools is asked for first: whether a recording answers that decides.
    """
    requests = _Requests(effects)
    async with AsyncExitStack() as stack:
        session = current_session()
        turn = None if session is None else session.begin(Call("tool", "mcp.list_tools", {}, "read"))
        if turn is None or turn.answer is None:
            try:
                requests.take_over(await stack.enter_async_context(connect()))
            except BaseException as error:
                if turn is not None:
                    turn.fail(error)
                raise
        if session is not None and turn is not None:
            listing = await through_async(turn, RESULTS, functools.partial(requests.really, "list_tools"))
            requests.learn(session, listing)
        yield requests.target


class _Recorded:
    """Stands for an MCP session in a frozen replay: it has the requests that are recorded, and nothing else."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name} of an MCP session is not recorded, so a frozen replay has none")


class _Requests:
    """The requests of one MCP session, going through the seam."""

    def __init__(self, effects: Effects | None) -> None:
        self.real: dict[str, Callable[..., Any]] = {}
        self.target: Any = _Recorded()
        self._stated = stated(effects)
        self._tools: WeakKeyDictionary[Session, dict[str, dict[str, Any]]] = WeakKeyDictionary()
        self._install()

    def take_over(self, target: Any) -> None:
        """Replaces the requests of a live session."""
        self.target = target
        self.real = {name: getattr(target, name) for name in _ASKED if hasattr(target, name)}
        self._install()

    def learn(self, session: Session, listing: Any) -> None:
        """Notes listed tools as known in `session`."""
        listed = as_sent(listing).get("tools") or ()
        self._tools.setdefault(session, {}).update({tool["name"]: tool for tool in listed})

    async def call_tool(self, name: str, arguments: Any = None, *args: Any, **kwargs: Any) -> Any:
        session = current_session()
        do = functools.partial(self.really, "call_tool", name, arguments, *args, **kwargs)
        if session is None:
            return await do()
        if session not in self._tools:
            try:
                await self.ask("list_tools")
            except Exception:  # noqa: BLE001  # the agent did not ask for the list
                self._tools[session] = {}
        tool = self._tools[session].get(name, {})
        defined = definition_of(name, tool.get("description"), tool.get("inputSchema"), tool.get("outputSchema"))
        told = {DEFINITION: defined} if tool and session.wants_definition(name) else {}
        effect = self._stated(name) or effect_of_hints(tool.get("annotations") or {})
        return await through_async(session.begin(Call("tool", name, plain(arguments or {}), effect, None, told)),
                                   RESULTS, do)  # fmt: skip

    async def ask(self, request: str, *args: Any, **kwargs: Any) -> Any:
        session = current_session()
        do = functools.partial(self.really, request, *args, **kwargs)
        if session is None:
            return await do()
        given = {**dict(zip(_ASKED[request], args, strict=False)), **kwargs}
        asked = {name: as_asked(given[name]) for name in _ASKED[request] if given.get(name) is not None}
        result = await through_async(session.begin(Call("tool", f"mcp.{request}", asked, "read")), RESULTS, do)
        if request == "list_tools":
            self.learn(session, result)
        return result

    async def really(self, request: str, *args: Any, **kwargs: Any) -> Any:
        if request not in self.real:
            raise UsageError(f"there is no MCP server to ask for {request}", cure="stay inside of the replay")
        return await self.real[request](*args, **kwargs)

    def _install(self) -> None:
        for name in self.real or _ASKED:
            ask = self.call_tool if name == "call_tool" else functools.partial(self.ask, name)
            setattr(self.target, name, ask)
