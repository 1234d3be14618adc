"""The progress of a run: one line that is redrawn on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from evalkit.suite.progress import Progress

__all__ = ["ProgressLine"]

_PLAIN_EVERY_S = 10.0
_REDRAW_EVERY_S = 0.1
_BAR = 24


class ProgressLine:
    """Shows a run's progress on stderr."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._began = time.monotonic()
        self._last = 0.0
        self._first: int | None = None
        self._drawn = False

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            sys.stderr.write("\n")

    def show(self, progress: Progress) -> None:
        """Draws, if enough time has passed since the last drawing or the run is whole."""
        now = time.monotonic()
        if self._first is None:
            self._first = progress.done
        wait = _REDRAW_EVERY_S if self._live else _PLAIN_EVERY_S
        if now - self._last < wait and progress.done < progress.total:
            return
        self._last = now
        line = self._line(progress, now - self._began)
        if self._live:
            sys.stderr.write(f"\r\x1b[2K{line}")
            self._drawn = True
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def _line(self, progress: Progress, elapsed_s: float) -> str:
        share = progress.done / progress.total if progress.total else 1.0
        filled = round(_BAR * share)
        parts = [
            f"[{'#' * filled}{'.' * (_BAR - filled)}] {progress.done}/{progress.total}",
            f"{progress.passed} passed, {progress.failed} failed",
        ]
        if progress.missed or progress.errored:
            parts.append(f"{progress.missed} missed, {progress.errored} errored")
        if progress.cost_usd:
            parts.append(f"${progress.cost_usd:.2f}")
        fresh = progress.done - (self._first or 0)
        if fresh and progress.done < progress.total:
            parts.append(f"{elapsed_s / fresh * (progress.total - progress.done):.0f} s left")
        return "  ".join(parts)
