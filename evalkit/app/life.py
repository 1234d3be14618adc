"""A case's life from the command line: every move is a new version, with actor, reason and time, and a fresh lock.

`proposed` becomes `reviewed` when somebody has read its checks, and `permanent` when it is shown that they fail on the
incident and that something healthy passes them: a gate that nothing can pass would be switched off in a week.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit.app.environment import acting, now_utc
from evalkit.app.ingest import configured
from evalkit.app.keys import library_register, make_sanitizer
from evalkit.app.locks import update_lock
from evalkit.app.proving import proving_replays
from evalkit.app.settings import Settings
from evalkit.canonical import Json
from evalkit.case.lock import read_unmerged_lock
from evalkit.case.look import look_over
from evalkit.case.model import Case, LifeEvent, State, check_case_id, lost_gates
from evalkit.case.store import case_versions, find_case, read_with_digest, write_case
from evalkit.case.view import write_view
from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, CheckResult, check_from_json
from evalkit.distil.strength import strength
from evalkit.errors import CaseRefused, ConfigError, InputError
from evalkit.playback.miss_rules import MissRule, check_rules, table_of
from evalkit.playback.modes import Mode
from evalkit.trace.model import Trace

__all__ = [
    "Replays",
    "Version",
    "checks_from",
    "checks_without",
    "edit_checks",
    "edit_misses",
    "history",
    "on_incident",
    "promote_case",
    "retire_case",
    "review_case",
    "write_decided",
    "write_revised",
]


@dataclass(frozen=True, slots=True)
class Version:
    """One version in a case's history."""

    number: int
    path: Path
    digest: str
    case: Case


@dataclass(frozen=True, slots=True)
class Replays:
    """Replays that are to show that a mended agent passes.

    Attributes:
        count: how many.
        target: what to run; the project's or the case's own when empty.
    """

    count: int
    target: str = ""
    mode: Mode = "exact"
    base_url: str | None = None


def review_case(
    case_id: str,
    settings: Settings,
    *,
    actor: str,
    reason: str,
    checks: Sequence[Check] | None = None,
    passing: Sequence[Trace] = (),
) -> Path:
    """Says that somebody read a case's checks and agrees to them.

    A permanent case stays permanent: no check of it may stop gating, and a further one that gates wants a healthy run.

    Args:
        checks: those agreed to; None for all as they are.
        passing: healthy runs: they must pass, and the checks' strength is measured on them.

    Raises:
        InputError: actor or reason is missing.
        CaseRefused: with these checks the incident would pass, or a healthy run would fail; or the case is permanent,
            and they gate on less, or on what nothing healthy is shown to pass.
    """
    case, digest = read_with_digest(find_case(case_id, settings.cases))
    state: State = "permanent" if case.permanent else "reviewed"
    event = LifeEvent(state, acting(actor, settings), reason, now_utc(), "the checks were read and agreed to")
    moved = _with_checks(case.moved(digest, event), case.checks if checks is None else checks)
    _must_fail_on_incident(moved)
    moved = _measured(moved, _healthy(passing, case, settings))
    _must_gate_as_before(case, moved)
    return write_revised(moved, settings)


def promote_case(
    case_id: str,
    settings: Settings,
    *,
    actor: str,
    reason: str,
    passing: Sequence[Trace] = (),
    replays: Replays | None = None,
) -> Path:
    """Makes a reviewed case a permanent gate, once it is shown that it fails on the incident and that it can be passed.

    Healthy runs that were given at ingest or at the review are proof enough while the checks stand.

    Raises:
        InputError: the case is not reviewed, or actor or reason is missing.
        CaseRefused: no gating check fails on the incident, or nothing healthy passes.
        ConfigError: there is nothing to replay.
    """
    case, digest = read_with_digest(find_case(case_id, settings.cases))
    if case.permanent:
        raise InputError("the case is permanent already", f"case {case.id}", f"evalkit review or edit {case.id}")
    who = acting(actor, settings)
    case.moved(digest, LifeEvent("permanent", who, reason, now_utc()))  # refused before anything is run
    _must_fail_on_incident(case)
    proved = _measured(case, _healthy(passing, case, settings))
    proof = proved.proof if replays is None else (*proved.proof, _replayed(proved, replays, settings))
    if not proof:
        raise CaseRefused(
            "nothing shows that a healthy agent passes: a gate that nothing passes blocks every release",
            f"case {case.id}",
            "pass --passing healthy.trace, or --replay 1 --target module:function of the mended agent",
        )
    review = next(event for event in reversed(case.life) if event.state == "reviewed")
    words = ["fails on the incident", f"reviewed by {review.actor} at {review.at}", *proof]
    event = LifeEvent("permanent", who, reason, now_utc(), "; ".join(words))
    moved = case.moved(digest, event)
    return write_revised(replace(moved, strength=proved.strength, proof=proof), settings)


