"""`evalkit replay` in every mode: what is asked of a live model, forks, faults, and what is refused."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.app.demo import agent
from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.case.store import read_case
from evalkit.playback.overrides import Overrides
from evalkit.trace.read import load_traces
from evalkit.vault.audit import read_audit
from tests.capture.scripted_server import Reply, ScriptedServer, completion, json_reply, tool_call
from tests.project import Project

ORDER = {"order_id": "A-1001"}
"""The incident: look up (steps 0 and 1), refund (2, 3), refund again (4, 5), answer (6)."""


def calls(name: str, arguments: dict[str, Any] | str, call_id: str = "c1") -> Reply:
    """The model calls a tool."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return json_reply(completion(None, tool_calls=[tool_call(call_id, name, text)]))


def live(server: ScriptedServer, *more: str) -> list[str]:
    """The flags of a live replay."""
    return ["--base-url", server.url, "--reason", "a test", *more]


def fork(project: Project, case_id: str, server: ScriptedServer, step: int, *more: str) -> Any:
    """A fork's JSON."""
    done = project.run("replay", case_id, "--from-step", str(step), "--json", *live(server, *more))
    assert done.code in (0, 1, 3), done.err
    return done.json()


def test_a_model_swap_changes_what_the_model_is_asked(project: Project, case_id: str, server: ScriptedServer) -> None:
    """Model, temperature and further fields; the agent's prompt and tools stay; the manifest says it."""
    server.will(json_reply(completion("Done.")))
    done = project.run(
        "replay", case_id, "--json",
        *live(server, "--model", "other-1", "--temperature", "0.1", "--extra-body", '{"top_k": 5}'),
    )  # fmt: skip
    (body,) = done.json()
    (request,) = [each["body"] for each in server.requests]
    assert (request["model"], request["temperature"], request["top_k"]) == ("other-1", 0.1, 5)
    assert request["messages"][0]["content"] == agent.PROMPT_BUGGY
    assert len(request["tools"]) == 2
    manifest = body["manifest"]
    assert manifest["mode"] == "model-swap"
    assert manifest["overrides"] == {"model": "other-1", "temperature": 0.1, "extra_body": {"top_k": 5}}
    assert (manifest["actor"], manifest["reason"]) == ("ann", "a test")
    assert (manifest["case"]["id"], manifest["case"]["version"]) == ("twice", 1)
    assert len(manifest["case"]["digest"]) == 64
    assert body["counts"]["live_model"] == 1


def test_a_prompt_swap_mends_the_agent(project: Project, case_id: str) -> None:
    """The demo's model confuses its tools unless the prompt tells them apart."""
    prompt = str(project.write("prompt.txt", agent.PROMPT_FIXED + "\n"))
    with serving(ScriptedModel(error_rate=1.0)) as url:
        as_it_was = project.run("replay", case_id, "--mode", "live-model", "--base-url", url, "--reason", "x")
        mended = project.run("replay", case_id, "--system-prompt", prompt, "--base-url", url, "--reason", "x", "--json")
    assert as_it_was.code == 1
    assert "same outcome, same tools, same effects, answers 100% alike" in as_it_was.out
    (body,) = mended.json()
    assert (mended.code, body["status"], body["manifest"]["mode"]) == (0, "passed", "prompt-swap")
    assert body["manifest"]["overrides"]["system_prompt"] == agent.PROMPT_FIXED
    assert body["comparison"]["same_effects"] is False


def test_a_replay_with_a_live_model_is_logged(project: Project, case_id: str, server: ScriptedServer) -> None:
    """Who, why, what was changed by name and hash; chained, and before the model is asked. Others leave no line."""
    assert project.run("replay", case_id).code == 1
    assert read_audit(project.root / "reports") == []
    server.will(*[json_reply(completion("a")), json_reply(completion("b"))])
    for reason in ("first", "ask for lena.vogt@posteo-mail.de"):
        project.run("replay", case_id, "--base-url", server.url, "--model", "m2", "--reason", reason)
    first, second = read_audit(project.root / "reports")
    assert (first["action"], first["actor"], first["reason"], first["mode"]) == ("replay", "ann", "first", "model-swap")
    assert (first["case"]["id"], first["endpoint"], list(first["changes"])) == ("twice", server.url, ["model"])
    assert second["prev"] == first["hash"]
    assert "lena.vogt" not in second["reason"]
    log = project.root / "reports" / "audit.jsonl"
    log.write_text(log.read_text()[:-5])
    asked = len(server.requests)
    assert project.run("replay", case_id, "--base-url", server.url, "--mode", "live-model", "--reason", "x").code == 4
    assert len(server.requests) == asked


