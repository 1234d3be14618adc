"""`evalkit gate --against`: in repositories as CI and people have them, and what became of cases since the base."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import replace

import pytest

from evalkit.app.base_lock import compare_with_base
from evalkit.app.base_tree import base_tree
from evalkit.app.locks import refresh_lock
from evalkit.case.model import LifeEvent, State
from evalkit.case.store import read_case, read_with_digest, write_case
from evalkit.case.tombstone import Tombstone, add_tombstone
from evalkit.case.view import write_view
from evalkit.suite.select import list_cases
from evalkit.trace.file import encode_trace
from tests.build import a_trace, tool_step
from tests.cli.test_gate import committed, gated, git, ran, removed
from tests.cli.test_surrogates import about
from tests.project import Project, healthy
from tests.sanitize.colliding import PAIRS

__all__ = ["gated"]

GONE = "another: gates.lock: is in the gate lock, but there is no such permanent case any more"


def kept(project: Project, message: str = "x") -> None:
    """All that is there, committed."""
    git(project, "add", "cases", "suites")
    git(project, "commit", "-m", message)


def told(project: Project, folder: str, base: str = "main") -> list[str]:
    """What the gate says beside a decision that opens."""
    done = project.run("gate", folder, "--against", base, "--json")
    assert done.code == 0, done.out + done.err
    found: list[str] = done.json()["notices"]
    return found


def stricter(project: Project, case_id: str, order: int) -> str:
    """A further check that gates; its id."""
    shown = project.run("show", case_id, "--json").json()["checks"]
    project.write("checks.json", [*shown, {"type": "not_called", "params": {"name": "delete"}}])
    project.write("passing.trace", healthy(order))
    how = ("--checks", "checks.json", "--passing", "passing.trace", "--reason", "x")
    done = project.run("review", case_id, *how)
    assert done.code == 0, done.err
    (added,) = [one.id for one in read_case(project.root / "cases" / case_id).gating if one.type == "not_called"]
    return added


# Which commit is meant


@pytest.mark.parametrize(("kind", "full"), [("tag", "refs/heads/main"), ("branch", "refs/remotes/origin/main")])
def test_a_name_of_two_commits_is_refused(gated: Project, kind: str, full: str) -> None:
    """Git takes the tag, and a local branch before a remote one: whoever may push one could choose the base."""
    committed(gated)
    git(gated, "update-ref", "refs/remotes/origin/main", "main")
    removed(gated, "another")
    kept(gated)
    base = full.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    folder = ran(gated)
    git(gated, kind, base)
    done = gated.run("gate", folder, "--against", base)
    assert (done.code, f"pass --against {full}" in done.err) == (2, True)
    done = gated.run("gate", folder, "--against", full)
    assert (done.code, f"{GONE} ({base}" in done.out) == (1, True)


def test_a_tag_of_the_same_commit_is_no_other_name(gated: Project) -> None:
    """Annotated, as releases have them."""
    committed(gated)
    git(gated, "tag", "-a", "-m", "one", "main")
    git(gated, "commit", "--allow-empty", "-m", "two")
    assert not [note for note in told(gated, ran(gated)) if "checked out" in note]


@pytest.mark.parametrize(
    ("file", "text", "code"),
    [
        ("evalkit.toml", "# all as usual\n", 0),
        ("pyproject.toml", '[tool.evalkit]\ntarget = "agent:run"\n', 0),
        ("pyproject.toml", '[project]\nname = "b"\n', 1),
    ],
)
def test_the_lock_of_a_project_in_a_folder_of_this_one_is_that_ones(
    gated: Project, file: str, text: str, code: int
) -> None:
    """In a monorepo whose top gets a library of its own; in a folder without settings it may be this one's."""
    shutil.copytree(gated.root / "cases", gated.root / "services" / "b" / "cases")
    gated.write(f"services/b/{file}", text)
    git(gated, "init", "-b", "main")
    git(gated, "add", "services")
    git(gated, "commit", "-m", "b has cases")
    git(gated, "switch", "-c", "mine")
    removed(gated, "another")
    kept(gated)
    done = gated.run("gate", ran(gated), "--against", "main")
    assert (done.code, GONE in done.out, "no case is locked in main" in done.out) == (code, bool(code), not code)


