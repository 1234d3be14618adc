"""What a policy says of one case: a word, a sentence, and what would be needed for a clearer word."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.verdict.model import Word

__all__ = ["Ruling"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """A policy's word on one case.

    Attributes:
        reason: one sentence.
        detectable_drop: the smallest drop of the pass rate that so many samples show 4 times of 5; None where that was
            not asked, or no drop is.
        more_samples: further samples after which a clear word is likely; None where none are needed, or no number is
            enough.
        screened: INCONCLUSIVE only because few samples raised no suspicion, and no more were taken.
    """

    word: Word
    reason: str
    detectable_drop: float | None = None
    more_samples: int | None = None
    screened: bool = False