def test_several_forks_are_summed_up(project: Project, case_id: str, server: ScriptedServer) -> None:
    """How they ended, how many came to the incident's outcome, and whom they asked."""
    missing = [calls("refund_order", {"order_id": "A-9"}), json_reply(completion("ok"))]
    server.will(json_reply(completion("I can't.")), *missing)
    done = project.run("replay", case_id, "--from-step", "4", "--repeat", "2", *live(server))
    assert done.code == 3, done.err
    assert "2 replays: 1 passed, 1 missed; 0 with the incident's outcome" in done.out
    assert "calls: 0 from fixtures, 2 live, 1 missed" in done.out


def test_an_exact_replay_is_compared_with_the_incident(project: Project, case_id: str) -> None:
    """As every replay is."""
    said = project.run("replay", case_id).out
    assert "against the incident: same outcome, same tools, same effects, answers 100% alike" in said


def test_a_model_that_the_endpoint_does_not_have_is_no_failure_of_the_agent(
    project: Project, case_id: str, server: ScriptedServer
) -> None:
    """A swap to it is errored."""
    server.will(json_reply({"error": {"message": "no such model", "type": "not_found"}}, status=404))
    done = project.run("replay", case_id, *live(server, "--model", "nope"))
    assert (done.code, done.out.startswith("errored: the model endpoint failed")) == (3, True)


