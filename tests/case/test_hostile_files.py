"""Case files that somebody forged: refused with a typed error before they cost anything."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.app.checkup import check_library
from evalkit.case.header import header_digest
from evalkit.case.store import METADATA_KEY, read_case, read_with_digest, write_case
from evalkit.case.view import render_view
from evalkit.errors import EvalkitError, InputError, IntegrityError
from tests.build import a_case
from tests.trace.damage import damaged, json_text


def table_of(folder: Path) -> tuple[Path, pa.Table]:
    """A case file and its rows."""
    path = write_case(a_case(), folder)
    return path, pq.read_table(path)


@pytest.mark.parametrize("column", range(21))
def test_a_column_of_another_type_is_no_case(tmp_path: Path, column: int) -> None:
    """The schema is compared whole, with its types: not one of its columns may be something else."""
    path, table = table_of(tmp_path)
    name = table.schema.names[column]
    strange = pa.array([{"a": [1]}] * table.num_rows)
    pq.write_table(table.set_column(column, name, strange), path, use_dictionary=False)
    with pytest.raises(InputError, match="no case"):
        read_case(path)


def test_a_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """A text that stands once in a dictionary and a million times in the rows is not unpacked, nor are endless rows."""
    path, table = table_of(tmp_path)
    many = table.take([0] * 200_000)
    at = table.schema.names.index("input")
    text = pa.DictionaryArray.from_arrays(pa.array([0] * many.num_rows, pa.int32()), pa.array(["x" * 100_000]))
    pq.write_table(many.set_column(at, "input", text).replace_schema_metadata(table.schema.metadata), path)
    assert path.stat().st_size < 10_000_000
    with pytest.raises((InputError, IntegrityError), match=r"dictionaries|no case"):
        read_case(path)


def test_another_programs_file_is_no_case_to_keep(tmp_path: Path) -> None:
    """Its dictionaries may hold texts that stand in no row, and so under no digest: `check` says so."""
    path, table = table_of(tmp_path)
    pq.write_table(table, path, use_dictionary=["name"])
    assert read_case(path).id == a_case().id
    with pytest.raises(IntegrityError, match="dictionaries"):
        read_with_digest(path)
    assert [problem.kind for problem in check_library(tmp_path)[1]] == ["integrity"]


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    """A case's folder that leads elsewhere is refused: a checkout must not make evalkit write outside of it."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / a_case().id).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="symbolic link"):
        write_case(a_case(), tmp_path / "cases")
    assert not list((tmp_path / "elsewhere").iterdir())


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_forged_header_is_refused_or_a_case(data: st.DataObject) -> None:
    """Whatever a header with a right digest holds, reading it and showing the case raise typed errors only."""
    with tempfile.TemporaryDirectory() as folder:
        path, table = table_of(Path(folder))
        header: Any = json.loads(table.schema.metadata[METADATA_KEY])
        forged = copy.deepcopy(damaged({key: value for key, value in header.items() if key != "digest"}, data))
        try:
            forged = json.loads(json_text(forged))
            forged["digest"] = header_digest(forged)
        except (EvalkitError, TypeError, ValueError, RecursionError):
            return
        metadata = {METADATA_KEY: json_text(forged).encode()}
        pq.write_table(table.replace_schema_metadata(metadata), path, use_dictionary=False)
        try:
            render_view(read_case(path))
        except EvalkitError:
            return
