"""The frozen tools as an MCP server: JSON-RPC in, JSON-RPC out, every call through the session.

What a recording of an MCP server holds (its list of tools, resources, prompts) is answered from there. Other recordings
have their tools listed with the schemas that the model was shown.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from evalkit.canonical import Json, canonical, exact_text, parse_exact
from evalkit.capture.seam import Answer, Call, Session
from evalkit.errors import EvalkitError
from evalkit.playback.fixtures import ReplayHalt
from evalkit.playback.known_tools import KnownTools
from evalkit.trace.model import StepError, Trace
from evalkit.wire.mcp import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_RECORDED,
    RESULT_TYPE,
    VERSIONS,
    error_reply,
    result_reply,
    tool_result,
)

__all__ = ["McpServer"]

_RECORDED = {
    "tools/list": ("mcp.list_tools", ("cursor",)),
    "resources/list": ("mcp.list_resources", ("cursor",)),
    "resources/templates/list": ("mcp.list_resource_templates", ("cursor",)),
    "resources/read": ("mcp.read_resource", ("uri",)),
    "prompts/list": ("mcp.list_prompts", ("cursor",)),
    "prompts/get": ("mcp.get_prompt", ("name", "arguments")),
}
"""Requests, the steps that answer them, and what of their parameters is recorded (see `integrations.mcp`)."""

_OF_ONE_THING = ("resources/read", "prompts/get")
"""Requests that no client makes to find out what there is: without an answer they are misses."""

_NO_BODY = "no recording answers for it, and the gateway has no body to run"


class McpServer:
    """One session's tools.

    Args:
        incident: the case's run.
        lock: held while the session decides.
        served: is told of each tool that was called.
    """

    def __init__(
        self,
        session: Session,
        incident: Trace,
        tools: KnownTools,
        lock: threading.Lock,
        served: Callable[[str, Json], None],
    ) -> None:
        self._session = session
        self._tools = tools
        self._lock = lock
        self._served = served
        self._recorded = {step.name for step in incident.of_kind("tool")}
        self._spelt = _spellings(incident)

    def reply(self, message: Any) -> Any:
        """The answer to one message, or to a list of them; None where none is due."""
        if isinstance(message, list) and message:
            replies = [reply for one in message if (reply := self._reply(one)) is not None]
            return replies or None
        return self._reply(message)

    def _reply(self, message: Any) -> dict[str, Any] | None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return error_reply(
                None, INVALID_REQUEST, 'not JSON-RPC: {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
            )
        method, request_id = message.get("method"), message.get("id")
        if not isinstance(method, str):
            answers = "result" in message or "error" in message
            return None if answers else error_reply(request_id, INVALID_REQUEST, "the message names no method")
        if "id" not in message:
            return None  # a notification
        if isinstance(request_id, bool) or not isinstance(request_id, str | int | float):
            return error_reply(None, INVALID_REQUEST, "an id is a text or a number")
        params = message.get("params") or {}
        if not isinstance(params, dict):
            return error_reply(request_id, INVALID_PARAMS, "params are an object")
        try:
            return self._answered(request_id, method, params)
        except ReplayHalt as halt:
            return error_reply(request_id, NOT_RECORDED, f"evalkit: {halt}")

    def _answered(self, request_id: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            return result_reply(request_id, self._initialized(params.get("protocolVersion")))
        if method in ("ping", "logging/setLevel"):
            return result_reply(request_id, {})
        if method == "tools/call":
            return self._called(request_id, params)
        step, names = _RECORDED.get(method, ("", ()))
        if step in self._recorded or method in _OF_ONE_THING:
            asked = {name: params[name] for name in names if params.get(name) is not None}
            return self._asked(request_id, Call("tool", step, asked, "read"))
        if method == "tools/list":
            return result_reply(request_id, {"tools": [_listed(tool) for tool in self._tools.definitions()]})
        return error_reply(request_id, METHOD_NOT_FOUND, f"the case holds no answer to {method}")

    def _initialized(self, wanted: Any) -> dict[str, Any]:
        capabilities: dict[str, Any] = {"tools": {}}
        for part in ("resource", "prompt"):
            if any(name.startswith("mcp.") and part in name for name in self._recorded):
                capabilities[f"{part}s"] = {}
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": capabilities,
            "serverInfo": {"name": "evalkit", "version": "1"},
        }

    def _called(self, request_id: Any, params: dict[str, Any]) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments")
        arguments = {} if arguments is None else arguments
        if not isinstance(name, str):
            return error_reply(request_id, INVALID_PARAMS, "a call has a name, and an object of arguments")
        if not isinstance(arguments, dict):
            return self._asked(request_id, Call("tool", name, arguments))
        self._served(name, arguments)
        return self._asked(request_id, self._tools.call(name, arguments))

    def _asked(self, request_id: Any, call: Call) -> dict[str, Any]:
        with self._lock:
            turn = self._session.begin(call)
            answer = turn.answer or Answer(error=StepError("NotRecorded", _NO_BODY))
            turn.end(answer)
        if turn.answer is None:
            return error_reply(request_id, NOT_RECORDED, f"evalkit: {call.name}: {_NO_BODY}")
        if isinstance(answer.output, dict) and RESULT_TYPE in answer.attributes:
            return result_reply(request_id, answer.output)
        if answer.error is not None:
            failed = tool_result(f"{answer.error.type}: {answer.error.message}")
            return result_reply(request_id, {**failed, "isError": True})
        return result_reply(request_id, tool_result(answer.output, self._spelt.get(_key(answer.output))))


def _listed(tool: dict[str, Any]) -> dict[str, Any]:
    parameters = tool.get("parameters")
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        parameters = {"type": "object", **(parameters if isinstance(parameters, dict) else {})}
    return {"name": tool["name"], "description": str(tool.get("description") or ""), "inputSchema": parameters}


def _spellings(incident: Trace) -> dict[bytes, str]:
    """How the recorded agent wrote its tools' results for the model: a text by the value that it means."""
    found: dict[bytes, str] = {}
    for step in incident.of_kind("model"):
        messages = step.input.get("messages") if isinstance(step.input, dict) else None
        for message in messages if isinstance(messages, list) else ():
            content = message.get("content") if isinstance(message, dict) and message.get("role") == "tool" else None
            if isinstance(content, str) and content[:1] in ("{", "["):
                try:
                    found.setdefault(_key(parse_exact(content)), content)
                except (ValueError, EvalkitError):
                    continue
    return found


def _key(value: Json) -> bytes:
    try:
        return canonical(value)
    except EvalkitError:
        return exact_text(value)
