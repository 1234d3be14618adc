"""A case by its header, and very many of them, packed: made when they are asked for."""

from __future__ import annotations

import hashlib
import marshal
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any, TypeAlias

from evalkit.canonical import exact_text, parse_exact
from evalkit.case.store import read_header
from evalkit.check.model import Check, check_from_json, checks_digest
from evalkit.errors import InputError, IntegrityError
from evalkit.sanitize.register import Surrogates, surrogates_from
from evalkit.suite.made import Made
from evalkit.suite.packed import packed, unpacked
from evalkit.suite.texts import Pieces, Texts

__all__ = [
    "CaseRef",
    "CaseRefs",
    "NamedCases",
    "another_file",
    "brief_reference",
    "ids_of",
    "libraries_of",
    "out_of_place",
    "reference",
    "root_of",
    "states_of",
    "targets_of",
]


_Alike: TypeAlias = tuple[str, str, str, str, tuple[str, ...], str, str]
"""What many cases have in common: library, state, signature, target, tags, owner, key."""


@dataclass(slots=True)  # not frozen: a run makes very many, and freezing triples the time of that
class CaseRef:
    """A case's newest version, by its header; nobody changes it.

    Attributes:
        digest: as the header says; checked against the rows when the case is read.
        replayed: digest of what a replay is given: the recorded steps, the input, and how calls are matched. Another
            state or title leaves it as it is.
        key_id: names the project key that it was sanitized with.
        earlier: the incidents of the versions before, each with ``raw_hash`` and ``fingerprint``.
        check_text: empty where it is not held; `checks` reads the header again then.
        demands: see `check.model.checks_digest`; empty where it is not held.
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
    demands: str = ""

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

    @property
    def checks(self) -> tuple[Check, ...]:
        """The case's checks; kept as text, or not at all, until they are asked for, so that very many cases fit.

        Raises:
            InputError, IntegrityError: they are not kept, and the file is gone, or is another one now.
        """
        return tuple(check_from_json(body, self.path) for body in self._check_bodies())

    def _check_bodies(self) -> list[Any]:
        if self.check_text:
            kept: list[Any] = parse_exact(self.check_text)
            return kept
        header = read_header(self.path)
        if header["digest"] != self.digest:
            raise another_file(self.id, self.version, self.path)
        found: list[Any] = header["checks"]
        return found

    @property
    def checks_digest(self) -> str:
        """What the case demands, see `check.model.checks_digest`."""
        return self.demands or checks_digest(self.checks)


class CaseRefs(Made[CaseRef]):
    """The cases of a run, as `brief_reference` gives them: some 150 bytes each, and a `CaseRef` when one is asked for.

    Raises:
        IntegrityError: a file holds another case or version than its place says: one of two would be run for both.
    """

    def __init__(self, cases: Iterable[CaseRef] = ()) -> None:
        self._ids = Texts()
        self._alike: list[_Alike] = []
        self._own = Pieces()
        known: dict[_Alike, _Alike] = {}
        for case in cases:
            root = root_of(case)
            alike = (root, case.state, case.signature, case.target, case.tags, case.owner, case.key_id)
            hashes = map(packed, (case.digest, case.raw_hash, case.replayed, case.demands))
            self._ids.append(case.id)
            self._alike.append(known.setdefault(alike, alike))
            self._own.append(marshal.dumps((case.version, case.title, case.link, *hashes)))

    @property
    def ids(self) -> Texts:
        """The cases' ids."""
        return self._ids

    def those(self, meant: Callable[[CaseRef], bool]) -> CaseRefs:
        """Those of the cases that are meant."""
        return CaseRefs(filter(meant, self))

    def naming(self, at: int) -> tuple[str, int, str, str, str, str, str, tuple[str, ...]]:
        """What a verdict names a case by: id, version, digest, title, owner, link, signature, tags."""
        _, _, signature, _, tags, owner, _ = self._alike[at]
        version, title, link, digest, *_ = marshal.loads(self._own[at])
        return self._ids[at], version, unpacked(digest), title, owner, link, signature, tags

    def named_at(self, at: int) -> tuple[str, int, str, str]:
        """A case's id, version, digest and state."""
        version, _, _, digest, *_ = marshal.loads(self._own[at])
        return self._ids[at], version, unpacked(digest), self._alike[at][1]

    @property
    def named(self) -> NamedCases:
        """Each case's id, version, digest and state, as a manifest names them."""
        return NamedCases(self)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[CaseRef]:
        return map(_unpacked, self._ids, self._alike, self._own)

    def made(self, at: int) -> CaseRef:
        """The reference of the case that stands there."""
        return _unpacked(self._ids[at], self._alike[at], self._own[at])


