"""Budgets of runs and replays: kept over workers, a clean stop, and a continuation that loses and repeats nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalkit.app.demo.server import serving
from evalkit.suite.results import read_samples
from tests.capture.scripted_server import Reply, ScriptedServer, completion, json_reply
from tests.counting import CountingModel
from tests.demo import TARGET
from tests.project import Outcome, Project

PRICES = '[prices."refund-*"]\ninput = 1000.0\noutput = 2000.0\n'
CALLS = 4
"""Model calls of one replay of the mended agent: look up, refund, look up, answer."""


@contextmanager
def a_model() -> Iterator[tuple[CountingModel, str]]:
    model = CountingModel()
    with serving(model) as url:
        yield model, url


POLICY = '[policy]\nkind = "zero_failures"\n'


def suite(project: Project, url: str, more: str = "", samples: int = 5) -> str:
    """A suite with a live model that never errs."""
    text = (
        f'target = "{TARGET}"\nsamples = {samples}\nmode = "live-model"\n{more}\n[model]\nbase_url = "{url}"\n{POLICY}'
    )
    project.write("suites/b.toml", text)
    return "suites/b.toml"


def run(project: Project, *arguments: str, executor: str = "serial") -> Outcome:
    """A run; workers want a process of their own, which does not serve the model."""
    flags = ["--executor", executor, "-n", "1" if executor == "serial" else "2"]
    start = project.run if executor == "serial" else project.spawn
    return start("run", *arguments, *flags)


@pytest.mark.parametrize("executor", ["serial", "fork", "xdist"])
def test_a_run_stops_at_its_budget_and_goes_on_with_a_larger_one(project: Project, case_id: str, executor: str) -> None:
    """Never a call more than allowed; what is done is kept, what was under way is done once more, nothing else is."""
    folder = project.root / "reports" / "b"
    with a_model() as (model, url):
        path = suite(project, url, "[budget]\ncalls = 11")
        stopped = run(project, path, "--out", str(folder), executor=executor)
        assert stopped.code == 3, stopped.out + stopped.err
        assert model.asked == 11
        assert "stopped: budget reached: 11 of 11 model calls" in stopped.out
        assert "INCONCLUSIVE" in stopped.out
        first = read_samples(folder).get("twice", ())
        assert len(first) <= 2
        page = (folder / "report.html").read_text("utf-8")
        assert "budget reached: 11 of 11 model calls" in page
        gated = project.run("gate", str(folder))
        assert (gated.code, "no permanent case" in gated.out) == (3, True)
        refused = project.run("baseline", "set", str(folder), "--reason", "x")
        assert (refused.code, "the run is not whole" in refused.err) == (2, True)

        again = run(project, "--resume", str(folder), executor=executor)
        assert (again.code, model.asked) == (3, 11), again.out + again.err

        done = run(project, "--resume", str(folder), "--budget", "calls=100", executor=executor)
        assert done.code == 0, done.out + done.err
        assert model.asked == 11 + CALLS * (5 - len(first))
    samples = read_samples(folder)["twice"]
    assert [sample.index for sample in samples] == [0, 1, 2, 3, 4]
    assert {sample.outcome for sample in samples} == {"passed"}
    assert [sample for sample in samples if sample.index in {one.index for one in first}] == first
    assert f"spent {model.asked} model calls" in done.out
    assert not (folder / "journal.jsonl").exists()
    assert project.run("baseline", "set", str(folder), "--reason", "x").code == 0


@pytest.mark.parametrize(
    ("budget", "said"),
    [("tokens=2000", "of 2,000 tokens"), ("cost_usd=1", "of $1.00"), ("seconds=0.001", "0 seconds")],
)
def test_tokens_money_and_time_stop_a_run_too(project: Project, case_id: str, budget: str, said: str) -> None:
    """And it goes on without the limit that stopped it being in the way."""
    project.write("evalkit.toml", PRICES)
    with a_model() as (model, url):
        stopped = run(project, suite(project, url, samples=3), "--out", "reports/b", "--budget", budget)
        assert (stopped.code, said in stopped.out) == (3, True), stopped.out + stopped.err
        before = model.asked
        larger = budget.partition("=")[0] + "=1000000"
        done = run(project, "--resume", "reports/b", "--budget", larger)
        assert done.code == 0, done.out + done.err
        assert model.asked > before
    assert len(read_samples(Path("reports/b"))["twice"]) == 3


def test_the_cost_of_a_run_is_shown(project: Project, case_id: str) -> None:
    """At its end, as JSON, in the report, and by sample; without a price it is said to be unknown."""
    with a_model() as (_, url):
        unpriced = run(project, suite(project, url, samples=1))
        assert "cost unknown" in unpriced.out
        project.write("evalkit.toml", PRICES)
        done = run(project, suite(project, url, samples=2), "--out", "reports/c", "--json")
    body = done.json()
    cost = body["account"]["spent"]["cost_usd"]
    assert cost > 0.1
    assert body["cases"][0]["cost_usd"] == pytest.approx(cost)
    page = Path("reports/c/report.html").read_text("utf-8")
    assert f"${cost:,.2f}" in page or f"${cost:.4f}" in page
    samples = read_samples(Path("reports/c"))["twice"]
    assert sum(sample.cost_usd for sample in samples) == pytest.approx(cost)


def test_a_cost_budget_without_a_price_is_refused_before_the_run(project: Project, case_id: str) -> None:
    """Nothing is asked; the cure names the line to add."""
    with a_model() as (model, url):
        for arguments in (
            ["run", suite(project, url), "--budget", "cost_usd=5"],
            ["replay", case_id, "--mode", "live-model", "--base-url", url, "--reason", "x", "--budget", "cost=5"],
        ):
            done = project.run(*arguments)
            assert (done.code, "refund-1 has no price" in done.err) == (2, True), done.err
            assert '[prices."refund-1"]' in done.err
    assert model.asked == 0
    assert not Path("reports").exists()


def test_replays_share_a_budget(project: Project, case_id: str) -> None:
    """`--repeat` stops at it; what was whole is shown."""
    flags = ["--mode", "live-model", "--repeat", "5", "--reason", "x", "--budget", "calls=9", "--json"]
    with a_model() as (model, url):
        done = project.run("replay", case_id, "--base-url", url, *flags)
    assert (done.code, len(done.json()), model.asked) == (3, 2, 9), done.err
    assert "budget reached: 9 of 9 model calls" in done.err
    assert "spent 9 model calls" in done.err


def test_the_endpoint_may_stand_in_the_settings(
    project: Project, case_id: str, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With headers, tries and further fields; a header's secret is written nowhere."""
    monkeypatch.setenv("TEAM_TOKEN", "tok-very-secret")
    server.will(
        json_reply({"error": {"message": "busy"}}, status=503, retry_after="0"), json_reply(completion("Done."))
    )
    project.write(
        "evalkit.toml",
        f'[model]\nbase_url = "{server.url}"\ntries = 2\nheaders = {{ "X-Team" = "${{TEAM_TOKEN}}" }}\n'
        "extra_body = { top_k = 7 }\n",
    )
    done = project.run("replay", case_id, "--mode", "live-model", "--reason", "x", "--json")
    (body,) = done.json()
    assert body["status"] == "passed", done.out
    assert [request["headers"]["x-team"] for request in server.requests] == ["tok-very-secret"] * 2
    assert server.requests[0]["body"]["top_k"] == 7
    project.write("suites/s.toml", f'target = "{TARGET}"\nsamples = 1\nmode = "live-model"\n{POLICY}')
    done = run(project, "suites/s.toml", "--out", "reports/s")
    assert done.code == 0, done.out + done.err
    assert server.requests[2]["headers"]["x-team"] == "tok-very-secret"
    written = b"".join(path.read_bytes() for path in Path("reports/s").iterdir())
    assert b"tok-very-secret" not in written
    assert b"${TEAM_TOKEN}" in written
    monkeypatch.delenv("TEAM_TOKEN")
    refused = run(project, "suites/s.toml")
    assert (refused.code, "${TEAM_TOKEN}, which is not set" in refused.err) == (2, True)


