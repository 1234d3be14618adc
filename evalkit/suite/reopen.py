"""More samples for a run that was begun, or is finished: only what is missing is done then.

A finished run goes back into a journal that holds all that its tables hold, and is an unfinished one from then on.
Until that journal stands under its name, whole and on the disk, the run stays as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evalkit.canonical import Json
from evalkit.errors import InputError
from evalkit.suite.disk import on_disk, to_disk, write_whole
from evalkit.suite.journal import JOURNAL_NAME
from evalkit.suite.manifest import read_manifest, replace_manifest
from evalkit.suite.model import Manifest
from evalkit.suite.results import ATTEMPTS_NAME, SAMPLES_NAME, is_whole, read_lines
from evalkit.suite.writer import sole_writer

__all__ = ["go_on", "raise_samples"]

_CODE = ("git_commit", "git_dirty", "git_patch", "packages")
"""What of an environment says which code is tried."""


def go_on(folder: Path, environment: Mapping[str, Json], *, at: str, actor: str) -> Manifest:
    """Has the manifest of an unfinished run that goes on say so where the code is another one than before.

    Args:
        environment: as a manifest has it, of now.
        at: when, ISO 8601 UTC.

    Returns:
        The manifest as it is then.

    Raises:
        InputError: there is no run, or another process is writing it.
        DiskFault: the disk is full; the run is as it was.
    """
    manifest = read_manifest(folder)
    before = manifest.continued[-1] if manifest.continued else manifest.environment
    code = {key: environment.get(key) for key in _CODE}
    if code == {key: before.get(key) for key in _CODE}:
        return manifest
    said: Mapping[str, Json] = {"at": at, "actor": actor, **code}
    manifest = replace(manifest, continued=(*manifest.continued, said))
    with sole_writer(folder):
        _without_tables(folder)
        replace_manifest(folder, manifest)
    return manifest


def raise_samples(folder: Path, samples: int, *, at: str, actor: str) -> None:
    """Has a run want more samples of each case; its manifest says so, and who asked.

    Args:
        at: when, ISO 8601 UTC.

    Raises:
        InputError: there is no run, it has as many already, or another process is writing it.
        DiskFault: the disk is full; the run is as it was.
    """
    manifest = read_manifest(folder)
    before = manifest.suite.get("samples") or 0  # 0: as many as the suite's policy plans
    if not isinstance(before, int) or samples <= before:
        cure = f"pass more than {before}, or run the suite again with --samples"
        raise InputError(f"the run has {before} samples a case, wanted {samples}", str(folder), cure)
    said: Mapping[str, Json] = {"from": before, "to": samples, "at": at, "actor": actor}
    with sole_writer(folder):
        if is_whole(folder):
            _journal_again(folder)
        _without_tables(folder)
        suite = {**manifest.suite, "samples": samples}
        replace_manifest(folder, replace(manifest, suite=suite, raised=(*manifest.raised, said)))


def _without_tables(folder: Path) -> None:
    """The run is not whole any more: its journal holds all, and tables that are there are of the manifest before."""
    for name in (SAMPLES_NAME, ATTEMPTS_NAME):
        (folder / name).unlink(missing_ok=True)


def _journal_again(folder: Path) -> None:
    journal = folder / JOURNAL_NAME
    write_whole(journal, (line + b"\n" for line in read_lines(folder)), durable=True)
    with on_disk(journal):
        to_disk(folder)
