"""Traces from files, folders and standard input."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalkit.canonical import Json
from evalkit.errors import ConfigError, UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.registry import FORMATS
from evalkit.trace.json_input import parse_json
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
RUN = {
    "task_id": 1,
    "trial": 0,
    "reward": 1.0,
    "info": {"task": {"instruction": "You are Ada."}},
    "traj": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Good day"},
    ],
}
DOCUMENT = json.dumps([RUN]).encode()


def ids(traces: Iterator[Trace]) -> list[str]:
    """The ids of some traces."""
    return [trace.id for trace in traces]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_file_is_read_by_its_content(tmp_path: Path, packed: bool, mark: bytes) -> None:
    """Name and suffix don't matter; gzip is unpacked; a byte order mark is no hindrance."""
    path = tmp_path / "whatever.bin"
    path.write_bytes(gzip.compress(mark + DOCUMENT) if packed else mark + DOCUMENT)
    assert ids(load_traces(path)) == ["task-1/trial-0"]
    assert ids(load_traces(str(path), format="tau-bench")) == ["task-1/trial-0"]


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    """``-`` reads what is piped in, compressed or not."""
    data = gzip.compress(DOCUMENT) if packed else DOCUMENT
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert ids(load_traces("-")) == ["task-1/trial-0"]


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    """Files at every depth, sorted; links and hidden files are passed over and counted."""
    for name, task in (("b.json", 2), ("a/z.json", 1), ("c.json", 3)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps([{**RUN, "task_id": task}]), "utf-8")
    (tmp_path / ".hidden").write_text("no trace", "utf-8")
    (tmp_path / "link.json").symlink_to(tmp_path / "b.json")
    (tmp_path / "loop").symlink_to(tmp_path)
    report = ReadReport()
    assert ids(load_traces(tmp_path, report=report)) == ["task-1/trial-0", "task-2/trial-0", "task-3/trial-0"]
    assert report.skipped["symbolic link: not followed"] == 2
    assert report.skipped["hidden file: not read"] == 1
    assert report.steps == {"model": 3, "other": 3}


def test_an_alien_file_in_a_folder_is_not_skipped(tmp_path: Path) -> None:
    """A file that no format reads is refused by its path, after the traces before it."""
    (tmp_path / "a.json").write_bytes(DOCUMENT)
    (tmp_path / "b.json").write_bytes(b'{"half": ')
    traces = load_traces(tmp_path)
    assert next(traces).id == "task-1/trial-0"
    with pytest.raises(UnreadableTrace) as caught:
        next(traces)
    assert caught.value.where == str(tmp_path / "b.json")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "nothing (it is empty)"),
        (b"hello \x1b[2J\xff", "hello \\x1b[2J\\xff"),
        (b'[{"task_id": 1, "traj": [NaN]}]', "NaN or infinity"),
        (b"[" * 5000, "deeper than 200"),
        (b'{"other": 1}', '{"other": 1}'),
        (b'{"a": 1}\n{"a": 2}\n', '{"a": 1}\\n{"a": 2}'),
    ],
)
def test_an_unknown_file_is_refused_with_what_was_seen(tmp_path: Path, data: bytes, said: str) -> None:
    """The message shows the first bytes, escaped, and the formats that were tried; the cure is --format."""
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(UnreadableTrace) as caught:
        list(load_traces(path))
    assert said in caught.value.what
    assert all(name in caught.value.what for name in FORMATS.names())
    assert "--format" in caught.value.cure


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    """A missing path, an empty folder, a damaged gzip file and an unknown format each have their own error."""
    with pytest.raises(UnreadableTrace, match="no such file"):
        list(load_traces(tmp_path / "missing"))
    with pytest.raises(UnreadableTrace, match="it holds no file"):
        list(load_traces(tmp_path))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(DOCUMENT * 50)[:-20])
    with pytest.raises(UnreadableTrace, match="packed data is damaged"):
        list(load_traces(tmp_path / "cut.gz"))
    with pytest.raises(ConfigError, match="no trace format is called 'nope'"):
        list(load_traces(tmp_path / "cut.gz", format="nope"))


def test_two_formats_that_claim_one_file_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ambiguity is never resolved by order: it is reported as the bug it is."""

    class Greedy:
        name = "greedy"

        def detect(self, source: Source) -> bool:
            return bool(source.head)

        def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
            return iter(())

    builtins = dict(FORMATS._builtins)
    builtins["greedy"] = "nowhere:G"
    monkeypatch.setattr(FORMATS, "_builtins", builtins)
    monkeypatch.setitem(FORMATS._loaded, "greedy", Greedy())
    path = tmp_path / "x.json"
    path.write_bytes(DOCUMENT)
    with pytest.raises(UnreadableTrace, match="2 formats claim it \\(tau-bench, greedy\\)"):
        list(load_traces(path))
    assert ids(load_traces(path, format="tau-bench")) == ["task-1/trial-0"]


def test_a_document_is_parsed_once_for_all_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Detection by five formats and the reading share one parsed document."""
    calls: list[str] = []

    def counted(data: bytes, where: str) -> Json:
        calls.append(where)
        return parse_json(data, where)

    monkeypatch.setattr("evalkit.trace.content.parse_json", counted)
    path = tmp_path / "x.json"
    path.write_bytes(DOCUMENT)
    assert len(list(load_traces(path))) == 1
    assert len(calls) == 1


@pytest.mark.corpus
@pytest.mark.skipif(not CORPORA.is_dir(), reason="the shared corpora are not beside this checkout")
def test_real_files_of_other_tools_are_refused_not_misread() -> None:
    """No file of a dialect that has no reader is taken for one that has."""
    others = ["otel-semconv", "sanitization"]
    files = [path for name in others for path in sorted((CORPORA / name).rglob("*")) if path.is_file()]
    if not files:
        pytest.skip("the corpora of other tools are not here")
    for path in files:
        with pytest.raises(UnreadableTrace, match="no format reads it"):
            list(load_traces(path))
