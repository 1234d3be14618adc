"""Folders, archives and hostile containers: what is read, what is passed over, and what is refused by name."""

from __future__ import annotations

import gzip
import io
import json
import stat
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalkit.errors import IntegrityError, UnknownFormat, UnreadableTrace
from evalkit.trace.file import encode_trace
from evalkit.trace.formats.protocol import ReadReport, Source
from evalkit.trace.formats.registry import FORMATS
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces
from tests.build import a_trace, tool_step


def run(name: str) -> bytes:
    """A native trace file."""
    return b"".join(encode_trace(a_trace(tool_step(0, "lookup"), id=name)))


def zipped(members: dict[str, bytes], **more: Any) -> bytes:
    """A zip of some members."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        for info, data in more.get("raw", ()):
            archive.writestr(info, data)
    return packed.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w", links: tuple[str, ...] = ()) -> bytes:
    """A tar of some members, and of links to the password file."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]  # the mode is no literal
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)
    return packed.getvalue()


def ids(traces: Iterator[Trace]) -> list[str]:
    """The ids of some traces."""
    return [trace.id for trace in traces]


def refusal(path: Path) -> UnreadableTrace:
    """What reading `path` raises."""
    with pytest.raises(UnreadableTrace) as caught:
        list(load_traces(path))
    return caught.value


MEMBERS = {"b.trace": run("b"), "a/z.trace": gzip.compress(run("a")), "README.md": b"# Runs\n", "a/.hidden": b"{"}


