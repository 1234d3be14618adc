"""What does a run's work, and how many at once, where nobody says."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from evalkit.errors import ConfigError
from evalkit.forks import can_fork
from evalkit.playback.targets.reference import is_alone, is_outside
from evalkit.suite.case_ref import CaseRef, targets_of
from evalkit.suite.model import Suite

__all__ = ["choose", "memory_at_hand"]

_SMALL_RUN = 400
"""Exact replays up to which one worker is enough."""

_WORKER_BYTES = 48 << 20
"""What a forked worker needs of its own, a client library's share included; see docs/measured.md."""


def choose(
    suite: Suite, cases: Sequence[CaseRef], samples: int, executor: str = "", workers: int | None = None
) -> tuple[str, int]:
    """The executor's name, and how many work at once.

    Args:
        samples: about how many there will be, of all cases together.
        executor: as somebody asked for; empty to choose.
        workers: likewise; None to choose.

    Raises:
        ConfigError: another executor than the sandbox's for a sandboxed suite, or the sandbox's for another.
    """
    if suite.sandbox and executor not in ("", "sandbox"):
        raise ConfigError("a sandboxed suite has its own executor", f"--executor {executor}", "leave --executor out")
    if executor == "sandbox" and not suite.sandbox:
        raise ConfigError("the suite is not sandboxed", "--executor sandbox", "pass --sandbox in its place")
    count = workers or _at_once(suite, samples)
    asked = workers is not None or suite.concurrency > 0
    if executor:
        return executor, 1 if executor == "serial" else count
    if suite.sandbox and sys.platform == "linux":  # elsewhere it was refused, or asked for all the same
        return "sandbox", count
    targets = {suite.target or target for target in targets_of(cases)}
    if count == 1 or (not asked and (_is_small(suite, targets, samples) or any(map(is_alone, targets)))):
        return _one_at_once(targets), 1
    return "fork" if can_fork() else "xdist", count


def _is_small(suite: Suite, targets: Collection[str], samples: int) -> bool:
    """Whether a second worker costs more than it saves; a program takes long to start."""
    return samples <= _SMALL_RUN and suite.mode == "exact" and not any(map(is_outside, targets))


def _one_at_once(targets: Collection[str]) -> str:
    """A fork where it can be: an agent that ends its process, or crashes it, would end the run as well."""
    return "fork" if can_fork() and not all(map(is_outside, targets)) else "serial"


def _at_once(suite: Suite, samples: int) -> int:
    """What the suite says; else a core each, or for a live model as many as it is asked at once, and as fit."""
    if suite.concurrency:
        return suite.concurrency
    cores = os.cpu_count() or 1
    if suite.model is None or not suite.live:
        return cores
    fit = memory_at_hand() // 2 // _WORKER_BYTES
    return max(1, min(suite.model.concurrency, max(fit, cores), samples))


def memory_at_hand() -> int:
    """Bytes that this process and its children may still take: the system's, or less where a container is limited."""
    found = [_meminfo(), _container()]
    return min((value for value in found if value is not None), default=1 << 30)


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _container(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    try:
        limit, used = (root / "memory.max").read_text("ascii"), (root / "memory.current").read_text("ascii")
        return max(0, int(limit) - int(used))
    except (OSError, ValueError):  # no such file, or "max"
        return None
