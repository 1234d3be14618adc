"""The 24 ways in which users of other recorders saw their replays break, each as a test of the whole loop.

A test is named by the kind's number and name; its docstring names a thread where it was reported. Each runs an agent
against a real HTTP endpoint, reads the trace back, makes a case file of it, and replays that by the public names.
"""

from __future__ import annotations

import asyncio
import datetime
import gzip
import itertools
import json
import os
import random
import re
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest
import time_machine

import evalkit
from evalkit.canonical import exact_text
from evalkit.case.store import find_case, read_with_digest
from evalkit.errors import ReplayRefused
from evalkit.trace.model import Usage
from tests.capture.scripted_server import (
    Reply,
    completion,
    json_reply,
    scripted_server,
    stream_reply,
    tool_call,
)
from tests.playback.endpoint import Loop
from tests.project import Project

DELTAS = ({"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo "}, {"content": "wörld"})


@pytest.fixture
def loop(project: Project) -> Iterator[Loop]:
    """An endpoint and an empty project."""
    with scripted_server() as server:
        yield Loop(server, project.root)


def pieces(loop: Loop, question: str = "hi", **options: Any) -> list[str]:
    """The deltas of a streamed answer, and at its end the error that broke it, if any."""
    got: list[str] = []
    with loop.client() as sdk:
        stream: Any = sdk.chat.completions.create(
            model="gpt-test", messages=[{"role": "user", "content": question}], stream=True, **options
        )
        try:
            for chunk in stream:
                got.extend(choice.delta.content or "" for choice in chunk.choices)
        except openai.APIError as error:
            got.append(type(error).__name__)
    return got


def test_01_streaming_is_recorded_and_replayed(loop: Loop) -> None:
    """kevin1024/vcrpy#597: streaming can't be recorded, or raises. Sync and async, through the real SDK."""
    loop.server.will(stream_reply(*DELTAS))

    async def streamed() -> str:
        async with loop.async_client() as sdk:
            stream: Any = await sdk.chat.completions.create(
                model="gpt-test", messages=[{"role": "user", "content": "async"}], stream=True
            )
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    def agent(_: Any) -> Any:
        return ["".join(pieces(loop)), asyncio.run(streamed())]

    done = loop.again(agent)
    assert done.trace.output == ["Hello wörld", "Hello wörld"]
    assert done.counts.substituted == 2


def test_02_chunk_order_and_an_error_amid_the_stream_are_kept(loop: Loop) -> None:
    """BerriAI/litellm#38136: a stream is stored as one blob; the order of chunks and the error amid it are lost."""
    loop.server.will(stream_reply(*DELTAS, finish=None, done=False, cut=True))
    done = loop.again(lambda _: pieces(loop))
    assert done.trace.output == ["", "Hel", "lo ", "wörld", "APIConnectionError"]


def test_03_an_endless_stream_does_not_hang_the_recorder(loop: Loop) -> None:
    """kevin1024/vcrpy#989: the recorder waits for the end of an event stream that has none.

    Both a model's stream and one that is no model call (the GET stream of MCP over HTTP), which is not recorded.
    """
    first = b"".join(stream_reply({"content": "on "}).chunks or ()).split(b"\n\n")[0]
    endless = Reply(200, {"content-type": "text/event-stream"}, chunks=itertools.repeat(first + b"\n\n"))
    loop.server.will(endless)

    def agent(_: Any) -> Any:
        with loop.client() as sdk:
            stream: Any = sdk.chat.completions.create(
                model="gpt-test", messages=[{"role": "user", "content": "hi"}], stream=True
            )
            got = [next(stream).choices[0].delta.content for _ in range(3)]
            stream.close()
        return got

    def listener(_: Any) -> Any:
        with httpx.stream("GET", f"{loop.server.url}/mcp") as response:
            return list(itertools.islice(response.iter_lines(), 1))

    began = time.monotonic()
    done = loop.again(agent)
    listened = loop.record(listener, name="listener")
    assert time.monotonic() - began < 10
    assert done.trace.output == ["on ", "on ", "on "]
    assert listened.output == [first.decode()]
    assert listened.steps == ()


