"""Hostile files on the command line: each ends in the behaviour that is named, with exit code 2 and no traceback."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalkit.canonical import digest
from evalkit.errors import UnreadableTrace
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.json_input import parse_json
from evalkit.trace.read import load_traces
from tests.project import Project
from tests.trace.samples import TAU

GOOD = json.dumps(TAU).encode()


def bomb() -> bytes:
    """A small file of 80 MiB."""
    return gzip.compress(b"[" + b" " * (80 * 1024**2) + b"]", 9)


def swapped(old: bytes, new: bytes) -> bytes:
    """The good document with one part replaced."""
    assert old in GOOD
    return GOOD.replace(old, new, 1)


HOSTILE: dict[str, tuple[bytes | Callable[[], bytes], str]] = {
    "gzip bomb": (bomb, "unpacks to more than"),
    "deep nesting": (swapped(b'"task_id": 1', b'"task_id": ' + b"[" * 100_000 + b"]" * 100_000), "deeper than 200"),
    "huge integer": (swapped(b'"task_id": 1', b'"task_id": ' + b"9" * 5000), "number is infinity"),
    "NaN": (swapped(b'"task_id": 1', b'"task_id": NaN'), "NaN or infinity"),
    "infinity": (swapped(b'"task_id": 1', b'"task_id": -Infinity'), "NaN or infinity"),
    "1e400": (swapped(b'"task_id": 1', b'"task_id": 1e400'), "infinity"),
    "invalid UTF-8": (swapped(b'"s"', b'"\xff"'), "invalid UTF-8 at byte"),
    "two byte order marks": (b"\xef\xbb\xbf" * 2 + GOOD, "not JSON"),
    "lone surrogate": (swapped(b'"s"', b'"\\ud800"'), "lone surrogate in the string at byte"),
    "doubled key": (swapped(b'"content": "s"', b'"content": "a", "content": "s"'), "'content' stands twice"),
    "doubled key, escaped": (swapped(b'"content": "s"', b'"content": "a", "c\\u006fntent": "s"'), "stands twice"),
    "pickle": (pickle.dumps(TAU), "cure: "),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_its_reason(project: Project, name: str) -> None:
    """`inspect` and `ingest` say what is wrong, where, and what to do; nothing is written."""
    content, said = HOSTILE[name]
    (project.root / "x.json").write_bytes(content() if callable(content) else content)
    for command in (["inspect", "x.json"], ["inspect", "x.json", "--format", "tau-bench"], ["ingest", "x.json"]):
        done = project.run(*command)
        told = " ".join((done.out + done.err).split())
        assert done.code == 2
        assert said in told
        assert "x.json" in told
        assert "cure" in told
    assert not (project.root / "cases").exists()


def test_doubled_keys_in_a_line_name_the_line(tmp_path: Path) -> None:
    """In JSON Lines the place is the line; colons in texts and escaped colons are no keys."""
    assert parse_json(b'{"a": "::\\u003a\\\\u003a", "b\\u003A": {"a": 1}}', "f") == {"a": ":::\\u003a", "b:": {"a": 1}}
    with pytest.raises(UnreadableTrace, match="'a' stands twice"):
        parse_json(b'[{"b": {"x": 1, "a": 1, "a": 1}}]', "f")
    path = tmp_path / "x.jsonl"
    item = json.dumps({"object": "trace", "id": "t", "workflow_name": "n"})
    path.write_text(f'{item}\n{item[:-1]}, "id": "u"}}\n', "utf-8")
    with pytest.raises(UnreadableTrace) as caught:
        list(load_traces(path))
    assert caught.value.where == f"{path}:2"


def test_one_byte_order_mark_is_stripped(project: Project) -> None:
    """A file from a Windows editor is no attack."""
    (project.root / "x.json").write_bytes(b"\xef\xbb\xbf" + GOOD)
    assert project.run("inspect", "x.json").code == 0


def test_utf_16_is_told_as_such(project: Project) -> None:
    """PowerShell writes it where output is redirected."""
    (project.root / "x.json").write_bytes(GOOD.decode().encode("utf-16"))
    done = project.run("ingest", "x.json")
    assert done.code == 2
    assert "it is UTF-16" in done.err
    assert "save it as UTF-8" in done.err


def test_equal_numbers_have_one_key_and_large_ones_stay_exact() -> None:
    """1, 1.0 and 1e0 are one argument, -0.0 is 0; an id beyond 2**53 is not rounded to its neighbour's."""
    values = [parse_json(text, "f") for text in (b"1", b"1.0", b"1e0")]
    assert len({digest(value) for value in values}) == 1
    assert digest(parse_json(b"-0.0", "f")) == digest(0)
    assert len({digest(parse_json(b"%d" % (2**64 + at), "f")) for at in range(4)}) == 4


