"""`evalkit ingest`: an incident becomes a case whose checks fail on it, or is refused with a cure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from evalkit.app import ingest
from evalkit.case.store import read_case
from evalkit.check.judge import judge_checks
from evalkit.sanitize.model import SanitizedTrace
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Step, Trace
from tests.project import Project, healthy, incident

HARD_CODED = """
import evalkit

@evalkit.tool(effect="read")
def look(whose): ...

@evalkit.tool(effect="write")
def pay(order): ...

def once():
    pay(look("qiwex.b7@barlo.io")["order"])
    return "paid"

def twice():
    once()
    pay("A1")
    return "paid"
"""

AGENTS = "tests.suite.agents"


def test_an_incident_becomes_a_case(project: Project) -> None:
    """File, view, a check that fails on the incident, and nothing personal in any of them."""
    project.write("incident.trace", incident())
    done = project.run("ingest", "incident.trace", "--id", "refund-twice", "--tag", "money", "--owner", "payments")
    assert done.code == 0
    assert "fails on the incident" in done.out
    case = read_case(project.root / "cases" / "refund-twice")
    assert (case.state, case.tags, case.owner) == ("proposed", ("money",), "payments")
    assert "SIDE_EFFECT" in case.signature
    written = [path.read_bytes() for path in (project.root / "cases").rglob("*") if path.is_file()]
    assert len(written) == 2
    assert not any(b"lena.vogt" in content for content in written)


def test_a_dry_run_writes_nothing(project: Project) -> None:
    """People may look first."""
    project.write("incident.trace", incident())
    assert project.run("ingest", "incident.trace", "--dry-run").code == 0
    assert not (project.root / "cases").exists()


def test_a_healthy_trace_is_refused(project: Project) -> None:
    """A case whose checks would pass on its incident is worth nothing."""
    project.write("healthy.trace", healthy())
    done = project.run("ingest", "healthy.trace")
    assert done.code == 2
    assert "--expect" in done.err
    assert not (project.root / "cases").exists()


def test_the_expected_outcome_may_be_stated(project: Project) -> None:
    """What is wrong only to people who know is said with --expect; the differing field is named."""
    project.write("healthy.trace", healthy())
    project.write("expected.json", {"done": {"ok": False}})
    done = project.run("ingest", "healthy.trace", "--id", "wrong-answer", "--expect", "expected.json")
    assert done.code == 0
    assert "done.ok" in done.out or "/done/ok" in done.out


def test_a_refusal_says_what_did_not_help(project: Project) -> None:
    """An expectation that holds, and a healthy run that did the same, are named; not only that no rule was broken."""
    project.write("run.trace", healthy())
    project.write("same.trace", healthy(id="the-same-again"))
    project.write("expected.json", {"done": {"ok": True}})
    done = project.run("ingest", "run.trace", "--expect", "expected.json")
    assert (done.code, "all that was expected holds on the incident" in done.err) == (2, True)
    done = project.run("ingest", "run.trace", "--passing", "same.trace")
    assert (done.code, "the-same-again did the very same" in done.err) == (2, True)
    assert not (project.root / "cases").exists()


def test_a_healthy_run_tells_what_should_have_been(project: Project) -> None:
    """By contrast: one refund instead of two."""
    project.write("incident.trace", incident())
    project.write("healthy.trace", healthy())
    assert project.run("ingest", "incident.trace", "--id", "c", "--passing", "healthy.trace").code == 0
    assert project.run("judge", "c", "healthy.trace").code == 0
    assert project.run("judge", "c", "incident.trace").code == 1


def test_the_same_incident_is_recognised(project: Project) -> None:
    """A second ingest makes no second case."""
    project.ingested("refund-twice")
    done = project.run("ingest", "refund-twice.trace", "--id", "again")
    assert done.code == 2
    assert "case refund-twice already" in done.err
    assert not (project.root / "cases" / "again").exists()


def test_another_incident_does_not_take_an_id(project: Project) -> None:
    """An id names one incident."""
    project.ingested("refund-twice")
    project.write("other.trace", incident(8))
    done = project.run("ingest", "other.trace", "--id", "refund-twice")
    assert (done.code, "another incident" in done.err) == (2, True)


def test_configured_effects_count(project: Project) -> None:
    """What evalkit.toml says of a tool wins over the trace."""
    project.write("evalkit.toml", '[tools."refund"]\neffect = "read"\n')
    project.write("incident.trace", incident())
    assert project.run("ingest", "incident.trace").code == 2


def test_bad_input_names_the_file(project: Project) -> None:
    """No trace, a broken expectation, an unknown step: exit code 2, what, where and the cure."""
    project.write("nothing.trace", "hello")
    done = project.run("ingest", "nothing.trace")
    assert (done.code, "nothing.trace" in done.err, "cure:" in done.err) == (2, True, True)
    project.write("incident.trace", incident())
    project.write("expected.json", "{")
    done = project.run("ingest", "incident.trace", "--expect", "expected.json")
    assert (done.code, "expected.json" in done.err) == (2, True)
    done = project.run("ingest", "incident.trace", "--at", "99")
    assert (done.code, "no step 99" in done.err) == (2, True)
    assert not (project.root / "cases").exists()


def test_json_is_data_on_stdout(project: Project) -> None:
    """Stable keys for scripts; people's text goes to stderr."""
    project.write("incident.trace", incident())
    done = project.run("ingest", "incident.trace", "--id", "c", "--json")
    (body,) = done.json()
    assert {"id", "version", "checks", "steps", "digest", "life", "path"} <= set(body)
    assert "case c version 1" in done.err


