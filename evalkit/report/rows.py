"""Rows of very many cases: each is made when it is asked for."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import overload

from evalkit.canonical import Json
from evalkit.report.detail import Detail
from evalkit.report.row import Row
from evalkit.suite.model import Sample
from evalkit.verdict.history import Night
from evalkit.verdict.model import CaseVerdict

__all__ = ["Rows", "Told"]


@dataclass(frozen=True, slots=True)
class Told:
    """What rows are told from; see `report.row.Row`.

    Attributes:
        samples: by case id; `details`: what makes them, likewise.
    """

    verdicts: Sequence[CaseVerdict] = ()
    samples: Mapping[str, Sequence[Sample]] = field(default_factory=dict)
    suite: Mapping[str, Json] = field(default_factory=dict)
    nights: Sequence[Night] = ()
    details: Mapping[str, Callable[[], Detail]] = field(default_factory=dict)


class Rows(Sequence[Row]):
    """Some rows, in an order.

    Args:
        places: where each one's verdict stands.
    """

    def __init__(self, told: Told, places: Iterable[int] = ()) -> None:
        self._told = told
        self._places = array("I", places)

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """Rows of the same run, one part after the other."""
        return Rows(parts[0]._told if parts else Told(), chain.from_iterable(one._places for one in parts))

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Row]:
        return map(self._row, self._places)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Rows: ...
    def __getitem__(self, at: int | slice) -> Row | Rows:
        return Rows(self._told, self._places[at]) if isinstance(at, slice) else self._row(self._places[at])

    def _row(self, place: int) -> Row:
        told = self._told
        verdict = told.verdicts[place]
        samples = told.samples.get(verdict.case_id, ())
        return Row(verdict, samples, told.suite, told.nights, told.details.get(verdict.case_id))
