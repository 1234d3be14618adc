"""Which cases a suite means, from the cases' headers alone: their rows are read by whoever replays them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from sys import intern
from typing import Any

from evalkit.canonical import exact_text, parse_exact
from evalkit.case.store import iter_cases, read_header
from evalkit.check.model import Check, check_from_json
from evalkit.errors import ConfigError, InputError, IntegrityError
from evalkit.sanitize.register import Surrogates, surrogates_from
from evalkit.suite.model import Selection

__all__ = ["CaseRef", "list_cases", "reference", "matches", "select_cases"]


@dataclass(frozen=True, slots=True)
class CaseRef:
    """A case's newest version, by its header.

    Attributes:
        digest: as the header says; checked against the rows when the case is read.
        replayed: digest of what a replay is given: the recorded steps, the input, and how calls are matched. Another
            state or title leaves it as it is.
        key_id: names the project key that it was sanitized with.
        earlier: the incidents of the versions before, each with ``raw_hash`` and ``fingerprint``.
    """

    path: str
    id: str
    version: int
    digest: str
    state: str
    title: str
    signature: str
    target: str
    tags: tuple[str, ...]
    owner: str = ""
    link: str = ""
    raw_hash: str = ""
    fingerprint: str = ""
    earlier: tuple[Any, ...] = ()
    check_text: str = "[]"
    replayed: str = ""
    surrogate_text: str = "{}"
    key_id: str = ""

    @property
    def surrogates(self) -> Surrogates:
        """Which values the case's surrogates stand for (see `sanitize.register`).

        Raises:
            InputError: the header says it in a wrong form.
        """
        try:
            return surrogates_from(parse_exact(self.surrogate_text))
        except AttributeError as error:
            raise InputError(f"not a case: {error}", self.path, "evalkit check") from None

    def brief(self) -> CaseRef:
        """The same without what only an ingest asks for: a run holds very many of them."""
        return replace(self, earlier=(), surrogate_text="{}")

    @property
    def checks(self) -> tuple[Check, ...]:
        """The case's checks; kept as text until they are asked for, so that very many cases fit."""
        return tuple(check_from_json(body, self.path) for body in parse_exact(self.check_text))


def list_cases(root: str | Path) -> Iterator[CaseRef]:
    """The newest version of every case under `root`, by id.

    Raises:
        InputError: a file is no case.
    """
    for _, versions in iter_cases(root):
        yield reference(versions[-1][1])


def select_cases(root: str | Path, selection: Selection) -> list[CaseRef]:
    """The cases that `selection` means, by id; retired ones never.

    Raises:
        ConfigError: an exact id names no case, or nothing is selected.
        IntegrityError: a file holds another case or version than its place says: one of two would be run for both.
    """
    every = [case.brief() for case in list_cases(root)]
    for case in every:
        folder, name = os.path.split(case.path)
        if (os.path.basename(folder), name) != (case.id, f"v{case.version:04d}.parquet"):
            raise IntegrityError(f"the file holds case {case.id} version {case.version}", case.path, "git checkout it")
    known = {case.id for case in every}
    for wanted in selection.ids:
        if not any(c in wanted for c in "*?[") and wanted not in known:
            raise ConfigError(f"the suite selects {wanted!r}, and there is no such case", str(root), "evalkit list")
    chosen = [case for case in every if case.state != "retired" and matches(case, selection)]
    if not chosen:
        raise ConfigError("the suite selects no case", str(root), "evalkit list shows ids, tags and states")
    return chosen


def matches(case: CaseRef, selection: Selection) -> bool:
    """Whether the case meets every condition given."""
    return (
        (not selection.ids or any(fnmatchcase(case.id, pattern) for pattern in selection.ids))
        and (not selection.tags or bool(set(selection.tags) & set(case.tags)))
        and (not selection.gate or case.state == "permanent")
        and (not selection.signatures or any(fnmatchcase(case.signature, p) for p in selection.signatures))
    )


def reference(path: Path) -> CaseRef:
    try:
        header = read_header(path)
        return CaseRef(
            str(path), header["id"], header["version"], header["digest"], intern(header["state"]), header["title"],
            intern(header["signature"]), intern(header["target"]), tuple(header["tags"]), intern(header["owner"]),
            header["link"],
            header["sanitization"]["raw_hash"], str(header.get("fingerprint", "")),
            tuple(header["source"].get("earlier", ())), exact_text(header["checks"]).decode(), _replayed(header),
            exact_text(header["sanitization"].get("surrogates", {})).decode(), intern(header["sanitization"]["key_id"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a case: {error}", str(path), "evalkit check") from None


def _replayed(header: dict[str, Any]) -> str:
    parts = [header["steps_hash"], header["trace"]["input"], header["volatile"], header.get("on_miss", {})]
    return hashlib.sha256(exact_text(parts)).hexdigest()[:16]
