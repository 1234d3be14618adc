"""The audit log is only ever appended to, and says so when it was not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.errors import IntegrityError
from evalkit.vault.audit import AUDIT_NAME, append_audit, read_audit


def add(folder: Path, action: str = "show", reason: str = "why") -> str:
    """One line."""
    return append_audit(folder, action, actor="ann", reason=reason, at="2026-11-29T12:00:00Z", facts={"evidence": []})


def test_lines_follow_each_other(tmp_path: Path) -> None:
    """Numbered and chained; long ones too."""
    links = [add(tmp_path, reason="x" * size) for size in (1, 5000, 100, 9000, 0)]
    found = read_audit(tmp_path)
    assert [line["seq"] for line in found] == [0, 1, 2, 3, 4]
    assert [line["hash"] for line in found] == links
    assert (tmp_path / AUDIT_NAME).stat().st_mode & 0o077 == 0


def test_an_empty_folder_has_an_empty_log(tmp_path: Path) -> None:
    """Nothing was done yet."""
    assert read_audit(tmp_path) == []


@pytest.mark.parametrize("damage", ["changed", "left out", "swapped", "torn"])
def test_damage_is_found(damage: str, tmp_path: Path) -> None:
    """A changed word, a line that is gone from the middle, two that changed places, a torn end."""
    for number in range(4):
        add(tmp_path, reason=f"reason {number}")
    path = tmp_path / AUDIT_NAME
    lines = path.read_bytes().splitlines(keepends=True)
    new = {
        "changed": [lines[0].replace(b"reason 0", b"reason 9"), *lines[1:]],
        "left out": [lines[0], *lines[2:]],
        "swapped": [lines[0], lines[2], lines[1], lines[3]],
        "torn": [*lines[:3], lines[3][:-9]],
    }[damage]
    path.write_bytes(b"".join(new))
    with pytest.raises(IntegrityError):
        read_audit(tmp_path)


def test_nothing_is_appended_to_a_torn_log(tmp_path: Path) -> None:
    """What can't be audited is not done."""
    add(tmp_path)
    with open(tmp_path / AUDIT_NAME, "ab") as file:
        file.write(b'{"seq":1')
    with pytest.raises(IntegrityError):
        add(tmp_path)


def test_several_writers_make_one_chain(tmp_path: Path) -> None:
    """Lines of processes don't tear each other, and none is lost."""
    add(tmp_path)
    code = (
        "from pathlib import Path; from tests.vault.test_audit import add\n"
        f"for _ in range(20): add(Path({str(tmp_path)!r}))"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2]) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(read_audit(tmp_path)) == 61


def test_a_line_is_json(tmp_path: Path) -> None:
    """Other programs can read it."""
    add(tmp_path, reason="对 \u202e")
    assert json.loads((tmp_path / AUDIT_NAME).read_text("utf-8"))["reason"] == "对 \u202e"
