"""`evalkit ingest`: an incident becomes a case whose checks fail on it, or is refused with a cure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from evalkit.app import ingest
from evalkit.case.store import read_case
from evalkit.sanitize.model import SanitizedTrace
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Step, Trace
from tests.project import Project, healthy, incident


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
