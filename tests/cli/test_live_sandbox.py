"""Live models in the sandbox: the endpoint is reached through a process outside, and nothing else is, nor the key."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from evalkit.app.demo.agent import PROMPT_FIXED
from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.playback.sandbox.run import probe_layers
from evalkit.suite.results import read_samples
from tests.capture.scripted_server import ScriptedServer, completion, json_reply
from tests.demo import TARGET
from tests.project import Outcome, Project

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel's layers are Linux's"),
    pytest.mark.skipif(not probe_layers().safe, reason=f"this kernel lacks layers: {probe_layers().missing}"),
]

KEY = "sk-live-" + "Vu3hQ9" * 6


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def live_suite(project: Project, base_url: str, target: str = TARGET, samples: int = 12, more: str = "") -> str:
    """A sandboxed suite with a live model."""
    text = f'target = "{target}"\nsamples = {samples}\nmode = "live-model"\nsandbox = true\n{more}'
    project.write("suites/live.toml", f'{text}[model]\nbase_url = "{base_url}"\ntries = 2\n')
    return "suites/live.toml"


def test_a_sandboxed_run_asks_the_model_with_the_real_key(
    project: Project, case_id: str, server: ScriptedServer
) -> None:
    """The agent has a dummy; the request that comes to the endpoint has the key, and the agent's words."""
    server.will(json_reply(completion("Your refund is on its way.")))
    suite = live_suite(project, server.url, samples=2)
    done = project.spawn("run", suite, "--out", "reports/l", "--reason", "a test")
    assert done.code in (0, 1, 3), done.out + done.err  # two samples tell little
    samples = read_samples(project.root / "reports" / "l")["twice"]
    assert [(sample.outcome in ("passed", "failed"), sample.live_model) for sample in samples] == [(True, 1)] * 2
    assert [request["headers"]["authorization"] for request in server.requests] == [f"Bearer {KEY}"] * 2
    assert {request["path"] for request in server.requests} == {"/v1/chat/completions"}
    assert "seccomp" in done.out


def test_a_known_failure_rate_shows_in_the_sandbox_as_outside(project: Project, case_id: str) -> None:
    """A model that errs always fails every sample, one that never errs none; a prompt swap mends the first."""
    for rate, passed in ((1.0, 0), (0.0, 3)):
        with serving(ScriptedModel(error_rate=rate)) as url:
            suite = live_suite(project, url, samples=3, more="sequential = false\n")
            done = project.spawn("run", suite, "--json", "-n", "2", "--reason", "a test")
            (case,) = done.json()["cases"]
            assert (case["n"], case["passed"]) == (3, passed), case
    with serving(ScriptedModel(error_rate=1.0)) as url:
        more = f"system_prompt = {json.dumps(PROMPT_FIXED)}\n"
        suite = live_suite(project, url, samples=3)
        path = project.root / suite
        path.write_text(path.read_text().replace("live-model", "prompt-swap") + more)
        done = project.spawn("run", suite, "--json", "--reason", "a test")
        (case,) = done.json()["cases"]
        assert (case["n"], case["passed"]) == (3, 3), case


def test_a_replay_in_the_sandbox(project: Project, case_id: str) -> None:
    """Frozen, with a live model, and as a fork: the same answers as outside, and the layers in the manifest."""
    frozen = project.spawn("replay", case_id, "--sandbox", "--json")
    (body,) = frozen.json()
    assert (frozen.code, body["status"], body["counts"]["substituted"]) == (1, "failed", 7)
    assert any(layer.startswith("landlock") for layer in body["manifest"]["layers"])
    with serving(ScriptedModel(error_rate=1.0)) as url:
        flags = ["--base-url", url, "--reason", "a test", "--json"]
        inside = project.spawn("replay", case_id, "--mode", "live-model", "--sandbox", "--repeat", "2", *flags)
        outside = project.spawn("replay", case_id, "--mode", "live-model", *flags)
        fork = project.spawn("replay", case_id, "--from-step", "4", "--sandbox", *flags)
    one, two = inside.json()
    (out,) = outside.json()
    for body in (one, two):
        assert (body["status"], body["counts"], body["output"]) == (out["status"], out["counts"], out["output"])
        assert [result["passed"] for result in body["results"]] == [result["passed"] for result in out["results"]]
    (forked,) = fork.json()
    assert (forked["status"], forked["counts"]["live_model"]) == ("failed", 2), forked


