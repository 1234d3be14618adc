"""What the functions of this room refuse: counts that can't be, and shares outside of their range."""

from __future__ import annotations

from evalkit.errors import InputError

__all__ = ["check_counts", "check_share"]


def check_counts(passed: float, runs: float) -> None:
    """Refuse anything but ``0 <= passed <= runs``.

    Raises:
        InputError: the counts are negative, or there are more passes than runs.
    """
    if not 0 <= passed <= runs:
        raise InputError(f"{passed} passes of {runs} runs is not a count", cure="give 0 <= passes <= runs")


def check_share(name: str, value: float) -> None:
    """Refuse anything outside of the open interval from 0 to 1 (NaN too).

    Raises:
        InputError: `value` is outside; `name` says in the message what it is.
    """
    if not 0.0 < value < 1.0:
        raise InputError(f"{name} is {value}, wanted a number between 0 and 1", cure=f"give 0 < {name} < 1")
