"""A run's manifest: one text, however many cases it names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from evalkit.suite.manifest import MANIFEST_NAME, read_manifest, start_run
from evalkit.suite.model import Manifest

MANIFEST = Manifest(
    "r",
    {"name": '"cases": []', "select": {"cases": []}},
    (),
    "2026-11-30T00:00:00Z",
    reason='\n  "cases": []',
    measures={"case-1": (2, 3)},
)


@pytest.mark.parametrize("count", [0, 1, 1_000, 2_500])
def test_a_manifest_is_read_as_it_was_written(tmp_path: Path, count: int) -> None:
    """Its cases are written some at a time; the file is one JSON text, indented like the rest of it."""
    cases = tuple((f"case-{at}", at, f"{at:064x}", "permanent") for at in range(count))
    manifest = replace(MANIFEST, cases=cases)
    start_run(tmp_path / "run", manifest)
    assert read_manifest(tmp_path / "run") == manifest
    written = (tmp_path / "run" / MANIFEST_NAME).read_bytes()
    assert written == orjson.dumps(orjson.loads(written), option=orjson.OPT_INDENT_2)