def test_04_an_unread_stream_leaves_nothing_open(loop: Loop) -> None:
    """DataDog/dd-trace-py#18778: a stream that nobody read keeps the cassette open, and later tests fail.

    Its step is left unfinished in its own trace, a replay of that is refused with the reason, and the next recording
    holds its own calls only.
    """
    loop.server.will(stream_reply(*DELTAS), json_reply(completion("later")))
    held: list[Any] = []

    def forgetful(_: Any) -> Any:
        sdk = loop.client()
        question: Any = [{"role": "user", "content": "hi"}]
        held.extend([sdk, sdk.chat.completions.create(model="gpt-test", messages=question, stream=True)])
        return "left"

    first = loop.record(forgetful)
    assert loop.say("between") == "later"
    second = loop.record(lambda _: loop.say("hi"), name="second")
    list(held[1])  # read after its run is over: nobody is told
    held[0].close()
    assert [step.attributes.get("unfinished") for step in first.steps] == [True]
    assert [step.output for step in second.steps] == [{"role": "assistant", "content": "later"}]
    assert [one.steps for one in evalkit.load_traces(loop.folder / "run.trace")] == [first.steps]
    with pytest.raises(ReplayRefused, match="step 0"):
        loop.replay(loop.case(first), forgetful)
    assert loop.replay(loop.case(second, "second"), lambda _: loop.say("hi")).trace.output == "later"


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_05_a_replayed_response_is_the_librarys_own(loop: Loop, library: Any) -> None:
    """crewAIInc/crewAI#4917: the replayed object is not fully that of the SDK (``ResponseNotRead``).

    Hooks, raw responses and every way of reading them work as they do live.
    """
    loop.server.will(json_reply(completion("whole"), x_request_id="req_7"))
    body: Any = {"model": "gpt-test", "messages": [{"role": "user", "content": "hi"}]}

    def agent(_: Any) -> Any:
        seen: list[Any] = []

        def on_response(response: Any) -> None:
            seen.append(["hook", response.read().decode()[:5], response.status_code])

        hooks = {"request": [lambda request: seen.append(request.method)], "response": [on_response]}
        url = f"{loop.server.url}/chat/completions"
        with library.Client(event_hooks=hooks) as client:
            response = client.post(url, json=body)
            seen += [
                response.json()["choices"][0]["message"]["content"],
                response.http_version,
                response.is_closed,
                response.elapsed is None,
            ]
            seen += [response.raise_for_status() is response, response.encoding, response.reason_phrase]
            with client.stream("POST", url, json=body) as streamed:
                seen.append("".join(streamed.iter_text())[:5])
        with loop.client() as sdk:
            raw = sdk.chat.completions.with_raw_response.create(**body)
            seen += [raw.parse().choices[0].message.content, raw.headers["x-request-id"], raw.http_response.text[:5]]
            with sdk.chat.completions.with_streaming_response.create(**body) as later:
                seen.append(later.parse().choices[0].message.content)
        return seen

    done = loop.again(agent)
    assert isinstance(done.trace.output, list)
    assert done.trace.output.count("POST") == 2


def test_06_parallel_calls_may_finish_in_another_order(loop: Loop) -> None:
    """zenml-io/kitaru#306, ktosiek/pytest-vcr#52: parallel tool calls finish in another order than recorded."""
    order = random.Random(7)

    @evalkit.tool(effect="read")
    async def look(number: int) -> int:
        await asyncio.sleep(number / 1000)
        return number * number

    def agent(_: Any) -> Any:
        numbers = list(range(6))
        order.shuffle(numbers)

        async def all_of_them() -> Any:
            return dict(zip(map(str, numbers), await asyncio.gather(*map(look, numbers)), strict=True))

        return asyncio.run(all_of_them())

    trace = loop.record(agent)
    case = loop.case(trace)
    for _ in range(10):
        done = loop.replay(case, agent)
        assert (done.misses, done.trace.output) == ((), trace.output)


