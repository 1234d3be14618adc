"""A library after git joined two branches, checked it out in its own way, or left a file out."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from evalkit.case.lock import read_lock
from evalkit.case.model import LifeEvent
from evalkit.case.store import read_with_digest, write_case
from tests.cli.test_gate import committed, gated, git, ran
from tests.cli.test_gate_git import GONE
from tests.project import Project

__all__ = ["gated"]

MERGED = "a merge left the gate lock unfinished"


def on_main(project: Project) -> None:
    """What was changed in the library is committed on main; the branch of one's own is current."""
    git(project, "stash")
    git(project, "switch", "main")
    git(project, "stash", "pop")
    git(project, "commit", "-am", "main")
    git(project, "switch", "mine")


def merged(project: Project, theirs: tuple[str, str], mine: tuple[str, str]) -> str:
    """What git says when it joins main into the branch; either has edited a case, whose rule for misses it is told."""
    committed(project)
    project.run("edit", theirs[0], "--on-miss", theirs[1], "--reason", "x")
    git(project, "add", "cases")
    on_main(project)
    project.run("edit", mine[0], "--on-miss", mine[1], "--reason", "y")
    git(project, "add", "cases")
    git(project, "commit", "-m", "mine")
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "merge", "main"]
    return subprocess.run(command, cwd=project.root, check=False, capture_output=True, text=True).stdout


def settled(project: Project) -> None:
    """The merge is committed, and a release of it passes the gate."""
    git(project, "add", "cases")
    git(project, "commit", "-m", "merged")
    assert project.run("gate", ran(project), "--against", "main").code == 0


def test_a_lock_that_two_branches_changed_is_written_anew(gated: Project) -> None:
    """Each edited another case; their lines are neighbours. No command but this one is needed."""
    said = merged(gated, ("another", "lookup=error"), ("refund-twice", "lookup=error"))
    assert "Merge conflict in cases/gates.lock" in said
    broken = gated.run("check")
    assert (broken.code, MERGED in broken.err, "check --write-lock" in broken.err) == (4, True, True)
    done = gated.run("check", "--write-lock")
    assert (done.code, "wrote cases/gates.lock" in done.out) == (0, True), done.err
    assert [(line.case_id, line.version) for line in read_lock("cases")] == [("another", 4), ("refund-twice", 4)]
    settled(gated)


def test_one_of_two_versions_of_a_number_is_settled_on(gated: Project) -> None:
    """Both branches made version 4 of a case: git holds one file of that name, and the lock names both."""
    said = merged(gated, ("another", "lookup=error"), ("another", "lookup=fail"))
    assert "cases/another/v0004.parquet" in said
    git(gated, "checkout", "--theirs", "cases/another")
    assert gated.run("check", "--write-lock").code == 0
    settled(gated)


@pytest.mark.parametrize("theirs", [True, False])
def test_a_case_that_one_branch_retired_and_the_other_one_changed_is_settled_on(gated: Project, theirs: bool) -> None:
    """Whichever file is taken; the gate says who retired it, or that what the base retired is a gate still."""
    committed(gated)
    gated.run("retire", "another", "--reason", "the order system went", "--actor", "bob")
    git(gated, "add", "cases")
    on_main(gated)
    gated.run("edit", "another", "--on-miss", "lookup=error", "--reason", "y")
    git(gated, "add", "cases")
    git(gated, "commit", "-m", "mine")
    with pytest.raises(subprocess.CalledProcessError):
        git(gated, "merge", "main")
    git(gated, "checkout", "--theirs" if theirs else "--ours", "cases/another")
    done = gated.run("check", "--write-lock")
    assert done.code == 0, done.err
    assert [line.case_id for line in read_lock("cases")] == [*([] if theirs else ["another"]), "refund-twice"]
    settled(gated)
    done = gated.run("gate", "reports/a", "--against", "mine~1")
    assert (done.code, "is retired, but version 4 is not the file that was locked" in done.out) == (int(theirs), theirs)


@pytest.mark.parametrize("whole", [True, False])
def test_writing_the_lock_anew_loses_no_case(gated: Project, whole: bool) -> None:
    """What it names must be there, or retired; a version that is no gate yet is none."""
    folder = gated.root / "cases" / "another"
    if whole:
        shutil.rmtree(folder)
    else:
        (folder / "v0003.parquet").unlink()
    before = read_lock("cases")
    done = gated.run("check", "--write-lock")
    told = "the gate lock names another, and there is no such permanent case any more"
    assert (done.code, told in done.err) == (4, True), done.err
    assert read_lock("cases") == before


def test_a_locked_file_that_was_replaced_is_not_locked_anew(gated: Project) -> None:
    """Only where the lock itself names it."""
    gated.write("cases/gates.lock", f"another v3 {'0' * 64}\n")
    done = gated.run("check", "--write-lock")
    assert (done.code, "version 3 of another is not the file that was locked" in done.err) == (4, True)
    gated.write("cases/gates.lock", f"another v7 {'0' * 64}\n")
    done = gated.run("check", "--write-lock")
    assert (done.code, "names version 7 of another, and its newest is 3" in done.err) == (4, True)