def test_a_leak_is_found_before_anything_is_written(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should replacing ever miss a value that was harvested, no file appears: fail closed."""

    class Leaky(Sanitizer):
        def sanitize(self, traces: Sequence[Trace]) -> list[SanitizedTrace]:
            done = super().sanitize(traces)
            return [SanitizedTrace.admitted(raw, one.record) for raw, one in zip(traces, done, strict=True)]

    monkeypatch.setattr(ingest, "make_sanitizer", lambda *_: Leaky(Policy(), bytes(32)))
    project.write("incident.trace", incident())
    done = project.run("ingest", "incident.trace")
    assert (done.code, "an original value" in done.err, "lena.vogt" in done.err) == (2, True, False)
    assert not (project.root / "cases").exists()


def test_pruning_never_prunes_the_failure(project: Project) -> None:
    """Whatever is left out, the checks still fail on what is left; else the whole trace is kept."""
    trace = incident()
    note = Step(3, "other", "user_message", None, {"role": "user", "content": "thanks"})
    project.write("incident.trace", replace(trace, steps=(*trace.steps, note)))
    for at in ("0", "1", "2", "3"):
        assert project.run("ingest", "incident.trace", "--id", f"at-{at}", "--at", at, "--dry-run").code == 0
        (body,) = project.run("ingest", "incident.trace", "--dry-run", "--at", at, "--json").json()
        assert [step["name"] for step in body["steps"]].count("refund") == 2


def test_keep_all_keeps_all(project: Project) -> None:
    """Nothing is set aside when a person says so."""
    project.write("incident.trace", incident())
    (body,) = project.run("ingest", "incident.trace", "--dry-run", "--keep-all", "--json").json()
    assert body["dropped"] == []
    assert all(step["kept"] for step in body["steps"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--target", f"{AGENTS}:twice"), f"verified by replay of {AGENTS}:twice"),
        ((), "not verified: no target"),
        (("--target", f"{AGENTS}:twice", "--no-verify"), "not verified: left out (--no-verify)"),
        (("--target", f"{AGENTS}:once"), "not verified: the replay did not fail (agent mended already?)"),
        (
            ("--target", f"{AGENTS}:stray"),
            "not verified: the replay asked for what the trace lacks",
        ),
        (("--target", f"{AGENTS}:raises"), "not verified: the replay ended with RuntimeError"),
        (("--target", "no_such_module:run"), "not verified: importing no_such_module failed"),
    ],
)
def test_pruning_is_verified_by_a_replay(project: Project, options: tuple[str, ...], said: str) -> None:
    """Where the agent can be run, it fails again on the pruned case; where not, ingest, show and case.md say why."""
    project.write("incident.trace", incident())
    done = project.run("ingest", "incident.trace", "--id", "c", *options)
    assert done.code == 0, done.err
    assert said in done.out
    view = (project.root / "cases" / "c" / "case.md").read_text("utf-8").replace("\\", "")
    assert said in view
    assert said in project.run("show", "c").out.replace("\\", "")
    assert read_case(project.root / "cases" / "c").pruning["verified"] is said.startswith("verified")


def test_what_an_agent_raises_while_verifying_is_sanitized(project: Project) -> None:
    """A replay's reason may hold anything; the case's files hold nothing personal."""
    project.write("leaky.py", "def run(order):\n    raise type('lena.vogt@posteo-mail.de', (Exception,), {})()\n")
    project.write("incident.trace", incident())
    assert project.run("ingest", "incident.trace", "--target", "leaky:run").code == 0
    for path in (project.root / "cases").rglob("*.*"):
        assert b"lena.vogt" not in path.read_bytes()


def test_what_an_agent_prints_while_verifying_is_no_data(project: Project) -> None:
    """With --json, stdout is the case and nothing else."""
    body = "from tests.suite.agents import twice\ndef run(order):\n    print('hello')\n    return twice(order)\n"
    project.write("loud.py", body)
    project.write("incident.trace", incident())
    (case,) = project.run("ingest", "incident.trace", "--target", "loud:run", "--json").json()
    assert case["pruning"]["verified"] is True


def test_the_same_run_from_another_recorder_is_recognised(project: Project) -> None:
    """Other ids, other times, JSON as text, spans around the calls: the same calls, results and answer."""
    project.ingested("refund-twice")
    trace = incident()
    renumbered = {"parent": 0, "started_at": None, "ended_at": None, "attributes": {"span": "s"}}
    steps = [
        replace(step, seq=step.seq + 1, output=json.dumps(step.output), **renumbered)  # type: ignore[arg-type]  # mixed
        for step in trace.steps
    ]
    other = replace(trace, id="span-77", started_at=None, steps=(Step(0, "agent", "agent"), *steps))
    project.write("other.trace", other)
    done = project.run("ingest", "other.trace", "--id", "again")
    assert (done.code, "this run is case refund-twice already" in done.err) == (2, True)
    assert "--into refund-twice" in done.err
    assert project.run("ingest", "other.trace", "--id", "again", "--new").code == 0


def test_an_incident_like_a_case_is_offered(project: Project) -> None:
    """Another customer, the same failure: a person says whether it is that case again."""
    project.ingested("refund-twice")
    project.write("other.trace", incident(8))
    done = project.run("ingest", "other.trace")
    assert done.code == 2
    assert "looks like case refund-twice (same signature, SIDE_EFFECT_REPEATED:refund; same situation" in done.err
    assert "pass --into refund-twice" in done.err
    assert "--new" in done.err
    assert project.run("ingest", "other.trace", "--new").code == 0
    assert len(project.run("list", "--json").json()) == 2


def test_another_failure_is_no_lookalike(project: Project) -> None:
    """The same task gone wrong in another way is a case of its own."""
    project.ingested("refund-twice")
    project.write("healthy.trace", healthy(8))
    project.write("expected.json", {"done": {"ok": False}})
    assert project.run("ingest", "healthy.trace", "--id", "other", "--expect", "expected.json").code == 0


def test_into_makes_a_new_version(project: Project) -> None:
    """The newer incident, what both broke, actor and reason; the older one is remembered, so that it stays known."""
    case_id = project.promoted()
    project.write("other.trace", incident(8))
    assert project.run("ingest", "other.trace", "--into", case_id).code == 2  # no reason
    done = project.run("ingest", "other.trace", "--into", case_id, "--reason", "again, order 8", "--actor", "eve")
    assert done.code == 0, done.err
    case = read_case(project.root / "cases" / case_id)
    assert (case.version, case.state, case.incident.input) == (4, "permanent", {"order": 8})
    assert (case.life[-1].actor, case.life[-1].reason) == ("eve", "again, order 8")
    assert any(not result.passed for result in judge_checks(case.gating, case.incident))
    assert project.run("check").code == 0
    for name in ("refund-twice.trace", "other.trace"):
        done = project.run("ingest", name, "--id", "third", "--new")
        assert (done.code, f"case {case_id} already" in done.err) == (2, True)


def test_into_a_permanent_case_no_unproved_check_gates(project: Project) -> None:
    """Else one --expect could block every release; with a healthy run of the newer incident's task it may."""
    case_id = project.promoted()
    project.write("other.trace", incident(8))
    project.write("good.trace", healthy(8))
    project.write("expected.json", {"not_called": ["refund"]})
    given = ["ingest", "other.trace", "--into", case_id, "--reason", "again"]
    done = project.run(*given, "--expect", "expected.json")
    assert (done.code, "--passing" in done.err) == (2, True)
    assert read_case(project.root / "cases" / case_id).version == 3
    assert project.run(*given, "--passing", "good.trace").code == 0
    assert project.run("check").code == 0


def test_into_a_case_that_was_read_is_proposed_again(project: Project) -> None:
    """Its checks are others now: somebody has to read them."""
    case_id = project.ingested()
    project.run("review", case_id, "--accept-all", "--reason", "read")
    project.write("other.trace", incident(8))
    assert project.run("ingest", "other.trace", "--into", case_id, "--reason", "again").code == 0
    assert read_case(project.root / "cases" / case_id).state == "proposed"
    done = project.run("ingest", "other.trace", "--into", "nothing", "--reason", "again")
    assert (done.code, "no case 'nothing'" in done.err) == (2, True)


def test_healthy_runs_are_found_among_many(project: Project) -> None:
    """The same task and nothing wrong; the incident itself, other tasks and sick runs are passed over and counted."""
    project.write("incident.trace", incident())
    for name, trace in {
        "good": healthy(id="good"),
        "itself": incident(),
        "sick": replace(incident(id="sick"), output={"done": {"ok": "again"}}),
        "other": healthy(8, id="other"),
        "cut": replace(healthy(id="cut"), status="unfinished"),
    }.items():
        project.write(f"traces/{name}.trace", trace)
    done = project.run("ingest", "incident.trace", "--id", "c", "--passing-from", "traces")
    assert done.code == 0, done.err
    assert "healthy runs found: 1; passed over: 1 another task, 2 not healthy, 1 the incident itself" in done.out
    assert "good: asked 100% the same; it completed and breaks no general rule" in done.out
    case = read_case(project.root / "cases" / "c")
    assert case.source["passing"] == ["good"]
    assert case.strength["faults"]
    assert case.proof == ()  # nobody said that it is healthy
    assert all(check.confidence <= 0.5 for check in case.checks if check.rule.startswith("contrast"))


def test_runs_about_other_records_are_learnt_from_where_there_are_no_others(project: Project) -> None:
    """How strong the checks are, and what would have been due: nothing of theirs is demanded."""
    project.write("incident.trace", incident())
    for order in (8, 9):
        project.write(f"traces/{order}.trace", healthy(order))
    done = project.run("ingest", "incident.trace", "--id", "c", "--passing-from", "traces")
    assert done.code == 0, done.err
    for said in ("healthy runs found: 2; passed over: none", "is about other records (lookup /order: 9, not 7)"):
        assert said in done.out
    case = read_case(project.root / "cases" / "c")
    assert [check.type for check in case.gating] == ["repeated_effect"]
    (due,) = (check.params["effects"] for check in case.checks if check.rule == "contrast:analogy")
    assert due == [{"name": "refund", "arguments": {"order": 7}}]
    assert (bool(case.strength["faults"]), case.proof) == (True, ())


def test_several_healthy_runs_may_be_given(project: Project) -> None:
    """Each by name; all of them must pass."""
    project.write("incident.trace", incident())
    project.write("a.trace", healthy(id="a"))
    project.write("b.trace", healthy(id="b"))
    done = project.run("ingest", "incident.trace", "--id", "c", "--passing", "a.trace", "--passing", "b.trace")
    assert done.code == 0, done.err
    case = read_case(project.root / "cases" / "c")
    assert case.source["passing"] == ["a", "b"]
    assert len(case.proof) == 2


def test_what_a_healthy_run_changed_is_stated_of_a_tool_that_is_given_a_text(project: Project) -> None:
    """Some frameworks give their tools a text or a list; the check that says most is not lost by it."""
    first, second = (Step(at, "tool", "pay", "order 7", "ok", effect="write") for at in (0, 1))
    project.write("incident.trace", Trace("bad", "agent", "evalkit", (first, second), output="paid"))
    project.write("healthy.trace", Trace("good", "agent", "evalkit", (first,), output="paid"))
    assert project.run("ingest", "incident.trace", "--id", "c", "--passing", "healthy.trace").code == 0
    assert "effects_equal" in [check.type for check in read_case(project.root / "cases" / "c").checks]


def test_a_value_in_the_agents_code_is_answered_under_its_surrogate(project: Project) -> None:
    """As in every other replay: the failure is verified, and a healthy agent is proved."""
    project.write("hard_coded.py", HARD_CODED)
    look = Step(0, "tool", "look", {"whose": "qiwex.b7@barlo.io"}, {"order": "A1"}, effect="read")
    pay = [Step(at, "tool", "pay", {"order": "A1"}, "ok", effect="write") for at in (1, 2)]
    project.write("incident.trace", Trace("bad", "agent", "evalkit", (look, *pay), input={}, output="paid"))
    done = project.run("ingest", "incident.trace", "--id", "c", "--target", "hard_coded:twice")
    assert "pruning verified by replay of hard_coded:twice" in done.out
    project.run("review", "c", "--accept-all", "--reason", "read")
    done = project.run("promote", "c", "--replay", "1", "--target", "hard_coded:once", "--reason", "money")
    assert done.code == 0, done.err


def test_a_healthy_run_of_another_order_demands_nothing_of_this_one(project: Project) -> None:
    """What it did to its own order would blame every mended agent; it is told, and its answers are none of the case."""
    project.write("good.trace", healthy(9))
    project.write("incident.trace", incident(7))
    done = project.run("ingest", "incident.trace", "--id", "refund-twice", "--passing", "good.trace")
    said = "healthy run healthy-9 is about other records (lookup /order: 9, not 7)"
    assert (done.code, said in done.out) == (0, True), done.out
    case = read_case(project.root / "cases" / "refund-twice")
    assert [check.type for check in case.gating] == ["repeated_effect"]
    assert not any(step.input == {"order": 9} for step in case.incident.steps)
    assert "is about other records" in (project.root / "cases" / "refund-twice" / "case.md").read_text("utf-8")
    once = project.run("replay", "refund-twice", "--target", "tests.suite.agents:once")
    assert once.code == 0, once.out


def test_a_refusal_says_that_the_healthy_run_is_about_another_order(project: Project) -> None:
    """No rule of all runs is broken: somebody has to say what was due for this one."""
    project.write("good.trace", healthy(9))
    project.write("incident.trace", healthy(7, id="incident-7"))
    done = project.run("ingest", "incident.trace", "--passing", "good.trace")
    assert (done.code, "which is about other records (lookup /order: 9, not 7)" in done.err) == (2, True), done.err
    assert "a healthy run of the same task and records" in done.err
    project.write("incident.trace", replace(healthy(7, id="incident-7"), steps=healthy(7).steps[:1]))
    done = project.run("ingest", "incident.trace", "--passing", "good.trace")
    due = '{"effects":[{"name":"refund","arguments":{"order":7}}]}'
    assert (done.code, f"for the incident's records, write it to a file for --expect: {due}" in done.err) == (
        2,
        True,
    ), done.err
    project.write("expected.json", due)
    done = project.run("ingest", "incident.trace", "--id", "c", "--expect", "expected.json", "--passing", "good.trace")
    assert done.code == 0, done.err
    case = read_case(project.root / "cases" / "c")
    assert ([check.type for check in case.gating], case.proof) == (
        ["effects_equal"],
        (),
    )  # of order 9, that shows nothing
    project.run("review", "c", "--accept-all", "--reason", "read")
    refused = project.run("promote", "c", "--reason", "money")
    assert (refused.code, "nothing shows that a healthy agent passes" in refused.err) == (2, True)


def test_a_case_that_an_idle_agent_passes_is_told(project: Project) -> None:
    """Not twice is kept by whoever does nothing: where the change was due, no gate would see that it is left out."""
    weak = "weak: an agent that calls nothing and says nothing passes"
    project.write("incident.trace", incident())
    project.write("good.trace", healthy())
    assert weak in project.run("ingest", "incident.trace", "--dry-run").out
    assert weak not in project.run("ingest", "incident.trace", "--dry-run", "--passing", "good.trace").out
    project.run("ingest", "incident.trace", "--id", "refund-twice")
    project.run("review", "refund-twice", "--accept-all", "--reason", "read")
    done = project.run("promote", "refund-twice", "--reason", "money", "--passing", "good.trace")
    assert (done.code, weak in done.err) == (0, True), done.err
