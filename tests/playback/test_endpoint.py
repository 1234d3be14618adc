"""The live model's endpoint: what is asked, tried again, paced, priced and counted."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evalkit.capture.caller import ModelRequest, ModelResponse
from evalkit.errors import ConfigError, IntegrityError
from evalkit.playback.endpoint import calls
from evalkit.playback.endpoint.address import why_not_endpoint
from evalkit.playback.endpoint.budget import NO_LIMITS, Budget, check_prices, parse_budget, spent_text
from evalkit.playback.endpoint.calls import LiveModel
from evalkit.playback.endpoint.ledger import Ledger
from evalkit.playback.endpoint.model import Endpoint, EndpointHalt
from evalkit.playback.endpoint.pacing import Pace, delay_s, retry_after_s
from evalkit.playback.endpoint.prices import Price, cost_of, price_of
from evalkit.trace.model import Usage
from tests.capture.scripted_server import Reply, ScriptedServer, completion, json_reply, stream_reply

ASKED = {"model": "gpt-test", "messages": [{"role": "user", "content": "hi"}]}
BUSY = json_reply({"error": {"message": "slow down", "type": "rate_limit_error"}}, status=429, retry_after="0")
FINE = json_reply(completion("hello"))
PRICES = (Price("gpt-*", input=2.0, output=10.0, cached_input=0.5, reasoning=20.0),)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """An account without limits."""
    return Ledger.opened(tmp_path / "budget.json", NO_LIMITS, 8)


def ask(url: str, ledger: Ledger, prices: Any = PRICES, *, stream: bool = False, **options: Any) -> ModelResponse:
    """One call."""
    options.setdefault("tries", 3)
    environment = options.pop("environment", {"OPENAI_API_KEY": "sk-real-key"})
    model = LiveModel(Endpoint(url, **options), ledger, prices, environment)
    body = json.dumps({**ASKED, "stream": stream}).encode()
    try:
        return model.call(ModelRequest(f"{url}/chat/completions", {"authorization": "Bearer dummy"}, body))
    finally:
        model.close()


def test_a_rate_limit_is_tried_again(server: ScriptedServer, ledger: Ledger) -> None:
    """The agent gets the answer; the account has one call and its retries."""
    server.will(BUSY, BUSY, FINE)
    answer = ask(server.url, ledger)
    assert (answer.status, answer.tries, len(server.requests)) == (200, 3, 3)
    spent, _ = ledger.told()
    assert (spent["calls"], spent["retries"]) == (1, 2)


def test_retry_after_is_waited_for(server: ScriptedServer, ledger: Ledger) -> None:
    """At least as long as the endpoint asks."""
    server.will(json_reply({"error": {"message": "x"}}, status=503, retry_after="0.4"), FINE)
    began = time.monotonic()
    ask(server.url, ledger)
    assert time.monotonic() - began >= 0.4


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_an_outage_that_stays_halts_the_replay(server: ScriptedServer, ledger: Ledger, status: int) -> None:
    """With what the endpoint said."""
    server.will(json_reply({"error": {"message": "down", "type": "t"}}, status=status, retry_after="0"))
    with pytest.raises(EndpointHalt, match=r"the model endpoint failed: t: down \(tried 3 times\)") as halted:
        ask(server.url, ledger)
    assert (halted.value.kind, len(server.requests)) == ("outage", 3)


def test_nobody_at_home_is_an_outage(ledger: Ledger) -> None:
    """A connection that is refused, too."""
    with pytest.raises(EndpointHalt, match="ConnectError"):
        ask("http://127.0.0.1:9/v1", ledger, tries=1)
    assert ledger.told()[0]["input_tokens"] == 0


def test_an_answer_that_takes_too_long_is_an_outage(server: ScriptedServer, ledger: Ledger) -> None:
    """The endpoint's own time limit."""
    server.will(Reply(200, {}, b"{}", delay_s=0.5))
    with pytest.raises(EndpointHalt, match="ReadTimeout"):
        ask(server.url, ledger, tries=1, timeout_s=0.1)
    spent: Any
    spent, _ = ledger.told()
    assert (spent["estimated"], spent["output_tokens"]) == (1, 0)
    assert spent["input_tokens"] > 0, "it was at work on what was asked"


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_not_tried_again(server: ScriptedServer, ledger: Ledger, status: int) -> None:
    """It is nothing of the agent's, for the key is not its."""
    server.will(json_reply({"error": {"message": "bad key", "type": "auth"}}, status=status))
    with pytest.raises(EndpointHalt, match="refused the key: auth: bad key"):
        ask(server.url, ledger)
    assert len(server.requests) == 1