def test_a_library_that_became_another_projects_is_this_ones_still(gated: Project) -> None:
    """Settings that the base does not have beside its lock make it nobody else's."""
    (gated.root / "services").mkdir()
    (gated.root / "cases").rename(gated.root / "services" / "cases")
    git(gated, "init", "-b", "main")
    git(gated, "add", "services")
    git(gated, "commit", "-m", "cases, named by the environment")
    git(gated, "switch", "-c", "mine")
    shutil.copytree(gated.root / "services" / "cases", gated.root / "cases")
    gated.write("services/evalkit.toml", "")
    removed(gated, "another")
    kept(gated)
    done = gated.run("gate", ran(gated), "--against", "main")
    assert (done.code, GONE in done.out) == (1, True)


@pytest.mark.parametrize("mine", [True, False])
def test_what_a_sparse_checkout_leaves_out_is_not_gone(
    gated: Project, monkeypatch: pytest.MonkeyPatch, mine: bool
) -> None:
    """The locks of other projects; only what the branch itself has removed may have been this one's."""
    for name in ("a", "b", "c"):
        shutil.copytree(gated.root / "cases", gated.root / name / "cases")
        gated.write(f"{name}/evalkit.toml", "")
    for name in ("cases", "suites"):
        shutil.rmtree(gated.root / name)
    git(gated, "init", "-b", "main")
    git(gated, "add", "b", "c", *([] if mine else ["a"]))
    git(gated, "commit", "-m", "others have cases")
    git(gated, "switch", "-c", "mine")
    if not mine:
        git(gated, "mv", "a", "d")
    folder = "a" if mine else "d"
    shutil.rmtree(gated.root / folder / "cases" / "another")
    refresh_lock(gated.root / folder / "cases")
    git(gated, "add", folder)
    git(gated, "commit", "-m", "a")
    git(gated, "sparse-checkout", "set", folder)
    assert not (gated.root / "b").exists()
    project = Project(gated.root / folder, monkeypatch, None)  # type: ignore[arg-type]  # starts no process of its own
    done = project.run("gate", ran(project), "--against", "main")
    found = done.code, GONE in done.out, "no case is locked in main" in done.out
    assert found == (1 - mine, not mine, mine), done.err


def test_a_base_that_is_what_is_released_is_told(gated: Project) -> None:
    """As after a push to main: its lock is the one that the change made."""
    committed(gated)
    removed(gated, "another")
    kept(gated)
    folder = ran(gated)
    assert any("HEAD is the commit that is checked out" in note for note in told(gated, folder, "HEAD"))
    assert gated.run("gate", folder, "--against", "HEAD~1").code == 1


