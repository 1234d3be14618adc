"""The samples of a finished run, out of ``samples.parquet``; made when they are asked for.

Of very many samples a reader needs a few facts each, and all there is only of those that did not pass. So the facts are
held as columns, some thirty bytes a sample and sixty a case; the rest stays in the file until a case's samples are
wanted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.errors import IntegrityError
from evalkit.suite.model import Sample
from evalkit.suite.packed import Digests
from evalkit.suite.sample_rows import ALIKE, samples_of
from evalkit.suite.texts import Texts

__all__ = [
    "MANIFEST_KEY",
    "CaseSamples",
    "RunSamples",
    "alike",
    "check_run",
    "column",
    "live_samples",
    "read_ahead",
    "sound",
]

MANIFEST_KEY = b"evalkit.manifest"
"""Where the file's metadata has the digest of its run's manifest."""
_TEXTS = ("case_id", "outcome", "reason", "trace")
_OWN = ("index", "duration_s")
_NUMBERS = (*_OWN, "live_model", "cost_usd", "drew")
_SHARED = [one.name for one in fields(Sample) if one.name not in (*_OWN, "order")]
_shared = attrgetter(*_SHARED)
_SOME = 10_000
"""Words that are Python objects at once."""
_GROUPS_HELD = 2
"""Row groups of the file that are held at once: workers' samples stand side by side."""
_MADE_HELD = 5_000
"""Samples that are held once made: those of a failing case are wanted for its verdict, and again for the page."""


def column(samples: Sequence[Sample], name: str) -> list[Any]:
    """One field of some samples, in their order; without making them where it is a fact that is held."""
    if isinstance(samples, CaseSamples) and (found := samples.fact(name)) is not None:
        return found
    return [getattr(sample, name) for sample in samples]


def alike(samples: Sequence[Sample]) -> list[tuple[Sample, int]]:
    """Some samples, and how many each stands for: those in a row that differ in index and time alone are one."""
    return samples.alike() if isinstance(samples, CaseSamples) else [(sample, 1) for sample in samples]


def read_ahead(samples: Mapping[str, Sequence[Sample]], case_ids: Sequence[str]) -> None:
    """Says of which cases `alike` will be asked: to make all of that at once takes a fraction of the time."""
    if isinstance(samples, RunSamples):
        samples.read_ahead(case_ids)


def live_samples(samples: Sequence[Sample]) -> list[Sample]:
    """Those that a live model answered: the ones with `served`."""
    if isinstance(samples, CaseSamples) and not any(samples.fact("live_model") or ()):
        return []
    return [sample for sample in samples if sample.served is not None]