def test_07_calls_of_threads_are_recorded(loop: Loop) -> None:
    """kevin1024/vcrpy#849: calls made in threads are missing from the recording."""
    loop.server.will(json_reply(completion("ok")))

    @evalkit.tool(effect="read")
    def look(number: int) -> int:
        return number + 1

    def agent(_: Any) -> Any:
        with ThreadPoolExecutor(4) as pool:
            texts = list(pool.map(lambda n: loop.say(f"question {n}"), range(5)))
            return [texts, list(pool.map(look, range(5)))]

    done = loop.again(agent)
    assert done.counts.substituted == 10
    assert len(loop.server.requests) == 5


def test_08_the_same_prompt_twice_has_two_answers(loop: Loop) -> None:
    """sipyourdrink-ltd/bernstein#1846: for the same prompt asked twice, the last response replays for both."""
    loop.server.will(json_reply(completion("first")), json_reply(completion("second")))
    done = loop.again(lambda _: [loop.say("more"), loop.say("more")])
    assert done.trace.output == ["first", "second"]


def test_09_a_random_id_of_a_tool_does_not_poison_later_requests(loop: Loop) -> None:
    """quintonmiller/tailored-ai#550: an id that a real tool drew makes all later requests differ.

    A frozen tool hands out the recorded id. An id that the agent itself draws is a miss which names its path, and
    matches once that path is declared volatile.
    """
    loop.server.will(json_reply(completion("noted")))

    @evalkit.tool(effect="write")
    def open_ticket(title: str) -> str:
        return uuid.uuid4().hex

    @evalkit.tool(effect="write")
    def close_ticket(ticket: str, request_id: str = "") -> bool:
        return True

    def agent(_: Any) -> Any:
        ticket = open_ticket("broken")
        return [loop.say(f"opened {ticket}"), close_ticket(ticket)]

    def drawing(_: Any) -> Any:
        return close_ticket("T1", uuid.uuid4().hex)

    loop.again(agent)
    trace = loop.record(drawing, name="drawing")
    case = loop.case(trace, "drawn")
    missed = loop.replay(case, drawing)
    assert missed.status == "missed"
    assert [one.path for one in missed.misses[0].differences] == ["/request_id"]
    path = find_case("drawn", loop.folder / "cases")
    declared = case.revised(read_with_digest(path)[1], volatile={"close_ticket": ("/request_id",)})
    assert (
        loop.replay(evalkit.read_case(evalkit.write_case(declared, loop.folder / "cases")), drawing).trace.output
        is True
    )


def history(*results: str, ids: Callable[[int], str]) -> list[Any]:
    """A conversation in which each result answers a call of its own; `ids` names the calls."""
    messages: list[Any] = [{"role": "user", "content": "look twice"}]
    for at, result in enumerate(results):
        call = tool_call(ids(at), "look", json.dumps({"at": at}))
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": ids(at), "content": result})
    return messages


def test_10_a_call_id_used_again_is_another_call(loop: Loop) -> None:
    """pydantic/pydantic-ai#6538: the provider names the first call of every response ``call_0``.

    Such a conversation matches, also when another provider counts its ids through, and results that are exchanged
    between the calls do not.
    """
    loop.server.will(json_reply(completion("done")))

    def asking(*results: str, ids: Callable[[int], str]) -> Callable[[Any], str]:
        return lambda _: loop.say(*history(*results, ids=ids))

    agent = asking("red", "blue", ids=lambda _: "call_0")
    case = loop.case(loop.record(agent))
    assert loop.replay(case, agent).trace.output == "done"
    assert loop.replay(case, asking("red", "blue", ids=lambda at: f"toolu_{at}")).trace.output == "done"
    swapped = loop.replay(case, asking("blue", "red", ids=lambda _: "call_0"))
    assert [one.path for one in swapped.misses[0].differences] == ["/messages/2/content", "/messages/4/content"]


