"""A scripted OpenAI-compatible server with a known error rate: the demo's model, and the tests'.

It plays the refund conversation by rule: look the order up, refund it, see how the refund stands, answer. Asked how the
refund stands, it takes the refund tool for the lookup with probability `error_rate`, unless the system prompt says
which tool moves money. Its draws come from one seeded generator, in order of arrival.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Answer", "ChatHandler", "ScriptedModel", "listening", "main", "serving"]

_ORDER = re.compile(r"\b[A-Z]-\d{4}\b")
_TELLS_TOOLS_APART = "moves money"


class ScriptedModel:
    """Decides the assistant's next message.

    Args:
        error_rate: probability of the mistake, at each occasion.
        seed: of the draws.
    """

    def __init__(self, error_rate: float, seed: int = 0) -> None:
        self._error_rate = error_rate
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._calls = 0

    def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """The assistant message for a conversation."""
        called = [call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()]
        order = next(iter(_ORDER.findall(_text(messages, "user"))), None)
        if order is None:
            return {"role": "assistant", "content": "Which order is it about?"}
        if not called:
            return self._tool_call("lookup_order", {"order_id": order})
        if "refund_order" not in called:
            amount = json.loads(messages[-1]["content"]).get("amount")
            if amount is None:
                return {"role": "assistant", "content": f"I can't find order {order}."}
            return self._tool_call("refund_order", {"order_id": order, "amount": amount})
        amount = json.loads(messages[-1]["content"]).get("amount")
        if called[-1] == "refund_order" and called.count("refund_order") == 1:
            if self._mistaken(messages):
                return self._tool_call("refund_order", {"order_id": order, "amount": amount})
            return self._tool_call("lookup_order", {"order_id": order})
        return {"role": "assistant", "content": f"Your refund of {amount:.2f} EUR for order {order} is on its way."}

    def _mistaken(self, messages: list[dict[str, Any]]) -> bool:
        with self._lock:
            drawn = self._random.random()
        return drawn < self._error_rate and _TELLS_TOOLS_APART not in _text(messages, "system")

    def _tool_call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self._calls += 1
            call_id = f"call_{self._calls}"
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered."""

    body: dict[str, Any]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class ChatHandler(BaseHTTPRequestHandler):
    """Serves a model's chat completions."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: each answer would wait for an acknowledgement

    def __init__(self, model: ScriptedModel, *connection: Any) -> None:
        self.model = model
        super().__init__(*connection)  # which serves the whole connection

    def do_POST(self) -> None:
        """Answers a request."""
        answer = self.answer(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0)))))
        data = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(data)), **answer.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def answer(self, body: dict[str, Any]) -> Answer:
        """The model's reply; 404 for what is no chat."""
        if not self.path.endswith("/chat/completions"):
            return Answer({"error": {"message": "only chat completions are served", "type": "not_found"}}, 404)
        messages = body["messages"]
        return Answer(_completion(body["model"], messages, self.model.reply(messages)))

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the demo's own lines are what people read."""


def serving(model: ScriptedModel, port: int = 0) -> AbstractContextManager[str]:
    """Serves `model` on loopback while the block runs; gives the base URL."""
    return listening(partial(ChatHandler, model), port)


@contextmanager
def listening(handler: Callable[..., BaseHTTPRequestHandler], port: int = 0) -> Iterator[str]:
    """Lets `handler` answer on loopback while the block runs; gives the base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main() -> None:
    """``python -m evalkit.app.demo.server``: serves until it is stopped."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=8377)
    parser.add_argument("--error-rate", type=float, default=0.35)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with serving(ScriptedModel(given.error_rate, given.seed), given.port) as base_url:
        print(base_url, flush=True)
        threading.Event().wait()


def _completion(model: str, messages: list[dict[str, Any]], message: dict[str, Any]) -> dict[str, Any]:
    prompt, answer = len(json.dumps(messages)) // 4, len(json.dumps(message)) // 4
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer},
    }


def _text(messages: list[dict[str, Any]], role: str) -> str:
    return " ".join(str(message.get("content")) for message in messages if message.get("role") == role)


if __name__ == "__main__":
    main()