@pytest.mark.parametrize(
    "packed", [zipped(MEMBERS), tarred(MEMBERS), tarred(MEMBERS, "w:gz")], ids=["zip", "tar", "tar.gz"]
)
def test_an_archive_is_read_as_a_folder(tmp_path: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a file and from standard input; in the order of names; nothing is written beside it."""
    (tmp_path / "runs").write_bytes(packed)
    report = ReadReport()
    assert ids(load_traces(tmp_path / "runs", report=report)) == ["a", "b"]
    assert report.passed_over == {f"{tmp_path}/runs!README.md": "text, no JSON"}
    assert report.skipped == {"hidden file: not read": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))
    assert ids(load_traces("-")) == ["a", "b"]


def test_a_format_that_is_a_zip_gets_it_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Formats are asked first: alone, in a folder, and inside of another zip."""

    class Log:
        name = "log"

        def detect(self, source: Source) -> bool:
            return source.head.startswith(b"PK") and b"header.json" in source.head

        def read(self, source: Source, report: ReadReport) -> Iterator[Trace]:
            with zipfile.ZipFile(io.BytesIO(source.data())) as archive:
                yield a_trace(id=archive.read("header.json").decode())

    monkeypatch.setattr(FORMATS, "_builtins", {**FORMATS._builtins, "log": "nowhere:LOG"})
    monkeypatch.setitem(FORMATS._loaded, "log", Log())
    one = zipped({"header.json": b"one"})
    (tmp_path / "one.eval").write_bytes(one)
    (tmp_path / "two.zip").write_bytes(zipped({"x/one.eval": one, "y.trace": run("y")}))
    assert ids(load_traces(tmp_path)) == ["one", "one", "y"]
    assert ids(load_traces(tmp_path / "one.eval", format="log")) == ["one"]
    assert ids(load_traces(tmp_path / "two.zip", format="evalkit", keep_going=True)) == ["y"]


def test_a_bundle_folder_in_an_archive_is_one_trace(tmp_path: Path) -> None:
    """A format that is a folder is found in an archive as on disk."""
    manifest = json.dumps({"format": "stepfork", "run_id": "r", "agent_name": "a", "status": "completed"})
    event = json.dumps({"id": "0", "type": "run_start", "timestamp": "2025-01-01T00:00:00Z", "input": 1})
    bundle = {"x.sftrace/manifest.json": manifest.encode(), "x.sftrace/events.jsonl": event.encode() + b"\n"}
    (tmp_path / "x.zip").write_bytes(zipped(bundle))
    (tmp_path / "x.tar").write_bytes(tarred({f"./{name}": data for name, data in bundle.items()}))
    assert ids(load_traces(tmp_path)) == ["r", "r"]


@pytest.mark.parametrize("name", ["../x.trace", "a/../../x.trace", "/etc/x.trace", "C:/x.trace", "a\\..\\x.trace"])
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_member_that_leads_out_is_refused(tmp_path: Path, name: str, pack: Any) -> None:
    """By its name, before it is opened; the others are still read by who wants to go on."""
    path = tmp_path / "x.zip"
    path.write_bytes(pack({name: run("out"), "in.trace": run("in")}))
    assert "leads out of the archive" in refusal(path).what
    report = ReadReport()
    assert ids(load_traces(path, report=report, keep_going=True)) == ["in"]
    assert [error.where for error in report.unreadable] == [f"{path}!{name}"]


def test_names_in_an_archive_are_safe_to_show(tmp_path: Path) -> None:
    """An escape sequence in a member's name reaches no terminal."""
    path = tmp_path / "x.zip"
    path.write_bytes(zipped({"a\x1b[2J.json": b'{"other": 1}'}))
    assert "\x1b" not in str(refusal(path))


def test_links_and_devices_in_an_archive_are_not_followed(tmp_path: Path) -> None:
    """They are counted as those on disk are."""
    link = zipfile.ZipInfo("link.trace")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    device = zipfile.ZipInfo("device.trace")
    device.create_system, device.external_attr = 3, (stat.S_IFCHR | 0o777) << 16
    (tmp_path / "x.zip").write_bytes(zipped({"in.trace": run("in")}, raw=[(link, b"/etc/passwd"), (device, b"")]))
    (tmp_path / "x.tar").write_bytes(tarred({"in.trace": run("in")}, links=("link.trace",)))
    report = ReadReport()
    assert ids(load_traces(tmp_path, report=report)) == ["in", "in"]
    assert report.skipped == {"symbolic link: not followed": 2, "special file: not read": 1}


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    """With the cure."""
    packed = bytearray(zipped({"a.trace": run("a")}))
    for at in (packed.index(b"PK\x03\x04") + 6, packed.index(b"PK\x01\x02") + 8):
        packed[at : at + 2] = struct.pack("<H", 1)
    path = tmp_path / "x.zip"
    path.write_bytes(packed)
    error = refusal(path)
    assert (error.what, error.where) == ("the member is encrypted", f"{path}!a.trace")
    assert "password" in error.cure


def test_an_archive_in_an_archive_is_refused(tmp_path: Path) -> None:
    """Zip, tar and packed tar: bombs are nested."""
    inner = {"x.zip": zipped(MEMBERS), "x.tar": tarred(MEMBERS), "x.tgz": tarred(MEMBERS, "w:gz")}
    for name, data in inner.items():
        (tmp_path / name).write_bytes(zipped({name: data}))
        assert "archive inside an archive" in refusal(tmp_path / name).what


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    """Which of them is meant can't be known: tools differ."""
    with pytest.warns(UserWarning, match="Duplicate name"):
        packed = zipped({"a.trace": run("a")}, raw=[("a.trace", run("other"))])
    (tmp_path / "x.zip").write_bytes(packed)
    assert "two members" in refusal(tmp_path / "x.zip").what


def spaces() -> bytes:
    """24 MiB that pack to little."""
    return b"[" + b" " * (24 << 20) + b"]"


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        (lambda: zipped({"a.json": spaces()}), "decompression bomb"),
        (lambda: gzip.compress(spaces()), "decompression bomb"),
        (lambda: tarred({"a.json": spaces()}, "w:gz"), "decompression bomb"),
        (lambda: zipped({f"{at}.json": b" " * (1 << 20) for at in range(24)}), "decompression bomb"),
        (lambda: zipped({"a.json.gz": gzip.compress(gzip.compress(spaces()))}), "no format reads it"),  # unpacked once
    ],
    ids=["zip", "gzip", "tar.gz", "many members", "gzip in gzip"],
)
def test_a_bomb_does_not_go_off(tmp_path: Path, packed: Callable[[], bytes], said: str) -> None:
    """Far more than the file is large is never unpacked."""
    path = tmp_path / "x"
    path.write_bytes(packed())
    assert said in refusal(path).what


