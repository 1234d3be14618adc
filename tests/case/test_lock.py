"""The gate lock: nothing leaves it silently."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.case.lock import (
    LockLine,
    lock_problems,
    parse_lock,
    read_lock,
    read_unmerged_lock,
    render_lock,
    write_lock,
)
from evalkit.errors import IntegrityError

ids = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True)
lines = st.builds(LockLine, ids, st.integers(1, 999), st.from_regex(r"[0-9a-f]{64}", fullmatch=True))


@given(st.lists(lines, unique_by=lambda line: line.case_id))
def test_a_lock_survives_its_text(found: list[LockLine]) -> None:
    """What is written is what is read, sorted."""
    assert parse_lock(render_lock(found), "lock") == sorted(found)


def test_a_lock_is_replaced_at_once(tmp_path: Path) -> None:
    """The new lock stands; no other file is left."""
    write_lock([LockLine("b", 1, "x"), LockLine("a", 2, "y")], tmp_path)
    assert [line.case_id for line in read_lock(tmp_path)] == ["a", "b"]
    assert [path.name for path in tmp_path.iterdir()] == ["gates.lock"]


@pytest.mark.parametrize("text", ["a v1", "a vX d", "a v1 d\na v2 e", "<<<<<<< HEAD"])
def test_a_broken_lock_is_an_integrity_error(text: str) -> None:
    """A merge conflict or a case that stands twice is never read as an empty lock."""
    with pytest.raises(IntegrityError, match="gate lock"):
        parse_lock(text, "lock")


@pytest.mark.parametrize("text", ["a v2 e\na v1 d", "<<<<<<< HEAD\na v1 d\n=======\na v2 e\n>>>>>>> main\n"])
def test_what_a_merge_left_names_the_way_out(tmp_path: Path, text: str) -> None:
    """Git can't check out a file that is in conflict."""
    with pytest.raises(IntegrityError, match="evalkit check --write-lock"):
        parse_lock(text, "lock")
    (tmp_path / "gates.lock").write_text(text, "utf-8")
    assert sorted(read_unmerged_lock(tmp_path)) == [LockLine("a", 1, "d"), LockLine("a", 2, "e")]


@pytest.mark.parametrize("text", ["\ufeffa v1 d", "\ufeff# head\r\na v1 d  \r\n", "b v1 d\r\n\r\n\ta\tv1 d"])
def test_how_editors_write_a_lock_changes_nothing(text: str) -> None:
    """A byte order mark, other ends of lines, white space, another order."""
    assert LockLine("a", 1, "d") in parse_lock(text, "lock")


def test_a_lock_that_is_no_text_is_an_integrity_error(tmp_path: Path) -> None:
    """It is told with its place."""
    (tmp_path / "gates.lock").write_bytes(b"\xda\xff")
    with pytest.raises(IntegrityError, match=r"gates\.lock"):
        read_lock(tmp_path)


@pytest.mark.parametrize(
    ("now", "retired", "said"),
    [
        ([], [], "no such permanent case"),
        ([], ["a"], None),
        ([LockLine("a", 1, "x")], [], "newest is 1"),
        ([LockLine("a", 2, "z")], [], "not the file that was locked"),
        ([LockLine("a", 2, "x")], [], None),
        ([LockLine("a", 3, "q")], [], None),
        ([LockLine("a", 3, "x")], [], "what is locked as version 2 is version 3"),
        ([LockLine("a", 2, "x"), LockLine("b", 1, "y")], [], "not in the gate lock"),
    ],
    ids=["gone", "retired", "older", "replaced", "same", "newer", "misnumbered", "unlocked"],
)
def test_what_differs_from_the_lock_is_said(now: list[LockLine], retired: list[str], said: str | None) -> None:
    """A case may only go by being retired, and only move forwards."""
    problems = lock_problems([LockLine("a", 2, "x")], now, retired)
    assert [said] == [None] and problems == [] if said is None else any(said in text for _, text in problems)
