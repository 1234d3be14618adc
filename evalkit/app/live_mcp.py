"""MCP servers whose tools are called for real: reached once, asked for their tools, ended after the last call."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from importlib.util import find_spec
from typing import Any

from evalkit.app.live_places import McpPlace, filled_headers
from evalkit.canonical import Json
from evalkit.errors import ConfigError
from evalkit.trace.model import Effect

__all__ = ["McpServer", "ToolError", "in_form_of"]


class ToolError(Exception):
    """The tool says that it failed."""


class McpServer:
    """A server, while the stack is open.

    Attributes:
        tools: by name, what the server says of them.

    Raises:
        ConfigError: the package `mcp` is not installed, or the server can't be reached.
    """

    def __init__(self, place: McpPlace, stack: ExitStack, timeout_s: float) -> None:
        if find_spec("mcp") is None:
            raise ConfigError("MCP servers need the package mcp", f"[mcp.{place.name}]", "pip install 'evalkit[mcp]'")
        from anyio import fail_after
        from anyio.from_thread import start_blocking_portal

        self._fail_after: Callable[[float], Any] = fail_after
        self._timeout_s = timeout_s
        try:
            portal = stack.enter_context(start_blocking_portal())
            self._portal = portal
            opened = portal.wrap_async_context_manager(_session(place, timeout_s))
            self._session = opened.__enter__()
            stack.callback(_end, opened)
            self.tools: dict[str, dict[str, Any]] = portal.call(self._listed)
        except ConfigError:
            raise
        except BaseException as error:  # whatever a program that is no server, or a group of tasks, ends with
            if isinstance(error, KeyboardInterrupt):
                raise
            said = f"the MCP server {place.name} can't be reached: {_innermost(error)}"
            raise ConfigError(said, f"[mcp.{place.name}]", "correct argv or url; does it start by itself?") from None

    def effect_of(self, name: str) -> Effect | None:
        """What the server's annotations say of a tool."""
        from evalkit.integrations.mcp_forms import effect_of_hints

        return effect_of_hints(self.tools[name].get("annotations") or {})

    def call(self, name: str, arguments: Mapping[str, Any]) -> Json:
        """The result as it comes over the wire.

        Raises:
            ToolError: it says that it is an error.
        """
        found: Json = self._portal.call(self._called, name, dict(arguments))
        return found

    async def _called(self, name: str, arguments: dict[str, Any]) -> Json:
        from evalkit.integrations.mcp_forms import as_sent

        with self._fail_after(self._timeout_s):
            result = as_sent(await self._session.call_tool(name, arguments))
        if result.get("isError"):
            raise ToolError(_text(result))
        return result

    async def _listed(self) -> dict[str, dict[str, Any]]:
        from mcp.types import PaginatedRequestParams

        from evalkit.integrations.mcp_forms import as_sent

        by_params = "params" in inspect.signature(self._session.list_tools).parameters
        found: dict[str, dict[str, Any]] = {}
        cursor = None
        with self._fail_after(self._timeout_s):
            while True:
                given: Any = {"params": PaginatedRequestParams(cursor=cursor)} if by_params else {"cursor": cursor}
                page = as_sent(await self._session.list_tools(**(given if cursor else {})))
                found |= {tool["name"]: tool for tool in page.get("tools") or ()}
                cursor = page.get("nextCursor")
                if not cursor:
                    return found


def _end(opened: AbstractContextManager[Any]) -> None:
    """Ends a session, whatever the others end with: an error that goes through it comes out as a group of them."""
    with suppress(Exception):  # what was asked was answered
        opened.__exit__(None, None, None)


def in_form_of(answer: Json, recorded: Json) -> Json:
    """A result as the recording has it: whole, or what other recorders keep of it, its data or its text."""
    if not isinstance(answer, dict):
        return answer
    if isinstance(recorded, dict) and isinstance(recorded.get("content"), list):  # some leave out what says nothing
        return {key: value for key, value in answer.items() if key in recorded or key not in ("isError", "_meta")}
    text = _text(answer)
    if isinstance(recorded, str):
        return text
    found = answer.get("structuredContent")
    if isinstance(found, dict):
        wrapped = set(found) == {"result"} and not (isinstance(recorded, dict) and "result" in recorded)
        return found["result"] if wrapped else found
    try:
        read: Json = json.loads(text)
    except ValueError:
        return text
    return read


def _text(result: Mapping[str, Any]) -> str:
    return "\n".join(part["text"] for part in result.get("content", ()) if isinstance(part.get("text"), str))


@asynccontextmanager
async def _session(place: McpPlace, timeout_s: float) -> AsyncIterator[Any]:
    from anyio import fail_after
    from mcp import ClientSession

    async with _opened(place) as streams, ClientSession(*streams[:2]) as session:
        with fail_after(timeout_s):
            await session.initialize()
        yield session


def _opened(place: McpPlace) -> Any:
    where = f"[mcp.{place.name}] headers"
    if place.argv:
        from mcp import StdioServerParameters
        from mcp.client.stdio import get_default_environment, stdio_client

        passed = {name: os.environ[name] for name in place.passed if name in os.environ}
        env = {**get_default_environment(), **passed, **place.env}
        parameters = StdioServerParameters(command=place.argv[0], args=[*place.argv[1:]], env=env)
        return stdio_client(parameters, errlog=sys.__stderr__ or sys.stderr)
    return _over_http(place.url, filled_headers(place.headers, where))


@asynccontextmanager
async def _over_http(url: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    from mcp.client import streamable_http

    opened = getattr(streamable_http, "streamablehttp_client", None)  # mcp 1
    if opened is not None:
        async with opened(url, headers=headers) as streams:
            yield streams
        return
    import httpx2

    client = httpx2.AsyncClient(headers=headers)
    async with client, streamable_http.streamable_http_client(url, http_client=client) as streams:
        yield streams


def _innermost(error: BaseException) -> str:
    """Of a group of errors the first that is none."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".removesuffix(": ")