def test_no_money_left_is_not_tried_again(server: ScriptedServer, ledger: Ledger) -> None:
    """Waiting would not help."""
    body = {"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}}
    server.will(json_reply(body, status=429))
    with pytest.raises(EndpointHalt, match="insufficient_quota"):
        ask(server.url, ledger)
    assert len(server.requests) == 1


def test_a_request_that_is_refused_is_the_agents_affair(server: ScriptedServer, ledger: Ledger) -> None:
    """It gets the refusal, as it would from the endpoint."""
    server.will(json_reply({"error": {"message": "no such tool", "type": "invalid"}}, status=400))
    answer = ask(server.url, ledger)
    assert (answer.status, answer.tries) == (400, 1)
    assert b"no such tool" in b"".join(answer.pieces)


def test_a_stream_that_breaks_off_is_tried_again(server: ScriptedServer, ledger: Ledger) -> None:
    """Nothing of it has reached the agent yet; the second one comes in its own pieces."""
    whole = stream_reply({"content": "he"}, {"content": "llo"})
    server.will(stream_reply({"content": "he"}, cut=True), whole)
    answer = ask(server.url, ledger, stream=True)
    assert answer.tries == 2
    assert b"".join(answer.pieces) == b"".join(whole.chunks or ())
    assert len(answer.pieces) > 1


def _sse(*bodies: dict[str, Any]) -> Reply:
    """A stream of these events, whose connection ends as it should."""
    text = "".join(f"event: {body.get('type', 'x')}\ndata: {json.dumps(body)}\n\n" for body in bodies)
    return Reply(200, {"content-type": "text/event-stream"}, chunks=[text.encode()] if bodies else [])


BEGUN = {"choices": [{"index": 0, "delta": {"content": "he"}, "finish_reason": None}]}
CRASHED = {"id": "r", "object": "response", "model": "m", "status": "failed", "output": [],
           "error": {"code": "server_error", "message": "crashed"}}  # fmt: skip
DISCONNECTED = {"index": 0, "finish_reason": "error", "error": {"message": "disconnected"}, "message": {"content": ""}}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}


@pytest.mark.parametrize(
    ("path", "reply", "said"),
    [
        ("chat/completions", _sse(BEGUN, {"error": {"type": "server_error", "message": "crashed"}}), "server_error"),
        ("chat/completions", _sse(BEGUN, {"error": {"code": 502, "message": "disconnected"}}), "disconnected"),
        ("chat/completions", _sse({"error": {"code": "rate_limit_exceeded", "message": "x"}}), "rate_limit_exceeded"),
        ("chat/completions", _sse(BEGUN), "ended before the answer"),
        ("chat/completions", _sse(), "ended before the answer"),
        ("chat/completions", json_reply({"error": {"code": 429, "message": "upstream"}}), "completion: upstream"),
        ("chat/completions", json_reply({**completion(), "choices": [DISCONNECTED]}), "disconnected"),
        ("messages", _sse(OVERLOADED), "overloaded_error"),
        ("messages", json_reply(OVERLOADED), "no message: overloaded"),
        ("responses", json_reply(CRASHED), "server_error: crashed"),
        ("responses", _sse({"type": "response.failed", "response": CRASHED}), "server_error: crashed"),
        ("responses", _sse({"type": "error", "code": "server_error", "message": "crashed"}), "server_error: crashed"),
    ],
)
def test_a_fault_that_comes_with_a_good_status_is_an_outage(
    server: ScriptedServer, ledger: Ledger, path: str, reply: Reply, said: str
) -> None:
    """It is tried again, and never handed to the agent, which would fail by it, or make an excuse."""
    server.will(reply)
    model = LiveModel(Endpoint(server.url, tries=2), ledger, PRICES, {"OPENAI_API_KEY": "sk-real-key"})
    body = {**ASKED, "input": "hi", "max_tokens": 9, "stream": reply.chunks is not None}
    with pytest.raises(EndpointHalt, match=r"the model endpoint failed: .*tried 2 times") as halted:
        model.call(ModelRequest(f"{server.url}/{path}", {}, json.dumps(body).encode()))
    model.close()
    assert halted.value.kind == "outage"
    assert said in str(halted.value)


