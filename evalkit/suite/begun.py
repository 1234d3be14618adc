"""A run that ended before it began leaves nothing behind: there is nothing to resume, and its name is free again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit.errors import EvalkitError, Interrupted
from evalkit.suite.account import read_account
from evalkit.suite.disk import DiskFault
from evalkit.suite.journal import JOURNAL_NAME
from evalkit.suite.results import SAMPLES_NAME

__all__ = ["beginning", "starting"]


@contextmanager
def starting(folder: Path) -> Iterator[None]:
    """While a folder and what is to be run are written: where the disk is full, nothing of it stays.

    Raises:
        DiskFault: with the cure that fits: the same command again, not `--resume`.
    """
    there = folder.exists()
    try:
        yield
    except DiskFault as error:
        if not there:
            shutil.rmtree(folder, ignore_errors=True)
        what = error.what.partition(";")[0]
        raise DiskFault(f"{what}; nothing was done", error.where, "make room, then the same command again") from None


@contextmanager
def beginning(folder: Path, *runs: Path) -> Iterator[None]:
    """While samples are taken: an error before the first one, as of a target that is not there, takes the folder away.

    Args:
        folder: what was made for the runs.
        runs: their folders; `folder` itself where none is given.
    """
    try:
        yield
    except (DiskFault, Interrupted):  # whoever makes room, or has the time, goes on with it
        raise
    except EvalkitError:
        if not any(_has_begun(run) for run in runs or (folder,)):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _has_begun(run: Path) -> bool:
    journal = run / JOURNAL_NAME
    if (run / SAMPLES_NAME).exists() or (journal.exists() and journal.stat().st_size):
        return True
    return bool(read_account(run).spent.get("calls"))