class RunSamples(Mapping[str, "CaseSamples"]):
    """The samples of a run by case id; cases in the order in which their first samples were finished.

    Args:
        path: the run's table.
        manifest: digest of the run's manifest.

    Raises:
        IntegrityError: the file is broken, also when samples are asked for; or it is another run's.
    """

    def __init__(self, path: Path, manifest: str) -> None:
        self._path = path
        with sound(path):
            source = pa.OSFile(str(path))
            # held open: another run may take the place of this one's file
            self._file = pq.ParquetFile(source, page_checksum_verification=True)
            check_run(self._file.metadata, manifest, path)
            sizes = [self._file.metadata.row_group(at).num_rows for at in range(self._file.num_row_groups)]
            there = set(self._file.schema_arrow.names)  # runs from before it was told don't say who drew
            names = [name for name in (*_TEXTS, *_NUMBERS, ALIKE) if name in there]
            facts = pq.ParquetFile(
                source,
                read_dictionary=[*_TEXTS],
                metadata=self._file.metadata,
                page_checksum_verification=True,
            )
            self._ends = [*itertools.accumulate(sizes)]
            self._ids = Texts()
            self._words: dict[str, Sequence[str]] = {}
            self._numbers = {name: self._read_column(facts, name) for name in names}
        rows = np.lexsort((self._numbers["index"], self._numbers["case_id"]))
        for name in names:
            self._numbers[name] = self._numbers[name][rows]
        cases = self._numbers.pop("case_id")
        entries = self._numbers.pop(ALIKE, rows)
        self._firsts = _small(np.flatnonzero(_changes(cases) | _changes(entries)))
        """Where samples stand that are not like the one before them."""
        self._starts = _small(np.searchsorted(cases, np.arange(len(self._ids) + 1)))
        self._numbers["order"] = _small(rows)
        self._held: dict[int, pa.Table] = {}
        self._made: dict[tuple[int, int], list[tuple[Sample, int]]] = {}
        self._room = _MADE_HELD

    def _read_column(self, file: pq.ParquetFile, name: str) -> np.ndarray:
        """A column's numbers, or the numbers of its words; as little as may be of the file is unpacked at once."""
        groups = range(file.num_row_groups)
        parts = (file.read_row_group(at, columns=[name], use_threads=False).column(name) for at in groups)
        chunks = chain.from_iterable(part.chunks for part in parts)
        if name not in _TEXTS:
            return _joined(_numpy(chunk) for chunk in chunks)
        if name == "trace":  # mostly another one a sample: equal ones need not be found
            digests = self._words[name] = Digests()
            return _joined(_numpy(chunk.indices) + digests.add(chunk.dictionary.to_pylist()) for chunk in chunks)
        values = pa.chunked_array([*chunks], pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
        values = values.combine_chunks()
        starts = range(0, len(values.dictionary), _SOME)
        words = chain.from_iterable(values.dictionary.slice(at, _SOME).to_pylist() for at in starts)
        if name == "case_id":
            self._ids = Texts(words)
        else:
            self._words[name] = [*words]
        return _small(_numpy(values.indices))

    def __getitem__(self, case_id: str) -> CaseSamples:
        at = self._ids.find(case_id)
        if at < 0:
            raise KeyError(case_id)
        return CaseSamples(self, int(self._starts[at]), int(self._starts[at + 1]))

    def __contains__(self, case_id: object) -> bool:
        return case_id in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def fact(self, name: str, start: int, end: int) -> list[Any] | None:
        """A field of the samples from `start` to `end`, sorted by case and index; None where it is not held."""
        values = self._numbers.get(name)
        return None if values is None else self._told(name, values[start:end])

    def _told(self, name: str, values: np.ndarray) -> list[Any]:
        found: list[Any] = values.tolist()
        words = self._words.get(name)
        if words is None:
            return found
        texts = {at: words[at] for at in {*found}}
        return [texts[at] for at in found]

    def made(self, start: int, end: int) -> list[Sample]:
        """The samples from `start` to `end`, sorted likewise."""
        own = zip(*(self._numbers[name][start:end].tolist() for name in (*_OWN, "order")), strict=True)
        found: list[Sample] = []
        for sample, count in self.alike(start, end):
            shared = dict(zip(_SHARED, _shared(sample), strict=True))
            for index, duration_s, order in itertools.islice(own, count):
                found.append(Sample(**shared, index=index, duration_s=duration_s, order=order))
        return found

    def alike(self, start: int, end: int) -> list[tuple[Sample, int]]:
        """The same as the function `alike` gives them."""
        found = self._made.get((start, end))
        if found is None:
            ((key, found),) = self._read([(start, end)])
            if len(found) <= self._room:
                self._hold(key, found)
        return found

    def read_ahead(self, case_ids: Sequence[str]) -> None:
        """See the function `read_ahead`; no more than may be held."""
        wanted, room = [], self._room
        for at in map(self._ids.index, case_ids):
            key = int(self._starts[at]), int(self._starts[at + 1])
            if key in self._made:
                continue
            room -= len(self._parts(*key))
            if room < 0:
                break
            wanted.append(key)
        for key, found in self._read(wanted):
            self._hold(key, found)

    def _hold(self, key: tuple[int, int], found: list[tuple[Sample, int]]) -> None:
        self._made[key] = found
        self._room -= len(found)

    def _parts(self, start: int, end: int) -> np.ndarray:
        """Where in a part of the samples those stand that are not like the one before them."""
        low, high = np.searchsorted(self._firsts, (start + 1, end))
        return np.concatenate([np.arange(start, min(start + 1, end)), self._firsts[low:high]])

    def _read(self, keys: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], list[tuple[Sample, int]]]]:
        """Of parts of the samples, by start and end, what the function `alike` gives; each row group is read once."""
        parts = [self._parts(*key) for key in keys]
        places = np.concatenate([*parts, []]).astype(np.int64)
        rows = self._numbers["order"][places]
        found: dict[int, Sample] = {}
        with sound(self._path):
            groups = np.searchsorted(self._ends, rows, "right")
            for group in sorted({*groups.tolist()}):
                own = places[groups == group]
                own = own[np.argsort(self._numbers["order"][own])]
                found.update(zip(own.tolist(), self._of_group(group, own), strict=True))
        for key, part in zip(keys, parts, strict=True):
            yield key, [*zip(map(found.__getitem__, part.tolist()), np.diff(part, append=key[1]).tolist(), strict=True)]

    def _of_group(self, group: int, places: np.ndarray) -> list[Sample]:
        """The samples that stand at some places, in the order of their rows, which are of one group."""
        table, first = self._group(group)
        rows = self._numbers["order"][places] - first
        parts = [table.slice(row, behind - row) for row, behind in _runs(rows.tolist())]
        held = {name: self._told(name, values[places]) for name, values in self._numbers.items()}
        return samples_of(pa.concat_tables(parts), held)

    def _group(self, at: int) -> tuple[pa.Table, int]:
        """A row group of the file, and the number of its first row."""
        table = self._held.get(at)
        if table is None:
            wanted = [name for name in self._file.schema_arrow.names if name not in (*self._numbers, ALIKE)]
            table = self._file.read_row_group(at, columns=wanted, use_threads=False)
            while len(self._held) >= _GROUPS_HELD:
                del self._held[next(iter(self._held))]
            self._held[at] = table
        return table, self._ends[at] - table.num_rows