def test_11_the_second_turn_matches_too(loop: Loop) -> None:
    """lacs-project/sysknife#182: one turn replays, the second misses: something in the history varies from run to run.

    What varies here are the ids that the agent gives to calls, and the day, which a replay turns back to the run's.
    """
    loop.server.will(json_reply(completion("first")), json_reply(completion("second")))

    def agent(_: Any) -> Any:
        named = f"call_{random.SystemRandom().random()}"
        turns = [
            {"role": "system", "content": f"Today is {datetime.datetime.now(datetime.UTC).date()}."},
            *history("red", ids=lambda _: named),
        ]
        answer = loop.say(*turns)
        return [answer, loop.say(*turns, {"role": "assistant", "content": answer}, "and now?")]

    with time_machine.travel(datetime.datetime(2024, 2, 3, 12, tzinfo=datetime.UTC)):
        trace = loop.record(agent)
    assert "2024-02-03" in exact_text(trace.steps[0].input).decode()
    done = loop.replay(loop.case(trace), agent)
    assert (done.misses, done.trace.output) == ((), ["first", "second"])


def prompted(loop: Loop, *prompts: str) -> Callable[[Any], Any]:
    """An agent that asks one question under several system prompts."""
    return lambda _: [loop.say({"role": "system", "content": prompt}, "what now?") for prompt in prompts]


def test_12_a_changed_system_prompt_is_told_and_callers_stay_apart(loop: Loop) -> None:
    """bytedance/deer-flow#3436, #3453: hashing the system prompt makes fixtures stale; leaving it out hides regressions
    and merges callers.

    Two callers with one question have an answer each. A changed prompt is a miss that names the message, neither
    failed nor passed; in mode live-model the changed prompt is what the model gets.
    """
    loop.server.will(json_reply(completion("plan")), json_reply(completion("write")))
    case = loop.case(loop.record(prompted(loop, "You plan.", "You write.")))
    assert loop.replay(case, prompted(loop, "You write.", "You plan.")).trace.output == ["write", "plan"]
    changed = loop.replay(case, prompted(loop, "You plan.", "You write well."))
    assert (changed.status, changed.results) == ("missed", ())
    assert [one.path for one in changed.misses[0].differences] == ["/messages/0/content"]
    live = evalkit.replay(case, prompted(loop, "You write well."), mode="live-model", base_url=loop.server.url)
    assert (live.counts.live_model, live.trace.output) == (1, ["write"])
    assert loop.server.requests[-1]["body"]["messages"][0]["content"] == "You write well."


def test_13_no_stale_answer_for_another_question(loop: Loop) -> None:
    """BerriAI/litellm#37525: matching by verb and path alone serves a stale answer to whatever is asked."""
    loop.server.will(json_reply(completion("of yesterday")))
    case = loop.case(loop.record(lambda _: loop.say("yesterday?")))
    for agent, path in (
        (lambda _: loop.say("today?"), "/messages/0/content"),
        (lambda _: loop.say("yesterday?", temperature=0.9), "/params"),
        (lambda _: loop.say("yesterday?", model="gpt-other"), "/model"),
    ):
        done = loop.replay(case, agent)
        assert (done.status, done.trace.output) == ("missed", None)
        assert done.misses[0].differences[0].path.startswith(path)


def test_14_a_miss_never_calls_the_live_model(loop: Loop) -> None:
    """sipyourdrink-ltd/bernstein#1832: a miss silently calls the live model. The endpoint is up, with a key at hand."""
    loop.server.will(json_reply(completion("live")))
    case = loop.case(loop.record(lambda _: loop.say("known")))
    for agent in (
        lambda _: loop.say("unknown"),
        lambda _: httpx.post(f"{loop.server.url}/embeddings", json={"input": "x"}).json(),
    ):
        done = loop.replay(case, agent)  # asserts that nothing reached the endpoint
        assert (done.status, done.trace.output) == ("missed", None)