@pytest.mark.parametrize(
    "error",
    [
        {"type": "invalid_request_error", "message": "no"},
        {"code": "content_filter", "message": "no"},
        {"code": "context_length_exceeded", "message": "no"},
        {"code": 400, "message": "no"},
    ],
)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_refusal_inside_of_an_answer_is_the_agents_affair(
    server: ScriptedServer, ledger: Ledger, error: dict[str, Any], *, stream: bool
) -> None:
    """It would come again."""
    server.will(_sse(BEGUN, {"error": error}) if stream else json_reply({"error": error}))
    answer = ask(server.url, ledger, stream=stream)
    assert (answer.status, answer.tries, len(server.requests)) == (200, 1, 1)


def test_a_redirect_leads_nowhere(server: ScriptedServer, ledger: Ledger) -> None:
    """The key would go along."""
    server.will(json_reply({}, status=302, location="http://127.0.0.1:9/v1/chat/completions"))
    with pytest.raises(EndpointHalt, match="it redirects to"):
        ask(server.url, ledger, tries=1)


def test_the_key_and_the_headers_come_from_the_environment(server: ScriptedServer, ledger: Ledger) -> None:
    """The agent's own key is sent only where there is no other."""
    server.will(FINE)
    environment = {"MY_KEY": "sk-mine", "TEAM": "payments"}
    ask(server.url, ledger, key_env="MY_KEY", headers={"X-Team": "team-${TEAM}"}, environment=environment)
    ask(server.url, ledger, environment={})
    first, second = (request["headers"] for request in server.requests)
    assert (first["authorization"], first["x-team"]) == ("Bearer sk-mine", "team-payments")
    assert second["authorization"] == "Bearer dummy"
    with pytest.raises(ConfigError, match=r"\$\{NOBODY\}, which is not set"):
        ask(server.url, ledger, headers={"a": "${NOBODY}"})


