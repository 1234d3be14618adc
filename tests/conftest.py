"""Fixtures of all tests: a project in a temporary folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project, current while the test runs."""
    return Project(tmp_path, monkeypatch)