def test_15_a_random_multipart_boundary_costs_nothing(loop: Loop) -> None:
    """BerriAI/litellm#28110, kevin1024/vcrpy#647: the boundary of a multipart upload is drawn anew, so it never matches
    and the live API is paid each time.

    No upload is matched by its bytes: inside of a tool it is frozen by the tool's arguments; elsewhere it is refused.
    """
    loop.server.will(json_reply({"created": 1, "data": [{"url": "https://images.invalid/1.png"}]}))

    def edit(prompt: str) -> str:
        with loop.client() as sdk:
            image = ("cat.png", b"\x89PNG\r\n\x1a\n" + bytes(8), "image/png")
            return str(sdk.images.edit(model="gpt-image", image=image, prompt=prompt).data[0].url)  # type: ignore[index]  # it has one

    frozen = evalkit.tool(effect="write", name="edit")(edit)
    trace = loop.record(lambda _: frozen("with a hat"))
    case = loop.case(trace)
    edit("with a hat")
    first, second = (re.search(rb"--(\w+)\r\n", one["body"]) for one in loop.server.requests)
    assert first is not None
    assert second is not None
    assert first[0] != second[0]  # the boundaries do differ
    assert loop.replay(case, lambda _: frozen("with a hat")).trace.output == trace.output
    refused = loop.replay(case, lambda _: edit("with a hat"))
    assert refused.status == "missed"
    assert "network refused" in refused.reason


def test_16_a_compressed_answer_is_not_decoded_twice(loop: Loop) -> None:
    """getsentry/responses#724, lmnr-ai/lmnr-python#326: the decoded body is kept with ``Content-Encoding: gzip``."""
    whole = gzip.compress(json.dumps(completion("zipped")).encode())
    streamed = gzip.compress(b"".join(stream_reply(*DELTAS).chunks or ()))
    loop.server.will(
        Reply(200, {"content-type": "application/json", "content-encoding": "gzip"}, whole),
        Reply(200, {"content-type": "text/event-stream", "content-encoding": "gzip"}, chunks=[streamed]),
    )
    done = loop.again(lambda _: [loop.say("hi"), "".join(pieces(loop))])
    assert done.trace.output == ["zipped", "Hello wörld"]


MAILS = ("lena.vogt@posteo-mail.de", "omar.haddad@gmx-post.net")


def test_17_redaction_keeps_matching_and_values_apart(loop: Loop, project: Project) -> None:
    """php-vcr/php-vcr#503, openclaw/openclaw#143030: redaction breaks matching, and the model copies masks into calls.

    Two people get surrogates of their own, of the same form; the agent's raw constants find the recorded calls, and so
    do the surrogates that a frozen model writes into its tool calls.
    """
    loop.server.will(json_reply(completion(None, tool_calls=[tool_call("c1", "mail", json.dumps({"to": MAILS[1]}))])))

    @evalkit.tool(effect="write")
    def mail(to: str) -> str:
        return f"sent to {to}"

    def agent(_: Any) -> Any:
        first = mail(MAILS[0])
        call = loop.ask(f"{first}; write to {MAILS[1]}").choices[0].message.tool_calls[0].function
        return [first, mail(json.loads(call.arguments)["to"])]

    trace = loop.record(agent, sanitizer=None)
    text = (loop.folder / "run.trace").read_text()
    assert not any(one in text for one in MAILS)
    case = loop.case(trace)
    kept = [step.input["to"] for step in case.trace.trace.steps if step.name == "mail"]  # type: ignore[index,call-overload]  # JSON
    assert len(set(kept)) == 2
    assert all(re.fullmatch(r"[^@\s]+@[^@\s]+", str(one)) for one in kept)
    done = loop.replay(case, agent)
    assert (done.misses, done.trace.output) == ((), case.trace.trace.output)
    assert not any(one in repr(done.trace) for one in MAILS)