def test_other_ends_of_lines_make_no_page_an_old_one(gated: Project) -> None:
    """As git writes them with core.autocrlf; writing the page anew would last until the next checkout."""
    for name in ("cases/another/case.md", "cases/gates.lock", "suites/release.toml"):
        path = gated.root / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    done = gated.run("check")
    assert done.code == 0, done.err
    assert gated.run("gate", ran(gated)).code == 0


def test_a_case_that_git_leaves_out_is_told(gated: Project) -> None:
    """Who ignores all tables has no such case elsewhere; who ignores the whole library does so on purpose."""
    git(gated, "init", "-b", "main")
    assert gated.run("check").code == 0
    gated.write(".gitignore", "*.parquet\n")
    done = gated.run("check", "--json")
    assert done.code == 2
    assert {one["kind"] for one in done.json()["problems"]} == {"ignored"}
    assert "cases/another/v0003.parquet: is a permanent case, and git ignores the file" in done.err
    git(gated, "add", "--force", "cases")
    assert gated.run("check").code == 0
    git(gated, "rm", "-r", "--cached", "cases")
    gated.write(".gitignore", "cases/\n")
    assert gated.run("check").code == 0


@pytest.mark.parametrize("content", [b"\xff\xfea\x00n\x00", b"another v3\n", b"another three ABC\n"])
def test_a_lock_that_is_none_is_not_written_anew(gated: Project, content: bytes) -> None:
    """It may have named a case that is gone: what it held can't be told."""
    gated.write("cases/gates.lock", content)
    done = gated.run("check", "--write-lock")
    assert (done.code, "cure: git checkout it" in done.err) == (4, True)
    assert (gated.root / "cases" / "gates.lock").read_bytes() == content


def test_no_lock_is_written_where_there_is_no_library(project: Project) -> None:
    """A folder that was misspelt."""
    done = project.run("check", "casse", "--write-lock")
    assert (done.code, "casse: there is no case folder" in done.err) == (2, True)


@pytest.mark.parametrize("how", ["gone", "older", "another"])
def test_a_change_of_one_case_takes_no_other_one_out_of_the_lock(gated: Project, how: str) -> None:
    """Only a retirement does: a case that was deleted, put back or replaced by hand is missed by check and gate."""
    if how == "older":
        assert gated.run("edit", "another", "--on-miss", "lookup=error", "--reason", "x").code == 0
    folder = gated.root / "cases/another"
    locked = read_lock("cases")[0]
    if how == "gone":
        shutil.rmtree(folder)
    else:
        (folder / f"v000{locked.version}.parquet").unlink()
    if how == "another":
        case, digest = read_with_digest(folder / "v0002.parquet")
        write_case(case.moved(digest, LifeEvent("permanent", "bob", "x", "2026-12-01T00:00:00Z")), "cases")
    assert gated.run("edit", "refund-twice", "--on-miss", "lookup=error", "--reason", "x").code == 0
    assert read_lock("cases")[0] == locked
    assert gated.run("check").code == 4
    said = {
        "gone": GONE,
        "older": "another: gates.lock: is locked at version 4, but its newest is 3",
        "another": "another: gates.lock: version 3 is not the file that was locked",
    }
    done = gated.run("gate", ran(gated))
    assert (done.code, said[how] in done.out) == (1, True), done.out


def test_a_case_that_is_retired_leaves_the_lock(gated: Project) -> None:
    """Of the others each has its newest version."""
    assert gated.run("retire", "another", "--reason", "x").code == 0
    assert [line.case_id for line in read_lock("cases")] == ["refund-twice"]


@pytest.mark.parametrize("mend", ["check --write-lock", "edit another --on-miss lookup=error --reason y"])
def test_a_case_that_is_reviewed_again_after_its_retirement_leaves_the_lock(gated: Project, mend: str) -> None:
    """A merge may take the line of the other side, which knows of neither; the case need not be retired anew."""
    before = (gated.root / "cases/gates.lock").read_text("utf-8")
    gated.run("retire", "refund-twice", "--reason", "gone")
    gated.run("review", "refund-twice", "--accept-all", "--reason", "again")
    gated.write("cases/gates.lock", before)
    assert gated.run("check").code == 4
    assert gated.run(*mend.split()).code == 0
    assert [line.case_id for line in read_lock("cases")] == ["another"]
    assert gated.run("check").code == 0


def test_nothing_is_written_beside_a_lock_that_is_none(gated: Project) -> None:
    """What it held can't be told, and would be lost."""
    gated.write("cases/gates.lock", "nonsense\n")
    done = gated.run("retire", "another", "--reason", "x")
    assert (done.code, "not a line of the gate lock" in done.err) == (4, True)
    assert not (gated.root / "cases/another/v0004.parquet").exists()
    assert (gated.root / "cases/gates.lock").read_text() == "nonsense\n"


def test_git_leaves_the_tables_of_a_new_project_as_they_are(project: Project) -> None:
    """Attributes that call every file text would change their bytes."""
    project.write(".gitattributes", "* text eol=crlf\n")
    assert project.run("init").code == 0
    project.ingested()
    git(project, "init", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-m", "x")
    (table,) = (project.root / "cases").glob("*/*.parquet")
    table.unlink()
    git(project, "checkout", "cases")
    done = project.run("check")
    assert done.code == 0, done.out + done.err