def test_an_outage_is_errored_in_the_sandbox_too(project: Project, case_id: str, server: ScriptedServer) -> None:
    """With what the endpoint said."""
    server.will(json_reply({"error": {"message": "busy", "type": "overloaded"}}, status=503, retry_after="0"))
    done = project.spawn(
        "run", live_suite(project, server.url, samples=1, more="retries = 0\n"), "--out", "reports/o", "--reason", "x"
    )
    assert done.code == 3, done.out + done.err
    (sample,) = read_samples(project.root / "reports" / "o")["twice"]
    assert (sample.outcome, sample.reason) == (
        "errored", "the model endpoint failed: overloaded: busy (tried 2 times)",
    )  # fmt: skip
    assert len(server.requests) == 2


@contextmanager
def elsewhere() -> Iterator[tuple[int, list[bytes]]]:
    """Another server of this machine; gives its port, and what reached it."""
    came: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        stop = threading.Event()

        def accept() -> None:
            while not stop.is_set():
                try:
                    with listener.accept()[0] as peer:
                        peer.settimeout(0.5)
                        came.append(peer.recv(1000))
                except OSError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname()[1], came
        finally:
            stop.set()
            thread.join()


THIEF = '''
import ctypes
import gc
import os
import re
import socket
import sys

from evalkit.capture.caller import ModelRequest
from evalkit.playback import guard
from evalkit.playback.endpoint.frames import receive_frame, send_frame
from evalkit.playback.endpoint.relayed import RelayedCaller

BODY = b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}'
JSON = {"content-type": "application/json"}


def relay():
    """The channel itself, below everything that would refuse."""
    return next(each for each in gc.get_objects() if isinstance(each, RelayedCaller))


def asked(url, headers=JSON, body=BODY):
    caller = relay()
    try:
        return RelayedCaller.submit(caller, ModelRequest(url, headers, body)).result()
    except BaseException as halt:
        return str(halt)


def other_urls(message):
    """Every way to say another place than the endpoint's path."""
    base, port = os.environ["OPENAI_BASE_URL"], ELSEWHERE
    host = base.split("//")[1].split("/")[0]
    urls = [
        f"http://127.0.0.1:{port}/v1/chat/completions", f"http://localhost:{port}/v1/chat/completions",
        f"http://{host}@127.0.0.1:{port}/v1/chat/completions", f"http://127.0.0.1:{port}\\\\@{host}/v1/chat/completions",
        f"http://{host}#@127.0.0.1:{port}/v1/chat/completions", f"https://{host}/v1/chat/completions",
        f"ftp://{host}/v1/chat/completions", f"file:///etc/passwd", f"//{host}/v1/chat/completions",
        f"http://[::ffff:127.0.0.1]:{port}/v1/chat/completions", f"http://127.1:{port}/v1/chat/completions",
        f"{base}/models", f"{base}/files", f"{base}", f"http://{host}/admin/chat/completions",
        f"http://{host}/chat/completions", f"{base}/../admin/chat/completions", f"{base}/%2e%2e/chat/completions",
        f"{base}/..%2fadmin/chat/completions", f"{base}//chat/completions", f"{base}/chat/completions?to=elsewhere",
        f"{base}/chat/completions#x", f"{base}/files?x=/chat/completions", f"{base};x/chat/completions",
        f"{base}/./chat/completions", f"{base}\\\\..\\\\admin/chat/completions", f"{base}/chat/completions\\r\\nX: y",
    ]
    return [[url, found] for url in urls if not (isinstance(found := asked(url), str) and "refused" in found)]


def other_headers(message):
    """Headers that would lead elsewhere, or show what the endpoint is sent."""
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    odd = {"host": f"127.0.0.1:{ELSEWHERE}", "x-forwarded-host": "evil", "connection": "close", "authorization":
           "Bearer mine", "cookie": "a=b", "transfer-encoding": "chunked", "content-length": "3", "te": "trailers",
           "proxy-authorization": "x", "x-http-method-override": "DELETE", "expect": "100-continue", **JSON}
    answer = asked(url, odd)
    return [] if isinstance(answer, str) else [dict(answer.headers), b"".join(answer.pieces).decode()]


def other_frames(message):
    """Nonsense on the channel: it is hung up, and no other call is answered."""
    channel = relay()._channel
    channel.sendall(b"\\xff" * 64)
    return [receive_frame(channel)]


def descriptors(message):
    """Open files passed over the channel are not read, and none comes back."""
    guard._ACTIVE[-1].excused = lambda: True
    channel = relay()._channel
    socket.send_fds(channel, [b"\\0\\0\\0\\2\\0\\0\\0\\0{}"], [0])
    _, files, _, _ = socket.recv_fds(channel, 100, 10)
    return files


def search(message):
    """The key anywhere in this process' memory, read by a system call that bears unmapped pages.

    It is looked for in parts: whole, it would be found where the search itself has it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sbrk.restype = ctypes.c_void_p
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    heap_end = libc.sbrk(0)
    places = [id(object()), id(os.environ), id(sys.modules), id(b"x" * 600)]
    places += [id(each) for each in gc.get_objects()[::500]]
    spans = [(heap_end - (96 << 20), heap_end)]
    spans += [(place - (2 << 20), place + (2 << 20)) for place in places]
    spans += [(ctypes.addressof(ctypes.c_int()) - (8 << 20), ctypes.addressof(ctypes.c_int()) + (8 << 20))]
    found, seen = 0, set()
    for first, last in spans:
        for page in range(first & ~4095, last, 4096):
            if page in seen:
                continue
            seen.add(page)
            libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
            if libc.write(theirs, page, 4096) == 4096:
                data = os.read(ours, 4096)
                ends = [hit.end() for hit in re.finditer(b"live-", data)]
                found += any(all(data.startswith(b"Vu3hQ9", at + 6 * n) for n in range(4)) for at in ends)
    return [found, len(seen)]


def environment(message):
    """Where the key is in what the process was told at its start: as C, Python and the kernel have it."""
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_char_p
    try:
        start = open("/proc/self/environ", "rb").read()
    except OSError:
        start = b""
    values = [libc.getenv(b"OPENAI_API_KEY") or b"", os.environb[b"OPENAI_API_KEY"], start]
    return [b"sk-" + b"live-" in value for value in values]
'''