def test_a_fork_goes_on_with_frozen_tools(project: Project, case_id: str, server: ScriptedServer) -> None:
    """From the second refund on: the whole context is sent, and a call is answered as the recording has it."""
    server.will(calls("lookup_order", ORDER), json_reply(completion("It is on its way.")))
    (body,) = fork(project, case_id, server, 4, "--out", "forked.trace")
    first, second = (each["body"] for each in server.requests)
    assert [message["role"] for message in first["messages"]] == [
        "system", "user", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert first["model"] == "refund-1"
    assert [each["function"]["name"] for each in first["tools"]] == ["lookup_order", "refund_order"]
    assert second["messages"][-1]["role"] == "tool"
    assert json.loads(second["messages"][-1]["content"])["status"] == "delivered"
    assert (body["status"], body["counts"]["live_model"], body["counts"]["substituted"]) == ("passed", 2, 1)
    assert body["counts"]["missed"] == body["counts"]["tool_bodies"] == 0
    assert body["output"] == {"answer": "It is on its way."}
    (trace,) = load_traces("forked.trace")
    (incident,) = load_traces("incident.trace")
    assert [step.name for step in trace.steps] == [
        "chat", "lookup_order", "chat", "refund_order", "chat", "lookup_order", "chat",
    ]  # fmt: skip
    assert [step.seq for step in trace.steps] == list(range(7))
    assert trace.steps[3].input == incident.steps[3].input
    assert trace.attributes["replay"]["from_step"] == 4
    assert body["comparison"]["same_effects"] is False
    assert project.run("judge", case_id, "forked.trace").code == 0


def test_a_fork_takes_the_answers_that_are_left(project: Project, case_id: str, server: ScriptedServer) -> None:
    """The first refund's answer was given before the fork: the next one gives the second's."""
    server.will(calls("refund_order", {**ORDER, "amount": 129.0}), json_reply(completion("Done.")))
    (body,) = fork(project, case_id, server, 4)
    (incident,) = load_traces("incident.trace")
    told = json.loads(server.requests[1]["body"]["messages"][-1]["content"])
    assert told == incident.steps[5].output != incident.steps[3].output
    assert (body["status"], body["comparison"]["same_effects"]) == ("failed", True)


def test_a_fork_with_everything_changed(project: Project, case_id: str, server: ScriptedServer) -> None:
    """Prompt, model, temperature, tools, extra body; three times, each with a model of its own accord."""
    prompt = str(project.write("prompt.txt", "Be brief."))
    tools = str(project.write("tools.json", [{"name": "lookup_order", "parameters": {"type": "object"}}]))
    server.will(*[json_reply(completion(text)) for text in ("a", "b", "c")])
    bodies = fork(
        project, case_id, server, 0, "--system-prompt", prompt, "--model", "m2", "--temperature", "0", "--tools", tools,
        "--extra-body", '{"seed": 3}', "--repeat", "3", "--out", "three.trace",
    )  # fmt: skip
    request = server.requests[0]["body"]
    assert [message["content"] for message in request["messages"][:1]] == ["Be brief."]
    assert (request["model"], request["temperature"], request["seed"]) == ("m2", 0, 3)
    assert [each["function"]["name"] for each in request["tools"]] == ["lookup_order"]
    assert [body["output"]["answer"] for body in bodies] == ["a", "b", "c"]
    assert [body["counts"]["live_model"] for body in bodies] == [1, 1, 1]
    assert len(list(load_traces("three.trace"))) == 3


def test_a_call_without_a_recorded_answer_is_a_miss(project: Project, case_id: str, server: ScriptedServer) -> None:
    """Counted, named, and no failure of the model."""
    server.will(calls("lookup_order", {"order_id": "B-9"}))
    (body,) = fork(project, case_id, server, 4)
    assert (body["status"], body["counts"]["missed"], body["counts"]["live_model"]) == ("missed", 1, 1)
    assert "recorded 'A-1001', got 'B-9'" in body["misses"][0]


def test_malformed_arguments_are_answered_as_an_error(project: Project, case_id: str, server: ScriptedServer) -> None:
    """The model is told, and goes on; reasoning goes back to it as it came."""
    broken = completion(None, tool_calls=[tool_call("c1", "lookup_order", "{oops")], reasoning_content="hm")
    server.will(json_reply(broken), json_reply(completion("Sorry.")))
    (body,) = fork(project, case_id, server, 4)
    *_, said, told = server.requests[1]["body"]["messages"]
    assert said["reasoning_content"] == "hm"
    assert "no JSON object" in told["content"]
    assert (body["counts"]["substituted"], body["output"]) == (0, {"answer": "Sorry."})


def test_a_model_that_never_stops_is_stopped(project: Project, case_id: str, server: ScriptedServer) -> None:
    """At the limit."""
    server.will(calls("lookup_order", ORDER))
    (body,) = fork(project, case_id, server, 4, "--max-turns", "3")
    assert (body["status"], body["counts"]["live_model"]) == ("failed", 3)
    assert "after 3 turns" in body["reason"]


def test_an_overloaded_endpoint_is_asked_again(project: Project, case_id: str, server: ScriptedServer) -> None:
    """As it asks for; in the end the replay is errored."""
    busy = json_reply({"error": {"message": "busy", "type": "overloaded"}}, status=503, retry_after="0")
    server.will(busy, json_reply(completion("Done.")))
    (body,) = fork(project, case_id, server, 4)
    assert (body["status"], body["counts"]["live_model"], len(server.requests)) == ("passed", 1, 2)
    server.replies[:] = [busy]
    (body,) = fork(project, case_id, server, 4)
    assert (body["status"], len(server.requests)) == ("errored", 7)
    assert body["reason"] == "the model endpoint failed: overloaded: busy (tried 5 times)"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--from-step", "1"], "step 1 is a tool step: a fork starts at a model step"),
        (["--from-step", "99"], "there is no step 99"),
        (["--from-step", "0", "--mode", "exact"], "--from-step is mode fork, and exact was asked for"),
        (["--mode", "fork"], "mode fork needs a step"),
        (["--mode", "model-swap"], "mode model-swap changes nothing"),
        (["--mode", "prompt-swap", "--model", "x"], "mode prompt-swap changes nothing"),
        (["--mode", "exact", "--model", "x"], "mode exact asks no live model"),
        (["--mode", "simulation"], "mode simulation needs a fault"),
        (["--mode", "live-model", "--fault", "tool=x,kind=error"], "--fault is mode simulation"),
        (["--model", "x", "--extra-body", "[1]"], "extra fields are a JSON object"),
        (["--model", "x", "--extra-body", "{"], "not JSON"),
        (["--fault", "tool=chat,kind=partial_stream"], "the model is live"),
        (["--fault", "tool=x,kind=fire"], "no kind of fault is 'fire'"),
        (["--fault", "kind=error"], "a fault needs tool"),
        (["--fault", "tool=x,kind=error,rate=2"], "rate is from 0 to 1"),
        (["--fault", "tool=x,kind=error,rate=often"], "not a number"),
        (["--fault", "tool=x,kind=error,colour=red"], "a fault has no 'colour'"),
    ],
)
def test_what_does_not_go_together_is_refused(
    project: Project, case_id: str, server: ScriptedServer, options: list[str], said: str
) -> None:
    """Exit code 2, with the reason; nobody is asked anything."""
    done = project.run("replay", case_id, *live(server, *options))
    assert (done.code, said in done.err) == (2, True), done.err
    assert server.requests == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mode", "live-model"], "mode live-model needs an endpoint"),
        (["--from-step", "4"], "mode fork needs an endpoint"),
        (["--model", "x"], "--model is for a live model"),
        (["--from-step", "4", "--base-url", "http://127.0.0.1:9/v1"], "mode fork asks a live model: say why"),
        (["--mode", "live-model", "--base-url", "http://127.0.0.1:9/v1"], "asks a live model: say why"),
    ],
)
def test_an_endpoint_and_a_reason_are_wanted(project: Project, case_id: str, options: list[str], said: str) -> None:
    """Wherever a live model is asked."""
    done = project.run("replay", case_id, *options)
    assert (done.code, said in done.err) == (2, True), done.err


