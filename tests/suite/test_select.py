"""Which cases a suite means."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.case.store import write_case
from evalkit.errors import ConfigError, IntegrityError
from evalkit.suite.model import Selection
from evalkit.suite.select import list_cases, select_cases
from tests.build import a_case

IDS = [f"case-{number:03}" for number in range(150)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of more cases than are read in a row; every tenth is retired."""
    root = tmp_path_factory.mktemp("cases")
    for number, case_id in enumerate(IDS):
        write_case(a_case(id=case_id, state="proposed" if number % 10 else "retired"), root)
    return root


def test_all_cases_but_retired_ones_are_selected_by_id(many: Path) -> None:
    """However many there are, each once."""
    assert [case.id for case in select_cases(many, Selection())] == [one for one in IDS if not one.endswith("0")]


def test_a_pattern_and_an_id_select_the_cases_that_they_name(many: Path) -> None:
    """The first and the last of a large library, too."""
    chosen = select_cases(many, Selection(ids=("case-00*", "case-149")))
    assert [case.id for case in chosen] == [*IDS[1:10], IDS[149]]


def test_a_library_without_a_gate_says_how_it_gets_one(many: Path) -> None:
    """Where a suite of gates is run before the first case is promoted, or after the last one was retired."""
    with pytest.raises(ConfigError, match="there is none: nothing guards a release") as refused:
        select_cases(many, Selection(gate=True))
    assert "evalkit promote" in refused.value.cure


def test_a_case_that_is_not_selected_is_refused_in_another_place_all_the_same(tmp_path: Path) -> None:
    """One of two would be run for both, once it is."""
    path = write_case(a_case(id="a"), tmp_path)
    write_case(a_case(id="b"), tmp_path).write_bytes(path.read_bytes())
    with pytest.raises(IntegrityError, match="the file holds case a version 1"):
        select_cases(tmp_path, Selection(ids=("a",)))


@pytest.mark.parametrize("place", ["b/v0001.parquet", "a/v0002.parquet"])
def test_a_library_with_a_file_in_anothers_place_is_not_listed(tmp_path: Path, place: str) -> None:
    """What counts as a case's newest version would hang on the name of a copy."""
    path = write_case(a_case(id="a"), tmp_path)
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_bytes(path.read_bytes())
    with pytest.raises(IntegrityError, match="the file holds case a version 1"):
        list(list_cases(tmp_path))


def test_a_version_has_one_name(tmp_path: Path) -> None:
    """A file that spells its number otherwise is none of a case's versions."""
    path = write_case(a_case(id="a"), tmp_path)
    path.with_name("v00002.parquet").write_bytes(path.read_bytes())
    path.with_name("v٠٠٠٢.parquet").write_bytes(path.read_bytes())
    assert [case.path for case in list_cases(tmp_path)] == [str(path)]