def test_waiting_for_the_model_is_not_the_agents_time(project: Project, case_id: str, server: ScriptedServer) -> None:
    """A slow endpoint is no failure: the replay's limit stands still meanwhile, and the endpoint has its own."""
    slow = json_reply(completion("Done."))
    server.will(Reply(slow.status, slow.headers, slow.body, delay_s=1.0))
    flags = ["--mode", "live-model", "--base-url", server.url, "--reason", "x", "--json"]
    (body,) = project.run("replay", case_id, "--timeout", "0.5", *flags).json()
    assert body["status"] == "passed"
    project.write("evalkit.toml", "[model]\ntimeout_s = 0.2\ntries = 1\n")
    done = project.run("replay", case_id, *flags)
    (body,) = done.json()
    assert (done.code, body["status"], "ReadTimeout" in body["reason"]) == (3, "errored", True)


def test_an_agent_in_circles_is_stopped(project: Project, case_id: str, server: ScriptedServer) -> None:
    """Its time is spent waiting, so that its calls are counted; that is its failure."""
    project.write(
        "circles.py",
        "from openai import OpenAI\ndef run(message):\n    client = OpenAI()\n    while True:\n        "
        "client.chat.completions.create(model='refund-1', messages=[{'role': 'user', 'content': 'x'}])\n",
    )
    server.will(json_reply(completion("on and on")))
    flags = ["--mode", "live-model", "--base-url", server.url, "--reason", "x"]
    done = project.run("replay", case_id, "--target", "circles:run", *flags)
    assert (done.code, "stopped after 200 model calls" in done.out) == (1, True), done.out
    assert len(server.requests) == 200