def test_a_step_with_incomplete_messages_is_no_start(project: Project, case_id: str, server: ScriptedServer) -> None:
    """The reason names what is missing; another step is offered."""
    (incident,) = load_traces("incident.trace")
    step = incident.steps[4]
    assert isinstance(step.input, dict)
    broken = replace(step, input={**step.input, "messages": []}, attributes={**step.attributes, "missing": ["input"]})
    project.write("cut.trace", replace(incident, id="cut", steps=(*incident.steps[:4], broken, *incident.steps[5:])))
    assert project.run("ingest", "cut.trace", "--id", "cut", "--new", "--no-verify").code == 0
    done = project.run("replay", "cut", "--from-step", "4", *live(server))
    assert (done.code, "fork is refused: step 4: messages missing" in done.err) == (2, True), done.err
    assert "--from-step with one of 0, 2, 6" in done.err


def test_a_replay_overwrites_nothing(project: Project, case_id: str, server: ScriptedServer) -> None:
    """Neither the source nor an earlier replay; nobody is asked before that is known."""
    before = (project.root / "incident.trace").read_bytes()
    done = project.run("replay", case_id, "--from-step", "4", "--out", "incident.trace", *live(server))
    assert (done.code, "there is a file already" in done.err) == (2, True)
    assert (project.root / "incident.trace").read_bytes() == before
    assert server.requests == []


def test_dry_says_what_would_be_asked(project: Project, case_id: str, server: ScriptedServer) -> None:
    """Nothing is imported, run, asked or written, and no reason is wanted."""
    done = project.run(
        "replay", case_id, "--mode", "dry", "--target", "no.such:agent", "--base-url", server.url, "--model", "m2",
        "--out", "none.trace",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "would run no.such:agent" in done.out
    assert f"would ask {server.url} for model m2: 4 calls in the recording" in done.out
    assert "would answer tool refund_order from 2 recorded answers" in done.out
    assert (server.requests, Path("none.trace").exists()) == ([], False)
    body = project.run(
        "replay", case_id, "--mode", "dry", "--from-step", "4", "--base-url", server.url, "--json"
    ).json()
    assert body["fixtures"] == {"tool refund_order": 1}
    assert len(body["live"]["first_request"]["messages"]) == 6
    frozen = project.run("replay", case_id, "--mode", "dry", "--json").json()
    assert frozen["fixtures"] == {"model chat": 4, "tool lookup_order": 1, "tool refund_order": 2}
    assert "live" not in frozen


def test_dry_refuses_what_the_replay_would(project: Project, case_id: str) -> None:
    """It is a rehearsal."""
    done = project.run("replay", case_id, "--mode", "dry", "--from-step", "3", "--base-url", "http://127.0.0.1:9/v1")
    assert (done.code, "step 3 is a tool step" in done.err) == (2, True)


@pytest.mark.parametrize("absent", ["httpx", "httpx2"])
def test_a_fork_needs_only_one_of_the_http_libraries(
    project: Project, case_id: str, server: ScriptedServer, absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of them is there depends on the SDK's version."""
    monkeypatch.setitem(sys.modules, absent, None)
    server.will(json_reply(completion("Done.")))
    (body,) = fork(project, case_id, server, 4)
    assert (body["status"], body["counts"]["live_model"]) == ("passed", 1)


def test_python_forks_too(project: Project, case_id: str, server: ScriptedServer) -> None:
    """The same through the package."""
    server.will(json_reply(completion("Fine.")))
    case = read_case(project.root / "cases" / case_id)
    done = evalkit.replay(
        case, mode="fork", from_step=4, base_url=server.url, overrides=Overrides(system_prompt="Be kind.")
    )
    assert (done.status, done.trace.output) == ("passed", {"answer": "Fine."})
    assert server.requests[0]["body"]["messages"][0] == {"role": "system", "content": "Be kind."}
