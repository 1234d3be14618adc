"""`evalkit check`: whether a case library still is what was written: hashes, parents, views, lock."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evalkit.app.locks import must_be_library, problems_with
from evalkit.app.parting import clash_words, clashing
from evalkit.capture.git import ask_git
from evalkit.case.header import header_json
from evalkit.case.lock import LOCK_NAME, read_lock
from evalkit.case.model import Case
from evalkit.case.store import iter_cases, read_with_digest, unfinished
from evalkit.case.tombstone import TOMBSTONE_NAME, gone_versions, read_tombstones
from evalkit.case.view import VIEW_NAME, render_view, write_view
from evalkit.check.judge import compile_checks
from evalkit.errors import ExitCode, InputError, IntegrityError
from evalkit.sanitize.detect import Detector
from evalkit.sanitize.harvest import Harvester
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import step_parts
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.select import list_cases

__all__ = ["Problem", "check_library", "checkup_exit_code", "write_stale_views"]


_IGNORED = "is a permanent case, and git ignores the file: git add --force, or mend .gitignore"
_UNFINISHED = "was cut off while it was written, so nobody looked it over for what is personal: delete it"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that does not hold.

    Attributes:
        kind: ``integrity``: hash, parent or lock; ``view``: a view out of date; ``input``: unreadable;
            ``personal``: the present rules find values that are no surrogates; ``surrogate``: two values share a
            surrogate, or one value has two; ``unfinished``: what a writer that was killed left; ``ignored``: git would
            never commit it.
    """

    kind: Literal["integrity", "view", "input", "personal", "surrogate", "unfinished", "ignored"]
    where: str
    sentence: str


def check_library(cases: Path, policy: Policy | None = None) -> tuple[int, list[Problem]]:
    """How many case files were checked, and what does not hold.

    Args:
        policy: the rules that the newest versions are searched by for what is personal; None to leave that out.

    Raises:
        InputError: there is no such folder.
    """
    must_be_library(cases)
    checked = 0
    problems: list[Problem] = []
    detector = None if policy is None else Detector(policy)
    for case_id, versions in iter_cases(cases):
        checked += len(versions)
        newest, found = _versions(cases / case_id, versions)
        problems += found
        if newest is not None:
            problems += [*_checks(newest, versions[-1][1]), *_view(newest, cases)]
            if policy is not None and detector is not None:
                problems += _personal(newest, policy, detector, versions[-1][1])
    problems += [Problem("unfinished", str(path), _UNFINISHED) for path in unfinished(cases)]
    try:
        listed = [*list_cases(cases)]
    except (InputError, IntegrityError):  # what can't be listed is among the problems already
        return checked, problems
    return checked, [*problems, *_lock(cases, listed), *_ignored(cases, listed), *_surrogates(listed)]


def write_stale_views(cases: Path) -> list[Path]:
    """Writes the views that are out of date; gives their paths.

    Raises:
        IntegrityError, InputError: a case can't be read.
    """
    written = []
    for _, versions in iter_cases(cases):
        case, _ = read_with_digest(versions[-1][1])
        if _view(case, cases):
            written.append(write_view(case, cases))
    return written


def checkup_exit_code(problems: list[Problem]) -> ExitCode:
    """4 for broken integrity, 2 for anything else that does not hold."""
    if any(problem.kind == "integrity" for problem in problems):
        return ExitCode.INTEGRITY
    return ExitCode.WRONG_INPUT if problems else ExitCode.DONE


def _versions(folder: Path, versions: list[tuple[int, Path]]) -> tuple[Case | None, list[Problem]]:
    """The newest version of a case, None where it can't be read; and what does not hold of any."""
    gone, problems = _gone(folder)
    previous: str | None = None
    newest: Case | None = None
    expected = 0
    for number, path in versions:
        expected += 1
        while expected < number and expected in gone:  # an explained gap
            previous = gone[expected]
            expected += 1
        try:
            newest, digest = read_with_digest(path)
        except (InputError, IntegrityError) as error:
            problems.append(Problem(_kind(error), str(path), error.what))
            previous, newest = None, None
            continue
        problems += _identity(newest, folder.name, number, expected, path, previous)
        if number in gone:
            problems.append(Problem("integrity", str(path), f"version {number} holds a subject that was forgotten"))
        previous = digest
    return newest, problems


