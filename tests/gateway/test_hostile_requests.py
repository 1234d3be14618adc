"""Whatever is sent to the gateway gets a clear answer, and the session goes on."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from evalkit.playback.gateway import http_server
from evalkit.playback.gateway.model_calls import ModelCalls
from evalkit.playback.miss_rules import parse_rule
from tests.gateway.conversations import ASKED
from tests.gateway.serving import Served, serving
from tests.gateway.test_model_apis import case_of

CHAT = "/v1/chat/completions"
DEEP = b"[" * 600 + b"]" * 600
HOST = b"Host: 127.0.0.1:%d\r\n"


def assert_alive(served: Served) -> None:
    """The next honest request is answered."""
    status, body = served.caller.ask(CHAT, ASKED["openai_chat"])
    assert (status, body["choices"][0]["message"]["content"]) == (200, "Hi there.")


@pytest.mark.parametrize(
    ("path", "body", "method", "status", "words"),
    [
        (CHAT, None, "GET", 405, "takes POST"),
        (CHAT, None, "DELETE", 405, "takes POST"),
        (CHAT, None, "HEAD", 405, ""),
        ("/v1/images", None, "HEAD", 404, ""),
        ("/v1/images", None, "OPTIONS", 404, "there is no"),
        ("/", None, "GET", 404, "there is no"),
        ("/../../etc/passwd", None, "GET", 404, "there is no"),
        ("/output", b"nothing", "POST", 400, "JSON"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(
    path: str, body: bytes | None, method: str, status: int, words: str
) -> None:
    """With a status that no client tries again, and no step in the trace."""
    with serving(case_of("openai_chat")) as served:
        got, said = served.caller.ask(path, body, method)
        assert got == status
        assert not said or words in said["error"]["message"]
        assert_alive(served)
    assert (served.done.misses, len(served.done.trace.steps)) == ((), 1)


@pytest.mark.parametrize(
    ("path", "body", "method", "status", "words"),
    [
        (CHAT, b"{", "POST", 400, "not JSON"),
        (CHAT, b"\xff\xfe", "POST", 400, "not JSON"),
        (CHAT, b"[" * 100_000, "POST", 400, "not JSON"),
        (CHAT, b'{"messages": 7}', "POST", 400, "no request of this API"),
        (CHAT, b"[]", "POST", 400, "no request of this API"),
        (CHAT, b"", "POST", 400, "not JSON"),
        ("/v1/messages", b'{"messages": []}', "POST", 400, "no request of this API"),
        ("/v1/images", b"{}", "POST", 404, "there is no"),
        ("/v1/messages/count_tokens", b'{"messages": []}', "POST", 404, "there is no"),
        ("/v1/responses/resp_1", None, "GET", 404, "there is no"),
        ("/v1/files/file_1", None, "DELETE", 404, "there is no"),
        ("/v1beta/models/gemini:generateContent", b"\x00\xff" * 9000, "POST", 404, "there is no"),
        ("/v1/" + "a" * 9000, b"{}", "POST", 404, "there is no"),
    ],
)
def test_a_request_that_no_recording_could_answer_is_a_miss(
    path: str, body: bytes | None, method: str, status: int, words: str
) -> None:
    """What the API would have said, nobody knows: an agent that goes on without it is no agent that passes."""
    with serving(case_of("openai_chat")) as served:
        got, said = served.caller.ask(path, body, method)
        assert (got, words in said["error"]["message"]) == (status, True)
        assert "has no recorded answer" in said["error"]["message"]
        assert_alive(served)
    assert (served.done.status, served.done.misses[0].name) == ("missed", f"{method} {path[:200]}")
    assert (served.gateway.faults, json.loads(served.done.text)["steps"][0]["kind"]) == ([], "tool")


def test_a_rule_may_answer_what_no_recording_could() -> None:
    """So that one sees how the agent goes on; the sample is missed all the same."""
    rule = parse_rule('*/count_tokens=stub:{"input_tokens": 7}')
    with serving(case_of("openai_chat"), on_miss=[rule]) as served:
        assert served.caller.ask("/v1/messages/count_tokens", {"messages": []}) == (200, {"input_tokens": 7})
        assert_alive(served)
    assert (served.done.status, len(served.done.trace.steps)) == ("missed", 2)


def test_who_only_looks_whether_there_is_something_has_asked_nothing() -> None:
    """So a program that then goes its own ways is not measured."""
    with serving(case_of("openai_chat")) as served:
        served.caller.ask("/", None, "GET")
        served.caller.ask("/mcp", b"{")
        assert not served.gateway.asked


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, b'{"model": "m", "messages": [{"role": "user", "content": "\\ud800"}]}'),
        (CHAT, b'{"model": "m\\ud800", "messages": [null, 7, [], {"role": {}}]}'),
        (CHAT, b'{"model": "m", "messages": [{"role": "user", "content": ' + DEEP + b"}]}"),
        ("/v1/messages", b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": ' + DEEP + b"}]}"),
        ("/mcp", b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "tools/call", "params": {"name": "a\\udfff"}}'),
    ],
    ids=["surrogate", "no messages", "deep", "deep messages", "surrogate tool"],
)
def test_what_no_file_can_hold_is_kept_as_a_recording_keeps_it(path: str, body: bytes) -> None:
    """Such calls are misses like others, and the trace can be written."""
    with serving(case_of("openai_chat")) as served:
        served.caller.ask(path, body)
        assert_alive(served)
    assert (served.done.status, served.gateway.faults) == ("missed", [])
    assert json.loads(served.done.text)["steps"][1]["kind"] == "model"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_web_page_gets_nothing(headers: dict[str, str]) -> None:
    """A foreign host is how a page reaches the loopback by a name of its own; a foreign origin says so itself."""
    with serving(case_of("openai_chat")) as served:
        status, said = served.caller.ask(CHAT, ASKED["openai_chat"], **headers)
        assert status == 403
        assert "evalkit_gateway" in said["error"]["type"]
        assert served.caller.ask(CHAT, ASKED["openai_chat"], Origin=f"http://localhost:{served.caller.port}")[0] == 200
    assert served.done.counts.substituted == 1


def test_without_the_token_there_is_no_session() -> None:
    """Other users of the machine can reach the port, but do not know the path."""
    with serving(case_of("openai_chat"), token="s3cret") as served:
        for prefix in ("", "/s3cre", "/other", "/s3cret%2f.."):
            served.caller.prefix = prefix
            status, said = served.caller.ask(CHAT, ASKED["openai_chat"])
            assert status == 404
            assert "token" in said["error"]["message"]
    assert served.done.counts.substituted == 0


def test_it_listens_on_the_loopback_only() -> None:
    """The machine's other addresses refuse."""
    with serving(case_of("openai_chat")) as served:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))  # sends nothing; finds the address that faces outwards
            except OSError:
                pytest.skip("this machine has no other address")
            own = probe.getsockname()[0]
        if own.startswith("127."):
            pytest.skip("this machine has no other address")
        with pytest.raises(OSError, match=r"refused|unreachable"):
            socket.create_connection((own, served.caller.port), timeout=5)