def retire_case(case_id: str, settings: Settings, *, actor: str, reason: str) -> Path:
    """Takes a case out of the suites; it stays in the library.

    Raises:
        InputError: it is retired already, or actor or reason is missing.
    """
    case, digest = read_with_digest(find_case(case_id, settings.cases))
    if case.state == "retired":
        raise InputError(
            "the case is retired already", f"case {case.id}", f"evalkit review {case.id} takes it up again"
        )
    return write_revised(case.moved(digest, LifeEvent("retired", acting(actor, settings), reason, now_utc())), settings)


def edit_checks(case_id: str, body: Any, settings: Settings, *, actor: str, reason: str, where: str) -> Path:
    """Replaces a case's checks; the case is proposed again, unless it is permanent, which it stays.

    Raises:
        InputError: `body` is no list of checks.
        CaseRefused: with the new checks the incident would pass; or the case is permanent (see `review_case`).
    """
    checks = checks_from(body, case_id, where)
    case, digest = read_with_digest(find_case(case_id, settings.cases))
    state: State = "permanent" if case.permanent else "proposed"
    moved = case.moved(digest, LifeEvent(state, acting(actor, settings), reason, now_utc()))
    return write_decided(moved, settings, checks=checks)


def write_decided(moved: Case, settings: Settings, *, checks: Sequence[Check], **changes: Any) -> Path:
    """Writes a version with other checks and other fields; the incident must still fail.

    Raises:
        CaseRefused: it would pass, or a permanent case would gate on less.
    """
    changed = replace(_with_checks(moved, checks), **changes)
    _must_fail_on_incident(changed)
    _must_gate_as_before(moved, changed)
    return write_revised(changed, settings)


def edit_misses(case_id: str, rules: Sequence[MissRule], settings: Settings, *, actor: str, reason: str) -> Path:
    """Replaces a case's rules for calls that it holds no answer for; its state stays, for a miss is never a pass.

    Raises:
        ConfigError: a rule makes a tool live that must not be.
    """
    case, digest = read_with_digest(find_case(case_id, settings.cases))
    check_rules(rules, case.trace.trace.steps)
    table: Any = table_of(rules)
    if any(rule.given for rule in rules):
        sanitizer = make_sanitizer(settings, register=library_register(settings, case.trace.record.surrogates))
        table = sanitizer.value(table)
        case = replace(case, trace=case.trace.knowing(sanitizer.surrogates))
    event = LifeEvent(case.state, acting(actor, settings), reason, now_utc())
    return write_revised(replace(case.moved(digest, event), on_miss=table), settings)


def checks_from(body: Any, case_id: str, where: str) -> list[Check]:
    """The checks in a JSON list, as `evalkit show --json` gives them: id and sentence follow from the rest.

    Raises:
        InputError: it is none, or one of them is no check.
    """
    if not isinstance(body, list):
        raise InputError("wanted a JSON list of checks", where, f"evalkit show {case_id} --json gives the present ones")
    return [check_from_json(_stated(check), where) for check in body]


def _stated(body: Any) -> Any:
    """A check without what is worked out from it."""
    return {key: body[key] for key in body if key not in ("id", "sentence")} if isinstance(body, dict) else body


def checks_without(case: Case, drop: Sequence[str], observe: Sequence[str]) -> list[Check]:
    """A case's checks without those dropped, and with some that are only observed, all by their ids.

    Raises:
        InputError: there is no such check.
    """
    known = {check.id for check in case.checks}
    for wanted in (*drop, *observe):
        if wanted not in known:
            what = f"no check {wanted!r}; there are: {', '.join(sorted(known))}"
            raise InputError(what, f"case {case.id}", f"evalkit show {case.id}")
    kept = [check for check in case.checks if check.id not in drop]
    return [replace(check, gating=False) if check.id in observe else check for check in kept]


def on_incident(case: Case) -> list[CheckResult]:
    """The checks' results on the incident."""
    return judge_checks(case.checks, case.incident)


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


def _with_checks(case: Case, checks: Iterable[Check]) -> Case:
    """A version that is being made, with other checks: what was measured or shown with the old ones goes with them.

    A healthy run that passed all gating checks passes some of them, too.
    """
    chosen = tuple(checks)
    before, after = ({check.id for check in every if check.gating} for every in (case.checks, chosen))
    proof = case.proof if after <= before else ()
    stale = {"edited": True} if case.strength else {}
    return replace(case, checks=chosen, proof=proof, strength=case.strength if after == before else stale)


