"""The checks of a case that has seen its incident again: what each of the two incidents broke, in one list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check
from evalkit.distil.analogy import about_others
from evalkit.distil.recurrence import GENERAL, identifiers
from evalkit.trace.model import Trace

__all__ = ["merged_checks"]

_NOTE = "from an earlier incident, about another record"


def merged_checks(
    old: Sequence[Check], earlier: Trace, new: Sequence[Check], incident: Trace, healthy: Sequence[Trace]
) -> list[Check]:
    """The new incident's checks, and of the old ones those that still say something.

    An old gating check gates on when it fails on either incident and every healthy run passes it, and when it can be
    meant for the new incident too: it is one that any healthy run keeps, or the incidents are about the same records,
    or a healthy run of the new one passes it. Any other is observed: what was expected of one customer's data would
    blame a healthy run on another's.
    """
    known = {check.id for check in new}
    same_record = earlier.input == incident.input or bool(identifiers(earlier) & identifiers(incident))
    kept: list[Check] = []
    for check in old:
        if check.id in known:
            continue
        if check.gating and not _gates_on(check, (earlier, incident), healthy, same_record):
            check = replace(check, gating=False, note=check.note or _NOTE)
        kept.append(replace(check, evidence=()))  # its steps are those of a trace that is no longer the case's
    every = [*new, *kept]
    return [check for check in every if check.gating] + [check for check in every if not check.gating]


def _gates_on(check: Check, incidents: Sequence[Trace], healthy: Sequence[Trace], same_record: bool) -> bool:
    if not any(not judge_checks([check], one)[0].passed for one in incidents):
        return False
    if not all(judge_checks([check], run)[0].passed for run in healthy):
        return False
    about_these = any(not about_others(incidents[-1], run) for run in healthy)
    return check.type in GENERAL or same_record or about_these