def test_anthropics_api_has_its_own_key(server: ScriptedServer, ledger: Ledger) -> None:
    """Where both providers' keys are set, neither is shown to the other; a variable that is named holds for both."""
    environment = {"OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-ant", "MY_KEY": "sk-mine"}
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}).encode()
    for key_env in ("OPENAI_API_KEY", "MY_KEY"):
        server.will(json_reply({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi."}]}))
        model = LiveModel(Endpoint(server.url, key_env=key_env), ledger, (), environment)
        model.call(ModelRequest(f"{server.url}/messages", {"x-api-key": "dummy"}, body))
        model.close()
    assert [request["headers"]["x-api-key"] for request in server.requests] == ["sk-ant", "sk-mine"]
    assert not any("authorization" in request["headers"] for request in server.requests)


def test_cached_and_reasoning_tokens_have_their_prices(server: ScriptedServer, ledger: Ledger) -> None:
    """12 in, 4 of them cached; 7 out, 2 of them reasoning."""
    server.will(FINE)
    wanted = (8 * 2.0 + 4 * 0.5 + 5 * 10.0 + 2 * 20.0) / 1e6
    assert ask(server.url, ledger).cost_usd == pytest.approx(wanted)
    spent, _ = ledger.told()
    assert spent["cost_usd"] == pytest.approx(wanted)
    assert (spent["input_tokens"], spent["cached_tokens"], spent["reasoning_tokens"]) == (12, 4, 2)


def test_a_price_is_found_by_name_before_a_pattern() -> None:
    """And falls back to the plain prices of input and output."""
    cheap, dear = Price("gpt-*", 1.0, 2.0), Price("gpt-dear", 5.0, 9.0)
    assert price_of("gpt-dear", [cheap, dear]) is dear
    assert price_of("gpt-any", [cheap, dear]) is cheap
    assert price_of("llama", [cheap, dear]) is price_of(None, [cheap]) is None
    assert cost_of(Usage(1_000_000, 1_000_000, 500_000, 500_000), cheap) == 3.0
    assert cost_of(Usage(), cheap) == 0.0


def test_tokens_that_nobody_tells_are_estimated(server: ScriptedServer, ledger: Ledger) -> None:
    """A budget must not be had for nothing."""
    server.will(stream_reply({"content": "hello"}))
    ask(server.url, ledger, (), stream=True)
    spent: Any
    spent, limits = ledger.told()
    assert (spent["estimated"], spent["unpriced"]) == (1, 1)
    assert spent["output_tokens"] > 0
    assert "cost unknown" in spent_text(spent, limits)


@pytest.mark.parametrize("count", [1 << 63, 1 << 70, 10**400], ids=["64 bits", "more", "much more"])
def test_a_count_that_can_not_be_is_none(server: ScriptedServer, ledger: Ledger, count: int) -> None:
    """No file could hold it: it is estimated, the agent has its answer, and the next call its place."""
    server.will(json_reply({**completion("hello"), "usage": {"prompt_tokens": count, "completion_tokens": 5}}))
    for _ in range(9):
        assert ask(server.url, ledger).status == 200
    spent, _ = ledger.told()
    assert (spent["calls"], spent["output_tokens"]) == (9, 45)


def test_a_fault_of_our_own_is_no_failure_of_the_agents(
    server: ScriptedServer, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It halts the replay as an outage does, and gives its place back: the account has eight."""

    def broken(*_: object) -> str:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(calls, "told_fault", broken)
    server.will(FINE)
    for _ in range(9):
        with pytest.raises(EndpointHalt, match="evalkit failed to ask the model endpoint: RuntimeError: a fault of"):
            ask(server.url, ledger)


def test_an_estimate_goes_by_the_text_and_says_so(server: ScriptedServer, ledger: Ledger) -> None:
    """Not by a stream's events, which are fifty times the text: a budget would be spent at once."""
    words = [{"content": "word "}] * 200
    server.will(stream_reply(*words))
    ask(server.url, ledger, stream=True)
    spent: Any
    spent, limits = ledger.told()
    assert 250 <= spent["output_tokens"] < 300
    assert "about " in spent_text(spent, limits)
    assert "1 answer estimated" in spent_text(spent, limits)


def test_an_answer_that_broke_off_is_paid_for(server: ScriptedServer, ledger: Ledger) -> None:
    """The provider counts what it sent; each try of the call does."""
    words = [{"content": "word "}] * 200
    server.will(stream_reply(*words, cut=True, done=False, finish=None), stream_reply(*words))
    ask(server.url, ledger, stream=True, tries=2)
    spent: Any
    spent, _ = ledger.told()
    assert (spent["calls"], spent["retries"], spent["estimated"], len(server.requests)) == (1, 1, 2, 2)
    assert 500 <= spent["output_tokens"] < 600
    assert spent["cost_usd"] > 500 * 10.0 / 1e6


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Budget(calls=2), "2 of 2 model calls"),
        (Budget(tokens=30), "38 of 30 tokens"),
        (Budget(cost_usd=0.0002), r"\$0.0002 of \$0.0002"),
    ],
)
def test_a_budget_is_never_asked_beyond(server: ScriptedServer, tmp_path: Path, limits: Budget, said: str) -> None:
    """The third call does not reach the endpoint."""
    server.will(FINE)
    ledger = Ledger.opened(tmp_path / "b", limits, 8)
    ask(server.url, ledger)
    ask(server.url, ledger)
    with pytest.raises(EndpointHalt, match=f"budget reached: {said}") as halted:
        ask(server.url, ledger)
    assert (halted.value.kind, len(server.requests)) == ("budget", 2)
    assert ledger.stopped()
    more = Ledger.opened(tmp_path / "b", Budget(calls=3, tokens=1000, cost_usd=1.0), 8)
    assert more.stopped() == ""
    ask(server.url, more)
    assert more.told()[0]["calls"] == 3


@pytest.mark.parametrize(("limits", "asked"), [(Budget(calls=1), 2), (Budget(tokens=19), 1), (Budget(seconds=0.2), 1)])
def test_a_further_try_is_no_further_call_but_costs_like_one(
    server: ScriptedServer, tmp_path: Path, limits: Budget, asked: int
) -> None:
    """A limit of calls lets a call end that it let begin; tokens, dollars and time are spent by each try."""
    server.will(stream_reply({"content": "word " * 200}, cut=True, done=False, finish=None))
    ledger = Ledger.opened(tmp_path / "b", limits, 8)
    if limits.seconds:
        server.will(Reply(500, {"retry-after": "0.3"}))
        server.take()
    with pytest.raises(EndpointHalt) as halted:
        ask(server.url, ledger, stream=True, tries=2)
    assert (halted.value.kind, len(server.requests)) == ("outage" if asked == 2 else "budget", asked)


def test_time_is_limited_too(tmp_path: Path) -> None:
    """Also over continuations: what was worked before counts."""
    ledger = Ledger.opened(tmp_path / "b", Budget(seconds=0.05), 8)
    assert ledger.stopped() == ""
    time.sleep(0.06)
    assert "0 seconds" in ledger.stopped()
    ledger.worked(10.0)
    assert Ledger.opened(tmp_path / "b", Budget(seconds=5), 8).stopped() != ""
    assert Ledger.opened(tmp_path / "b", Budget(seconds=50), 8).stopped() == ""


ASKING = """
import sys
from pathlib import Path
from evalkit.playback.endpoint.ledger import Ledger
from evalkit.playback.endpoint.model import EndpointHalt
from evalkit.trace.model import Usage
ledger, done = Ledger(Path(sys.argv[1])), 0
try:
    while True:
        ledger.leave(ledger.enter(), Usage(3, 2), cost_usd=0.5)
        done += 1
except EndpointHalt:
    print(done)
"""


def test_processes_share_one_account(tmp_path: Path) -> None:
    """Three at once have exactly what the budget allows, and no sum is lost."""
    path = tmp_path / "b"
    ledger = Ledger.opened(path, Budget(calls=100), 8)
    command = [sys.executable, "-c", ASKING, str(path)]
    root = Path(__file__).parents[2]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(3)]
    done = [int(child.communicate(timeout=60)[0]) for child in children]
    assert sum(done) == 100
    spent, _ = ledger.told()
    assert (spent["calls"], spent["input_tokens"], spent["output_tokens"], spent["cost_usd"]) == (100, 300, 200, 50.0)


