"""A baseline's samples in two parts, of which only the counts are known: the same parts of a case in every run."""

from __future__ import annotations

from hashlib import sha256

__all__ = ["parts_of"]


def parts_of(case_id: str, measure: tuple[int, int], runs: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Passes and samples of so many of a baseline's samples, and of the rest: one draw without replacement.

    Args:
        case_id: what the draw hangs on.
        measure: the baseline's passes and samples.
        runs: samples of the first part.
    """
    from evalkit.stats.screening import put_aside  # scipy: only where it is needed

    drawn = int.from_bytes(sha256(case_id.encode()).digest()[:7], "big") / 2**56
    return put_aside(*measure, runs, drawn)