def test_an_agent_can_not_hide_an_outage(project: Project, case_id: str, server: ScriptedServer) -> None:
    """One that catches everything, and makes an excuse, is errored all the same."""
    project.write(
        "excuse.py",
        "import os\nfrom openai import OpenAI\ndef run(message):\n    try:\n"
        "        OpenAI().chat.completions.create(model='refund-1', messages=[{'role': 'user', 'content': 'x'}])\n"
        "    except BaseException:\n        pass\n    return {'answer': 'all is well'}\n",
    )
    server.will(json_reply({"error": {"message": "busy"}}, status=429, retry_after="0"))
    done = project.run(
        "replay", case_id, "--target", "excuse:run", "--mode", "live-model", "--base-url", server.url, "--reason", "x"
    )
    assert (done.code, done.out.startswith("errored: the model endpoint failed")) == (3, True), done.out


def test_a_stopped_permanent_case_blocks_the_gate_as_unmeasured(project: Project, case_id: str) -> None:
    """INCONCLUSIVE with the budget as the reason, however well the samples that it has went."""
    assert project.run("review", case_id, "--accept-all", "--reason", "x").code == 0
    with a_model() as (_, url):
        flags = ["--replay", "1", "--target", TARGET, "--mode", "live-model", "--base-url", url, "--reason", "x"]
        promoted = project.run("promote", case_id, *flags)
        assert promoted.code == 0, promoted.err
        assert run(project, suite(project, url), "--out", "reports/g", "--budget", "calls=9").code == 3
    gated = project.run("gate", "reports/g", "--json")
    assert gated.code == 3
    (entry,) = gated.json()["inconclusive"]
    assert entry == {"case": case_id, "what": "only 2 of up to 5 samples: budget reached: 9 of 9 model calls"}
    assert json.loads(Path("reports/g/verdicts.json").read_text())


@pytest.mark.parametrize("executor", ["fork", "xdist"])
def test_a_worker_that_dies_while_it_asks_gives_its_place_back(
    project: Project, case_id: str, server: ScriptedServer, executor: str
) -> None:
    """Where the endpoint is asked once at a time, all others would wait for it for ever."""
    project.write(
        "fragile.py",
        "import os, signal, threading\nfrom openai import OpenAI\ndef run(message):\n"
        "    with open('begun', 'ab') as file:\n        file.write(b'.')\n"
        "    if os.path.getsize('begun') in (2, 4):\n"
        "        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGKILL)).start()\n"
        "    OpenAI().chat.completions.create(model='refund-1', messages=[{'role': 'user', 'content': 'x'}])\n",
    )
    slow = json_reply(completion("Done."))
    server.will(Reply(slow.status, slow.headers, slow.body, delay_s=0.4))
    path = suite(project, server.url, "sequential = false")
    text = (project.root / path).read_text("utf-8").replace("[model]", "[model]\nconcurrency = 1")
    project.write(path, text)
    done = run(project, path, "--target", "fragile:run", "--out", "reports/b", executor=executor)
    assert done.code == 0, done.out + done.err
    samples = read_samples(project.root / "reports" / "b")[case_id]
    assert [(sample.index, sample.outcome) for sample in samples] == [(index, "passed") for index in range(5)]
