"""One surrogate for one value in the whole library: over separate ingests, replays, and branches that git joins."""

from __future__ import annotations

import base64
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.case.lock import read_lock
from evalkit.case.store import case_versions, read_case
from evalkit.suite.results import read_samples
from evalkit.trace.file import LineChain, header_json
from evalkit.trace.model import Step, Trace
from tests.project import Project, healthy, incident
from tests.sanitize.colliding import PAIRS

FIELD = pytest.mark.parametrize("field", sorted(PAIRS))


def about(field: str, value: str, order: int) -> Trace:
    """An incident in which a value stands in what a tool gave and in the arguments of the failing calls."""
    trace = incident(order)
    steps = [replace(trace.steps[0], output={field: value, "amount": 5.0})]
    steps += [replace(step, input={"order": order, field: value}) for step in trace.steps[1:]]
    return replace(trace, steps=tuple(steps))


def ingest(project: Project, case_id: str, field: str, value: str, order: int) -> str:
    """Makes a case of it; what stands for the value there."""
    project.write(f"{case_id}.trace", about(field, value, order))
    done = project.run("ingest", f"{case_id}.trace", "--id", case_id, "--new")
    assert done.code == 0, done.err
    return held(project, case_id, field)


def held(project: Project, case_id: str, field: str) -> str:
    """What stands under a key in a case's newest version, the same in result and arguments."""
    steps: Any = read_case(project.root / "cases" / case_id).incident.steps
    assert steps[0].output[field] == steps[1].input[field] == steps[2].input[field]
    return str(steps[0].output[field])


def joined(project: Project, field: str) -> tuple[str, str]:
    """A library that two branches made, each with a value that has the other's surrogate; gives the two values."""
    left, right = PAIRS[field][0]
    cases, aside = project.root / "cases", project.root / "aside"
    one = ingest(project, "left", field, left, 7)
    shutil.move(cases, aside)
    other = ingest(project, "right", field, right, 8)
    assert one == other
    shutil.copytree(aside, cases, dirs_exist_ok=True)
    return left, right


@FIELD
def test_two_ingests_tell_two_values_apart(project: Project, field: str) -> None:
    """Alone each would have the same surrogate; the second ingest sees the first one's, and a third both."""
    left, right = PAIRS[field][0]
    first, second = ingest(project, "one", field, left, 7), ingest(project, "two", field, right, 8)
    assert first != second
    assert ingest(project, "three", field, right, 9) == second
    assert ingest(project, "four", field, left, 10) == first
    assert project.run("check").code == 0


@FIELD
def test_sanitizing_meets_what_the_project_has(project: Project, field: str) -> None:
    """`sanitize` and `inspect --sanitized` show the surrogate that the value has in the library."""
    left, right = PAIRS[field][0]
    ingest(project, "one", field, left, 7)
    project.write("new.trace", about(field, right, 9))
    shown = project.run("sanitize", "new.trace").out
    second = ingest(project, "two", field, right, 8)
    assert project.run("sanitize", "new.trace").out == shown
    assert second in shown


@FIELD
def test_a_new_version_keeps_its_surrogates(project: Project, field: str) -> None:
    """A recurrence, a review and a promotion: the value stays what it was, and what the versions before had is told."""
    left, right = PAIRS[field][0]
    first, second = ingest(project, "one", field, left, 7), ingest(project, "two", field, right, 8)
    project.write("again.trace", about(field, right, 11))
    project.write("good.trace", replace(healthy(11), steps=about(field, right, 11).steps[:2]))
    again = project.run("ingest", "again.trace", "--into", "two", "--reason", "again", "--passing", "good.trace")
    assert again.code == 0, again.err
    assert project.run("review", "two", "--accept-all", "--reason", f"of {right}").code == 0
    assert project.run("promote", "two", "--reason", "yes", "--passing", "good.trace").code == 0
    case = read_case(project.root / "cases" / "two")
    assert held(project, "two", field) == second
    assert case.version == 4
    told = str(case.trace.record.surrogates)
    assert (second.split()[-1] in told, first.split()[-1] in told) == (True, False)
    assert project.run("judge", "two", "good.trace").code == 0
    assert project.run("check").code == 0