def test_composed_and_decomposed_letters_stay_what_they_are() -> None:
    """Nothing is normalised before hashing: a replay must give back what was recorded."""
    composed, decomposed = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))
    assert digest(composed) != digest(decomposed)


def test_objects_in_files_are_never_loaded(project: Project) -> None:
    """Python objects in .npy and pickle files are bytes that no format reads; nothing in them runs."""

    class Runs:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(project.root / "ran"),)

    held = io.BytesIO()
    np.save(held, np.array([Runs()], dtype=object), allow_pickle=True)
    for name, content in (("a.npy", held.getvalue()), ("a.pkl", pickle.dumps(Runs()))):
        (project.root / name).write_bytes(content)
        done = project.run("inspect", name)
        assert done.code == 2
        assert "no format reads it" in done.out
    assert not (project.root / "ran").exists()


@pytest.mark.parametrize(
    "case_id", ["../../x", "/abs", "a/b", "CON", "con.txt", "nul", "A", "ü", "а", "a\u200bb", "x" * 81, ".x", "-x", ""]
)
def test_a_case_id_is_a_plain_name(project: Project, case_id: str) -> None:
    """No id leads out of the folder, is a device, or looks like another: lower-case ASCII of at most 80 letters."""
    (project.root / "x.json").write_bytes(GOOD)
    (project.root / "expect.json").write_text('{"called": ["never"]}', "utf-8")
    done = project.run("ingest", "x.json", "--expect", "expect.json", f"--id={case_id}")
    if case_id:
        assert done.code == 2
        assert "is no case id" in done.err
    written = [path for path in project.root.rglob("*.parquet") if not path.is_relative_to(project.root / "cases")]
    assert not written


def test_links_and_pipes_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    """A link out of the folder and a pipe that nobody writes to are passed over, and a bundle's link is refused."""
    folder = tmp_path / "traces"
    folder.mkdir()
    (tmp_path / "secret.json").write_bytes(GOOD)
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    os.mkfifo(folder / "pipe.json")
    (folder / "own.json").write_bytes(GOOD)
    report = ReadReport()
    assert len(list(load_traces(folder, report=report))) == 1
    assert report.skipped["symbolic link: not followed"] == report.skipped["special file: not read"] == 1
    (folder / "manifest.json").symlink_to(tmp_path / "secret.json")
    (folder / "events.jsonl").write_text("", "utf-8")
    with pytest.raises(UnreadableTrace, match=r"it is a symbolic link|stepfork bundle is a folder"):
        list(load_traces(folder, format="stepfork"))


def test_escapes_and_bidi_never_reach_the_terminal(project: Project) -> None:
    """What a trace holds is shown in visible marks by every command that shows it."""
    evil = "\x1b]0;owned\x07\x1b[2J\u202egpj.exe\u2066"
    run = [{"task_id": evil, "traj": [{"role": "user", "content": evil}, {"role": "assistant", "content": evil}]}]
    (project.root / "x.json").write_text(json.dumps(run), "utf-8")
    (project.root / "expect.json").write_text('{"called": ["never"]}', "utf-8")
    for command in (
        ["inspect", "x.json"],
        ["ingest", "x.json", "--expect", "expect.json", "--id", "evil"],
        ["list"],
        ["show", "evil"],
        ["inspect", "missing\x1b[2J"],
    ):
        done = project.run(*command)
        assert not {"\x1b", "\x07", "\u202e", "\u2066"} & set(done.out + done.err), command