def test_a_dead_process_gives_its_place_back(tmp_path: Path) -> None:
    """It was killed amid a call."""
    path = tmp_path / "b"
    Ledger.opened(path, NO_LIMITS, 1)
    code = "import os,sys;from pathlib import Path;from evalkit.playback.endpoint.ledger import Ledger;"
    code += "Ledger(Path(sys.argv[1])).enter();os._exit(9)"
    subprocess.run([sys.executable, "-c", code, str(path)], check=False, cwd=Path(__file__).parents[2])
    assert Ledger(path).enter()


def test_a_broken_account_is_an_integrity_error(tmp_path: Path) -> None:
    """It is never taken for an empty one."""
    (tmp_path / "b").write_text("{")
    with pytest.raises(IntegrityError, match="the account is broken"):
        Ledger(tmp_path / "b").stopped()


class Crowded:
    """An endpoint that bears so many calls at once, and says 429 to more."""

    def __init__(self, bears: int) -> None:
        self.bears = bears
        self.at_once = self.most = self.refused = 0
        self._lock = threading.Lock()

    def __enter__(self) -> str:
        crowd = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                with crowd._lock:
                    crowd.at_once += 1
                    fits = crowd.at_once <= crowd.bears
                    crowd.refused += not fits
                    crowd.most = max(crowd.most, crowd.at_once)
                time.sleep(0.1)
                reply = FINE if fits else json_reply({"error": {"message": "busy"}}, status=429, retry_after="0.05")
                with crowd._lock:
                    crowd.at_once -= 1
                self.send_response(reply.status)
                for name, value in {**reply.headers, "content-length": str(len(reply.body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def test_fewer_calls_are_made_at_once_when_the_endpoint_says_it_is_too_much(tmp_path: Path) -> None:
    """All are answered in the end; each refusal cost one more try, and lowered how many there are at once."""
    crowd = Crowded(3)
    with crowd as url, ThreadPoolExecutor(16) as pool:
        ledger = Ledger.opened(tmp_path / "b", NO_LIMITS, 16)
        model = LiveModel(Endpoint(url, tries=20), ledger, (), {})
        request = ModelRequest(f"{url}/chat/completions", {}, json.dumps(ASKED).encode())
        answers = list(pool.map(lambda _: model.call(request), range(40)))
        model.close()
    assert [answer.status for answer in answers] == [200] * 40
    assert 3 < crowd.most <= 16
    retries = int(str(ledger.told()[0]["retries"]))
    assert retries >= crowd.refused > 0  # a full queue of the server's costs a try, too
    pace = json.loads((tmp_path / "b").read_text())["pace"]
    assert pace["cut_at"] > 0


def test_answers_that_break_off_are_no_reason_to_ask_more_at_once(server: ScriptedServer, tmp_path: Path) -> None:
    """They are paid for, and yet an endpoint that breaks off has too much to do rather than too little."""
    ledger = Ledger.opened(tmp_path / "b", NO_LIMITS, 2)
    ledger.leave(ledger.enter(), wait_s=0.0)
    server.will(stream_reply({"content": "word"}, cut=True, done=False, finish=None))
    with pytest.raises(EndpointHalt):
        ask(server.url, ledger, stream=True, tries=2)
    ledger.enter()
    given_up = iter([False, True])
    with pytest.raises(EndpointHalt, match="given up"):
        ledger.enter(given_up=lambda: next(given_up))


def test_the_pace_falls_at_once_and_rises_slowly() -> None:
    """Halved once for calls that were under way together; one more after as many answers as calls at once."""
    pace = Pace(8.0, 8)
    pace.refused(began=1.0, now=2.0, wait_s=3.0)
    pace.refused(began=1.5, now=2.1, wait_s=0.0)
    assert (pace.limit, pace.pause_until) == (4.0, 5.0)
    for _ in range(5):
        pace.answered()
    assert 5.0 <= pace.limit < 5.3
    for at in range(10):
        pace.refused(began=10.0 + at, now=10.0 + at, wait_s=0.0)
    assert pace.limit == 1.0
    for _ in range(200):
        pace.answered()
    assert pace.limit == 8.0


def test_waiting_ends_with_the_runs_time(server: ScriptedServer, tmp_path: Path) -> None:
    """However long the endpoint wants to be left alone."""
    server.will(json_reply({"error": {"message": "x"}}, status=429, retry_after="50"))
    ledger = Ledger.opened(tmp_path / "b", Budget(seconds=0.5), 8)
    began = time.monotonic()
    with pytest.raises(EndpointHalt, match="budget reached: 0 seconds"):
        ask(server.url, ledger)
    assert time.monotonic() - began < 40


def test_no_endpoint_makes_a_run_wait_for_hours() -> None:
    """One that wants to be left alone for a day is asked again in a minute, as a single call would be."""
    pace = Pace(8.0, 8)
    pace.refused(began=1.0, now=2.0, wait_s=86_400.0)
    assert pace.pause_until == 62.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sun, 29 Nov 2026 10:00:30 GMT", "date": "Sun, 29 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"retry-after": "Sun, 29 Nov 2026 10:00:30 GMT"}, None),
    ],
)
def test_how_long_an_endpoint_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds, or a date, held against the answer's own."""
    assert retry_after_s(headers) == seconds


