"""Case files: written once, read whole, and never changed unseen."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.canonical import Json, exact_text
from evalkit.case.begun import BegunHashes
from evalkit.case.header import header_json
from evalkit.case.model import FIXTURE_OF, Case, LifeEvent
from evalkit.case.rows import STEP_SCHEMA
from evalkit.case.store import (
    METADATA_KEY,
    case_versions,
    find_case,
    read_case,
    read_cases,
    read_header,
    read_with_digest,
    write_case,
)
from evalkit.errors import InputError, IntegrityError
from evalkit.trace.model import Step, Trace
from tests.build import a_case, a_trace, sanitized, tool_step
from tests.strategies import traces


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(trace=traces())
def test_a_case_survives_its_file(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Header and steps are read as they were written, for any trace."""
    root = tmp_path_factory.mktemp("cases")
    case = replace(a_case(), trace=sanitized(trace), kept=tuple(step.seq for step in trace.steps))
    back = read_case(write_case(case, root))
    assert exact_text(header_json(back, "")) == exact_text(header_json(case, ""))
    assert [exact_text(repr(step)) for step in back.incident.steps] == [
        exact_text(repr(s)) for s in case.incident.steps
    ]


def test_the_file_is_plain_parquet(tmp_path: Path) -> None:
    """pandas, pyarrow and DuckDB read the columns that the design names; strings are not dictionary-encoded."""
    path = write_case(a_case(), tmp_path)
    table = pq.read_table(path)
    assert table.schema.names == STEP_SCHEMA.names
    assert table.column("name").to_pylist() == ["lookup", "refund", "refund"]
    group = pq.ParquetFile(path).metadata.row_group(0)
    encodings = {e for at in range(group.num_columns) for e in group.column(at).encodings}
    assert not {"PLAIN_DICTIONARY", "RLE_DICTIONARY"} & encodings
    assert pq.read_table(path).to_pandas()["seq"].tolist() == [0, 1, 2]


def test_a_file_holds_its_header_once(tmp_path: Path) -> None:
    """And not in an encoding of the schema besides, where neither a search nor a review of its bytes would find it."""
    path = write_case(a_case(), tmp_path)
    assert (pq.read_metadata(path).metadata or {}).keys() == {METADATA_KEY}