def test_another_repository_of_the_environment_is_not_asked(gated: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git sets such variables for its hooks."""
    committed(gated)
    removed(gated, "another")
    folder = ran(gated)
    other = gated.root / "other"
    other.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=other, check=True)
    (other / "x").write_text("x", "utf-8")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "add", "x"], cwd=other, check=True)
    subprocess.run(["git", *who, "commit", "-q", "-m", "x"], cwd=other, check=True)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    done = gated.run("gate", folder, "--against", "main")
    assert (done.code, f"{GONE} (main)" in done.out) == (1, True)


def test_a_repository_that_git_refuses_is_told_with_the_cure(gated: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user is not the checkout's; and its run is not called clean."""
    committed(gated)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    folder = ran(gated)
    done = gated.run("gate", folder, "--against", "main")
    assert (done.code, "git config --global --add safe.directory" in done.err) == (2, True)
    assert "git could not tell whether the run tried changes that were not committed" in gated.run("gate", folder).out


@pytest.mark.parametrize("reference", ["$(touch started)", "main;touch started", "ma\nin", "main --exec=x", ":/x"])
def test_a_strange_reference_is_in_no_command_to_paste(gated: Project, reference: str) -> None:
    """Whoever names a branch does not write the cure."""
    committed(gated)
    done = gated.run("gate", ran(gated), "--against", reference)
    cure = done.err.rpartition("cure: ")[2].strip()
    assert (done.code, cure) == (2, "pass --against origin/main")


def test_a_missing_git_is_told(gated: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not that the reference is."""
    committed(gated)
    folder = ran(gated)
    monkeypatch.setenv("PATH", str(gated.root))
    done = gated.run("gate", folder, "--against", "main")
    assert (done.code, "git can't be started" in done.err) == (2, True)


def test_a_run_of_no_commit_is_told(gated: Project) -> None:
    """One that was made elsewhere, as in a container without the repository."""
    folder = ran(gated)
    committed(gated)
    assert any("does not say of which commit it is" in note for note in told(gated, folder))


def test_no_program_of_the_repository_is_started(gated: Project) -> None:
    """A filter that `.gitattributes` asks for; the suite's baseline is compared all the same."""
    folder = ran(gated)
    assert gated.run("baseline", "set", folder, "--reason", "x").code == 0
    suite = (gated.root / "suites" / "release.toml").read_text("utf-8")
    gated.write("suites/release.toml", suite.replace("zero_failures", "not_worse"))
    committed(gated)
    gated.run("run", "suites/release.toml", "--out", "reports/b")
    gated.write(".gitattributes", "* filter=x\n")
    git(gated, "config", "filter.x.clean", f"touch {gated.root}/started; cat")
    assert gated.run("gate", "reports/b", "--against", "main").code == 0
    assert not (gated.root / "started").exists()


def test_what_git_lfs_holds_is_the_same_as_its_pointer(gated: Project) -> None:
    """A baseline of the base is a pointer to the file that is here; one that was not fetched says so."""
    folder = ran(gated)
    gated.run("baseline", "set", folder, "--reason", "x")
    suite = (gated.root / "suites" / "release.toml").read_text("utf-8")
    gated.write("suites/release.toml", suite.replace("zero_failures", "not_worse"))
    path = gated.root / "suites" / "release.baseline.parquet"
    content = path.read_bytes()
    pointer = pointer_to(content)
    path.write_bytes(pointer)
    committed(gated)
    path.write_bytes(content)
    gated.run("run", "suites/release.toml", "--out", "reports/b")
    assert not [note for note in told(gated, "reports/b") if "baseline" in note]
    path.write_bytes(pointer)
    done = gated.run("gate", "reports/b")
    assert (done.code, "git lfs pull" in done.err) == (2, True)
    gated.write("cases/another/v0003.parquet", pointer)
    for command in ("check", "list"):
        done = gated.run(command)
        assert (done.code, "Git LFS did not fetch it" in done.out + done.err) == (2, True)


def pointer_to(content: bytes) -> bytes:
    """What Git LFS has git keep in a file's place."""
    oid = f"oid sha256:{hashlib.sha256(content).hexdigest()}"
    return f"version https://git-lfs.github.com/spec/v1\n{oid}\nsize {len(content)}\n".encode()


def test_a_lock_that_git_lfs_holds_is_read(gated: Project) -> None:
    """Where all of `cases/` is tracked: the base's is what is here, or what was fetched; else the words lead to it."""
    path = gated.root / "cases/gates.lock"
    content = path.read_bytes()
    path.write_bytes(pointer_to(content))
    for command in (("check",), ("check", "--write-lock"), ("list",)):
        done = gated.run(*command)
        said = "Git LFS did not fetch it" in done.out + done.err
        assert (done.code, said) == ((2, True) if "check" in command else (0, False)), done.err
    committed(gated)
    path.write_bytes(content)
    assert gated.run("gate", ran(gated), "--against", "main").code == 0
    removed(gated, "another")
    done = gated.run("gate", ran(gated, "once", "b"), "--against", "main")
    commit = base_tree(gated.root, "main").commit
    assert (done.code, "Git LFS did not fetch cases/gates.lock of main" in done.err) == (2, True)
    assert f"git lfs fetch origin {commit}" in done.err
    oid = hashlib.sha256(content).hexdigest()
    gated.write(f".git/lfs/objects/{oid[:2]}/{oid[2:4]}/{oid}", content)
    done = gated.run("gate", "reports/b", "--against", "main")
    assert (done.code, GONE in done.out) == (1, True)


def test_a_folder_whose_name_is_no_text_is_found(gated: Project) -> None:
    """File names are bytes."""
    committed(gated)
    odd = os.fsdecode(b"lat\xff")
    try:
        (gated.root / odd).mkdir()
    except OSError:
        pytest.skip("this file system has names of text only")
    git(gated, "switch", "main")
    git(gated, "mv", "cases", odd)
    gated.write("evalkit.toml", "")
    git(gated, "commit", "-m", "odd")
    git(gated, "switch", "mine")
    removed(gated, "another")
    done = gated.run("gate", ran(gated), "--against", "main")
    assert (done.code, f"{GONE} (main" in done.out) == (1, True)


# A branch that is behind


def test_a_version_that_the_base_made_meanwhile_is_told_to_be_later(gated: Project) -> None:
    """Nobody weakened the case: the branch is behind. Also where both made a version of that number."""
    committed(gated)
    git(gated, "switch", "main")
    assert gated.run("edit", "another", "--on-miss", "lookup=error", "--reason", "x").code == 0
    kept(gated)
    git(gated, "switch", "mine")
    done = gated.run("gate", ran(gated), "--against", "main")
    later = "which locked it after this branch had left it: merge main"
    assert (done.code, f"is locked at version 4, but its newest is 3 (main, {later})" in done.out) == (1, True)
    assert gated.run("edit", "another", "--on-miss", "lookup=fail", "--reason", "y").code == 0
    kept(gated)
    done = gated.run("gate", ran(gated, name="b"), "--against", "main")
    assert f"version 4 is not the file that was locked (main, {later})" in done.out


def test_a_clone_without_history_says_that_the_branch_may_be_behind(
    gated: Project, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words on the screen lead out: the fetch that they name, then what blocks and why it may."""
    removed(gated, "another")
    committed(gated)
    git(gated, "switch", "main")
    gated.promoted("third", "--new", order=9)
    kept(gated)
    git(gated, "switch", "mine")
    git(gated, "commit", "--allow-empty", "-m", "two")
    clone = tmp_path_factory.mktemp("shallow") / "clone"
    git(gated, "clone", "--depth", "1", "--branch", "mine", f"file://{gated.root}", str(clone))
    monkeypatch.chdir(clone)
    alone = Project(clone, monkeypatch, None)  # type: ignore[arg-type]  # starts no process of its own
    folder = ran(alone)
    refused = alone.run("gate", folder, "--against", "origin/main")
    cure = "git fetch origin main:refs/remotes/origin/main"
    assert (refused.code, cure in refused.err) == (2, True)
    subprocess.run([*cure.split(), "--depth", "1"], cwd=clone, check=True, capture_output=True)
    done = alone.run("gate", folder, "--against", "origin/main")
    assert done.code == 1
    assert "the branch may be behind origin/main: git can't tell" in done.out


# What became of a case


def test_a_case_retired_on_the_branch_is_told(gated: Project) -> None:
    """Before the run, too: that one knows nothing of it."""
    committed(gated)
    gated.run("retire", "another", "--reason", "the order system went", "--actor", "bob")
    (note,) = [note for note in told(gated, ran(gated)) if "retired" in note]
    assert note.startswith("case another, a permanent gate in main, was retired, by bob at ")
    assert note.endswith(": the order system went")


@pytest.mark.parametrize("retired", [True, False])
def test_a_case_that_is_reviewed_again_after_its_retirement_is_told(gated: Project, retired: bool) -> None:
    """It is on its way to be promoted anew; one that lost its state without a retirement blocks."""
    committed(gated)
    if retired:
        gated.run("retire", "another", "--reason", "too strict", "--actor", "bob")
        assert gated.run("review", "another", "--accept-all", "--reason", "x").code == 0
    else:
        case, digest = read_with_digest(gated.root / "cases/another/v0003.parquet")
        event = LifeEvent("reviewed", "bob", "x", "2026-12-01T00:00:00Z")
        write_case(replace(case, version=4, parent=digest, life=(*case.life, event)), "cases")
    refresh_lock(gated.root / "cases")
    done = gated.run("gate", ran(gated), "--against", "main")
    assert (done.code, f"{GONE} (main)" in done.out) == (int(not retired), not retired), done.out
    said = "case another, a permanent gate in main, was retired, by bob at "
    assert (said in done.out, ": too strict, and is reviewed again" in done.out) == (retired, retired)


@pytest.mark.parametrize("later", [False, True])
def test_a_case_retired_here_and_changed_in_the_base_blocks(gated: Project, later: bool) -> None:
    """Whoever retired it did not see what is locked there: another version of that number, or a later one."""
    committed(gated)
    git(gated, "switch", "main")
    for _ in range(1 + later):
        assert gated.run("edit", "another", "--on-miss", "lookup=error", "--reason", "x").code == 0
    kept(gated)
    git(gated, "switch", "mine")
    gated.run("retire", "another", "--reason", "y", "--actor", "bob")
    done = gated.run("gate", ran(gated), "--against", "main")
    why = "its locked version 5 is missing" if later else "version 4 is not the file that was locked"
    assert (done.code, f"another: gates.lock: is retired, but {why} (main" in done.out) == (1, True), done.out


def test_a_case_promoted_anew_tells_what_it_no_longer_gates_on(gated: Project) -> None:
    """After a retirement that is allowed: whoever lets it pass must see it."""
    lost = stricter(gated, "another", 8)
    committed(gated)
    gated.run("retire", "another", "--reason", "too strict", "--actor", "bob")
    gated.write("passing.trace", healthy(8))
    done = gated.run("review", "another", "--drop", lost, "--reason", "x", "--passing", "passing.trace")
    assert done.code == 0, done.err
    assert gated.run("promote", "another", "--reason", "x").code == 0
    (note,) = [note for note in told(gated, ran(gated)) if "case another" in note]
    assert "was retired, by bob at " in note
    assert note.endswith(f": too strict, and is permanent again; it no longer gates on {lost}")


def test_a_case_promoted_anew_tells_what_it_compares_less(gated: Project) -> None:
    """Its retirement says nothing of what was left out afterwards."""
    committed(gated)
    gated.write("passing.trace", healthy(8))
    for command in (
        ("retire", "another", "--reason", "too strict"),
        ("review", "another", "--accept-all", "--reason", "x", "--passing", "passing.trace"),
        ("promote", "another", "--reason", "x"),
        ("edit", "another", "--volatile", "refund=/order", "--reason", "x"),
    ):
        assert gated.run(*command).code == 0
    notes = [note for note in told(gated, ran(gated)) if "case another" in note]
    assert (len(notes), notes[0].endswith(": too strict, and is permanent again")) == (2, True)
    assert notes[1].startswith("case another compares less than in main: of calls it leaves out refund=/order")


def test_another_incident_in_a_cases_place_is_told(gated: Project) -> None:
    """`ingest --into` is a way to other gates."""
    committed(gated)
    looked = [tool_step(at, "lookup", {"order": 7}, {"amount": 5.0}) for at in range(2)]
    newer = a_trace(*looked, input={"order": 7}, output={"done": "x"}, id="newer")
    gated.write("newer.trace", b"".join(encode_trace(newer)))
    gated.write("passing.trace", healthy(7))
    gated.write("expect.json", {"output": {"done": {"ok": True}}})
    done = gated.run(
        "ingest", "newer.trace", "--into", "refund-twice", "--reason", "nicer", "--no-verify",
        "--expect", "expect.json", "--passing", "passing.trace", "--actor", "bob",
    )  # fmt: skip
    assert done.code == 0, done.err
    (note,) = [note for note in told(gated, ran(gated)) if "refund-twice" in note]
    assert note.startswith("case refund-twice is of another incident than in main, by bob at ")
    assert ": nicer" in note


def test_other_answers_to_what_is_missing_are_told(gated: Project) -> None:
    """A stub may be all that an agent needs to pass."""
    committed(gated)
    gated.run("edit", "another", "--on-miss", "lookup=error", "--reason", "x")
    (note,) = [note for note in told(gated, ran(gated)) if "case another" in note]
    assert "answers what it holds no answer for otherwise than in main: lookup" in note
    rules = ("--on-miss", "look*=fail", "--on-miss", "*=error")
    gated.run("edit", "another", *rules, "--reason", "x")
    kept(gated)
    git(gated, "branch", "-f", "main")
    done = gated.run("edit", "another", *rules[2:], *rules[:2], "--reason", "all in all the same")
    assert done.code == 0, done.err
    (note,) = [note for note in told(gated, ran(gated, "once", "b")) if "case another" in note]
    assert "answers what it holds no answer for otherwise than in main: its rules in another order" in note


@pytest.mark.parametrize("what", ["steps", "input", "clock", "target"])
def test_another_recording_is_told(gated: Project, what: str) -> None:
    """Nobody but a program of one's own writes such a version; what it plays, and to whom, decides what happens."""
    committed(gated)
    case, digest = read_with_digest(gated.root / "cases" / "another" / "v0003.parquet")
    event = LifeEvent("permanent", "bob", "tidied", "2026-12-01T00:00:00Z")
    whole = case.trace.trace
    steps = (replace(whole.steps[0], output={"amount": 0.0}), *whole.steps[1:])
    changed = {
        "steps": replace(whole, steps=steps),
        "input": replace(whole, input=8),
        "clock": replace(whole, started_at=86_400.0),
        "target": whole,
    }
    trace = case.trace.admitted(changed[what], case.trace.record)
    target = "easy:run" if what == "target" else case.target
    write_case(replace(case.moved(digest, event), trace=trace, target=target), gated.root / "cases")
    refresh_lock(gated.root / "cases")
    (note,) = [note for note in told(gated, ran(gated)) if "case another" in note]
    said = "names another target than in main: easy:run (" if what == "target" else "replays another recording of its "
    assert f"case another {said}" in note


@pytest.mark.parametrize(("state", "said"), [("permanent", ""), ("retired", "is retired, but ")])
def test_a_version_that_hides_who_made_it_blocks(gated: Project, state: State, said: str) -> None:
    """Its life is as long as that of the locked one; it is of another incident, which an event would tell."""
    committed(gated)
    case, digest = read_with_digest(gated.root / "cases" / "another" / "v0003.parquet")
    event = LifeEvent(state, "bob", "x", "2026-12-01T00:00:00Z")
    moved = replace(case.moved(digest, event), life=(*case.life[:-1], event))
    record = replace(case.trace.record, raw_hash="0" * 64)
    write_case(replace(moved, trace=case.trace.admitted(case.trace.trace, record)), gated.root / "cases")
    refresh_lock(gated.root / "cases")
    done = gated.run("gate", ran(gated), "--against", "main")
    told = f"another: gates.lock: {said}its version 4 does not say who changed it, and why (main)"
    assert (done.code, told in done.out) == (1, True), done.out


def test_a_damaged_file_of_the_base_ends_no_gate(gated: Project) -> None:
    """Its mend is a branch like any other: what it locks is missing here, or is there."""
    path = gated.root / "cases/another/v0003.parquet"
    content = path.read_bytes()
    path.write_bytes(b"PAR1")
    committed(gated)
    path.write_bytes(content)
    assert gated.run("gate", ran(gated), "--against", "main").code == 0
    assert gated.run("edit", "another", "--on-miss", "lookup=error", "--reason", "x").code == 0
    path.unlink()
    done = gated.run("gate", ran(gated, "once", "b"), "--against", "main")
    assert (done.code, "another: gates.lock: its locked version 3 is missing (main)" in done.out) == (1, True), done.err


@pytest.mark.parametrize("fewer", [False, True])
def test_forgetting_a_subject_takes_no_gate_away(gated: Project, fewer: bool) -> None:
    """The version that the base locks is gone here, and read from the base."""
    stricter(gated, "another", 8)
    committed(gated)
    cases = gated.root / "cases"
    path = cases / "another" / "v0004.parquet"
    case, digest = read_with_digest(path)
    event = LifeEvent("permanent", "bob", "ticket 7", "2026-12-01T00:00:00Z")
    moved = case.moved(digest, event)
    after = replace(moved, checks=moved.gating[:1] if fewer else moved.checks)
    write_case(after, cases)
    write_view(after, cases)
    path.unlink()
    add_tombstone(cases / "another", Tombstone("2026-12-01T00:00:00Z", "bob", "ticket 7", ((4, digest),), 5))
    refresh_lock(cases)
    done = gated.run("gate", ran(gated), "--against", "main")
    assert "of case another the version that main locks was forgotten, by bob at 2026-12-01T00:00:00Z: ticket 7" in (
        done.out
    )
    lost = "another: gates.lock: no longer gates on 1 not_called, and was not retired for it (main)"
    assert (done.code, lost in done.out) == (int(fewer), fewer)


@pytest.mark.parametrize("linked", ["cases", "suites"])
def test_a_link_that_leads_elsewhere_now_hides_nothing(gated: Project, linked: str) -> None:
    """The base's own link counts for what the base has, also where it has what the link leads to now."""
    folder = ran(gated)
    shutil.rmtree(gated.root / folder)
    first, second = (gated.root / f"{linked}{number}" for number in (1, 2))
    (gated.root / linked).rename(first)
    shutil.copytree(first, second)
    (gated.root / linked).symlink_to(first.name)
    if linked == "cases":
        shutil.rmtree(second / "another")
        refresh_lock(second)
    else:
        suite = second / "release.toml"
        suite.write_text(suite.read_text("utf-8").replace("samples = 3", "samples = 2"), "utf-8")
    committed(gated, f"{linked}1", f"{linked}2")
    (gated.root / linked).unlink()
    (gated.root / linked).symlink_to(second.name)
    gated.run("run", "suites/release.toml", "--out", folder)
    done = gated.run("gate", folder, "--against", "main")
    said = f"{GONE} (main)" if linked == "cases" else "is another one than in main: samples 2 instead of 3"
    assert (done.code, said in done.out) == (int(linked == "cases"), True), done.out


# What the settings say


def test_a_library_that_the_environment_names_is_told(gated: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The base has it too, with fewer cases: it was compared with itself."""
    shutil.copytree(gated.root / "cases" / "another", gated.root / "decoy" / "another")
    refresh_lock(gated.root / "decoy")
    committed(gated, "decoy")
    monkeypatch.setenv("EVALKIT_CASES", "decoy")
    assert any("the cases are those in decoy, where main has them in cases" in note for note in told(gated, ran(gated)))


def test_a_base_from_before_evalkit_is_not_said_to_have_its_folders(gated: Project) -> None:
    """It has no library and no suites, wherever they are now."""
    gated.write("readme.md", "x")
    git(gated, "init", "-b", "main")
    git(gated, "add", "readme.md")
    git(gated, "commit", "-m", "x")
    for name in ("cases", "suites"):
        (gated.root / name).rename(gated.root / f"own_{name}")
    gated.write("evalkit.toml", 'cases = "own_cases"\nsuites = "own_suites"\n')
    git(gated, "add", "evalkit.toml")
    git(gated, "commit", "-m", "y")
    gated.write("own_suites/s.toml", 'target = "tests.suite.agents:once"\nsamples = 2\n[select]\ngate = true\n')
    gated.run("run", "s", "--out", "reports/a")
    notes = told(gated, "reports/a", "HEAD~1")
    assert "no case is locked in HEAD~1: nothing was compared with it" in notes
    assert not [note for note in notes if "has them in" in note]


@pytest.mark.parametrize("now", ["", '[affected]\nprompt = ["agent/prompt.txt", "agent/old.txt"]\n'])
def test_settings_that_hold_no_touched_case_any_more_are_told(gated: Project, now: str) -> None:
    """By [affected] a gate holds what another prompt touches: without it, or with the former prompt beside, none."""
    for name in ("prompt", "old"):
        gated.write(f"agent/{name}.txt", "You refund.\n")
    gated.write("evalkit.toml", '[affected]\nprompt = "agent/prompt.txt"\n')
    committed(gated, "evalkit.toml", "agent")
    assert not [note for note in told(gated, ran(gated)) if "affected" in note]
    gated.write("evalkit.toml", now)
    (note,) = [note for note in told(gated, "reports/a") if "affected" in note]
    assert "where main has agent/prompt.txt" in note


def test_another_frozen_world_is_told(gated: Project) -> None:
    """What an agent sees of the machine may make it pass."""
    committed(gated)
    gated.write("evalkit.toml", '[world]\nkeep_env = ["HOME"]\n')
    (note,) = [note for note in told(gated, ran(gated)) if "world" in note]
    assert note == "the run's [world] is another one than in main: keep_env HOME instead of unsaid"


def test_another_address_of_the_model_is_told(gated: Project) -> None:
    """A model that says what is wanted can be had anywhere; who asks is not shown."""
    folder = ran(gated)
    text = (gated.root / "suites" / "release.toml").read_text("utf-8")
    model = '[model]\nbase_url = "http://{}127.0.0.1:{}/v1"\n'
    gated.write("suites/release.toml", 'mode = "live-model"\n' + text + model.format("", 1))
    committed(gated)
    gated.write("suites/release.toml", 'mode = "live-model"\n' + text + model.format("me:secret@", 2))
    folder = "reports/b"
    gated.run("run", "suites/release.toml", "--out", folder)
    notes = gated.run("gate", folder, "--against", "main", "--json").json()["notices"]
    assert "suite release asks the model at 127.0.0.1:2/v1, where main asks that at 127.0.0.1:1/v1" in notes


def test_a_baseline_of_another_suite_in_a_suites_place_is_told(gated: Project) -> None:
    """A copied file: what was measured may be another agent."""
    committed(gated)
    folder = ran(gated)
    gated.run("baseline", "set", folder, "--reason", "x", "--out", "suites/lax.baseline.parquet")
    gated.write("suites/lax.toml", (gated.root / "suites" / "release.toml").read_text("utf-8"))
    done = gated.run("run", "suites/lax.toml", "--out", "reports/b", "--json")
    assert "the baseline is one of suite release, not of lax" in done.out + done.err
    assert any("the baseline is one of suite release, not of lax" in note for note in told(gated, "reports/b"))


def test_parted_surrogates_take_no_gate_away(project: Project) -> None:
    """`check --part-surrogates` names the same value otherwise in a case's checks: they demand what they did."""
    cases, aside = project.root / "cases", project.root / "aside"
    for case_id, value, order in zip(("left", "right"), PAIRS["user_id"][0], (7, 8), strict=True):
        broken = about("user_id", value, order)
        project.write("i.trace", broken)
        project.write("h.trace", replace(broken, steps=broken.steps[:2], id="h"))
        effect = {"name": "refund", "arguments": {"order": order, "user_id": value}}
        project.write("expect.json", {"effects": [effect]})
        options = ("--id", case_id, "--new", "--passing", "h.trace", "--expect", "expect.json")
        for command in (
            ("ingest", "i.trace", *options),
            ("review", case_id, "--accept-all", "--reason", "x"),
            ("promote", case_id, "--reason", "x"),
        ):
            done = project.run(*command)
            assert done.code == 0, done.err
        if case_id == "left":
            shutil.move(cases, aside)
    shutil.copytree(aside, cases, dirs_exist_ok=True)
    shutil.rmtree(aside)
    refresh_lock(cases)
    project.suite("once")
    committed(project)
    done = project.run("check", "--part-surrogates")
    assert (done.code, "wrote cases/right/v0004.parquet" in done.out) == (0, True)
    before, after = (read_case(cases / "right" / f"v000{number}.parquet").gating for number in (3, 4))
    assert {one.id for one in before} != {one.id for one in after}
    compared = compare_with_base(cases, [*list_cases(cases)], base_tree(project.root, "main"))
    assert (compared.problems, compared.told) == ((), ())
