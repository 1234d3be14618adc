"""A case's life: it is read before it gates, something healthy passes it, and each step says what was proved."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from evalkit.case.model import Case
from evalkit.case.store import read_case
from evalkit.cli.main import cli
from evalkit.errors import EvalkitError
from tests.project import Project, healthy, incident

AGENTS = "tests.suite.agents"


def newest(project: Project, case_id: str = "refund-twice") -> Case:
    """The case as it is now."""
    return read_case(project.root / "cases" / case_id)


def reviewed(project: Project, *options: str) -> str:
    """A case whose checks were read."""
    case_id = project.ingested("refund-twice", *options)
    done = project.run("review", case_id, "--accept-all", "--reason", "read them")
    assert done.code == 0, done.err
    return case_id


def answered(project: Project, answers: str, *options: str) -> tuple[int, str]:
    """`evalkit review` with somebody at the terminal."""
    done = CliRunner().invoke(cli, ["review", "refund-twice", *options], input=answers)
    error = done.exception
    if isinstance(error, EvalkitError):
        return int(error.exit_code), done.output + str(error)
    return done.exit_code, done.output


def test_nobody_promotes_what_nobody_read(project: Project) -> None:
    """The cure names the review; nothing is written."""
    case_id = project.ingested()
    project.write("good.trace", healthy())
    done = project.run("promote", case_id, "--reason", "now", "--passing", "good.trace")
    assert (done.code, f"evalkit review {case_id}" in done.err) == (2, True)
    assert newest(project).version == 1


def test_nobody_promotes_what_nothing_passes(project: Project) -> None:
    """Without a healthy run the case would block every release; the cure names both proofs."""
    case_id = reviewed(project)
    done = project.run("promote", case_id, "--reason", "now")
    assert done.code == 2
    assert "--passing" in done.err
    assert "--replay" in done.err
    assert newest(project).state == "reviewed"


def test_a_healthy_run_given_at_ingest_is_proof(project: Project) -> None:
    """It passed every check when the case was made; the promotion says so, and who read the checks."""
    project.write("good.trace", healthy(id="good-run"))
    case_id = reviewed(project, "--passing", "good.trace")
    assert project.run("promote", case_id, "--reason", "now", "--actor", "bob").code == 0
    case = newest(project)
    assert (case.state, case.life[-1].actor) == ("permanent", "bob")
    assert "fails on the incident; reviewed by ann at" in case.life[-1].proved
    assert "passes the healthy run good-run, given at ingest" in case.life[-1].proved
    assert "proved: fails on the incident" in project.run("show", case_id).out
    assert "good-run" in project.run("history", case_id, "--json").json()[-1]["proved"]


def test_a_healthy_run_may_come_later(project: Project) -> None:
    """With --passing, which also measures how strong the checks are; a run that fails is refused."""
    case_id = reviewed(project)
    project.write("bad.trace", incident(id="another-run"))
    done = project.run("promote", case_id, "--reason", "now", "--passing", "bad.trace")
    assert (done.code, "fails on the healthy run another-run" in done.err) == (2, True)
    project.write("good.trace", healthy())
    assert project.run("promote", case_id, "--reason", "now", "--passing", "good.trace").code == 0
    assert newest(project).strength["faults"]


@pytest.mark.parametrize(("target", "code"), [("once", 0), ("twice", 2), ("stray", 2)])
def test_a_replay_of_the_mended_agent_is_proof(project: Project, target: str, code: int) -> None:
    """The mended agent passes in the frozen world; one that fails or misses proves nothing."""
    case_id = reviewed(project)
    done = project.run("promote", case_id, "--reason", "now", "--replay", "3", "--target", f"{AGENTS}:{target}")
    assert done.code == code, done.err
    if code == 0:
        assert f"3 of 3 replays of {AGENTS}:once (exact) passed" in newest(project).life[-1].proved
    else:
        assert "no replay of" in done.err
        assert newest(project).state == "reviewed"


def test_a_permanent_case_is_permanent_already(project: Project) -> None:
    """It can be reviewed again, which changes no state."""
    case_id = project.promoted()
    assert project.run("promote", case_id, "--reason", "again").code == 2
    assert project.run("review", case_id, "--accept-all", "--reason", "read again").code == 0
    assert newest(project).state == "permanent"
    assert project.run("check").code == 0


def test_a_permanent_case_can_not_gate_on_less(project: Project) -> None:
    """Neither by an edit nor by a review; the cure is the way by name and reason, which is open."""
    case_id = project.promoted()
    bodies = project.run("show", case_id, "--json").json()["checks"]
    gate = next(check for check in newest(project).checks if check.gating)
    other = {"type": "called", "params": {"name": "refund", "max": 1}}
    project.write("observed.json", [{**body, "gating": False} for body in bodies] + [other])
    project.write("other.json", [other])
    for wanted in (["edit", case_id, "--checks", "other.json"], ["edit", case_id, "--checks", "observed.json"],
                   ["review", case_id, "--checks", "other.json"]):  # fmt: skip
        done = project.run(*wanted, "--reason", "it is in the way")
        assert (done.code, gate.id in done.err, "evalkit retire" in done.err) == (2, True, True)
    assert newest(project).version == 3
    assert project.run("retire", case_id, "--reason", "the check was wrong").code == 0
    assert project.run("review", case_id, "--checks", "other.json", "--reason", "right now").code == 0
    project.write("good.trace", healthy())
    assert project.run("promote", case_id, "--reason", "again", "--passing", "good.trace").code == 0
    assert (newest(project).state, newest(project).checks[0].type) == ("permanent", "called")


def test_a_permanent_case_gates_on_more_only_with_a_healthy_run(project: Project) -> None:
    """What nothing healthy passes would block every release; observations may come and go."""
    case_id = project.promoted()
    bodies = project.run("show", case_id, "--json").json()["checks"]
    project.write("more.json", [*bodies, {"type": "called", "params": {"name": "refund", "max": 1}}])
    project.write("never.json", [*bodies, {"type": "not_called", "params": {"name": "refund"}}])
    project.write("seen.json", [*bodies, {"type": "step_limit", "params": {"max_steps": 1}, "gating": False}])
    project.write("good.trace", healthy())
    done = project.run("edit", case_id, "--checks", "more.json", "--reason", "stricter")
    assert (done.code, "--passing" in done.err) == (2, True)
    given = ["--passing", "good.trace", "--reason", "stricter"]
    assert project.run("review", case_id, "--checks", "never.json", *given).code == 2
    assert project.run("review", case_id, "--checks", "more.json", *given).code == 0
    assert (newest(project).version, newest(project).state, len(newest(project).gating)) == (4, "permanent", 2)
    bodies = project.run("show", case_id, "--json").json()["checks"]
    project.write("seen.json", [*bodies, {"type": "step_limit", "params": {"max_steps": 1}, "gating": False}])
    assert project.run("edit", case_id, "--checks", "seen.json", "--reason", "watch").code == 0


def test_a_review_by_options(project: Project) -> None:
    """What is dropped goes, what is observed gates no more, the others stand; the incident must still fail."""
    case_id = project.ingested()
    gate, seen = newest(project).checks
    assert (gate.gating, seen.gating) == (True, False)
    done = project.run("review", case_id, "--drop", seen.id, "--reason", "too much")
    assert done.code == 0, done.err
    assert [check.id for check in newest(project).checks] == [gate.id]
    done = project.run("review", case_id, "--observe", gate.id, "--reason", "x")
    assert (done.code, "no gating check fails" in done.err) == (2, True)
    done = project.run("review", case_id, "--drop", "nonsense", "--reason", "x")
    assert (done.code, gate.id in done.err) == (2, True)
    assert project.run("review", case_id, "--accept-all").code == 2  # no reason
    assert newest(project).version == 2


def test_a_review_by_file(project: Project) -> None:
    """The file states all checks; what was shown and measured with the old ones goes with them."""
    project.write("good.trace", healthy())
    case_id = project.ingested("refund-twice", "--passing", "good.trace")
    assert newest(project).proof
    project.write("checks.json", [{"type": "called", "params": {"name": "refund", "max": 1}}])
    assert project.run("review", case_id, "--checks", "checks.json", "--reason", "by hand").code == 0
    case = newest(project)
    assert (case.state, case.checks[0].type, case.proof) == ("reviewed", "called", ())
    assert "not measured since the checks were edited" in project.run("show", case_id).out
    assert project.run("promote", case_id, "--reason", "now").code == 2
    done = project.run("review", case_id, "--checks", "checks.json", "--reason", "now", "--passing", "good.trace")
    assert done.code == 0, done.err
    assert newest(project).strength["faults"]
    assert project.run("promote", case_id, "--reason", "now").code == 0


def test_fewer_checks_keep_their_proof(project: Project) -> None:
    """A healthy run that passed all of them passes some of them; their strength is another."""
    project.write("good.trace", healthy())
    case_id = project.ingested("refund-twice", "--passing", "good.trace")
    gates = [check.id for check in newest(project).gating]
    assert len(gates) > 1
    assert project.run("review", case_id, "--observe", gates[0], "--reason", "x").code == 0
    assert newest(project).proof
    assert "caught" not in newest(project).strength


def test_a_review_at_the_terminal(project: Project) -> None:
    """Each check is shown with what speaks for it, and decided."""
    project.ingested()
    gate, _ = newest(project).checks
    code, said = answered(project, "a\nd\nread them both\n", "--actor", "eve")
    assert code == 0, said
    for words in ("The agent does not make a change twice", gate.id, "evidence: steps", "90% sure",
                  "fails on the incident", "strength"):  # fmt: skip
        assert words in said
    case = newest(project)
    assert [check.id for check in case.checks] == [gate.id]
    assert (case.state, case.life[-1].actor, case.life[-1].reason) == ("reviewed", "eve", "read them both")


def test_a_check_may_be_edited_at_the_terminal(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the editor, as JSON; what is no check is said, and the check stays."""
    project.ingested()
    texts = iter(["{", json.dumps({"type": "no_such_type"}),
                  json.dumps({"type": "called", "params": {"name": "refund", "max": 1}})])  # fmt: skip
    monkeypatch.setattr(click, "edit", lambda text, extension: next(texts))
    code, said = answered(project, "e\ne\ne\na\no\n", "--reason", "stricter")
    assert code == 0, said
    assert said.count("that is no check") == 2
    assert [check.type for check in newest(project).checks] == ["called", "called"]


@pytest.mark.parametrize("answers", ["a\nq\n", "a\n", ""])
def test_quitting_changes_nothing(project: Project, answers: str) -> None:
    """Nor does a terminal at which nobody sits; the cure names the options for scripts."""
    project.ingested()
    code, said = answered(project, answers, "--reason", "x")
    assert (code, "nothing was changed" in said) == (2, True)
    assert newest(project).version == 1


def test_what_is_shown_can_not_steer_the_terminal(project: Project) -> None:
    """A title or a note from outside appears as visible codes."""
    project.ingested("refund-twice", "--title", "\x1b[31mred")
    code, said = answered(project, "a\na\n", "--reason", "x")
    assert code == 0
    assert "\x1b" not in said


def test_an_old_file_lacks_the_newer_fields(project: Project) -> None:
    """The project's own case was written before reviews were asked for: it still reads."""
    case = read_case(Path(__file__).parents[2] / "cases" / "refund-twice" / "v0001.parquet")
    assert (case.pruning, case.fingerprint, case.proof) == ({}, "", ())