def test_18_a_recorded_crash_is_no_success(loop: Loop) -> None:
    """theagentplane/chronicle#34: a run that crashed replays as a success."""

    @evalkit.tool(effect="read")
    def look(key: str) -> str:
        raise KeyError(key)

    def agent(_: Any) -> Any:
        return look("order-7")

    def mended(_: Any) -> Any:
        try:
            return look("order-7")
        except KeyError as error:
            return f"no {error.args[0]}"

    trace = loop.record(agent)
    assert (trace.status, trace.error and trace.error.type) == ("failed", "KeyError")
    case = evalkit.ingest(trace, case_id="crash")
    crashed = loop.replay(case, agent)
    assert (crashed.status, crashed.trace.status) == ("failed", "failed")
    assert crashed.trace.error is not None
    assert (crashed.trace.error.type, crashed.trace.error.message) == ("KeyError", "'order-7'")
    assert loop.replay(case, mended).trace.output == "no order-7"


def test_19_a_retry_loop_does_not_retry_a_miss(loop: Loop) -> None:
    """lacs-project/sysknife#184, vcr/vcr#608: retry loops try the miss again, or go past it to the network."""
    loop.server.will(json_reply(completion("known")))
    tries: list[int] = []

    def agent(question: str) -> Callable[[Any], Any]:
        def run(_: Any) -> Any:
            for number in range(5):
                try:
                    tries.append(number)
                    with loop.client(max_retries=5) as sdk:
                        messages: Any = [{"role": "user", "content": question}]
                        return sdk.chat.completions.create(model="gpt-test", messages=messages).choices[0].finish_reason
                except Exception:
                    continue
            return "gave up"

        return run

    case = loop.case(loop.record(agent("known")))
    tries.clear()
    done = loop.replay(case, agent("unknown"))
    assert tries == [0]
    assert (done.status, len(done.misses), len(done.trace.steps)) == ("missed", 1, 1)
    assert done.trace.output is None


def test_20_token_totals_survive_and_stay_on_their_side(loop: Loop) -> None:
    """zenml-io/kitaru#445: a replay drops the token totals, and mixes up what was incurred and what was reused.

    The agent sees the recorded counts, the replay's steps hold them, and they count as substituted, not as live.
    """
    loop.server.will(json_reply(completion("a")), json_reply(completion("b")))
    done = loop.again(lambda _: [loop.ask("1").usage.total_tokens, loop.ask("2").usage.total_tokens])
    assert done.trace.output == [19, 19]
    assert [step.usage for step in done.trace.steps] == [Usage(12, 7, 4, 2)] * 2
    assert (done.counts.live_model, done.counts.substituted) == (0, 2)


def test_21_no_path_user_or_host_of_the_recorder_stays_in_a_case(loop: Loop) -> None:
    """pydantic/logfire#2394: host paths and sockets of the recording machine are left in fixtures.

    Tracebacks are kept with paths inside of the project and its packages. The endpoint that was asked stays: it tells
    which model answered.
    """
    loop.server.will(json_reply(completion("ok")))

    @evalkit.tool(effect="read")
    def shaky(name: str) -> str:
        raise ValueError(f"no {name}")

    def agent(_: Any) -> Any:
        try:
            shaky("x")
        except ValueError:
            return loop.say("failed")

    loop.case(loop.record(agent, sanitizer=None))
    case = evalkit.read_case(find_case("kind", loop.folder / "cases"))
    text = exact_text(
        [
            [step.input, step.output, dict(step.attributes), step.error and [step.error.message, step.error.stack]]
            for step in case.trace.trace.steps
        ]
    ).decode()
    text += exact_text(dict(case.trace.trace.attributes)).decode()
    assert "ValueError: no x" in text  # the traceback itself is kept
    for own in (str(Path.home()), str(Path(__file__).parents[2]), str(loop.folder), sys.prefix, socket.gethostname()):
        assert own not in text
    assert f"pid {os.getpid()}" not in text