def test_waits_have_jitter_and_bounds() -> None:
    """Never shorter than asked, never the same for all, and never for ever."""
    draw = random.Random(1)
    asked = [delay_s(1, {"retry-after": "4"}, draw) for _ in range(50)]
    assert 4.0 <= min(asked) < max(asked) <= 5.0
    assert delay_s(1, {"retry-after": "86400"}, draw) <= 75.0
    own = [delay_s(3, {}, draw) for _ in range(50)]
    assert 0.0 <= min(own) < 2.0 < max(own) <= 4.0
    assert max(delay_s(30, {}, draw) for _ in range(50)) <= 20.0


@pytest.mark.parametrize(
    ("url", "is_endpoint"),
    [
        ("https://api.test/v1/chat/completions", True),
        ("https://API.test:443/v1/chat/completions?api-version=2", True),
        ("https://api.test/v1/responses", True),
        ("http://api.test/v1/chat/completions", False),
        ("https://api.test:8443/v1/chat/completions", False),
        ("https://api.test.evil/v1/chat/completions", False),
        ("https://me@api.test/v1/chat/completions", False),
        ("https://api.test/v2/chat/completions", False),
        ("https://api.test/v1/../x/chat/completions", False),
        ("https://api.test/v1/embeddings", False),
        ("https://api.test:x/v1/chat/completions", False),
    ],
)
def test_what_is_the_endpoints(url: str, is_endpoint: bool) -> None:
    """Its scheme, host and port, below its path, a model's API."""
    assert (why_not_endpoint("https://api.test/v1", url) == "") is is_endpoint