def _healthy(traces: Sequence[Trace], case: Case, settings: Settings) -> list[Trace]:
    """Healthy runs, brought into the case's sanitized world."""
    if not traces:
        return []
    sanitizer = make_sanitizer(settings, register=library_register(settings, case.trace.record.surrogates))
    return [one.trace for one in sanitizer.sanitize([configured(trace, settings) for trace in traces])]


def _measured(case: Case, healthy: Sequence[Trace]) -> Case:
    """The case with what healthy runs show of its checks.

    Raises:
        CaseRefused: a gating check fails on one.
    """
    for run in healthy:
        blame = next((one for one in judge_checks(case.gating, run) if not one.passed), None)
        if blame is not None:
            cure = f"evalkit review {case.id} drops or edits the check {blame.check.id}; or give another healthy run"
            raise CaseRefused(f"a check fails on the healthy run {run.id}: {blame.reason}", f"case {case.id}", cure)
    measured = strength(case.checks, healthy, case.incident)
    if measured is None:
        return case
    shown = tuple(f"passes the healthy run {run.id}" for run in healthy)
    return replace(case, strength=measured.as_json(), proof=tuple(dict.fromkeys((*case.proof, *shown))))


def _replayed(case: Case, wanted: Replays, settings: Settings) -> str:
    """What replays of a mended agent show, in words.

    Raises:
        CaseRefused: none of them passes.
    """
    target = wanted.target or settings.target or case.target
    if not target:
        raise ConfigError("nothing says what to run", f"case {case.id}", "pass --target module:function")
    done = proving_replays(case, target, settings, count=wanted.count, mode=wanted.mode, base_url=wanted.base_url)
    passed = sum(one.status == "passed" for one in done)
    if not passed:
        raise CaseRefused(
            f"no replay of {target} passes: {done[0].status}: {done[0].reason}",
            f"case {case.id}",
            "mend the agent, correct the checks (evalkit review), or show a healthy run (--passing healthy.trace)",
        )
    return f"{passed} of {len(done)} replays of {target} ({wanted.mode}) passed"


def _must_fail_on_incident(case: Case) -> None:
    if not any(result.gating and not result.passed for result in on_incident(case)):
        raise CaseRefused(
            "no gating check fails on the incident: as a gate it would pass the very failure it is for",
            f"case {case.id}",
            f"evalkit edit {case.id} --checks FILE",
        )


def _must_gate_as_before(case: Case, moved: Case) -> None:
    """Refuses what would weaken a permanent case, or let it gate on what nothing healthy has passed."""
    if not case.permanent:
        return
    if lost := lost_gates(case, moved):
        raise CaseRefused(
            f"a permanent case can't gate on less: {', '.join(lost)} would not gate any more",
            f"case {case.id}",
            f"evalkit retire {case.id} --reason WHY, then review it with the new checks and promote it again",
        )
    if lost_gates(moved, case) and not moved.proof:
        raise CaseRefused(
            "nothing shows that a healthy agent passes the new checks",
            f"case {case.id}",
            f"evalkit review {case.id} --checks FILE --passing healthy.trace --reason WHY",
        )


def _meeting(check: Check, params: Json) -> Check:
    """The check with sanitized parameters: its values must meet the case's surrogates."""
    return check if params == check.params or not isinstance(params, dict) else replace(check, params=params)


def write_revised(case: Case, settings: Settings) -> Path:
    """Writes a version that a person decided on: what they said and stated is sanitized as the incident was.

    Raises:
        SanitizationFailed: what would be written holds what must not be.
        IntegrityError: the gate lock is damaged.
    """
    locked = read_unmerged_lock(settings.cases)  # refused before anything is written
    known = library_register(settings, case.trace.record.surrogates)
    sanitizer = make_sanitizer(settings, tags=case.tags, register=known)
    last = case.life[-1]
    told = replace(last, reason=sanitizer.text(last.reason))
    checks = tuple(_meeting(check, sanitizer.value(dict(check.params))) for check in case.checks)
    proof = tuple(sanitizer.text(sentence) for sentence in case.proof)
    trace = case.trace.knowing(sanitizer.surrogates)
    case = replace(case, trace=trace, life=(*case.life[:-1], told), checks=checks, proof=proof)
    harvested = sanitizer.harvested
    path = write_case(case, settings.cases, look=lambda fresh: look_over(fresh, harvested))
    write_view(case, settings.cases)
    update_lock(settings.cases, locked)
    return path
