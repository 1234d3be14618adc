"""Baselines: small, committed, and only compared with what they measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit.canonical import exact_text
from evalkit.check.model import Check, check_json, checks_digest
from evalkit.errors import InputError
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Sample
from evalkit.verdict.baseline import BaselineInfo, make_baseline, read_baseline, write_baseline
from evalkit.verdict.facts import facts_of
from evalkit.verdict.model import Estimate

INFO = BaselineInfo("run-1", "release", "ann", "the first healthy night", "2026-11-29T00:00:00Z")
CHECK = Check("called", {"name": "refund"})
CASE = CaseRef("/p", "c", 3, "d", "permanent", "t", "s", "", (), check_text=exact_text([check_json(CHECK)]).decode())
SAMPLES = {"c": [Sample("c", 3, 0, "passed", cost_usd=0.5), Sample("c", 3, 1, "failed"), Sample("c", 3, 2, "missed")]}


def test_a_baseline_survives_its_file(tmp_path: Path) -> None:
    """Who set it, when and why, and the counts, without what was lost."""
    path = write_baseline(make_baseline(INFO, SAMPLES, [CASE]), tmp_path / "suites" / "release.baseline.parquet")
    back = read_baseline(path)
    assert back.info == INFO
    assert back.counts == {"c": (1, 2, checks_digest([CHECK]))}


def test_whether_replays_were_equal_is_kept(tmp_path: Path) -> None:
    """Only in a frozen world, of two or more, and where no random number was drawn; older files don't tell."""
    equal = {"c": [Sample("c", 3, at, "passed", trace="t") for at in range(2)]}
    drew = {"c": [Sample("c", 3, at, "passed", trace="t", drew=True) for at in range(2)]}
    path = write_baseline(make_baseline(INFO, equal, [CASE], frozen=True), tmp_path / "b.parquet")
    assert read_baseline(path).facts["c"].deterministic
    for found, frozen in ((equal, False), (drew, True), ({"c": equal["c"][:1]}, True)):
        assert not make_baseline(INFO, found, [CASE], frozen=frozen).facts["c"].deterministic
    pq.write_table(pq.read_table(path).drop_columns(["deterministic"]), path)
    assert not read_baseline(path).facts["c"].deterministic


def test_the_file_is_a_plain_table(tmp_path: Path) -> None:
    """A row per case and metric."""
    path = write_baseline(make_baseline(INFO, SAMPLES, [CASE]), tmp_path / "b.parquet")
    rows = pq.read_table(path).to_pylist()
    assert {row["metric"]: (row["n"], row["sum"]) for row in rows}["cost_usd"] == (2, 0.5)


def test_checks_are_told_apart_by_what_gates() -> None:
    """An observation more or another note changes nothing; another demand does."""
    noted = Check("called", {"name": "refund"}, note="read by ann", evidence=(3,))
    observation = Check("called", {"name": "x"}, gating=False)
    assert checks_digest([CHECK]) == checks_digest([observation, noted])
    assert checks_digest([CHECK]) != checks_digest([Check("called", {"name": "refund", "max": 1})])


@pytest.mark.parametrize("content", [None, b"", b"PAR1 but no more"])
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """A missing or broken file is an error with a cure, never an empty baseline."""
    path = tmp_path / "b.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="evalkit baseline set"):
        read_baseline(path)


@pytest.mark.parametrize("at", range(0, 60, 4))
def test_no_damage_changes_what_a_baseline_counts(tmp_path: Path, at: int) -> None:
    """A page that was damaged is refused."""
    path = write_baseline(make_baseline(INFO, SAMPLES, [CASE]), tmp_path / "b.parquet")
    before = read_baseline(path).counts
    data = bytearray(path.read_bytes())
    data[len(data) * at // 100] ^= 0x10
    path.write_bytes(data)
    try:
        found = read_baseline(path).counts
    except InputError:
        return
    assert found == before


def test_a_rate_without_the_bias_of_stopping_early_survives_its_file(tmp_path: Path) -> None:
    """With its variance, where that is known, and what no outcome could change; other cases have none."""
    for variance in (0.01, None):
        estimate = Estimate(0.8, variance, 4, 5)
        path = write_baseline(make_baseline(INFO, SAMPLES, [CASE], estimates={"c": estimate}), tmp_path / "b.parquet")
        assert read_baseline(path).estimates == {"c": estimate}
        assert read_baseline(path).counts["c"][:2] == (1, 2)
    assert make_baseline(INFO, SAMPLES, [CASE]).estimates == {}


def test_very_many_cases_survive_their_file(tmp_path: Path) -> None:
    """More rows than are read or written at once; each case has its own counts, facts and totals."""
    numbers = range(5_000)
    cases = [replace(CASE, id=f"c-{at}", version=1 + at % 7, replayed=f"{at:016x}") for at in numbers]
    samples = {
        f"c-{at}": [
            Sample(f"c-{at}", 1, index, "passed" if index < at % 4 else "failed", cost_usd=at) for index in range(3)
        ]
        for at in numbers
    }
    made = make_baseline(INFO, samples, cases, estimates={"c-17": Estimate(0.5, None, 1, 2)})
    back = read_baseline(write_baseline(made, tmp_path / "b.parquet"))
    assert list(back.rows()) == list(made.rows())
    assert [back.counts[f"c-{at}"][:2] for at in (0, 2, 4_999)] == [(0, 3), (2, 3), (3, 3)]
    assert back.facts["c-4998"] == made.facts["c-4998"] == facts_of(cases[4_998], samples["c-4998"])
    assert list(back.facts) == [f"c-{at}" for at in numbers]
    assert back.totals["cost_usd"][4_999] == 3 * 4_999
    assert back.estimates == {"c-17": Estimate(0.5, None, 1, 2)}
    assert "c-5000" not in back.facts


def test_a_table_that_says_two_things_of_a_case_is_refused(tmp_path: Path) -> None:
    """As after two files were put together; rows of a case that stand apart from it, too."""
    path = write_baseline(make_baseline(INFO, SAMPLES, [CASE]), tmp_path / "b.parquet")
    table = pq.read_table(path)
    for wrong in (pa.concat_tables([table, table]), table.slice(1)):
        pq.write_table(wrong, path)
        with pytest.raises(InputError, match=r"case c stands in it twice|of c stands apart"):
            read_baseline(path)


@pytest.mark.parametrize("wrong", [-1.0, 3.0, None])
def test_counts_that_cannot_be_are_refused(tmp_path: Path, wrong: float | None) -> None:
    """Here, with the file's name, and not where they are compared."""
    path = write_baseline(make_baseline(INFO, SAMPLES, [CASE]), tmp_path / "b.parquet")
    table = pq.read_table(path)
    sums = [wrong, *table["sum"].to_pylist()[1:]]
    pq.write_table(table.set_column(table.column_names.index("sum"), "sum", pa.array(sums, pa.float64())), path)
    with pytest.raises(InputError, match="not a baseline"):
        read_baseline(path)


def test_metrics_to_come_are_passed_over(tmp_path: Path) -> None:
    """A later version's file is read by this one; a metric that is missing is told as missing."""
    path = write_baseline(make_baseline(INFO, SAMPLES, [CASE]), tmp_path / "b.parquet")
    table = pq.read_table(path)
    others = ["passed", "steps", "duration_s", "live_model"]
    pq.write_table(table.set_column(table.column_names.index("metric"), "metric", pa.array(others)), path)
    assert [row["metric"] for row in read_baseline(path).rows()] == ["passed", "duration_s", "live_model"]
