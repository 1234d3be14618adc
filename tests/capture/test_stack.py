"""Tracebacks that say where in the project something went wrong, and not on whose machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evalkit.capture.seam import error_of

ELSEWHERE = "/srv/elsewhere/job.py"


def failing_in(path: Path) -> str:
    """The recorded traceback of an error that is raised by code in the file `path`."""
    try:
        exec(compile("raise ValueError('no')", str(path), "exec"))
    except ValueError as error:
        return error_of(error).stack or ""
    raise AssertionError


def test_paths_are_told_from_where_python_found_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the working directory or a folder of ``sys.path``, the nearest of them; elsewhere the name alone is told."""
    outer, inner = tmp_path / "site", tmp_path / "site" / "agent"
    inner.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert 'File "site/agent/core/loop.py", line 1' in failing_in(inner / "core" / "loop.py")
    monkeypatch.syspath_prepend(str(inner))
    monkeypatch.setattr(sys, "path", [str(outer), *sys.path])
    assert 'File "core/loop.py", line 1' in failing_in(inner / "core" / "loop.py")
    monkeypatch.chdir(inner)
    stranger = failing_in(Path(ELSEWHERE))
    assert 'File "job.py", line 1' in stranger
    assert "/srv" not in stranger
    assert 'test_stack.py", line' in stranger
    assert str(Path(__file__).parent) not in stranger
    assert "ValueError: no" in stranger


def test_a_working_directory_that_is_gone_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder never breaks the agent that it watches."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert 'File "job.py", line 1' in failing_in(Path(ELSEWHERE))


def test_every_traceback_of_a_chain_is_told_so() -> None:
    """Causes too, and those inside of an exception group."""
    try:
        try:
            exec(compile("1 / 0", ELSEWHERE, "exec"))
        except ZeroDivisionError as error:
            raise ExceptionGroup("both", [error]) from error
    except ExceptionGroup as group:
        text = error_of(group).stack or ""
    assert text.count('File "job.py", line 1') == 2
    assert "/srv" not in text
