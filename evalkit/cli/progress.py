"""The progress of a run: one line that is redrawn on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import time
from types import TracebackType

from evalkit.percent import percent
from evalkit.suite.progress import Progress

__all__ = ["ProgressLine", "progress_text"]

_PLAIN_EVERY_S = 10.0
_REDRAW_EVERY_S = 0.1
_BAR = 24


class ProgressLine:
    """Shows a run's progress on stderr; plain lines in CI and wherever else it is no terminal."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
        self._began = time.monotonic()
        self._last = float("-inf")
        self._first: int | None = None
        self._shown = self._line = ""
        self._drawn = False

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._draw()
        if self._drawn:
            sys.stderr.write("\n")

    def show(self, progress: Progress) -> None:
        """Draws, if enough time has passed since the last drawing; at the end in any case.

        A bar on a terminal is drawn at once where all that was asked for is there.
        """
        now = time.monotonic()
        if self._first is None:
            self._first = progress.done
        self._line = progress_text(progress, now - self._began, progress.done - self._first)
        wait = _REDRAW_EVERY_S if self._live else _PLAIN_EVERY_S
        if now - self._last >= wait or (self._live and progress.done >= progress.total):
            self._last = now
            self._draw()

    def _draw(self) -> None:
        line = self._line
        if line == self._shown:
            return
        self._shown = line
        if self._live:
            width = shutil.get_terminal_size().columns
            sys.stderr.write(f"\r\x1b[2K{line[: width - 1]}")
            self._drawn = True
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


def progress_text(progress: Progress, elapsed_s: float, fresh: int) -> str:
    """The line.

    Args:
        elapsed_s: since the first sample that was done now.
        fresh: samples that were done now, not before a continuation.
    """
    most = progress.total if progress.about is None else max(progress.about, progress.total)
    share = progress.done / most if most else 1.0
    filled = int(_BAR * share)
    open_ended = most > progress.total
    parts = [
        f"[{'#' * filled}{'.' * (_BAR - filled)}] {progress.done:,} of {'about ' if open_ended else ''}{most:,}",
    ]
    if progress.cases:
        parts.append(f"{progress.cases_done:,}/{progress.cases:,} cases{' so far' if open_ended else ''}")
    rate = "" if progress.rate is None else f" ({percent(progress.rate)})"
    parts.append(f"{progress.passed:,} passed{rate}, {progress.failed:,} failed")
    if progress.missed or progress.errored or progress.retried:
        retried = f" ({progress.retried:,} replayed again)" if progress.retried else ""
        parts.append(f"{progress.missed:,} missed, {progress.errored:,} errored{retried}")
    if progress.cost_usd:
        parts.append(f"${progress.cost_usd:.2f}")
    if fresh > 0 and progress.done < most:
        left = _time(elapsed_s / fresh * (most - progress.done))
        parts.append(f"{'about ' if open_ended else ''}{left} left")
    return "  ".join(parts)


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
