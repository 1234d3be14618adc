"""More samples for a finished run: those that are there stay as they are, and only the missing ones are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from evalkit.canonical import Json
from evalkit.errors import InputError
from evalkit.suite.disk import DiskFault
from evalkit.suite.journal import JOURNAL_NAME
from evalkit.suite.manifest import read_manifest, start_run
from evalkit.suite.model import Manifest, Sample
from evalkit.suite.reopen import go_on, raise_samples
from evalkit.suite.results import SAMPLES_NAME, read_attempts, read_samples, read_traces
from tests.suite.runs import library, run
from tests.suite.test_run import timeless

MANIFEST = Manifest("r", {"name": "s"}, (), "2026-11-30T00:00:00Z")

WHEN = "2026-11-30T00:00:00Z"


def traces_of(folder: Path, samples: Mapping[str, Sequence[Sample]]) -> set[str]:
    """Digests whose replays were kept."""
    return set(read_traces(folder, {sample.trace for several in samples.values() for sample in several}))


@pytest.mark.parametrize("target", ["once", "twice", "stray"])
def test_a_finished_run_takes_more_samples(tmp_path: Path, target: str) -> None:
    """The result is that of a run that had as many from the beginning; the old samples keep even their durations."""
    wanted = run(library(tmp_path / "at once", [1, 2, 3]), target, samples=7)
    root = library(tmp_path / "raised", [1, 2, 3])
    before = run(root, target, samples=3)
    raise_samples(root / "run", 7, at=WHEN, actor="ann")
    with pytest.raises(InputError, match="not finished"):
        read_samples(root / "run")
    after = run(root, target, samples=7)
    assert timeless(after) == timeless(wanted)
    assert {case: several[:3] for case, several in after.items()} == before
    assert traces_of(root / "run", after) == traces_of(tmp_path / "at once" / "run", wanted)
    manifest = read_manifest(root / "run")
    assert manifest.suite["samples"] == 7
    assert manifest.raised == ({"from": 3, "to": 7, "at": WHEN, "actor": "ann"},)


@pytest.mark.parametrize("code", [{"git_commit": "f" * 40}, {}])
def test_a_stopped_run_that_goes_on_is_not_whole(tmp_path: Path, code: Mapping[str, Json]) -> None:
    """What its budget let it write is of what it was before, be the code another or not."""
    root = library(tmp_path, [1, 2])
    before = run(root, "once")
    tables = (root / "run" / SAMPLES_NAME).read_bytes()
    raise_samples(root / "run", 9, at=WHEN, actor="")  # the journal is there again
    (root / "run" / SAMPLES_NAME).write_bytes(tables)
    go_on(root / "run", code, at=WHEN, actor="ann")
    with pytest.raises(InputError, match="not finished"):
        read_samples(root / "run")
    assert [each["git_commit"] for each in read_manifest(root / "run").continued] == [*code.values()]
    assert run(root, "raises") == before  # nothing is left to do


def test_attempts_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What infrastructure spoiled before does not come back as a sample."""
    monkeypatch.chdir(library(tmp_path, [12, 13]))
    before = run(tmp_path, "dies_twice", samples=2, executor="fork")
    spoiled = read_attempts(tmp_path / "run")
    assert spoiled
    raise_samples(tmp_path / "run", 3, at=WHEN, actor="")
    after = run(tmp_path, "dies_twice", samples=3, executor="fork")
    assert {case: several[:2] for case, several in after.items()} == before
    assert read_attempts(tmp_path / "run") == spoiled


def test_a_run_stays_finished_until_its_journal_is_whole(tmp_path: Path) -> None:
    """A disk that can't take the journal leaves the run as it was."""
    root = library(tmp_path, [1, 2])
    before = run(root, "once")
    obstacle = root / "run" / f".{JOURNAL_NAME}.writing"
    obstacle.mkdir()
    with pytest.raises(DiskFault):
        raise_samples(root / "run", 9, at=WHEN, actor="")
    assert read_samples(root / "run") == before
    assert read_manifest(root / "run").suite["samples"] == 3


def test_a_journal_without_the_manifests_word_is_finished_again(tmp_path: Path) -> None:
    """As if the machine had stopped between the two: the samples are all there, and more can be asked for again."""
    root = library(tmp_path, [1, 2])
    before = run(root, "once")
    manifest = (root / "run" / "run.json").read_bytes()
    raise_samples(root / "run", 9, at=WHEN, actor="")
    (root / "run" / "run.json").write_bytes(manifest)
    assert run(root, "raises") == before  # nothing is left to do
    raise_samples(root / "run", 9, at=WHEN, actor="")
    assert {len(several) for several in run(root, "once", samples=9).values()} == {9}


@pytest.mark.parametrize("samples", [1, 3])
def test_fewer_or_as_many_are_refused(tmp_path: Path, samples: int) -> None:
    """Nothing is taken away from a run."""
    root = library(tmp_path, [1])
    run(root, "once", samples=3)
    with pytest.raises(InputError, match="has 3 samples a case"):
        raise_samples(root / "run", samples, at=WHEN, actor="")
    assert (root / "run" / SAMPLES_NAME).exists()


def test_a_run_begins_in_an_empty_folder_and_in_no_other(tmp_path: Path) -> None:
    """Also in one that a kill left before anything was written; nothing that is there is lost."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".run.json.writing").write_bytes(b"{")
    start_run(folder, MANIFEST)
    assert read_manifest(folder).run_id == MANIFEST.run_id
    with pytest.raises(InputError, match="a run of this name already"):
        start_run(folder, MANIFEST)
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(InputError, match=r"holds other things \(notes.txt\)"):
        start_run(other, MANIFEST)
    assert [one.name for one in other.iterdir()] == ["notes.txt"]
    hidden = tmp_path / "hidden"
    (hidden / ".git").mkdir(parents=True)
    with pytest.raises(InputError, match=r"holds other things \(.git\)"):  # a run that fails takes its folder away
        start_run(hidden, MANIFEST)
    with pytest.raises(InputError, match="can't be made"):
        start_run(other / "notes.txt", MANIFEST)
