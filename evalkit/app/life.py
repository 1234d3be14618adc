"""A case's life from the command line: every move is a new version, with actor, reason and time, and a fresh lock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.app.environment import acting, now_utc
from evalkit.app.keys import make_sanitizer
from evalkit.app.locks import refresh_lock
from evalkit.app.settings import Settings
from evalkit.case.model import Case, LifeEvent, State, check_case_id
from evalkit.case.store import case_versions, find_case, read_with_digest, write_case
from evalkit.case.view import write_view
from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, check_from_json
from evalkit.errors import CaseRefused, InputError

__all__ = ["Version", "edit_checks", "history", "move_case"]


@dataclass(frozen=True, slots=True)
class Version:
    """One version in a case's history."""

    number: int
    path: Path
    digest: str
    case: Case


def move_case(case_id: str, state: State, settings: Settings, *, actor: str, reason: str) -> Path:
    """Gives a case another state: ``reviewed``, ``permanent``, ``retired``.

    A permanent case must fail on its own incident: that is proved again here.

    Raises:
        InputError: the move is not allowed, or actor or reason is missing.
        CaseRefused: no gating check fails on the incident.
    """
    case, digest = read_with_digest(find_case(case_id, settings.cases))
    if state == "permanent":
        _must_fail_on_incident(case)
    said = make_sanitizer(settings, tags=case.tags).text(reason)
    event = LifeEvent(state, acting(actor, settings), said, now_utc())
    return _write(case.moved(digest, event), settings)


def edit_checks(case_id: str, body: Any, settings: Settings, *, actor: str, reason: str, where: str) -> Path:
    """Replaces a case's checks; the case is proposed again, unless it is permanent, which it stays.

    Raises:
        InputError: `body` is no list of checks.
        CaseRefused: with the new checks the incident would pass.
    """
    if not isinstance(body, list):
        raise InputError("wanted a JSON list of checks", where, f"evalkit show {case_id} --json gives the present ones")
    case, digest = read_with_digest(find_case(case_id, settings.cases))
    sanitizer = make_sanitizer(settings, tags=case.tags)  # a check's values must meet the case's surrogates
    checks: Iterable[Check] = [check_from_json(check, where) for check in sanitizer.value(body)]
    state: State = "permanent" if case.permanent else "proposed"
    event = LifeEvent(state, acting(actor, settings), sanitizer.text(reason), now_utc())
    edited = case.revised(digest, checks=tuple(checks), strength={}, life=(*case.life, event))
    _must_fail_on_incident(edited)
    return _write(edited, settings)


def history(case_id: str, settings: Settings) -> list[Version]:
    """All versions of a case, oldest first.

    Raises:
        InputError: there is no such case.
    """
    found = case_versions(settings.cases / check_case_id(case_id))
    if not found:
        raise InputError(f"no case {case_id!r}", str(settings.cases), "evalkit list")
    versions = []
    for number, path in found:
        case, digest = read_with_digest(path)
        versions.append(Version(number, path, digest, case))
    return versions


def _must_fail_on_incident(case: Case) -> None:
    results = judge_checks(case.checks, case.incident)
    if not any(result.gating and not result.passed for result in results):
        raise CaseRefused(
            "no gating check fails on the incident: as a gate it would pass the very failure it is for",
            f"case {case.id}",
            f"evalkit edit {case.id} --checks FILE",
        )


def _write(case: Case, settings: Settings) -> Path:
    path = write_case(case, settings.cases)
    write_view(case, settings.cases)
    refresh_lock(settings.cases)
    return path
