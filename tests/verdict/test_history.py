"""A suite's history: what was written is read again, whatever git, a kill or an editor did to the file."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from evalkit.errors import InputError
from evalkit.verdict.history import Night, append_night, history_path, read_history

WHOLE = Night(
    run_id="20260301T041500Z-release-9f2c",
    started_at="2026-03-01T04:15:00Z",
    passed=27,
    n=29,
    cost_usd=0.125,
    cases={"refund-twice": (20, 20), "other": (7, 9)},
    missed=1,
    errored=2,
    lost={"other": (1, 2)},
    verdicts={"other": "FAIL"},
    outcome="BLOCKED",
    suite="a" * 16,
    policy="zero_failures",
    commit="c" * 40,
    dirty=True,
    models=("gpt-next-2026",),
    fingerprints=("fp_1",),
    duration_s=12.5,
    estimates={"other": (0.8, 0.01)},
)


def night(number: int, passed: int = 10) -> Night:
    """A small night."""
    return Night(f"run-{number}", f"2026-03-{number:02d}T04:00:00Z", passed, 10, 0.0, {"a": (passed, 10)})


def test_a_night_is_read_as_it_was_written(tmp_path: Path) -> None:
    """All its fields, and the file beside the suite."""
    path = history_path(tmp_path / "suites" / "release.toml")
    assert path == tmp_path / "suites" / "release.history.jsonl"
    assert read_history(path) == ()
    assert append_night(path, WHOLE) is True
    assert read_history(path) == (WHOLE,)


def test_very_many_cases_are_a_line_like_few(tmp_path: Path) -> None:
    """They are written some at a time; nights of other cases, and of none, stand beside them."""
    path = tmp_path / "s.history.jsonl"
    many = {f"case-{at}": (at % 3, 3) for at in range(2_500)}
    nights = [
        replace(night(1), cases=many),
        replace(night(2), cases=many | {"new": (1, 1)}, lost={"new": (1, 0)}, verdicts={"case-7": "FAIL"}),
        replace(night(3), cases={}),
        replace(night(4), cases=many),
    ]
    for one in nights:
        append_night(path, one)
    assert read_history(path) == tuple(nights)
    lines = [orjson.loads(line)["cases"] for line in path.read_bytes().splitlines()]
    assert [len(cases) for cases in lines] == [2_500, 2_501, 0, 2_500]
    assert (lines[1]["case-7"], lines[1]["new"]) == ([1, 3, 0, 0, "FAIL"], [1, 1, 1, 0, "PASS"])


def test_a_run_is_kept_once(tmp_path: Path) -> None:
    """A resumed run does not add a second line, and a second line is not counted."""
    path = tmp_path / "s.history.jsonl"
    append_night(path, night(1))
    assert append_night(path, night(1)) is False
    path.write_bytes(path.read_bytes() * 2)
    assert read_history(path) == (night(1),)


def test_a_run_that_was_given_more_samples_counts_with_them(tmp_path: Path) -> None:
    """Whichever of its lines comes first."""
    path = tmp_path / "s.history.jsonl"
    more = replace(night(1), passed=19, n=20, cases={"a": (19, 20)})
    append_night(path, night(1))
    assert append_night(path, more) is True
    assert append_night(path, night(1)) is False
    assert read_history(path) == (more,)
    path.write_text("".join(reversed(path.read_text("utf-8").splitlines(keepends=True))), "utf-8")
    assert read_history(path) == (more,)


def test_a_torn_last_line_is_ignored_and_cut(tmp_path: Path) -> None:
    """A kill half way loses that line only, and the next night starts a line of its own."""
    path = tmp_path / "s.history.jsonl"
    append_night(path, night(1))
    append_night(path, night(2))
    path.write_bytes(path.read_bytes()[:-20])
    assert read_history(path) == (night(1),)
    append_night(path, night(3))
    assert read_history(path) == (night(1), night(3))


def test_a_line_that_an_editor_left_open_is_kept(tmp_path: Path) -> None:
    """Without a newline at its end it is whole all the same."""
    path = tmp_path / "s.history.jsonl"
    append_night(path, night(1))
    path.write_bytes(path.read_bytes().rstrip())
    assert read_history(path) == (night(1),)
    append_night(path, night(2))
    assert read_history(path) == (night(1), night(2))


@pytest.mark.parametrize("line", ["{}", "nonsense", "[1]", '"text"', "17"])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    """With its number; nothing is skipped in silence."""
    path = tmp_path / "s.history.jsonl"
    append_night(path, night(1))
    path.write_text(f"{line}\n{path.read_text('utf-8')}", "utf-8")
    with pytest.raises(InputError, match=r"s\.history\.jsonl:1"):
        read_history(path)


def test_counts_that_cannot_be_are_refused(tmp_path: Path) -> None:
    """More passes than runs are nobody's night."""
    path = tmp_path / "s.history.jsonl"
    append_night(path, night(1))
    path.write_text(path.read_text("utf-8").replace("[10,10]", "[11,10]") + "\n", "utf-8")
    with pytest.raises(InputError, match="11 of 10"):
        read_history(path)


def test_two_branches_nights_merge_by_themselves(tmp_path: Path) -> None:
    """Git joins the lines without a conflict; the nights are in the order of time."""

    def git(*arguments: str) -> int:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode

    path = tmp_path / "suites" / "s.history.jsonl"
    git("init", "-b", "main")
    append_night(path, night(1))
    git("add", ".")
    git("commit", "-m", "one")
    git("switch", "-c", "other")
    append_night(path, night(3))
    git("commit", "-am", "three")
    git("switch", "main")
    append_night(path, night(2))
    git("commit", "-am", "two")
    assert git("merge", "other", "-m", "both") == 0
    assert read_history(path) == (night(1), night(2), night(3))


def test_a_conflict_that_was_committed_is_harmless(tmp_path: Path) -> None:
    """The marks are passed over, and both sides' nights are there."""
    path, ours, theirs = (tmp_path / f"{name}.history.jsonl" for name in ("s", "ours", "theirs"))
    append_night(ours, night(2))
    append_night(theirs, night(1))
    text = f"<<<<<<< HEAD\n{ours.read_text('utf-8')}=======\n{theirs.read_text('utf-8')}>>>>>>> other\n"
    path.write_text(text, "utf-8")
    assert read_history(path) == (night(1), night(2))


def test_gitattributes_of_ones_own_are_left_alone(tmp_path: Path) -> None:
    """Only where there are none a file is made."""
    (tmp_path / ".gitattributes").write_text("* text\n", "utf-8")
    append_night(tmp_path / "s.history.jsonl", night(1))
    assert (tmp_path / ".gitattributes").read_text("utf-8") == "* text\n"


def test_a_rate_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """Nor is a case that passed more often than always."""
    path = tmp_path / "s.history.jsonl"
    append_night(path, replace(night(1), estimates={"a": (1.5, None)}))
    with pytest.raises(InputError, match=r"s\.history\.jsonl:1"):
        read_history(path)
