"""A local HTTP server that answers as it is told: the model endpoint of these tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One answer of the server.

    Attributes:
        body: the whole body, when it does not stream.
        chunks: the pieces of a chunked body.
        cut: close the connection after the chunks, without the end of the body.
        delay_s: wait before answering.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    chunks: Iterable[bytes] | None = None
    cut: bool = False
    delay_s: float = 0.0


@dataclass
class ScriptedServer:
    """What the server answers next, and what it was asked."""

    url: str
    replies: list[Reply] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    def will(self, *replies: Reply) -> None:
        """Adds answers; the last one is given again and again."""
        self.replies.extend(replies)

    def take(self) -> Reply:
        """The next answer."""
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def completion(content: str | None = "Hello there, how are you?", **fields: Any) -> dict[str, Any]:
    """A chat completion as the API sends it; `fields` go into its message."""
    message = {"role": "assistant", "content": content, "refusal": None, "annotations": [], **fields}
    reason = "tool_calls" if fields.get("tool_calls") else "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-test-2025",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 7,
            "total_tokens": 19,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    }


def tool_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """A tool call as the API sends it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def json_reply(body: Any, status: int = 200, **headers: str) -> Reply:
    """An answer with a JSON body; underscores in header names become dashes."""
    named = {"content-type": "application/json", **{key.replace("_", "-"): value for key, value in headers.items()}}
    return Reply(status, named, json.dumps(body).encode())


def stream_reply(*deltas: dict[str, Any], finish: str | None = "stop", cut: bool = False, done: bool = True) -> Reply:
    """A streamed answer, cut into pieces that do not end where events do."""
    top = {"id": "chatcmpl-2", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-test-2025"}
    bodies: list[dict[str, Any]] = [{"delta": delta, "finish_reason": None} for delta in deltas]
    if finish is not None:
        bodies.append({"delta": {}, "finish_reason": finish})
    events = [f"data: {json.dumps({**top, 'choices': [{'index': 0, **body}]})}\n\n" for body in bodies]
    content = "".join([*events, "data: [DONE]\n\n" if done else ""]).encode()
    pieces = [content[at : at + 50] for at in range(0, len(content), 50)]
    return Reply(200, {"content-type": "text/event-stream"}, chunks=pieces, cut=cut)


def _body(raw: bytes) -> Any:
    """A request's JSON; the bytes of one that has none."""
    try:
        return json.loads(raw or b"null")
    except ValueError:
        return raw


@contextmanager
def scripted_server() -> Iterator[ScriptedServer]:
    """A server on a free port of the loopback; its `url` ends in ``/v1``."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes: each answer would wait for an acknowledgement

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = _body(self.rfile.read(length))
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.requests.append({"path": self.path, "headers": headers, "body": body})
            self._send(script.take())

        do_GET = do_POST  # noqa: N815  # the name that http.server looks for

        def _send(self, reply: Reply) -> None:
            over.wait(reply.delay_s)
            self.send_response(reply.status)
            for key, value in reply.headers.items():
                self.send_header(key, value)
            if reply.chunks is None:
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)
                return
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for chunk in reply.chunks:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                self.wfile.flush()
            if reply.cut:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True  # the client closed a stream early

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script = ScriptedServer(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        over.set()  # what still waits ends, and no thread of it is left beside the next test
        server.shutdown()
        server.server_close()
        thread.join()


def events(content: bytes) -> list[Any]:
    """The texts of a stream's events."""
    data = [line.removeprefix(b"data: ") for line in content.splitlines() if line.startswith(b"data: {")]
    return [json.loads(one)["choices"][0]["delta"].get("content") for one in data]