def test_a_zip_that_lies_about_its_sizes_is_refused(tmp_path: Path) -> None:
    """The member's header says less than it unpacks to."""
    packed = bytearray(zipped({"a.trace": run("a")}))
    at = packed.index(b"PK\x01\x02") + 24
    packed[at : at + 4] = struct.pack("<I", 10)
    (tmp_path / "x.zip").write_bytes(packed)
    assert "damaged" in refusal(tmp_path / "x.zip").what


def test_a_member_that_is_named_otherwise_in_its_own_header_is_refused(tmp_path: Path) -> None:
    """The second name need not even be text."""
    packed = bytearray(zipped({"ä.trace": run("a")}))
    packed[30:32] = b"\xff\xff"
    (tmp_path / "x.zip").write_bytes(packed)
    assert "damaged" in refusal(tmp_path / "x.zip").what


@pytest.mark.parametrize("packed", [zipped(MEMBERS), tarred(MEMBERS), tarred(MEMBERS, "w:gz")])
def test_a_damaged_archive_is_read_or_refused(tmp_path: Path, packed: bytes) -> None:
    """Cut off anywhere, or with a byte turned: a typed error, or what is left."""
    path = tmp_path / "x"
    for at in range(0, len(packed), max(len(packed) // 40, 1)):
        for broken in (packed[:at], packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :]):
            path.write_bytes(broken)
            try:
                list(load_traces(path))
            except (UnreadableTrace, IntegrityError):
                continue


def test_going_on_loses_nothing_silently(tmp_path: Path) -> None:
    """Each file of a folder is read, or stands in the report with its reason."""
    broken = run("broken").replace(b"lookup", b"l00kup")
    files = {
        "a.trace": run("a"),
        "b.json": b'{"half": ',
        "c.json": b'{"not": "a trace"}',
        "d.trace": broken,
        "e.trace": run("e"),
        "LICENSE": b"MIT License\n",
        "empty": b"",
        "notes.docx": zipped({"word.xml": b"<x/>"}),
        "picture.png": b"\x89PNG\r\n\x1a\n",
        "agent.pyc": MAGIC_NUMBER + b"\0\0\0\0\xe3",
        "agent.wasm": b"\0asm\1\0\0\0",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    report = ReadReport()
    assert ids(load_traces(tmp_path, report=report, keep_going=True)) == ["a", "e"]
    assert {Path(error.where.partition(":")[0]).name: type(error) for error in report.unreadable} == {
        "b.json": UnknownFormat,
        "c.json": UnknownFormat,
        "d.trace": IntegrityError,
    }
    assert {Path(where).name: why for where, why in report.passed_over.items() if "!" not in where} == {
        "LICENSE": "text, no JSON",
        "empty": "empty",
        "notes.docx": "an archive without traces",
        "picture.png": "a picture",
        "agent.pyc": "compiled Python",
        "agent.wasm": "a program",
    }


def test_a_folder_without_any_trace_is_refused(tmp_path: Path) -> None:
    """Nothing read is never a success."""
    (tmp_path / "README").write_text("Put traces here.", "utf-8")
    assert "none of its files is a trace (text, no JSON)" in refusal(tmp_path).what
    report = ReadReport()
    assert ids(load_traces(tmp_path, report=report, keep_going=True)) == []
    assert len(report.unreadable) == 1


def test_a_file_that_is_named_is_never_passed_over(tmp_path: Path) -> None:
    """Passing over is for what lies beside the traces."""
    (tmp_path / "README").write_text("Put traces here.", "utf-8")
    assert "no format reads it" in refusal(tmp_path / "README").what


def test_folders_without_end_are_refused(tmp_path: Path) -> None:
    """A hostile archive nests folders until a reader's stack is used up."""
    path = tmp_path / "x.tar"
    path.write_bytes(tarred({"d/" * 90 + "a.trace": run("a")}))
    assert "deeper than 64 folders" in refusal(path).what