def test_a_huge_body_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its announced size, or when it gets there."""
    monkeypatch.setattr(http_server, "LARGEST_BODY", 1 << 20)
    with serving(case_of("openai_chat")) as served:
        status, said = served.caller.ask(CHAT, b"x" * (3 << 20))
        assert (status, "larger than 1 MiB" in said["error"]["message"]) == (413, True)
        chunk = b"80000\r\n" + b"x" * 0x80000 + b"\r\n"
        head = b"POST %s HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n" % (
            (served.caller.prefix + CHAT).encode(), HOST % served.caller.port,
        )  # fmt: skip
        assert b" 413 " in served.caller.raw(head + 4 * chunk).partition(b"\r\n")[0]
        assert_alive(served)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"GARBAGE\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"BREW /v1/x HTTP/1.1\r\n{host}\r\n", 501),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n{host}\r\n", 414),
        (b"GET /x HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n", 431),
        (b"POST /x HTTP/1.1\r\n{host}Content-Length: many\r\n\r\n", 400),
        (b"POST /x HTTP/1.1\r\n{host}Content-Length: -5\r\n\r\n", 400),
        (b"POST /x HTTP/1.1\r\n{host}Content-Length: 50\r\n\r\nshort", 400),
        (b"POST /x HTTP/1.1\r\n{host}Transfer-Encoding: gzip\r\n\r\n", 400),
        (b"POST /x HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /x HTTP/1.1\r\n{host}Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415),
        (b"POST /x HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", 403),
        (b"GET http://[ HTTP/1.1\r\n{host}\r\n", 400),
    ],
)
def test_what_is_no_http_is_refused(lines: bytes, status: int) -> None:
    """With a status, and the connection closed."""
    with serving(case_of("openai_chat")) as served:
        answer = served.caller.raw(lines.replace(b"{host}", HOST % served.caller.port))
        assert b" %d " % status in answer.partition(b"\r\n")[0] + b" "
        assert_alive(served)
    assert served.gateway.faults == []


def test_a_chunked_request_is_read() -> None:
    """Some clients send their bodies so."""
    body = json.dumps(ASKED["openai_chat"]).encode()
    with serving(case_of("openai_chat")) as served:
        head = b"POST %s HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" % (
            (served.caller.prefix + CHAT).encode(), HOST % served.caller.port,
        )  # fmt: skip
        chunks = b"".join(b"%x;x=y\r\n%s\r\n" % (len(part), part) for part in (body[:10], body[10:]))
        assert b"Hi there." in served.caller.raw(head + chunks + b"0\r\nTrailer: x\r\n\r\n")


def test_clients_that_hang_up_or_hang_on_do_not_hold_the_session() -> None:
    """Half a request, a connection that says nothing, and one that is left open when the replay ends."""
    with serving(case_of("openai_chat")) as served:
        with socket.create_connection(("127.0.0.1", served.caller.port)) as half:
            half.sendall(b"POST /x HTTP/1.1\r\nContent-Le")
        silent = socket.create_connection(("127.0.0.1", served.caller.port))
        assert_alive(served)
    with silent:
        assert silent.recv(1) == b""
    assert served.done.status == "passed"


def test_a_fault_of_the_gateway_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is answered, and the replay is errored: it says nothing about the agent."""

    def broken(*_: Any) -> Any:
        raise RuntimeError("a bug")

    with serving(case_of("openai_chat")) as served:
        with monkeypatch.context() as patched:
            patched.setattr(ModelCalls, "answer", broken)
            status, said = served.caller.ask(CHAT, ASKED["openai_chat"])
        assert (status, "RuntimeError: a bug" in said["error"]["message"]) == (500, True)
        assert_alive(served)
    assert (served.done.status, "a bug" in served.done.reason) == ("errored", True)