def test_22_a_cached_list_of_mcp_tools_does_not_matter(loop: Loop) -> None:
    """pydantic/pydantic-ai#5875: a client that caches MCP tool definitions asks once, and its replay breaks.

    A recording holds the list whether the client asked or had it from before, and a replay answers both.
    """
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from mcp import types

    from evalkit.integrations.mcp import instrument

    class Live:
        """What a client session offers, without a server."""

        asked = 0

        async def list_tools(self) -> Any:
            Live.asked += 1
            shape = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
            return types.ListToolsResult.model_validate({"tools": [shape]})

        async def call_tool(self, name: str, arguments: Any = None) -> Any:
            Live.asked += 1
            return types.CallToolResult.model_validate({"content": [{"type": "text", "text": f"{name} {arguments}"}]})

    def agent(*, cached: bool) -> Callable[[Any], Any]:
        def run(_: Any) -> Any:
            session = instrument(Live())

            async def talk() -> Any:
                names = ["look"] if cached else [tool.name for tool in (await session.list_tools()).tools]
                return [names, (await session.call_tool(names[0], {"id": 1})).content[0].text]

            return asyncio.run(talk())

        return run

    for warm in (True, False):
        trace = loop.record(agent(cached=warm), name=f"warm-{warm}")
        case = loop.case(trace, f"warm-{str(warm).lower()}")
        Live.asked = 0
        for now in (True, False):
            done = loop.replay(case, agent(cached=now))
            assert (done.misses, done.trace.output) == ((), trace.output)
        assert Live.asked == 0


def test_23_an_approval_is_not_reused_for_another_action(loop: Loop) -> None:
    """langchain-ai/langgraph#7038, #8458: time travel reuses stale answers to interrupts, or runs a subgraph again.

    Here a person's answer is an approval: asked twice it gives its two answers in order, its function never runs in a
    replay, and for an action that was not put to anyone it is a miss.
    """
    asked: list[Any] = []

    @evalkit.approval
    def confirm(tool: str, arguments: dict[str, Any]) -> bool:
        asked.append(arguments)
        return len(asked) > 1

    def agent(amount: int) -> Callable[[Any], Any]:
        return lambda _: [confirm("refund", {"amount": 5}), confirm("refund", {"amount": amount})]

    case = loop.case(loop.record(agent(5)))
    assert loop.replay(case, agent(5)).trace.output == [False, True]
    other = loop.replay(case, agent(500))
    assert (other.status, other.trace.output) == ("missed", None)
    assert [one.path for one in other.misses[0].differences] == ["/arguments/amount"]
    assert asked == [{"amount": 5}, {"amount": 5}]


def test_24_a_long_conversation_does_not_bloat_its_case(loop: Loop) -> None:
    """Azure/azure-sdk-for-python#8534: recordings grew to 460 MB. Each model call sends the whole history once more.

    A conversation of 60 turns takes a small part of the bytes that were sent; twice as long takes about twice as much.
    """
    words = random.Random(3)
    loop.server.will(json_reply(completion("ok")))

    def agent(turns: int) -> Callable[[Any], Any]:
        said = ["".join(words.choices("abcdefghij ", k=1500 + words.randrange(300))) for _ in range(turns)]

        def run(_: Any) -> Any:
            messages: list[Any] = []
            with loop.client() as sdk:
                for text in said:
                    messages.append({"role": "user", "content": text})
                    done = sdk.chat.completions.create(model="gpt-test", messages=messages)
                    messages.append({"role": "assistant", "content": done.choices[0].message.content})
            return len(messages)

        return run

    def sizes(turns: int) -> tuple[int, int, int]:
        before = len(loop.server.requests)
        run = agent(turns)
        case = loop.case(loop.record(run, name=f"turns-{turns}"), f"turns-{turns}")
        sent = sum(len(exact_text(one["body"])) for one in loop.server.requests[before:])
        assert loop.replay(case, run).misses == ()
        file = find_case(f"turns-{turns}", loop.folder / "cases")
        return sent, (loop.folder / f"turns-{turns}.trace").stat().st_size, file.stat().st_size

    _, trace_30, case_30 = sizes(30)
    sent, trace_60, case_60 = sizes(60)
    assert max(trace_60, case_60) < sent / 8
    assert max(trace_60 / trace_30, case_60 / case_30) < 2.5