class NamedCases(Made[tuple[str, int, str, str]]):
    """See `CaseRefs.named`."""

    def __init__(self, cases: CaseRefs) -> None:
        self._cases = cases

    def __len__(self) -> int:
        return len(self._cases)

    def made(self, at: int) -> tuple[str, int, str, str]:
        """See `CaseRefs.named_at`."""
        return self._cases.named_at(at)


def targets_of(cases: Sequence[CaseRef]) -> set[str]:
    """The targets that some cases name."""
    return {one[3] for one in set(cases._alike)} if isinstance(cases, CaseRefs) else {case.target for case in cases}


def states_of(cases: Sequence[CaseRef]) -> list[str]:
    """The states of some cases, in their order."""
    return [one[1] for one in cases._alike] if isinstance(cases, CaseRefs) else [case.state for case in cases]


def libraries_of(cases: Sequence[CaseRef]) -> set[str]:
    """The folders that the folders of some cases stand in."""
    if isinstance(cases, CaseRefs):
        return {one[0] for one in set(cases._alike)}
    return {os.path.dirname(os.path.dirname(case.path)) for case in cases}


def ids_of(cases: Sequence[CaseRef]) -> Texts:
    """The ids of some cases, without making the references of those that are held packed."""
    return cases.ids if isinstance(cases, CaseRefs) else Texts(case.id for case in cases)


def reference(path: Path) -> CaseRef:
    """All that is known of a case by its header.

    Raises:
        InputError: the file is no case.
    """
    with _header(path) as header:
        sanitization = header["sanitization"]
        return CaseRef(
            str(path), header["id"], header["version"], header["digest"], intern(header["state"]), header["title"],
            intern(header["signature"]), intern(header["target"]), tuple(header["tags"]), intern(header["owner"]),
            header["link"], sanitization["raw_hash"], str(header.get("fingerprint", "")),
            tuple(header["source"].get("earlier", ())), exact_text(header["checks"]).decode(), _replayed(header),
            exact_text(sanitization.get("surrogates", {})).decode(), intern(sanitization["key_id"]),
        )  # fmt: skip


def brief_reference(path: Path, *, compared: bool = True) -> CaseRef:
    """The same without what only an ingest asks for, and of the checks their digest alone.

    Args:
        compared: whether that is asked for soon; otherwise the header is read again when it is.

    Raises:
        InputError: the file is no case.
    """
    with _header(path) as header:
        sanitization = header["sanitization"]
        checks = [check_from_json(body, str(path)) for body in header["checks"]] if compared else None
        return CaseRef(
            str(path), header["id"], header["version"], header["digest"], header["state"], header["title"],
            header["signature"], header["target"], tuple(header["tags"]), header["owner"], header["link"],
            sanitization["raw_hash"], check_text="", replayed=_replayed(header), key_id=sanitization["key_id"],
            demands="" if checks is None else checks_digest(checks),
        )  # fmt: skip


@contextmanager
def _header(path: Path) -> Iterator[dict[str, Any]]:
    """A case's header; what it lacks inside makes it no case."""
    try:
        yield read_header(path)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a case: {error}", str(path), "evalkit check") from None


def another_file(case_id: str, version: int, path: str | Path) -> IntegrityError:
    """The error for a version of a case that is not the one that was run."""
    cure = "git checkout it, or run the suite again where both branches made such a version"
    return IntegrityError(f"case {case_id} version {version} is another file now", str(path), cure)


def _replayed(header: dict[str, Any]) -> str:
    parts = [header["steps_hash"], header["trace"]["input"], header["volatile"], header.get("on_miss", {})]
    return hashlib.sha256(exact_text(parts)).hexdigest()[:16]


def root_of(case: CaseRef) -> str:
    """The library that a case stands in.

    Raises:
        IntegrityError: the file holds another case or version than its place says.
    """
    root = os.path.dirname(os.path.dirname(case.path))
    if _path(root, case.id, case.version) != case.path:
        raise out_of_place(case)
    return root


def out_of_place(case: CaseRef) -> IntegrityError:
    """The error for a file that holds another case or version than its place says."""
    what = f"the file holds case {case.id} version {case.version}"
    return IntegrityError(what, case.path, "git checkout it, or take its folder out of the cases if it is a copy")


def _path(root: str, case_id: str, version: int) -> str:
    return os.path.join(root, case_id, f"v{version:04d}.parquet")


def _unpacked(case_id: str, alike: _Alike, own: bytes) -> CaseRef:
    root, state, signature, target, tags, owner, key_id = alike
    version, title, link, *hashes = marshal.loads(own)
    digest, raw_hash, replayed, demands = map(unpacked, hashes)
    return CaseRef(
        _path(root, case_id, version), case_id, version, digest, state, title, signature, target, tags, owner, link,
        raw_hash, "", (), "", replayed, "{}", key_id, demands,
    )  # fmt: skip
