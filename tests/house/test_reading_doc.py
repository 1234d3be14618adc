"""docs/reading.md, held against the formats that there are."""

from __future__ import annotations

import re

from evalkit.trace.formats.registry import FORMATS
from tests.project import REPOSITORY


def test_every_format_is_documented_and_every_documented_one_is_there() -> None:
    """The table names each registered format once, and no other."""
    text = (REPOSITORY / "docs" / "reading.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]*`) \|", text.partition("| `--format` |")[2].partition("\n\n")[0], re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert sorted(named) == sorted(FORMATS.names())
