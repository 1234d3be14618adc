"""Many cases at once: p-values adjusted so that a release is not blocked by chance.

A gate blocks on the family-wise error: `holm` over `two_sample.regression_p` for up to three cases, `step_down` over
`two_sample.fisher_p` from four on; choose by the number of cases, in advance. `discrete_bh` bounds the share of false
entries in a list of suspects. The two discrete ones know which p-values each case could have had at all: a case that
hardly ever fails can't have a small one, and so costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import whole_numbers
from evalkit.stats.distinct import distinct_rows
from evalkit.stats.hypergeometric import worse_tail

__all__ = [
    "Attainable",
    "Dependence",
    "attainable_by_fisher",
    "benjamini_hochberg",
    "discrete_bh",
    "holm",
    "step_down",
]

Floats = NDArray[np.float64]

Dependence = Literal["independent", "any"]
"""How the cases' outcomes hang together: not at all, or in any way (a shared outage, a shared model)."""

_SAME_P = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Attainable:
    """The p-values that each case could have had.

    Attributes:
        values: distinct lists of attainable p-values, each rising.
        of_case: per case the index of its list in `values`.
    """

    values: Sequence[Floats]
    of_case: NDArray[np.int64]


def holm(p: ArrayLike) -> Floats:
    """Holm's adjusted p-values (Holm 1979): family-wise, whatever the dependence; in the order given.

    Raises:
        InputError: an entry is no probability.
    """
    values = _probabilities(p)
    order = np.argsort(values, kind="stable")
    raised = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return _in_place(np.minimum(raised, 1.0), order)


def benjamini_hochberg(p: ArrayLike, *, dependence: Dependence = "independent") -> Floats:
    """The adjusted p-values of Benjamini and Hochberg 1995: the false discovery rate, for p-values of any kind.

    With "any" dependence those of Benjamini and Yekutieli 2001. For tables, `discrete_bh` shows far more.

    Returns:
        Adjusted p-values in the order given: entries up to q form a list with an expected false share of at most q.

    Raises:
        InputError: an entry is no probability.
    """
    values = _probabilities(p)
    ranks = np.arange(len(values), 0, -1)
    falling = np.argsort(-values, kind="stable")
    price = 1.0 if dependence == "independent" else float((1 / ranks).sum())
    raised = np.minimum.accumulate(values[falling] * price * len(values) / ranks)
    return _in_place(np.minimum(raised, 1.0), falling)


def step_down(p: ArrayLike, margins: ArrayLike | Attainable, *, dependence: Dependence = "independent") -> Floats:
    """The discrete step-down adjusted p-values (Westfall and Wolfinger 1997): family-wise, never above Holm's.

    With "any" dependence the product over the cases is replaced by Bonferroni's sum, which costs next to nothing.

    Args:
        p: per case its p-value, `two_sample.fisher_p` unless `margins` is an `Attainable`.
        margins: per case (n1, n2, passes in both arms); or what p-values there could have been.
        dependence: what is assumed of the cases.

    Returns:
        Adjusted p-values in the order given.

    Raises:
        InputError: an entry is no probability, or `margins` doesn't fit `p`.
    """
    values = _probabilities(p)
    attainable = _attainable(margins, len(values))
    levels, level_of = np.unique(values, return_inverse=True)
    total = np.zeros(len(levels))
    for group, reached in enumerate(_reached(attainable, levels)):
        at = np.bincount(level_of[attainable.of_case == group], minlength=len(levels))
        left = np.cumsum(at[::-1])[::-1]  # cases of the group whose p is at this level or above
        share = _log_missed(reached) if dependence == "independent" else reached
        total += np.where(left > 0, left * np.where(left > 0, share, 0.0), 0.0)
    raised = -np.expm1(total) if dependence == "independent" else total
    adjusted: Floats = np.minimum(np.maximum.accumulate(raised), 1.0)[level_of]
    return adjusted


def discrete_bh(p: ArrayLike, margins: ArrayLike | Attainable) -> Floats:
    """The discrete step-down Benjamini-Hochberg adjusted p-values: the false discovery rate of independent cases.

    Source: DBH-SD of Doehler, Durand and Roquain 2018.

    Args:
        p: per case its p-value, `two_sample.fisher_p` unless `margins` is an `Attainable`.
        margins: per case (n1, n2, passes in both arms); or what p-values there could have been.

    Returns:
        Adjusted p-values in the order given: entries up to q form a list with an expected false share of at most q.

    Raises:
        InputError: an entry is no probability, or `margins` doesn't fit `p`.
    """
    values = _probabilities(p)
    attainable = _attainable(margins, len(values))
    levels, level_of = np.unique(values, return_inverse=True)
    sizes = np.bincount(attainable.of_case, minlength=len(attainable.values))
    total = np.zeros(len(levels))
    for size, reached in zip(sizes.tolist(), _reached(attainable, levels), strict=True):
        total += size * np.divide(reached, 1.0 - reached, out=np.full(len(levels), np.inf), where=reached < 1.0)
    before = np.cumsum(np.concatenate([[0], np.bincount(level_of, minlength=len(levels))]))[:-1]
    # equal p-values share the rank of the first of them: the running maximum would raise the rest to it
    adjusted: Floats = np.minimum(np.maximum.accumulate(total / (before + 1)), 1.0)[level_of]
    return adjusted


def attainable_by_fisher(margins: ArrayLike) -> Attainable:
    """All p-values that `two_sample.fisher_p` can give at each case's margins (n1, n2, passes in both arms).

    Raises:
        InputError: the margins have another shape, or can't be.
    """
    rows = whole_numbers(margins)
    if rows.size % 3:
        raise InputError(
            "margins that are not three numbers a case", cure="give (n1, n2, passes in both arms) for each"
        )
    rows = rows.reshape(-1, 3)
    if (rows < 0).any() or (rows[:, 2] > rows[:, 0] + rows[:, 1]).any():
        raise InputError("margins that no table has", cure="give (n1, n2, passes in both arms) for each case")
    distinct, of_case, _ = distinct_rows(rows)
    return Attainable([worse_tail(*row)[1] for row in distinct.tolist()], of_case)


def _attainable(margins: ArrayLike | Attainable, cases: int) -> Attainable:
    found = margins if isinstance(margins, Attainable) else attainable_by_fisher(margins)
    if len(found.of_case) != cases:
        raise InputError(f"margins of {len(found.of_case)} cases for {cases} p-values", cure="give one of each a case")
    return found


def _reached(attainable: Attainable, levels: Floats) -> list[Floats]:
    """Per list of attainable values: the largest that is at most each level; 0 where none is."""
    reached = []
    for values in attainable.values:
        padded = np.concatenate([[0.0], values])
        reached.append(np.minimum(padded[np.searchsorted(values, levels * _SAME_P, side="right")], 1.0))
    return reached


def _log_missed(share: Floats) -> Floats:
    """log(1 - share), minus infinity at 1."""
    logs: Floats = np.log1p(-share, out=np.full(share.shape, -np.inf), where=share < 1.0)
    return logs


def _probabilities(p: ArrayLike) -> Floats:
    values = np.asarray(p, dtype=np.float64).reshape(-1)
    if not ((values >= 0.0) & (values <= 1.0 + 1e-9)).all():
        raise InputError("p-values outside of 0 to 1", cure="give probabilities, without NaN")
    return np.minimum(values, 1.0)


def _in_place(ordered: Floats, order: NDArray[np.intp]) -> Floats:
    placed = np.empty_like(ordered)
    placed[order] = ordered
    return placed