def test_a_replay_meets_a_further_surrogate(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent has the raw value: its arguments meet the recording, though its first surrogate is another value's."""
    left, right = PAIRS["dob"][0]
    ingest(project, "one", "dob", left, 7)
    second = ingest(project, "two", "dob", right, 8)
    project.write(
        "agent_with_dob.py",
        "import evalkit\n"
        '@evalkit.tool(effect="read")\n'
        "def lookup(order): ...\n"
        '@evalkit.tool(effect="write")\n'
        "def refund(order, dob): ...\n"
        "def run(given):\n"
        '    lookup(order=given["order"])\n'
        f'    refund(order=given["order"], dob="{right}")\n'
        f'    return refund(order=given["order"], dob="{right}") | {{"said": "{right}"}}\n',
    )
    monkeypatch.syspath_prepend(str(project.root))
    done = project.run("replay", "two", "--target", "agent_with_dob:run", "--json")
    assert done.code == 1, done.err
    assert '"failed"' in done.out
    assert (second in done.out, right in done.out) == (True, False)
    project.write("suites/s.toml", 'target = "agent_with_dob:run"\n[select]\nids = ["two"]\n')
    done = project.run("run", "suites/s.toml")
    (folder,) = (project.root / "reports").iterdir()
    assert {sample.outcome for sample in read_samples(folder)["two"]} == {"failed"}, done.err
    assert not any(right.encode() in data for data in files(project.root / "reports").values())


def test_a_number_of_somebody_that_is_handed_on_meets_the_recording(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's id as a JSON number, given to the next tool under a name that tells nothing: ingested and replayed."""
    trace = incident(7)
    steps = [replace(trace.steps[0], output={"user_id": 3917264})]
    steps += [replace(step, input={"owner": 3917264, "path": "/users/3917264"}) for step in trace.steps[1:]]
    project.write("a.trace", replace(trace, steps=tuple(steps)))
    done = project.run("ingest", "a.trace", "--id", "handed")
    assert done.code == 0, done.err
    project.write(
        "agent_of_users.py",
        "import evalkit\n"
        '@evalkit.tool(effect="read")\n'
        "def lookup(order): ...\n"
        '@evalkit.tool(effect="write")\n'
        "def refund(owner, path): ...\n"
        "def run(given):\n"
        '    user = lookup(order=given["order"])["user_id"]\n'
        '    return [refund(owner=user, path=f"/users/{user}") for _ in range(2)]\n',
    )
    monkeypatch.syspath_prepend(str(project.root))
    done = project.run("replay", "handed", "--target", "agent_of_users:run")
    assert (done.code, "missed 0" in done.out) == (1, True), done.out
    assert "3917264" not in done.out


@FIELD
def test_check_finds_what_a_merge_brought_together(project: Project, field: str) -> None:
    """Neither ingest could see the other; `check` names both cases and the cure, without a key, and exits with 2."""
    joined(project, field)
    done = project.run("check")
    assert (done.code, "stands for another value in case left" in done.err) == (2, True)
    assert "--part-surrogates" in done.err
    kinds = {problem["kind"] for problem in project.run("check", "--json").json()["problems"]}
    assert kinds == {"surrogate"}


@FIELD
def test_parting_gives_one_of_them_another_surrogate(project: Project, field: str) -> None:
    """In a new version, everywhere; the other case stays, its value too, and both values are known from then on."""
    left, right = joined(project, field)
    before = held(project, "left", field)
    done = project.run("check", "--part-surrogates")
    assert (done.code, "right" in done.out) == (0, True), done.err
    after = held(project, "right", field)
    assert held(project, "left", field) == before != after
    case = read_case(project.root / "cases" / "right")
    assert (case.version, case.life[-1].state) == (2, "proposed")
    assert before not in (project.root / "cases" / "right" / "case.md").read_text("utf-8")
    assert project.run("check", "--part-surrogates").out.count("wrote") == 0
    assert ingest(project, "later", field, right, 12) == after
    assert ingest(project, "last", field, left, 13) == before
    project.write("again.trace", about(field, right, 8))
    assert project.run("judge", "right", "again.trace").code == 1
    assert project.run("check").code == 0


def test_parting_needs_no_key_and_comes_to_the_same_anywhere(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two people who part the same two values on two branches agree, and neither has the project key at hand."""
    joined(project, "zip")
    shutil.copytree(project.root / "cases", project.root / "elsewhere")
    monkeypatch.delenv("EVALKIT_PSEUDONYM_KEY")
    monkeypatch.setenv("HOME", str(project.root / "home"))
    assert project.run("check", "--part-surrogates").code == 0
    here = held(project, "right", "zip")
    shutil.rmtree(project.root / "cases")
    shutil.move(project.root / "elsewhere", project.root / "cases")
    assert project.run("check", "--part-surrogates").code == 0
    assert held(project, "right", "zip") == here
    assert not (project.root / "home").exists()


def test_a_surrogate_in_encoded_text_is_not_parted(project: Project) -> None:
    """It would be left there: nothing is written, and the message says what to do."""
    left, right = PAIRS["ip"][0]
    ingest(project, "left", "ip", left, 7)
    shutil.move(project.root / "cases", project.root / "aside")
    trace = about("ip", right, 8)
    blob = base64.b64encode(f"the host {right} did not answer for an hour".encode()).decode()
    note = Step(3, "tool", "log", {}, {"blob": blob}, effect="read")
    project.write("right.trace", replace(trace, steps=(*trace.steps, note)))
    assert project.run("ingest", "right.trace", "--id", "right", "--keep-all").code == 0
    shutil.copytree(project.root / "aside", project.root / "cases", dirs_exist_ok=True)
    before = files(project.root / "cases")
    done = project.run("check", "--part-surrogates")
    assert (done.code, "encoded text" in done.err, "ingest its trace again" in done.err) == (2, True, True)
    assert files(project.root / "cases") == before


def test_a_permanent_case_keeps_its_surrogate(project: Project) -> None:
    """Of two that disagree the one that blocks releases stays as it is, and its lock."""
    left, right = PAIRS["zip"][0]
    ingest(project, "left", "zip", left, 7)
    shutil.move(project.root / "cases", project.root / "aside")
    ingest(project, "right", "zip", right, 8)
    project.write("good.trace", replace(healthy(8), steps=about("zip", right, 8).steps[:2]))
    assert project.run("review", "right", "--accept-all", "--reason", "read").code == 0
    assert project.run("promote", "right", "--reason", "yes", "--passing", "good.trace").code == 0
    shutil.copytree(project.root / "aside", project.root / "cases", dirs_exist_ok=True)
    locked = read_lock(project.root / "cases")
    assert project.run("check", "--part-surrogates").code == 0
    assert read_lock(project.root / "cases") == locked
    assert len(case_versions(project.root / "cases" / "left")) == 2


def test_a_value_with_two_surrogates_is_joined(project: Project) -> None:
    """One branch knew the other value and drew again, the other did not."""
    left, right = PAIRS["ip"][0]
    cases, aside = project.root / "cases", project.root / "aside"
    ingest(project, "a-left", "ip", left, 7)
    further = ingest(project, "b-right", "ip", right, 8)
    shutil.move(cases, aside)
    ingest(project, "c-right", "ip", right, 9)
    shutil.copytree(aside, cases, dirs_exist_ok=True)
    assert project.run("check").code == 2
    assert project.run("check", "--part-surrogates").code == 0
    assert held(project, "c-right", "ip") == held(project, "b-right", "ip") == further


def test_forgetting_finds_a_further_surrogate_and_leaves_the_other_value(project: Project) -> None:
    """The tags of the subject go as well; who has the surrogate that the subject would have had is not touched."""
    left, right = PAIRS["ip"][0]
    first, second = ingest(project, "one", "ip", left, 7), ingest(project, "two", "ip", right, 8)
    done = project.run("forget", right, "--reason", "ticket 12", "--json")
    assert done.code == 0, done.err
    assert [case["id"] for case in done.json()["cases"]] == ["two"]
    tag = read_case(project.root / "cases" / "one").trace.record.surrogates["ip"][first]
    case = read_case(project.root / "cases" / "two")
    gone = held(project, "two", "ip")
    assert gone not in (first, second)
    assert [*case.trace.record.surrogates["ip"]] == [gone]
    assert held(project, "one", "ip") == first
    again = ingest(project, "three", "ip", right, 9)
    kept = read_case(project.root / "cases" / "three").trace.record.surrogates["ip"]
    assert again == second
    assert tag not in kept.values()
    assert project.run("check").code == 0


def test_forgetting_an_account_leaves_all_others(project: Project) -> None:
    """Of ten accounts with one digit each has a surrogate that another spelling of another one might have had."""
    for number in range(10):
        ingest(project, f"case-{number}", "user_id", f"lena_vogt_{number}", number)
    before = {number: held(project, f"case-{number}", "user_id") for number in range(10)}
    done = project.run("forget", "lena_vogt_6", "--reason", "asked")
    assert (done.code, done.out.count("rewritten")) == (0, 1), done.out
    assert {number for number in range(10) if held(project, f"case-{number}", "user_id") != before[number]} == {6}
    assert project.run("check").code == 0


def test_forgetting_a_name_forgets_whose_accounts_have_it(project: Project) -> None:
    """In each case its words are others now; that is no disagreement, and no tag leads from one to the other."""
    for number in (7, 8):
        ingest(project, f"case-{number}", "user_id", "lena_vogt_4711", number)
    assert project.run("forget", "Lena Vogt", "--reason", "asked").code == 0
    assert held(project, "case-7", "user_id") != held(project, "case-8", "user_id")
    assert project.run("check").code == 0
    told = [read_case(project.root / "cases" / f"case-{number}").trace.record.surrogates for number in (7, 8)]
    assert not set(told[0].get("account", {}).values()) & {*told[1].get("account", {}).values()}


def test_another_project_key_is_noticed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was lost or differs between machines parts what belongs together: ingesting says so."""
    left, right = PAIRS["dob"][0]
    first = ingest(project, "one", "dob", left, 7)
    project.write("two.trace", about("dob", right, 8))
    assert "another project key" not in project.run("ingest", "two.trace", "--id", "two", "--new").out
    monkeypatch.setenv("EVALKIT_PSEUDONYM_KEY", "22" * 32)
    project.write("three.trace", about("dob", left, 9))
    done = project.run("ingest", "three.trace", "--id", "three", "--new")
    assert (done.code, "2 of the cases here were made with another project key" in done.out) == (0, True)
    assert held(project, "three", "dob") != first
    assert project.run("check").code == 0


def test_a_case_without_tags_is_read_and_takes_no_part(project: Project) -> None:
    """Files from before: their digests hold, and a value has the surrogate in them that it always had."""
    from evalkit.case.store import write_case
    from tests.build import a_case

    path = write_case(a_case(id="old"), project.root / "cases")
    assert b'"surrogates"' not in path.read_bytes()
    left, _ = PAIRS["zip"][0]
    ingest(project, "one", "zip", left, 9)
    assert project.run("check", "--write-views").code == 0


def test_a_record_shows_surrogates_and_no_value(project: Project) -> None:
    """What is committed: kind, surrogate and tag; the same value has the same tag in all cases."""
    project.ingested("one")
    project.ingested("two", "--new", order=8)
    one, two = (read_case(project.root / "cases" / name).trace.record.surrogates for name in ("one", "two"))
    assert one["email"] == two["email"]
    ((surrogate, tag),) = one["email"].items()
    assert surrogate.endswith("@example.com")
    assert re.fullmatch(r"[0-9a-f]{16}", tag)


def files(folder: Path) -> dict[str, bytes]:
    """All files under a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_parting_what_is_in_order_writes_nothing(project: Project) -> None:
    """No version, no view, no lock."""
    project.promoted()
    before = files(project.root / "cases")
    assert project.run("check", "--part-surrogates").code == 0
    assert files(project.root / "cases") == before


def recorded(project: Project, name: str, field: str, value: str, order: int) -> Path:
    """A recording of the incident, sanitized as it is written."""
    trace = about(field, value, order)
    with evalkit.record(project.root / name, input=trace.input) as run:
        for step in trace.steps:
            given: Any = step.input
            evalkit.tool(effect=step.effect)(named(step.name, step.output))(**given)
        run.output = trace.output
    return project.root / name


def named(name: str, answer: Any) -> Any:
    """A tool that gives an answer."""

    def body(**_: Any) -> Any:
        return answer

    body.__name__ = name
    return body


@FIELD
def test_recordings_are_told_apart_when_they_meet(project: Project, field: str) -> None:
    """Two recorders, of which neither knew the other: the second case draws again, and so the raw value."""
    left, right = PAIRS[field][0]
    one = recorded(project, "one.trace", field, left, 7)
    recorded(project, "two.trace", field, right, 8)
    assert left not in one.read_text("utf-8")
    for name in ("one", "two"):
        done = project.run("ingest", f"{name}.trace", "--id", name, "--new")
        assert done.code == 0, done.err
    first, second = held(project, "one", field), held(project, "two", field)
    assert first != second
    assert ingest(project, "three", field, right, 9) == second
    assert ingest(project, "four", field, left, 10) == first
    again = project.run("ingest", "two.trace", "--id", "again")
    assert (again.code, "case two already" in again.err) == (2, True)
    assert project.run("check").code == 0


@FIELD
def test_a_recording_in_a_project_starts_from_its_cases(project: Project, field: str) -> None:
    """What is recorded after an ingest has the library's surrogates from the start."""
    left, right = PAIRS[field][0]
    ingest(project, "one", field, left, 7)
    second = ingest(project, "two", field, right, 8)
    assert second in recorded(project, "later.trace", field, right, 9).read_text("utf-8")


def test_a_sanitized_file_tells_of_its_surrogates(project: Project) -> None:
    """What `sanitize --out` writes can be ingested as the raw trace could."""
    left, right = PAIRS["dob"][0]
    project.write("raw.trace", about("dob", right, 8))
    assert project.run("sanitize", "raw.trace", "--out", "clean.trace").code == 0
    first = ingest(project, "one", "dob", left, 7)
    assert project.run("ingest", "clean.trace", "--id", "two", "--new").code == 0
    assert held(project, "two", "dob") != first
    assert ingest(project, "three", "dob", right, 9) == held(project, "two", "dob")


@pytest.mark.parametrize(
    "told",
    [
        {"card": {"u0123456789ab@example.com": "0" * 16}},
        {"birth_date": {"1850-02-31": "0" * 16, "yesterday": "1" * 16}},
        {"iban": {"@@@@": "0" * 16}, "phone": {"a": "0" * 16}},
        {"no_kind": {"x": "0" * 16}},
        {"email": {"u0123456789ab@example.com": "no tag"}},
        {"name": {"e": "0" * 16, "a" * 10_000: "0" * 16}},
    ],
)
def test_what_a_strange_trace_tells_is_not_believed(project: Project, told: Any) -> None:
    """Anybody may write a trace: what can't be true is passed over."""
    project.write("x.trace", replace(incident(), surrogates=told))
    done = project.run("ingest", "x.trace", "--id", "x")
    assert done.code == 0, done.err
    project.ingested("plain", "--new", order=8)
    strange, plain = (read_case(project.root / "cases" / name).trace.record for name in ("x", "plain"))
    assert strange.surrogates == plain.surrogates


@pytest.mark.parametrize("told", [{"email": "x"}, ["x"]])
def test_a_trace_that_tells_in_another_form_is_refused(project: Project, told: Any) -> None:
    """With file and line."""
    line = LineChain().encode({**header_json(incident()), "surrogates": told})
    project.write("x.trace", line)
    done = project.run("ingest", "x.trace")
    assert (done.code, "x.trace:1" in done.err) == (2, True)