class CaseSamples(Sequence[Sample]):
    """A case's samples in the order of their index; made when they are gone through."""

    __slots__ = ("_end", "_run", "_start")

    def __init__(self, run: RunSamples, start: int, end: int) -> None:
        self._run = run
        self._start = start
        self._end = end

    def fact(self, name: str) -> list[Any] | None:
        """See `column`; None where the field is not held."""
        return self._run.fact(name, self._start, self._end)

    def alike(self) -> list[tuple[Sample, int]]:
        """See the function `alike`."""
        return self._run.alike(self._start, self._end)

    def __len__(self) -> int:
        return self._end - self._start

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._run.made(self._start, self._end))

    @overload
    def __getitem__(self, at: int) -> Sample: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Sample]: ...
    def __getitem__(self, at: int | slice) -> Sample | Sequence[Sample]:
        places = range(self._start, self._end)[at]
        if isinstance(places, int):
            return self._run.made(places, places + 1)[0]
        if places.step == 1:
            return CaseSamples(self._run, places.start, max(places.start, places.stop))
        return [*self][at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]  # compared by its samples

    def __repr__(self) -> str:
        return repr([*self])


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Rows that follow each other, as start and end."""
    start = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or rows[at] != rows[at - 1] + 1:
            yield rows[start], rows[at - 1] + 1
            start = at


def _numpy(values: pa.Array) -> np.ndarray:
    """Arrow's own conversion would load pandas, for half a second."""
    return np.array(values.to_pylist(), bool) if pa.types.is_boolean(values.type) else np.from_dlpack(values)


def _joined(parts: Iterable[np.ndarray]) -> np.ndarray:
    found = [*map(_small, parts)]
    return np.concatenate(found) if found else np.zeros(0, np.uint8)


def _small(values: np.ndarray) -> np.ndarray:
    """Whole numbers in as few bytes as the largest takes."""
    if values.dtype.kind not in "iu" or not len(values) or values.min() < 0:
        return values
    return values.astype(np.min_scalar_type(values.max()))


def _changes(values: np.ndarray) -> np.ndarray:
    """Where a value is another one than that before it."""
    return np.concatenate([np.ones(min(1, len(values)), bool), values[1:] != values[:-1]])


def check_run(metadata: pq.FileMetaData, manifest: str, path: Path) -> None:
    """Refuses samples of another run; those from before it was told don't say whose they are.

    Raises:
        IntegrityError: they are another run's.
    """
    if (metadata.metadata or {}).get(MANIFEST_KEY, manifest.encode()) != manifest.encode():
        what = "these samples are another run's, or the run's manifest was changed"
        raise IntegrityError(what, str(path), "put the run's own files back together, or run the suite again")


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """What Arrow raises inside is told as a broken file."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise IntegrityError(f"the samples are broken: {error}", str(path), "run the suite again") from None
