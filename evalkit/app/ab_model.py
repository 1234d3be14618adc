"""What an A/B comparison came to, and where its runs are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalkit.verdict.ab import ABVerdict

__all__ = ["ABRun"]


@dataclass(frozen=True, slots=True)
class ABRun:
    """Two arms, compared.

    Attributes:
        folder: of the whole; None where two runs were compared that there were.
        runs: the folders of arm a's run and arm b's.
        interleaved: whether the arms took turns.
        stopped: why the runs stopped before their end; empty for whole ones.
    """

    folder: Path | None
    runs: tuple[Path, Path]
    interleaved: bool
    verdict: ABVerdict
    stopped: str = ""