def test_a_budget_by_flag() -> None:
    """Its keys, and what is none."""
    assert parse_budget("calls=10, cost=2.5,seconds=60") == Budget(calls=10, cost_usd=2.5, seconds=60.0)
    for text, said in (
        ("cals=3", "no 'cals'"),
        ("calls=0", "above 0"),
        ("cost=x", "above 0"),
        ("tokens=nan", "above 0"),
        ("calls=0.5", "no whole number above 0"),
        ("calls=5,calls=7", "calls is given twice"),
        ("cost=5,cost_usd=7", "cost_usd is given twice"),
    ):
        with pytest.raises(ConfigError, match=said):
            parse_budget(text)


def test_a_cost_budget_wants_prices() -> None:
    """And no other does."""
    check_prices(Budget(cost_usd=1.0), PRICES, ["gpt-4"])
    check_prices(Budget(calls=1), (), ["llama"])
    with pytest.raises(ConfigError, match="llama has no price"):
        check_prices(Budget(cost_usd=1.0), PRICES, ["gpt-4", "llama"])


def test_a_model_without_a_price_stops_what_has_a_cost_budget(server: ScriptedServer, tmp_path: Path) -> None:
    """Should the agent ask for one that nobody foresaw: the call is not made."""
    server.will(FINE)
    ledger = Ledger.opened(tmp_path / "b", Budget(cost_usd=1.0), 8)
    with pytest.raises(EndpointHalt, match="asks for gpt-test, which has no price"):
        ask(server.url, ledger, ())
    assert server.requests == []
    assert "no price" in ledger.stopped()
