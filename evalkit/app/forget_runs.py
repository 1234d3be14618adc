"""Forgetting in what runs left behind: reports, journals, kept replays; and in the files that people write.

A run can be made again, so one that holds the subject goes as a whole, with a tombstone in its folder. Baselines and
suites hold counts and a person's words: those are told of and left.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.app.settings import Settings
from evalkit.case.tombstone import TOMBSTONE_NAME
from evalkit.errors import InputError
from evalkit.project import SETTINGS_NAME
from evalkit.sanitize.subject import Subject
from evalkit.vault.shred import shred

__all__ = ["RunFound", "find_runs", "name_files", "remove_run"]


@dataclass(frozen=True, slots=True)
class RunFound:
    """One run's folder, or a single file beside them, that holds the subject.

    Attributes:
        files: all files in it.
    """

    path: Path
    files: tuple[Path, ...]


def find_runs(reports: Path, subject: Subject) -> Iterator[RunFound]:
    """What under the reports folder holds a subject.

    Raises:
        InputError: a file can't be read, so that nobody can say what it holds.
    """
    for entry in sorted(reports.iterdir()) if reports.is_dir() else ():
        files = tuple(_files(entry))
        if any(subject.presence(_texts(path)) == "whole" for path in files if path.name != TOMBSTONE_NAME):
            yield RunFound(entry, files)


def remove_run(run: RunFound, *, actor: str, reason: str, at: str) -> None:
    """Deletes a run's files; a tombstone says what the folder was."""
    for path in run.files:
        shred(path)
    if run.path.is_dir():
        body = {
            "format": 1, "run": run.path.name, "at": at, "actor": actor, "reason": reason,
            "files": [path.relative_to(run.path).as_posix() for path in run.files],
        }  # fmt: skip
        (run.path / TOMBSTONE_NAME).write_text(json.dumps(body, ensure_ascii=False, indent=1) + "\n", "utf-8")


def name_files(settings: Settings, subject: Subject, names: Sequence[str]) -> Iterator[str]:
    """Settings, suites and baselines that hold a subject."""
    candidates = [
        settings.root / SETTINGS_NAME,
        *(sorted(settings.suites.rglob("*")) if settings.suites.is_dir() else ()),
    ]
    allowed = {name.strip() for name in names} & {value for rule in settings.policies for value in rule.allow}
    for path in candidates:
        if path.is_file() and (subject.presence(_texts(path)) == "whole" or (allowed and path.name == SETTINGS_NAME)):
            yield str(path)


def _files(entry: Path) -> Iterator[Path]:
    if entry.is_dir() and not entry.is_symlink():
        for folder, _, names in os.walk(entry):
            yield from (Path(folder, name) for name in sorted(names))
    elif entry.is_file():
        yield entry


def _texts(path: Path) -> Iterator[str]:
    try:
        if path.suffix == ".parquet" or path.name.endswith(".parquet.writing"):
            yield from _parquet_texts(path)
        else:
            yield path.read_text("utf-8", errors="replace")
    except FileNotFoundError:  # a dangling link, or gone meanwhile
        return
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"it can't be read, so nobody can say whom it names: {error}", str(path), "delete the run, or restore it"
        ) from None


def _parquet_texts(path: Path) -> Iterator[str]:
    with pq.ParquetFile(path) as file:
        for key, value in (file.schema_arrow.metadata or {}).items():
            yield (key + b" " + value).decode("utf-8", "replace")
        for batch in file.iter_batches(batch_size=256):
            for row in batch.to_pylist():
                yield from _leaves(row)


def _leaves(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for value in node.values():
            yield from _leaves(value)
    elif isinstance(node, list):
        for value in node:
            yield from _leaves(value)