def test_a_version_is_never_overwritten(tmp_path: Path) -> None:
    """The second writer of a version is refused, and the first one's file stays."""
    path = write_case(a_case(), tmp_path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        write_case(replace(a_case(), title="another"), tmp_path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["v0001.parquet"]


def test_of_many_writers_one_wins(tmp_path: Path) -> None:
    """Two people promoting at once don't both become the same version."""
    won: list[Path] = []

    def write() -> None:
        try:
            won.append(write_case(a_case(), tmp_path))
        except InputError:
            return

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


@pytest.mark.parametrize("what", ["row", "header", "order"])
def test_a_changed_file_is_an_integrity_error(tmp_path: Path, what: str) -> None:
    """A row, the header or the order of rows can't be changed after writing."""
    path = write_case(a_case(), tmp_path)
    table = pq.read_table(path)
    if what == "row":
        table = table.set_column(3, "name", pa.array(["lookup", "refund", "nothing"]))
    elif what == "order":
        table = table.take([0, 2, 1])
    else:
        metadata = dict(table.schema.metadata)
        metadata[METADATA_KEY] = metadata[METADATA_KEY].replace(b"paid twice", b"paid never")
        table = table.replace_schema_metadata(metadata)
    pq.write_table(table, path, use_dictionary=False)
    with pytest.raises(IntegrityError):
        read_case(path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all" * 50], ids=["empty", "magic", "text"])
def test_what_is_no_case_is_refused_with_its_place(tmp_path: Path, content: bytes) -> None:
    """A wrong file is named, with a cure, and exit code 2."""
    path = tmp_path / "v0001.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"v0001\.parquet") as caught:
        read_case(path)
    assert caught.value.exit_code == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(title=st.text(st.characters(exclude_categories=["Cs"])), size=st.sampled_from([0, 1, 100, 20_000, 60_000]))
def test_a_header_alone_is_what_parquet_says(title: str, size: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """However long it is and whatever stands in it, also in a file that another program wrote."""
    case = a_case(title=title, source={"note": "evalkit.case" * (size // 12) + "\x18\x0cevalkit.case\x18\x02{}"})
    path = write_case(case, tmp_path_factory.mktemp("cases"))
    told = pq.read_metadata(path).metadata[METADATA_KEY]
    assert exact_text(read_header(path)) == told
    pq.write_table(pq.read_table(path), path)
    assert exact_text(read_header(path)) == told


def test_a_changed_header_alone_is_an_integrity_error(tmp_path: Path) -> None:
    """Who lists cases is not told what nobody wrote; nor by text that looks like a header, put behind the real one."""
    path = write_case(a_case(), tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"paid twice", b"paid never"))
    with pytest.raises(IntegrityError, match="header"):
        read_header(path)
    forged = b'\x18\x0cevalkit.case\x18\x0f{"digest":"no"} '
    path.write_bytes(whole[:-8] + forged + whole[-8:])
    with pytest.raises((InputError, IntegrityError)):
        read_header(path)


@pytest.mark.parametrize("cut", [1, 4, 9, 40, 4_000])
def test_a_header_of_a_cut_file_is_not_told(tmp_path: Path, cut: int) -> None:
    """What a crash or a bad download left is no case, though its header may be whole."""
    path = write_case(a_case(), tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(InputError, match="not a case"):
        read_header(path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\x18\x0cevalkit.case\x18", b"\x18\x0cevalkit.case\x18\xff"])
def test_what_has_no_header_is_refused_with_its_place(tmp_path: Path, content: bytes) -> None:
    """Also where it begins like one; and a file that is not there."""
    path = tmp_path / "v0001.parquet"
    with pytest.raises(InputError, match=r"v0001\.parquet"):
        read_header(path)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"v0001\.parquet"):
        read_header(path)


def test_a_foreign_parquet_is_no_case(tmp_path: Path) -> None:
    """Another table is told from a case."""
    path = tmp_path / "v0001.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(InputError, match="no case"):
        read_case(path)
    with pytest.raises(InputError, match="not a case"):
        read_header(path)


def test_cases_read_together_are_those_read_alone(tmp_path: Path) -> None:
    """In the order in which they are wanted; a folder means its newest version, a digest the version that has it."""
    paths = [write_case(replace(a_case(), id=f"case-{number}"), tmp_path) for number in range(3)]
    wanted: list[tuple[str | Path, str]] = [
        (paths[2], read_with_digest(paths[2])[1]),
        (paths[0].parent, ""),
        (str(paths[1]), ""),
    ]
    assert read_cases(wanted) == [read_case(path) for path, _ in wanted]
    assert read_cases([]) == []


def test_one_wrong_case_among_many_is_named(tmp_path: Path) -> None:
    """One that is another than was meant, one that was changed, and one that isn't there."""
    paths = [write_case(replace(a_case(), id=f"case-{number}"), tmp_path) for number in range(3)]
    digests = [read_with_digest(path)[1] for path in paths]
    with pytest.raises(IntegrityError, match="case case-1 is another one"):
        read_cases([(paths[0], digests[0]), (paths[1], digests[2]), (paths[2], digests[2])])
    body = paths[2].read_bytes()
    paths[2].write_bytes(body.replace(b'"order"', b'"other"'))
    with pytest.raises(IntegrityError, match=r"case-2.*was changed after writing"):
        read_cases(zip(paths, digests, strict=True))
    paths[0].unlink()
    with pytest.raises(InputError, match=r"case-0.*no such file"):
        read_cases(zip(paths, digests, strict=True))


def test_versions_chain_to_their_parents(tmp_path: Path) -> None:
    """A new version names the digest of the one before."""
    first = a_case()
    path = write_case(first, tmp_path)
    digest = read_with_digest(path)[1]
    write_case(first.moved(digest, LifeEvent("reviewed", "a", "b", "2026-11-29T00:00:00Z")), tmp_path)
    newest = read_case(tmp_path / "refund-twice")
    assert (newest.version, newest.parent, newest.state) == (2, digest, "reviewed")
    assert [number for number, _ in case_versions(tmp_path / "refund-twice")] == [1, 2]


def test_references_find_versions(tmp_path: Path) -> None:
    """An id means the newest version, id@2 that one; a wrong one lists what there is."""
    path = write_case(a_case(), tmp_path)
    assert find_case("refund-twice", tmp_path) == path
    assert find_case("refund-twice@1", tmp_path) == find_case("refund-twice@v1", tmp_path) == path
    with pytest.raises(InputError, match="there are: refund-twice"):
        find_case("other", tmp_path)
    with pytest.raises(InputError, match="no version '9'"):
        find_case("refund-twice@9", tmp_path)


@pytest.mark.parametrize(
    "case_id", ["../evil", "/abs", "a/b", "CON", "con.x", "", ".hidden", "a" * 81, "é", "a\x00", "a."]
)
def test_an_id_can_not_leave_its_folder(tmp_path: Path, case_id: str) -> None:
    """Path tricks and device names are refused before anything is written."""
    with pytest.raises(InputError, match="no case id"):
        write_case(replace(a_case(), id=case_id), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_fixtures_of_healthy_runs_are_no_events_of_the_incident(tmp_path: Path) -> None:
    """They are stored, and the incident reads as it was."""
    stranger = tool_step(3, "status", {"order": 7}, "sent", attributes={FIXTURE_OF: "run-2"})
    incident = a_trace(tool_step(0, "lookup"))
    case: Case = replace(a_case(), trace=sanitized(a_trace(*incident.steps, stranger)), kept=(0,))
    back = read_case(write_case(case, tmp_path))
    assert [step.name for step in back.incident.steps] == ["lookup"]
    assert [step.name for step in back.trace.trace.steps] == ["lookup", "status"]


def test_key_order_and_number_forms_are_kept(tmp_path: Path) -> None:
    """An agent that prints a tool's answer into a prompt prints the same text in a replay."""
    output = {"z": 1.0, "a": [2, 2.5], "m": {"y": None, "b": 1e100}}
    case = replace(
        a_case(), trace=sanitized(a_trace(tool_step(0, "lookup", {"b": 1, "a": 2.0}, output), input={"q": 1, "p": 2.0}))
    )
    back = read_case(write_case(case, tmp_path))
    assert exact_text(back.incident.steps[0].output) == exact_text(output)
    assert exact_text(back.incident.input) == b'{"q":1,"p":2.0}'


def a_chat(turns: int = 30) -> Trace:
    """Each request holds all messages before it."""
    messages: list[Json] = [{"role": "user", "content": f"turn {n}: {'well ' * 60}"} for n in range(turns)]
    return a_trace(
        *(Step(n, "model", "chat", {"messages": messages[: n + 1]}, {"content": "ok"}) for n in range(turns))
    )


def test_a_rows_hash_is_what_the_documents_say(tmp_path: Path) -> None:
    """SHA-256 over the hash before and the row as a JSON list, `input` in it by its own SHA-256."""
    path = write_case(replace(a_case(), trace=sanitized(a_chat()), kept=(0,)), tmp_path)
    before = ""
    for row in pq.read_table(path).to_pylist():
        times = {name: None if row[name] is None else row[name].value // 1000 for name in ("started_at", "ended_at")}
        given = hashlib.sha256(row["input"].encode()).hexdigest()
        values = [({**row, **times, "input": given})[name] for name in STEP_SCHEMA.names if name != "hash"]
        assert row["hash"] == hashlib.sha256(before.encode() + exact_text(values)).hexdigest()
        before = row["hash"]


def test_a_word_changed_in_a_long_request_is_an_integrity_error(tmp_path: Path) -> None:
    """In any of the requests that repeat it, though the others are as they were."""
    path = write_case(replace(a_case(), trace=sanitized(a_chat()), kept=(0,)), tmp_path)
    table = pq.read_table(path)
    inputs = table.column("input").to_pylist()
    for at in (12, 20, 29):
        changed = [*inputs[:at], inputs[at].replace("turn 7", "turn 8"), *inputs[at + 1 :]]
        column = STEP_SCHEMA.get_field_index("input")
        pq.write_table(table.set_column(column, "input", pa.array(changed)), path, use_dictionary=False)
        with pytest.raises(IntegrityError, match=f"row {at} was changed"):
            read_case(path)


@given(st.lists(st.lists(st.sampled_from(["a" * 3000, "b" * 1500, "é" * 2000, "x", "yz"]), max_size=8), max_size=8))
def test_texts_that_begin_alike_have_the_usual_hashes(texts: list[list[str]]) -> None:
    """What was read before is left out of the reading, not of the hash."""
    hashes = BegunHashes()
    for text in map("".join, texts):
        assert hashes.sha256(text) == hashlib.sha256(text.encode()).hexdigest()
