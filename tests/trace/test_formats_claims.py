"""Which format claims which real file."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import Source
from evalkit.trace.formats.registry import FORMATS
from evalkit.trace.json_input import parse_json
from evalkit.trace.read import load_traces

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
ENDINGS = {".json", ".jsonl", ".traj", ".eval", ".txt"}
HOMES = {name: name for name in ("trail", "swe-agent", "mini-swe-agent", "who-and-when")} | {
    "otel-sdk-spans": "vercel-ai"
}
"""Formats whose samples stand in one folder, and nowhere else."""


def claims(path: Path) -> set[str]:
    """The formats that claim a file."""
    data = path.read_bytes()
    try:
        document = parse_json(data, str(path))
    except UnreadableTrace:  # JSON Lines, an archive, or text
        document = None
    source = Source(str(path), path, data[:65536], lambda: data, lambda: iter(data.splitlines(True)), lambda: document)
    return {name for name, each in FORMATS.items() if each.detect(source)}


@pytest.mark.corpus
@pytest.mark.skipif(not CORPORA.is_dir(), reason="the corpora are not beside this checkout")
def test_no_file_is_claimed_by_two_formats_or_by_a_stranger() -> None:
    """At most one format says yes to any document, and these formats only to their own samples."""
    found: dict[str, int] = dict.fromkeys(HOMES, 0)
    for path in sorted(each for each in CORPORA.rglob("*.*") if each.suffix in ENDINGS):
        if path.stat().st_size > 2_000_000 or "annotations" in path.parts:
            continue
        names = claims(path)
        assert len(names) <= 1, path
        for name in names & HOMES.keys():
            assert path.relative_to(CORPORA).parts[0] == HOMES[name]
            found[name] += 1
    assert all(found.values()), found


@pytest.mark.corpus
@pytest.mark.skipif(not CORPORA.is_dir(), reason="the corpora are not beside this checkout")
@pytest.mark.parametrize(("name", "folder"), sorted(HOMES.items()))
def test_every_file_of_a_folder_is_read_whole_or_refused(name: str, folder: str) -> None:
    """Each run has steps and is of the folder's own format; annotations and labels are no runs, and are refused."""
    count = 0
    own = {name, "openai-chat"} if name == "mini-swe-agent" else {name}  # one of its files is a bare list of messages
    for path in sorted((CORPORA / folder).rglob("*")):
        if path.suffix not in (".json", ".traj"):
            continue
        try:
            traces = list(load_traces(path))
        except UnreadableTrace as error:
            assert "no format reads it" in error.what, path  # noqa: PT017
            continue
        count += 1
        assert {trace.dialect for trace in traces} <= own, path
        assert all(trace.steps for trace in traces), path
    assert count >= 5
