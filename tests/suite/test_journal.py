"""The journal: what it holds after a kill is what was finished before it."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.errors import IntegrityError
from evalkit.suite.journal import JOURNAL_NAME, Journal, KeptTrace, decode_batch, encode_batch, head_of, read_heads
from evalkit.suite.manifest import MANIFEST_NAME
from evalkit.suite.model import Sample, SampleCheck, Served
from evalkit.suite.results import read_samples, write_results
from evalkit.suite.seen import Seen, seen_json
from tests.strategies import texts
from tests.suite.runs import library, run

checks = st.builds(SampleCheck, texts, st.booleans(), st.booleans(), texts, st.lists(st.integers(0, 99)).map(tuple))
samples = st.builds(
    Sample,
    case_id=texts,
    case_version=st.integers(1, 9),
    index=st.integers(0, 999),
    outcome=st.sampled_from(["passed", "failed", "missed", "errored"]),
    checks=st.lists(checks, max_size=2).map(tuple),
    reason=texts,
    misses=st.lists(texts, max_size=2).map(tuple),
    trace=texts,
    drew=st.booleans(),
    cost_usd=st.floats(0, 1e3),
    duration_s=st.floats(0, 1e3),
    served=st.none() | st.builds(Served, *[st.lists(texts, max_size=2).map(tuple)] * 4, st.integers(0, 9), texts),
)


def write(folder: Path, *batches: list[Sample]) -> bytes:
    """A journal's bytes after some batches."""
    journal = Journal(folder)
    for batch in batches:
        journal.append(encode_batch(batch, [KeptTrace("d", "c", '{"steps":[]}')]))
    journal.close()
    return (folder / JOURNAL_NAME).read_bytes()


def seen_in(folder: Path) -> list[list[object]]:
    """What the heads of a journal tell of its samples."""
    return [list(entry) for head in read_heads(folder) for entry in head.seen]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(batches=st.lists(st.lists(samples, max_size=3), max_size=3))
def test_samples_survive_the_journal(batches: list[list[Sample]], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every field of every sample is read as it was written, and its beginning tells the controller what it needs."""
    folder = tmp_path_factory.mktemp("run")
    write(folder, *batches)
    (folder / MANIFEST_NAME).write_text("{}", "utf-8")
    every = [sample for batch in batches for sample in batch]
    assert seen_in(folder) == [list(entry) for batch in batches for entry in seen_json(batch)]
    write_results(folder)
    expected: dict[str, list[Sample]] = {}
    for sample in sorted(every, key=lambda one: one.index):
        expected.setdefault(sample.case_id, []).append(sample)
    assert read_samples(folder) == expected


@pytest.mark.parametrize("kept", range(0, 100, 7))
def test_a_torn_line_is_as_if_it_had_not_been(tmp_path: Path, kept: int) -> None:
    """Cut anywhere in the second batch, the first one stands, and the next batch starts on a line of its own."""
    first, second = [Sample("a", 1, 0, "passed")], [Sample("a", 1, 1, "failed", reason="r")]
    whole = write(tmp_path, first, second)
    start = whole.index(b"\n") + 1
    (tmp_path / JOURNAL_NAME).write_bytes(whole[: start + (len(whole) - start - 1) * kept // 100])
    assert seen_in(tmp_path) == [["a", [0], "passed", ""]]
    write(tmp_path, second)
    assert seen_in(tmp_path) == [["a", [0], "passed", ""], ["a", [1], "failed", ""]]


def test_a_broken_line_in_the_middle_is_an_integrity_error(tmp_path: Path) -> None:
    """A journal that someone edited is not read past."""
    whole = write(tmp_path, [Sample("a", 1, 0, "passed")], [Sample("a", 1, 1, "passed")])
    (tmp_path / JOURNAL_NAME).write_bytes(b"{oops}\n" + whole)
    with pytest.raises(IntegrityError, match="broken"):
        list(read_heads(tmp_path))


def test_no_journal_is_an_empty_one(tmp_path: Path) -> None:
    """A run that was killed before its first item starts from the beginning."""
    assert list(read_heads(tmp_path)) == []


@given(st.lists(samples, max_size=5))
def test_a_lines_beginning_is_read_without_the_rest(batch: list[Sample]) -> None:
    """Progress counts every outcome and the cost, whatever the samples' texts hold."""
    head = head_of(encode_batch(batch, [KeptTrace("d", "c", '{"outcome":"passed"}')]))
    assert head.cost_usd == sum(sample.cost_usd for sample in batch)
    told = [(case_id, index, outcome) for case_id, indices, outcome, *_ in head.seen for index in indices]
    assert told == [(sample.case_id, sample.index, sample.outcome) for sample in batch]


@given(st.lists(samples, max_size=5))
def test_a_line_is_read_as_it_was_written(batch: list[Sample]) -> None:
    """Samples with all their fields, and the kept replays."""
    kept = [KeptTrace("d", "c", '{"steps":[]}')]
    assert decode_batch(encode_batch(batch, kept)) == (batch, kept)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=9))
