"""Raw evidence never lies where git would commit it, and is kept as long as its class says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from evalkit.errors import ConfigError
from evalkit.vault.model import Evidence, Hold, RetentionClass
from evalkit.vault.place import check_place
from evalkit.vault.retention import expired, parse_days

DAYS: dict[RetentionClass, int] = {"short": 30, "standard": 180}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A git work tree."""
    subprocess.run(["git", "init", "-q", str(tmp_path / "tree")], check=True)
    return tmp_path / "tree"


def test_outside_of_a_tree_is_fine(tree: Path) -> None:
    """A folder that need not exist yet."""
    assert check_place(tree.parent / "evidence") == (tree.parent / "evidence").resolve()


@pytest.mark.parametrize("inside", ["", "evidence", "a/b/c"])
def test_inside_of_a_tree_is_refused(tree: Path, inside: str) -> None:
    """At the top, below it, and deep down, whether it exists or not."""
    with pytest.raises(ConfigError, match="git does not ignore it"):
        check_place(tree / inside)
    (tree / inside).mkdir(parents=True, exist_ok=True)
    with pytest.raises(ConfigError):
        check_place(tree / inside)


def test_an_ignored_place_is_fine(tree: Path) -> None:
    """Git will not commit it."""
    (tree / ".gitignore").write_text("/evidence/\n", "utf-8")
    assert check_place(tree / "evidence").name == "evidence"
    with pytest.raises(ConfigError):
        check_place(tree / "evidence2")


def test_a_link_into_a_tree_is_refused(tree: Path) -> None:
    """What counts is where it leads."""
    (tree / "real").mkdir()
    (tree.parent / "link").symlink_to(tree / "real")
    with pytest.raises(ConfigError):
        check_place(tree.parent / "link")


def test_a_tree_without_git_at_hand_is_refused(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who can't ask must not guess."""
    (tree / ".gitignore").write_text("/evidence/\n", "utf-8")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError):
        check_place(tree / "evidence")


def kept(days_ago: int, retention: RetentionClass = "standard", hold: Hold | None = None) -> Evidence:
    """Evidence that was kept so many days before 2026-11-29."""
    from datetime import date, timedelta

    day = date(2026, 11, 29) - timedelta(days=days_ago)
    return Evidence(f"{days_ago:016x}", f"{day}T12:00:00Z", retention, hold, 1, "1", "0")


def test_what_is_past_its_class_is_told() -> None:
    """To the day, by class; a hold stops the clock."""
    hold = Hold("ann", "x", "2026-01-01T00:00:00Z")
    every = [kept(30, "short"), kept(31, "short"), kept(180), kept(181), kept(400, "standard", hold)]
    assert [one.id for one in expired(every, DAYS, "2026-11-29T12:00:00Z")] == [f"{31:016x}", f"{181:016x}"]


@pytest.mark.parametrize(("text", "days"), [("180d", 180), (" 1d ", 1)])
def test_days_are_read(text: str, days: int) -> None:
    """A number and a d."""
    assert parse_days(text, "") == days


@pytest.mark.parametrize("text", ["", "180", "0d", "-1d", "6m", "1.5d", "999999d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """No guess about how long people's data is kept."""
    with pytest.raises(ConfigError):
        parse_days(text, "")