def stolen(project: Project, base_url: str, attack: str, port: int, *flags: str) -> Any:
    """What an attack brought home, as the replay's output says it."""
    project.write("thief.py", THIEF.replace("ELSEWHERE", str(port)))
    run = project.started if attack in ("environment", "search") else project.spawn  # both look at the very start
    done: Outcome = run(
        "replay", "twice", "--target", f"thief:{attack}", "--mode", "live-model", "--base-url", base_url,
        "--reason", "a test", "--json", *flags,
    )  # fmt: skip
    assert done.out, done.err
    (body,) = done.json()
    return body["output"], done


@pytest.mark.parametrize("attack", ["other_urls", "descriptors"])
def test_the_channel_leads_to_the_endpoint_only(
    project: Project, case_id: str, server: ScriptedServer, attack: str
) -> None:
    """No other host, port, scheme or path, by whatever spelling; and no open file."""
    server.will(json_reply(completion("reached")))
    with elsewhere() as (port, came):
        output, done = stolen(project, server.url, attack, port, "--sandbox")
    assert output == [], done.err
    assert came == []
    assert server.requests == []


def test_headers_of_the_agent_lead_nowhere(project: Project, case_id: str, server: ScriptedServer) -> None:
    """The endpoint's own, the key and the API's are sent; none of them, nor a cookie, comes back."""
    reply = json_reply(completion(f"you sent Bearer {KEY}"), set_cookie="a=b", x_echo=f"Bearer {KEY}")
    server.will(reply)
    with elsewhere() as (port, came):
        (headers, body), _ = stolen(project, server.url, "other_headers", port, "--sandbox")
    assert came == []
    sent = {name.lower(): value for name, value in server.requests[0]["headers"].items()}
    assert sent["authorization"] == f"Bearer {KEY}"
    assert sent["host"] == server.url.split("/")[2]
    assert not {"cookie", "x-forwarded-host", "te", "proxy-authorization", "x-http-method-override"} & set(sent)
    assert KEY not in body
    assert "you sent" in body
    assert {"set-cookie", "x-echo"} & set(headers) == set()


def test_nonsense_on_the_channel_ends_it(project: Project, case_id: str, server: ScriptedServer) -> None:
    """The process outside lets go; nothing was asked."""
    output, _ = stolen(project, server.url, "other_frames", 1, "--sandbox")
    assert output == [None]
    assert server.requests == []


def test_the_key_is_nowhere_in_the_sandbox(project: Project, case_id: str, server: ScriptedServer) -> None:
    """Not in the environment, as Python, C and the kernel have it, and not in memory; outside it is in all of them."""
    assert stolen(project, server.url, "environment", 1, "--sandbox")[0] == [False, False, False]
    (found, pages), _ = stolen(project, server.url, "search", 1, "--sandbox")
    assert pages > 10_000
    assert found == 0
    assert stolen(project, server.url, "environment", 1)[0] == [True, True, True]
    (found, _), _ = stolen(project, server.url, "search", 1)
    assert found > 0
