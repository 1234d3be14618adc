"""What the checked-out code differs by: the same whatever a repository's settings or the environment say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from evalkit.capture.working_tree import patch_now


def git(folder: Path, *arguments: str) -> None:
    """A git command, as somebody."""
    own = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *own, *arguments], cwd=folder, check=True, capture_output=True)


def committed(folder: Path, name: str = "agent.py") -> Path:
    """A repository with a file."""
    folder.mkdir(parents=True)
    (folder / name).write_text("one = 1\n", "utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def test_what_lies_beside_the_project_counts(tmp_path: Path) -> None:
    """Also where somebody likes paths from the current folder."""
    top = committed(tmp_path / "top")
    (top / "project").mkdir()
    git(top, "config", "diff.relative", "true")
    assert patch_now(top / "project") == b""
    (top / "agent.py").write_text("one = 2\n", "utf-8")
    assert b"+one = 2" in (patch_now(top / "project") or b"")


@pytest.mark.parametrize("change", ["edited", "committed"])
def test_a_submodule_counts_though_git_is_told_to_pass_it_over(tmp_path: Path, change: str) -> None:
    """``ignore = all`` stands in a file that anybody may change; files that are only left there make no difference."""
    library, top = committed(tmp_path / "library"), committed(tmp_path / "top", "x.py")
    git(top, "submodule", "add", "-q", str(library), "lib")
    git(top, "config", "-f", ".gitmodules", "submodule.lib.ignore", "all")
    git(top, "add", ".")
    git(top, "commit", "-qm", "second")
    (top / "lib" / "left.pyc").write_text("", "utf-8")
    assert patch_now(top) == b""
    (top / "lib" / "agent.py").write_text("one = 2\n", "utf-8")
    if change == "committed":
        git(top / "lib", "commit", "-qam", "third")
    assert patch_now(top)


def test_another_repository_of_the_environment_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a hook, for which git sets such variables."""
    top, other = committed(tmp_path / "top"), committed(tmp_path / "other")
    (top / "agent.py").write_text("one = 2\n", "utf-8")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert b"+one = 2" in (patch_now(top) or b"")
