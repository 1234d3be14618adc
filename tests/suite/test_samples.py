"""Samples out of a run's table: as they were written, whatever order they were finished in, and only when wanted."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import IntegrityError
from evalkit.suite import results
from evalkit.suite.journal import JOURNAL_NAME, Journal, encode_batch
from evalkit.suite.manifest import MANIFEST_NAME
from evalkit.suite.model import Outcome, Sample, SampleCheck, Served
from evalkit.suite.results import SAMPLES_NAME, TRACES_NAME, Tables, read_lines, read_samples, read_traces
from evalkit.suite.samples import alike, column, live_samples
from tests.suite.runs import library, run

OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "missed", "errored")
FACTS = ("index", "outcome", "reason", "trace", "drew", "live_model", "cost_usd", "duration_s", "order")


def sample(case: str, index: int, outcome: Outcome, text: str, live: int) -> Sample:
    """One with something in every field; of the same text and calls, alike."""
    checks = () if outcome == "errored" else (SampleCheck("c1", True, outcome == "passed", text, (1, live)),)
    served = Served(models=("m",), answers=text) if live else None
    return Sample(
        case, 2, index, outcome, checks, text, (text,) if outcome == "missed" else (), f"trace-{text}", 1, live, 3, 4,
        5, live / 8, index / 4, 1, live == 2, served,
    )  # fmt: skip


LISTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(OUTCOMES), st.text(max_size=4), st.integers(0, 2)), max_size=25
)


def written(folder: Path, samples: Sequence[Sample], lines: int, final: int = 0) -> None:
    """A finished run of these samples, a few a journal line; the first `final` ones are known not to be taken again."""
    (folder / MANIFEST_NAME).write_text("{}", "utf-8")
    with Tables(folder) as tables:
        journal = Journal(folder)
        for at in range(0, len(samples), lines):
            line = encode_batch(samples[at : at + lines], [])
            journal.append(line)
            tables.add([line], final=at + lines <= final)
        journal.close()
        tables.finish({})
    (folder / JOURNAL_NAME).unlink()
    assert [*folder.glob(".*")] == []


def by_case(samples: Sequence[Sample]) -> Mapping[str, list[Sample]]:
    """What is to be read."""
    found: dict[str, list[Sample]] = {}
    for one in samples:
        found.setdefault(one.case_id, []).append(one)
    return {case: sorted(several, key=lambda one: one.index) for case, several in found.items()}


@given(
    LISTS,
    st.randoms(use_true_random=False),
    st.integers(1, 9),
    st.integers(1, 7),
    st.integers(1, 4000),
    st.integers(0, 25),
)
def test_every_sample_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[str, Outcome, str, int]],
    shuffle: random.Random,
    lines: int,
    rows: int,
    chunk: int,
    final: int,
) -> None:
    """By case, in index order, however they were finished, and however much was written while the run went on."""
    folder = tmp_path_factory.mktemp("run")
    samples = [sample(case, at, outcome, text, live) for at, (case, outcome, text, live) in enumerate(drawn)]
    shuffle.shuffle(samples)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(results, "_GROUP_ROWS", rows)
        patched.setattr(results, "_CHUNK_BYTES", chunk)
        written(folder, samples, lines, final)
    found, expected = read_samples(folder), by_case(samples)
    assert found == expected
    assert len(found) == len(expected)
    for case, several in expected.items():
        orders = [samples.index(one) for one in several]
        assert [one.order for one in found[case]] == column(found[case], "order") == orders
        assert [*found[case]][1:4] == [*found[case][1:4]] == several[1:4]
        assert [*found[case][::-2]] == several[::-2]
        assert found[case][-1] == several[-1]
        assert live_samples(found[case]) == live_samples(several)
        told = [replace(one, index=0, duration_s=0) for one, count in alike(found[case]) for _ in range(count)]
        assert told == [replace(one, index=0, duration_s=0) for one in several]
        for name in FACTS[:-1]:
            assert column(found[case], name) == [getattr(one, name) for one in several]


def test_samples_that_are_alike_are_one(tmp_path: Path) -> None:
    """What differs in index and time alone is made once, for whoever asks for no more than that."""
    several = [sample("a", at, "failed", "one" if at < 7 else "other", 0) for at in range(9)]
    written(tmp_path, several, 9)
    found = read_samples(tmp_path)["a"]
    assert [(one.reason, count) for one, count in alike(found)] == [("one", 7), ("other", 2)]
    assert [one.duration_s for one in found] == [at / 4 for at in range(9)]
    assert [one.reason for one, _ in alike([*found])] == 7 * ["one"] + 2 * ["other"]


def test_a_table_from_before_is_read(tmp_path: Path) -> None:
    """Earlier runs did not say who drew random numbers, nor which samples are alike."""
    several = [sample("a", at, "failed", "why", 0) for at in range(9)]
    written(tmp_path, several, 9)
    path = tmp_path / SAMPLES_NAME
    pq.write_table(pq.read_table(path).drop(["drew", "alike"]), path)
    found = read_samples(tmp_path)["a"]
    assert [*found] == several
    assert [count for _, count in alike(found)] == 9 * [1]


def test_samples_stay_those_of_the_run_that_was_opened(tmp_path: Path) -> None:
    """Who reads a run while it is written anew is not given rows of another one."""
    written(tmp_path, [sample("a", at, "failed", "before", 0) for at in range(3)], 2)
    before = read_samples(tmp_path)
    written(tmp_path, [sample("a", at, "failed", "after", 0) for at in range(9)], 2)
    assert {one.reason for one in before["a"]} == {"before"}
    assert {one.reason for one in read_samples(tmp_path)["a"]} == {"after"}


def test_a_file_that_breaks_says_so(tmp_path: Path) -> None:
    """Also where only the part is broken that is read later."""
    written(tmp_path, [sample("a", at, "failed", f"{at}", 0) for at in range(50)], 50)
    path = tmp_path / SAMPLES_NAME
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match="the samples are broken"):
        list(read_samples(tmp_path)["a"])


@pytest.mark.parametrize("at", range(0, 100, 9))
def test_no_byte_of_the_samples_changes_unseen(tmp_path: Path, at: int) -> None:
    """A page that was damaged is not read as other outcomes; what stands beside the pages decides nothing."""
    written(tmp_path, [sample("a", at, "failed", f"{at}", 0) for at in range(50)], 50)
    before = [*read_samples(tmp_path)["a"]]
    path = tmp_path / SAMPLES_NAME
    data = bytearray(path.read_bytes())
    data[4 + (len(data) - 12) * at // 100] ^= 0x10
    path.write_bytes(data)
    try:
        found = [*read_samples(tmp_path)["a"]]
    except IntegrityError:
        return
    assert found == before


def test_samples_of_another_run_are_told(tmp_path: Path) -> None:
    """Files of two runs in one folder, as when two jobs' artifacts are put together, or a manifest that was edited."""
    library(tmp_path, [1])
    run(tmp_path, "once", samples=2)
    read_samples(tmp_path / "run")
    path = tmp_path / "run" / MANIFEST_NAME
    path.write_text(path.read_text("utf-8").replace('"r"', '"another"'), "utf-8")
    for asked in (read_samples, lambda folder: [*read_lines(folder)]):
        with pytest.raises(IntegrityError, match="another run's"):
            asked(tmp_path / "run")


def test_kept_replays_that_break_say_so(tmp_path: Path) -> None:
    """And not that they can't be written."""
    library(tmp_path, [1])
    run(tmp_path, "once", samples=2)
    path = tmp_path / "run" / TRACES_NAME
    digests = [one.trace for several in read_samples(tmp_path / "run").values() for one in several]
    assert [*read_traces(tmp_path / "run", digests)] == [*{*digests}]
    data = bytearray(path.read_bytes())
    data[4:-300] = bytes(len(data) - 304)
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match="the kept replays are broken"):
        read_traces(tmp_path / "run", digests)
