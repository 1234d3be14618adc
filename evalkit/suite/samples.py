"""The samples of a finished run, out of ``samples.parquet``; made when they are asked for.

Of very many samples a reader needs a few facts each, and all there is only of those that did not pass. So the facts are
held as columns, some thirty bytes a sample and sixty a case; the rest stays in the file until a case's samples are
wanted.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.errors import IntegrityError
from evalkit.suite.model import Sample
from evalkit.suite.packed import Digests
from evalkit.suite.sample_rows import samples_of
from evalkit.suite.texts import Texts

__all__ = ["CaseSamples", "RunSamples", "column", "live_samples"]

_TEXTS = ("case_id", "outcome", "reason", "trace")
_NUMBERS = ("index", "live_model", "cost_usd", "duration_s", "drew")
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


def live_samples(samples: Sequence[Sample]) -> list[Sample]:
    """Those that a live model answered: the ones with `served`."""
    if isinstance(samples, CaseSamples) and not any(samples.fact("live_model") or ()):
        return []
    return [sample for sample in samples if sample.served is not None]


class RunSamples(Mapping[str, "CaseSamples"]):
    """The samples of a run by case id; cases in the order in which their first samples were finished.

    Args:
        path: the run's table.

    Raises:
        IntegrityError: the file is broken; also when samples are asked for.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _sound(path):
            source = pa.OSFile(str(path))
            self._file = pq.ParquetFile(source)  # held open: another run may take the place of this one's file
            sizes = [self._file.metadata.row_group(at).num_rows for at in range(self._file.num_row_groups)]
            there = set(self._file.schema_arrow.names)  # runs from before it was told don't say who drew
            names = [name for name in (*_TEXTS, *_NUMBERS) if name in there]
            facts = pq.ParquetFile(source, read_dictionary=[*_TEXTS], metadata=self._file.metadata)
            self._ends = [*itertools.accumulate(sizes)]
            self._ids = Texts()
            self._words: dict[str, Sequence[str]] = {}
            self._numbers = {name: self._read_column(facts, name) for name in names}
        rows = np.lexsort((self._numbers["index"], self._numbers["case_id"]))
        for name in names:
            self._numbers[name] = self._numbers[name][rows]
        starts = np.searchsorted(self._numbers.pop("case_id"), np.arange(len(self._ids) + 1))
        self._starts, self._numbers["order"] = _small(starts), _small(rows)
        self._held: dict[int, pa.Table] = {}
        self._made: dict[tuple[int, int], list[Sample]] = {}
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
        if values is None:
            return None
        found: list[Any] = values[start:end].tolist()
        words = self._words.get(name)
        return found if words is None else [words[at] for at in found]

    def made(self, start: int, end: int) -> list[Sample]:
        """The samples from `start` to `end`, sorted likewise."""
        found = self._made.get((start, end))
        if found is None:
            found = self._read(start, end)
            if len(found) <= self._room:
                self._made[start, end] = found
                self._room -= len(found)
        return found

    def _read(self, start: int, end: int) -> list[Sample]:
        found: list[Sample] = []
        with _sound(self._path):
            for row, behind in _runs(self._numbers["order"][start:end].tolist()):
                while row < behind:
                    table, first = self._group(bisect_right(self._ends, row))
                    part = table.slice(row - first, behind - row)
                    found += samples_of(part, first=row)
                    row += part.num_rows
        return found

    def _group(self, at: int) -> tuple[pa.Table, int]:
        """A row group of the file, and the number of its first row."""
        table = self._held.get(at)
        if table is None:
            table = self._file.read_row_group(at, use_threads=False)
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


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise IntegrityError(f"the samples are broken: {error}", str(path), "run the suite again") from None