def _checks(case: Case, path: Path) -> Iterator[Problem]:
    """Checks that were written before evalkit refused such: no run can judge by them."""
    if case.state == "retired":
        return
    try:
        compile_checks(case.checks, case.id)
    except InputError as error:
        yield Problem("input", str(path), f"{error.where}: {error.what}; {error.cure}")


def _kind(error: InputError | IntegrityError) -> Literal["integrity", "input"]:
    return "integrity" if isinstance(error, IntegrityError) else "input"


def _gone(folder: Path) -> tuple[dict[int, str], list[Problem]]:
    """The versions that a tombstone accounts for, by number, with their digests."""
    try:
        return gone_versions(read_tombstones(folder)), []
    except (InputError, IntegrityError) as error:
        return {}, [Problem(_kind(error), str(folder / TOMBSTONE_NAME), error.what)]


def _identity(case: Case, case_id: str, number: int, expected: int, path: Path, previous: str | None) -> list[Problem]:
    found: list[Problem] = []
    if case.id != case_id or case.version != number:
        found.append(Problem("integrity", str(path), f"the file holds case {case.id} version {case.version}"))
    if number != expected:
        found.append(Problem("integrity", str(path), f"version {expected} is missing before it"))
    elif number > 1 and previous is not None and case.parent != previous:
        found.append(Problem("integrity", str(path), "its parent is not the version before it"))
    return found


def _personal(case: Case, policy: Policy, detector: Detector, path: Path) -> list[Problem]:
    """What can be looked for without the raw data: the detectors must find nothing but surrogates."""
    harvester = Harvester(policy, detector)
    header = header_json(case, "")
    told = [header[key] for key in ("title", "tags", "link", "checks", "source", "trace")]
    told += [[event.reason for event in case.life]]
    harvester.nodes([*told, *(part for step in case.incident.steps for part in step_parts(step))])
    kinds = Counter(claim.kind for claim in harvester.take())
    if not kinds:
        return []
    found = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    cure = "ingest the incident again, or allow the values in the sanitization rules"
    return [Problem("personal", str(path), f"the present rules find values in it ({found}): {cure}")]


def _lock(cases: Path, listed: list[CaseRef]) -> list[Problem]:
    try:
        found = problems_with(read_lock(cases), listed)
        return [Problem("integrity", str(cases / LOCK_NAME), f"{who} {what}") for who, what in found]
    except (InputError, IntegrityError) as error:
        return [Problem(_kind(error), error.where, f"{error.what}: {error.cure}")]


def _ignored(cases: Path, listed: list[CaseRef]) -> Iterator[Problem]:
    """Files of permanent cases that git would leave out, though it keeps the lock: elsewhere there is no such case."""
    lock = (cases / LOCK_NAME).absolute()
    places = {Path(case.path).absolute(): case.path for case in listed if case.state == "permanent"}
    given = b"\0".join(map(os.fsencode, (lock, *places)))
    told = ask_git(cases, "check-ignore", "--stdin", "-z", given=given)
    found = {os.fsdecode(path) for path in (told.out or b"").split(b"\0")}
    if str(lock) not in found:
        yield from (Problem("ignored", path, _IGNORED) for place, path in places.items() if str(place) in found)


def _surrogates(cases: list[CaseRef]) -> list[Problem]:
    """Where cases disagree about a surrogate, as after a merge of two branches."""
    paths = {case.id: case.path for case in cases}
    return [Problem("surrogate", paths[clash.second], clash_words(clash)) for clash in clashing(cases)]


def _view(case: Case, cases: Path) -> list[Problem]:
    path = cases / case.id / VIEW_NAME
    if path.exists() and path.read_bytes().replace(b"\r\n", b"\n") == render_view(case).encode():  # as git may have it
        return []
    return [Problem("view", str(path), f"does not show version {case.version}; evalkit check --write-views mends it")]
