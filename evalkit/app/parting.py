"""Cases that disagree about a surrogate: two branches, each without the other's values, that git joined.

No ingest sees both sides, so `evalkit check` compares what the cases' records say. It needs neither key nor raw data,
and parts them without: the case that is believed keeps its surrogate, the other gets a new version with another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from evalkit.app.environment import acting, now_utc
from evalkit.app.keys import as_believed
from evalkit.app.locks import update_lock
from evalkit.app.settings import Settings
from evalkit.case.lock import read_unmerged_lock
from evalkit.case.model import LifeEvent
from evalkit.case.part import parted_case
from evalkit.case.store import read_with_digest, write_case
from evalkit.case.view import write_view
from evalkit.sanitize.exchange import Exchange
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.register import Clash, Register, clashes
from evalkit.sanitize.surrogate import Mint
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.select import list_cases

__all__ = ["clash_words", "clashing", "part_surrogates"]


def clashing(cases: Iterable[CaseRef]) -> list[Clash]:
    """Where the newest versions of some cases disagree."""
    return [*clashes((case.id, case.surrogates) for case in as_believed(cases))]


def clash_words(clash: Clash) -> str:
    """What is wrong, and the cure."""
    what = "stands for another value" if clash.shared else "stands for a value that has another surrogate"
    return f"{clash.kind} {clash.surrogate} {what} in case {clash.first}: evalkit check --part-surrogates"


def part_surrogates(cases: Path, settings: Settings) -> list[Path]:
    """Writes new versions of the cases that disagree with others; gives their files.

    Raises:
        IntegrityError, InputError: a case can't be read.
        CaseRefused: a surrogate can't be replaced; what was written before stays.
    """
    locked = read_unmerged_lock(cases)  # refused before anything is written
    every = {case.id: case for case in list_cases(cases)}
    written = []
    for case_id, moves in _moves(every.values()).items():
        case, digest = read_with_digest(every[case_id].path)
        reason = "surrogates parted that two values shared, or joined that one value had"
        event = LifeEvent(case.state, acting("", settings), reason, now_utc())
        parted = parted_case(case, digest, Exchange(moves), event)
        written.append(write_case(parted, cases))
        write_view(parted, cases)
    if written:
        update_lock(cases, locked)
    return written


def _moves(cases: Iterable[CaseRef]) -> dict[str, dict[tuple[Kind, str], str]]:
    """By case the surrogates that are to be exchanged, and for which.

    A further surrogate is drawn from the value's tag, so that whoever else parts the same two comes to the same.
    """
    believed = as_believed(cases)
    told = [case.surrogates for case in believed]
    moves: dict[str, dict[tuple[Kind, str], str]] = {}
    for clash in clashing(believed):
        register = Register(told)
        new = register.surrogate(clash.kind, clash.tag)
        if new is None:
            new = Mint(hashlib.sha256(clash.tag.encode()).digest(), register=register).another(
                clash.kind, clash.surrogate
            )
            told.append({clash.kind: {new: clash.tag}})
        moves.setdefault(clash.second, {})[clash.kind, clash.surrogate] = new
    return moves
