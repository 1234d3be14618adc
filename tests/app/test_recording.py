"""Recording by a project's settings: its rules and key count from the first line that is written."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.capture.recording import as_is
from evalkit.errors import ConfigError
from evalkit.trace.model import Trace
from tests.project import Project

RULES = """
[sanitize]
allow = ["help@shop-mail.org"]
patterns = { custom = ["EMP-[0-9]{6}"] }
key_file = "own.key"
"""
VALUES = {"staff": "EMP-123456", "mail": "help@shop-mail.org"}


@evalkit.tool(effect="read")
def find(what: dict[str, str]) -> dict[str, str]:
    """A tool."""
    return what


def git(folder: Path, *arguments: str) -> None:
    """A git command, by nobody."""
    who = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def only(path: Path) -> Trace:
    """The one trace of a file."""
    (trace,) = evalkit.load_traces(path)
    return trace


def test_record_takes_the_rules_of_the_folder(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps and configuration alike."""
    project.write("evalkit.toml", RULES)
    monkeypatch.delenv("EVALKIT_PSEUDONYM_KEY")
    with evalkit.record("run.trace", config={"model": "m", "budget": 3, **VALUES}):
        find(VALUES)
    text = (project.root / "run.trace").read_text()
    assert "EMP-123456" not in text
    assert text.count("help@shop-mail.org") == 3
    assert (project.root / "own.key").exists()
    config = only(project.root / "run.trace").attributes["config"]
    assert (config["model"], config["budget"]) == ("m", 3)


def test_the_command_takes_them_too(project: Project) -> None:
    """`evalkit record`, in the process that it starts."""
    project.write("evalkit.toml", RULES)
    project.write("agent.py", f"import evalkit\n@evalkit.tool\ndef find(what): return what\nfind({VALUES!r})")
    done = project.spawn("record", "--out", "run.trace", "--", sys.executable, "agent.py")
    assert done.code == 0, done.err
    text = (project.root / "run.trace").read_text()
    assert "EMP-123456" not in text
    assert "help@shop-mail.org" in text


def test_settings_that_are_wrong_are_said_before_the_agent_runs(project: Project) -> None:
    """A misspelt rule does not make an unsanitized recording."""
    project.write("evalkit.toml", '[sanitise]\nallow = ["x"]\n')
    with pytest.raises(ConfigError, match="sanitise"):
        evalkit.record("run.trace")
    assert project.run("record", "--", sys.executable, "-c", "pass").code == 2


def test_a_dirty_tree_is_told_by_its_patch(project: Project) -> None:
    """The hash always, the patch when asked for; a clean tree has none."""
    project.write("agent.py", "one = 1\n")
    project.write("other.py", "")
    git(project.root, "init", "-q")
    git(project.root, "add", ".")
    git(project.root, "commit", "-qm", "first")
    project.write("agent.py", "one = 2  # ask lena.vogt@posteo-mail.de\n")
    wanted = subprocess.run(["git", "diff", "HEAD"], cwd=project.root, capture_output=True, check=True).stdout
    with evalkit.record("run.trace", with_patch=True):
        pass
    attributes: Any = only(project.root / "run.trace").attributes
    assert attributes["environment"]["git_patch"] == hashlib.sha256(wanted).hexdigest()
    assert "+one = 2" in attributes["patch"]
    assert "lena.vogt" not in attributes["patch"]
    with evalkit.record("plain.trace", sanitizer=as_is):
        pass
    assert "patch" not in only(project.root / "plain.trace").attributes


def test_a_clean_tree_has_an_empty_patch(project: Project) -> None:
    """Which is not the same as not knowing."""
    project.write("agent.py", "one = 1\n")
    git(project.root, "init", "-q")
    git(project.root, "add", ".")
    git(project.root, "commit", "-qm", "first")
    with evalkit.record("run.trace", sanitizer=as_is):
        pass
    assert only(project.root / "run.trace").attributes["environment"]["git_patch"] == ""


def test_inspect_shows_the_snapshot(project: Project) -> None:
    """As JSON, one object a trace."""
    with evalkit.record("run.trace", config={"model": "m"}):
        find(VALUES)
    (seen,) = project.run("inspect", "run.trace", "--snapshot").json()
    assert seen["config"] == {"model": "m"}
    assert [tool["name"] for tool in seen["tools"]] == ["find"]