def test_alike_samples_in_a_row_are_written_once(given: list[tuple[str, int]]) -> None:
    """Equal replays share an entry, and each sample comes back where it stood: its place tells when it was finished."""
    batch = [Sample("c", 1, at, "passed", trace=trace, duration_s=time) for at, (trace, time) in enumerate(given)]
    line = encode_batch(batch, [])
    assert decode_batch(line) == (batch, [])
    assert line.count(b'"case_version"') == len([*itertools.groupby(trace for trace, _ in given)])


def test_a_journal_of_an_earlier_evalkit_is_refused(tmp_path: Path) -> None:
    """Its samples would be missing."""
    (tmp_path / JOURNAL_NAME).write_text(
        '{"cost_usd":0.0,"seen":[["c",[0],"passed","d"]],"samples":[{}],"traces":[]}\n'
    )
    with pytest.raises(IntegrityError, match="earlier evalkit"):
        list(read_heads(tmp_path))


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["passed", "failed", "missed", "errored"])), max_size=30))
def test_what_was_seen_is_kept_by_index(given: list[tuple[int, str]]) -> None:
    """Outcomes stand at their index, in whichever order they came; what did not come is None."""
    seen = Seen()
    seen.add(("c", [index], outcome, f"{index % 2}") for index, outcome in given)
    by_index = dict(given)
    if not given:
        assert "c" not in seen
        return
    case = seen["c"]
    assert case.outcomes == tuple(by_index.get(index) for index in range(max(by_index) + 1))
    assert case.count == len(by_index)
    assert case.equal == (len({index % 2 for index, outcome in given if outcome != "errored"}) == 1)
    assert +seen.counts == Counter(by_index.values())
    assert all(seen.has("c", index) == (index in by_index) for index in range(50))


def test_a_later_attempt_takes_the_place_of_an_errored_one() -> None:
    """In whichever order they are read; what an outage did to a replay does not make the case's replays unequal."""
    entries = [("c", [0], "errored", "torn", 1), ("c", [0], "errored", "torn", 2), ("c", [0], "passed", "whole", 3)]
    for order in itertools.permutations(entries):
        seen = Seen()
        seen.add([*order, ("c", [1], "passed", "whole")])
        assert seen["c"].outcomes == ("passed", "passed")
        assert +seen.counts == {"passed": 2}
        assert (seen["c"].equal, seen["c"].count, seen.errored("c")) == (True, 2, {})
        assert seen.retried() == {("c", 0): 3}


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["passed", "errored"]), st.integers(1, 3)))))
def test_samples_told_together_are_seen_as_one_by_one(batches: list[list[tuple[int, str, int]]]) -> None:
    """What is seen of a case does not hang on which of its samples came in a row."""
    together, alone = Seen(), Seen()
    for batch in batches:
        of_one = {index: (outcome, attempt) for index, outcome, attempt in batch}
        made = [Sample("c", 1, at, outcome, trace=outcome, attempt=n) for at, (outcome, n) in of_one.items()]  # type: ignore[arg-type]  # outcomes
        together.add(seen_json(made))
        for sample in made:
            alone.add(seen_json([sample]))
    assert +together.counts == +alone.counts
    assert together.retried() == alone.retried()
    assert together.errored("c") == alone.errored("c")
    assert {key: one.outcomes for key, one in together.items()} == {key: one.outcomes for key, one in alone.items()}


def test_samples_of_an_earlier_run_are_read(tmp_path: Path) -> None:
    """Those from before it was told whether the agent drew random numbers: taken for ones that did not."""
    library(tmp_path, [1])
    found = {case: [*samples] for case, samples in run(tmp_path, "once", samples=2).items()}
    path = tmp_path / "run" / "samples.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["drew"]), path)
    assert read_samples(tmp_path / "run") == found
