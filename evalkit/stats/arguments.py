"""What the functions of this room refuse: counts that can't be, and rates and shares outside of their range."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from evalkit.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "check_counts",
    "check_drop",
    "check_rate",
    "check_rates",
    "check_share",
    "whole_counts",
    "whole_numbers",
]


def check_counts(passed: float, runs: float) -> None:
    """Refuse anything but ``0 <= passed <= runs``, both finite.

    Raises:
        InputError: the counts are negative, endless or NaN, or there are more passes than runs.
    """
    if not 0 <= passed <= runs < inf:
        raise InputError(f"{passed} passes of {runs} runs is not a count", cure="give 0 <= passes <= runs")


def whole_counts(passed: float, runs: float) -> tuple[int, int]:
    """Both counts as Python has whole numbers, whatever kind of number they were: NumPy's small ones overflow.

    Raises:
        InputError: see `check_counts`; or one is not whole.
    """
    check_counts(passed, runs)
    if passed % 1 or runs % 1:
        raise InputError(f"{passed} passes of {runs} runs is not a count", cure="give whole numbers")
    return int(passed), int(runs)


def whole_numbers(values: ArrayLike) -> NDArray[np.int64]:
    """An array of counts, of any shape.

    Raises:
        InputError: one is not a whole number.
    """
    import numpy as np

    given = np.asarray(values)
    if given.dtype.kind in "iub":
        return given.astype(np.int64)
    try:
        counts = given.astype(np.float64)
    except ValueError:
        counts = np.array([np.nan])
    if not (np.isfinite(counts).all() and (counts == np.rint(counts)).all()):
        raise InputError("counts that are not whole numbers", cure="give numbers of passes and of runs")
    return counts.astype(np.int64)


def check_share(name: str, value: float) -> None:
    """Refuse anything outside of the open interval from 0 to 1 (NaN too).

    Raises:
        InputError: `value` is outside; `name` says in the message what it is.
    """
    if not 0.0 < value < 1.0:
        raise InputError(f"{name} is {value}, wanted a number between 0 and 1", cure=f"give 0 < {name} < 1")


def check_rate(rate: float) -> None:
    """Refuse anything but a pass rate from 0 to 1 (NaN too).

    Raises:
        InputError: it is none.
    """
    if not 0.0 <= rate <= 1.0:
        raise InputError(f"a pass rate of {rate}", cure="give rates from 0 to 1")


def check_drop(p: float, drop: float) -> None:
    """Refuse anything but a drop that a pass rate `p` has room for.

    Raises:
        InputError: it is none.
    """
    if not 0.0 < drop <= p <= 1.0:
        raise InputError(f"a drop of {drop} from {p} is no drop of a rate", cure="give 0 < drop <= p <= 1")


def check_rates(p_good: float, p_bad: float) -> None:
    """Refuse two rates, one to pass and one to fail, that are no shares or can't be told apart.

    Raises:
        InputError: they are.
    """
    check_share("p_good", p_good)
    check_share("p_bad", p_bad)
    if p_bad >= p_good:
        raise InputError(f"p_bad {p_bad} is not below p_good {p_good}", cure="give two rates that can be told apart")
