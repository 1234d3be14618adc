"""`evalkit ingest`: load -> configure -> sanitize -> propose -> slice -> verify -> recognise -> write.

Sanitizing comes before anything is derived, so that what is proposed, verified and written is one and the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalkit.app.environment import acting, now_utc
from evalkit.app.evidence import Kept, keep_raw, refuse_keeping
from evalkit.app.keys import make_sanitizer, register_of
from evalkit.app.known import added_to, refuse_known, refuse_lookalike
from evalkit.app.locks import update_lock
from evalkit.app.make import make_case
from evalkit.app.proving import failure_reproduces
from evalkit.app.settings import Settings
from evalkit.canonical import Json
from evalkit.case.lock import read_unmerged_lock
from evalkit.case.look import look_over
from evalkit.case.model import Case
from evalkit.case.store import find_case, prepare_case, read_with_digest, write_prepared
from evalkit.case.view import render_view, write_view
from evalkit.check.judge import judge_checks
from evalkit.check.model import CheckResult
from evalkit.distil.expect import expected_checks
from evalkit.distil.fingerprint import fingerprint
from evalkit.distil.healthy import Search, healthy_runs, less_sure
from evalkit.errors import InputError
from evalkit.sanitize.model import SanitizedTrace
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.verify import verify_strings
from evalkit.suite.select import list_cases
from evalkit.trace.model import Step, Trace
from evalkit.trace.read import load_traces
from evalkit.vault.model import RetentionClass

__all__ = ["Ingested", "configured", "ingest_trace", "load_one"]


@dataclass(frozen=True, slots=True)
class Ingested:
    """What an ingest came to.

    Attributes:
        case: as written, or as it would be (dry run).
        path: the case file; None in a dry run, or where writing was not agreed to.
        failing: the checks' results on the incident.
        found: the healthy runs that were looked for and taken, and how many were not.
        kept: the raw traces that were kept as evidence.
        strange: how many of the library's cases were made with another project key.
    """

    case: Case
    path: Path | None
    failing: tuple[CheckResult, ...]
    found: Search | None = None
    kept: tuple[Kept, ...] = ()
    strange: int = 0


def load_one(source: str, *, format: str | None = None, trace_id: str | None = None) -> Trace:
    """The one trace of a source, or the one with an id.

    Raises:
        InputError: there are none or several.
    """
    found = [trace for trace in load_traces(source, format=format) if trace_id in (None, trace.id)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(
            "no trace" + (f" with id {trace_id!r}" if trace_id else ""), source, f"evalkit inspect {source}"
        )
    ids = ", ".join(trace.id for trace in found[:8])
    raise InputError(f"{len(found)} traces, one wanted: {ids}", source, "pass --trace ID")


def ingest_trace(
    trace: Trace,
    settings: Settings,
    *,
    expect: Json = None,
    passing: Sequence[Trace] = (),
    among: Iterable[Trace] | None = None,
    at: int | None = None,
    case_id: str | None = None,
    title: str = "",
    keep_all: bool = False,
    tags: Sequence[str] = (),
    target: str = "",
    owner: str = "",
    link: str = "",
    verify: bool = True,
    new: bool = False,
    into: str = "",
    actor: str = "",
    reason: str = "",
    dry_run: bool = False,
    keep: RetentionClass | None = None,
    source: str = "",
    agree: Callable[[Case], bool] = lambda _: True,
    volatile: Mapping[str, Sequence[str]] | None = None,
    learn: bool = True,
) -> Ingested:
    """Makes a case of an incident and writes it.

    Args:
        passing: healthy runs of the same task.
        among: traces among which healthy runs of the task are looked for.
        verify: whether the target, where there is one, is run to see that the pruned case still fails.
        new: the incident is to be a case of its own, however much it is like another.
        into: the case of which it is to be a new version, with `actor` and `reason`.
        keep: also keep the raw traces as evidence, in this retention class; None to do as the settings say.
        source: where the trace comes from; it and the tags decide which of the project's sanitization rules hold.
        agree: is asked, when the case is ready, whether to write it.
        volatile: argument paths, by tool, that are new in every run.
        learn: whether further ones are learnt from the incident and the healthy runs.

    Raises:
        ConfigError, MissingExtra: raw evidence is to be kept, and can't be.
        CaseRefused: no gating check fails on the incident, or it is a case already, or it looks like one.
        InputError: there is no case `into`, or actor or reason is missing.
        SanitizationFailed: something personal would have been written.
    """
    keep = keep or ("standard" if settings.evidence.keep else None)
    if keep is not None:
        refuse_keeping(settings)
    before = read_with_digest(find_case(into, settings.cases)) if into else None
    library = list(list_cases(settings.cases))
    own = (before[0].trace.record.surrogates,) if before else ()
    sanitizer = make_sanitizer(settings, source, tags, register_of(library, *own))
    runs = _sanitized(trace, passing, among, expect, sanitizer, settings)
    print_of = fingerprint(runs.incident.trace)
    refuse_known(runs.incident, print_of, library, decided=new or bool(into))
    run = target or settings.target or (before[0].target if before else "")
    made, results = make_case(
        runs.incident,
        print_of=print_of,
        expect=None if expect is None else sanitizer.value(expect),
        passing=runs.healthy,
        at=at,
        keep_all=keep_all,
        case_id=case_id,
        title=str(sanitizer.value(title)),
        target=run,
        reproduces=(lambda case: failure_reproduces(case, run, settings)) if verify and run else None,
        left_out=not verify,
        volatile=volatile,
        learn=learn,
    )
    made = replace(
        made,
        tags=tuple(sanitizer.text(tag) for tag in tags),
        owner=owner or settings.owner,
        link=sanitizer.text(link),
    )
    made = _proved(made, runs, sanitizer)
    if before:
        event = (acting(actor, settings), sanitizer.text(reason), now_utc())
        made = added_to(*before, made, [one.trace for one in runs.healthy], *event)
    else:
        refuse_lookalike(made, settings.cases, [] if new else library)
    pruning = sanitizer.value(dict(made.pruning))  # what an agent raised may hold anything
    made = replace(
        made,
        pruning=pruning if isinstance(pruning, dict) else {},
        trace=made.trace.knowing(*own, sanitizer.surrogates),
    )
    strange = sum(case.key_id != runs.incident.record.key_id for case in library)
    path, kept = _written(made, runs, sanitizer, settings, keep=keep, agree=None if dry_run else agree)
    return Ingested(made, path, results, runs.search, kept, strange)


@dataclass(frozen=True, slots=True)
class _Runs:
    """The traces of an ingest.

    Attributes:
        raw: as they came: the incident, the healthy runs that were given, those that were found.
        every: the same in the case's sanitized world.
        given: how many healthy runs were given.
        search: what was looked for, if anything was.
    """

    raw: Sequence[Trace]
    every: Sequence[SanitizedTrace]
    given: int
    search: Search | None

    @property
    def incident(self) -> SanitizedTrace:
        return self.every[0]

    @property
    def healthy(self) -> Sequence[SanitizedTrace]:
        return self.every[1:]


def _sanitized(
    trace: Trace,
    passing: Sequence[Trace],
    among: Iterable[Trace] | None,
    expect: Json,
    sanitizer: Sanitizer,
    settings: Settings,
) -> _Runs:
    """The incident and its healthy runs, sanitized together: one value has one surrogate in all of them."""
    raw = configured(trace, settings)
    given = [configured(one, settings) for one in passing]
    search = None if among is None else _search(raw, (configured(one, settings) for one in among), expect, given)
    found = [one.trace for one in search.found] if search else []
    every = sanitizer.sanitize([raw, *given, *found])
    return _Runs((trace, *passing, *found), every, len(given), search)


def _proved(made: Case, runs: _Runs, sanitizer: Sanitizer) -> Case:
    """The case with what its healthy runs prove: one that was found, not given, is nobody's word that it is healthy.

    One about other records may not do what was expected for these.
    """
    given, found = runs.healthy[: runs.given], runs.healthy[runs.given :]
    passing = [one.trace.id for one in given if all(result.passed for result in judge_checks(made.gating, one.trace))]
    made = replace(made, proof=tuple(f"passes the healthy run {run_id}, given at ingest" for run_id in passing))
    if runs.search is None or not found:
        return made
    whys: list[Json] = [
        [run.trace.id, sanitizer.text(one.why)] for run, one in zip(found, runs.search.found, strict=True)
    ]
    checks = made.checks if given else less_sure(made.checks)
    return replace(made, checks=checks, source={**made.source, "found": whys})


def _written(
    made: Case,
    runs: _Runs,
    sanitizer: Sanitizer,
    settings: Settings,
    *,
    keep: RetentionClass | None,
    agree: Callable[[Case], bool] | None,
) -> tuple[Path | None, tuple[Kept, ...]]:
    """Writes the case where nothing personal is left in it; gives its file, and the raw traces kept as evidence.

    Args:
        agree: see `ingest_trace`; None where nothing is to be written.
    """
    harvested = sanitizer.harvested
    prepared = prepare_case(made, beside=sanitizer.written)
    view = render_view(made)
    verify_strings([*(() if agree else prepared.texts()), made.id, view], harvested, f"case {made.id}")
    if agree is None or not agree(made):
        return None, ()
    locked = read_unmerged_lock(settings.cases) if made.permanent else []
    kept = () if keep is None else keep_raw(runs.raw, [one.record for one in runs.every], keep, settings)
    path = write_prepared(prepared, settings.cases, look=lambda fresh: look_over(fresh, harvested))
    write_view(made, settings.cases, text=view)
    if made.permanent:
        update_lock(settings.cases, locked)
    return path, kept


def _search(raw: Trace, among: Iterable[Trace], expect: Json, given: Sequence[Trace]) -> Search:
    """Healthy runs among many traces, those left out that were given by name."""
    known = {run.id for run in given}
    expected = [] if expect is None else expected_checks(expect)
    return healthy_runs(raw, (run for run in among if run.id not in known), expected=expected)


def configured(trace: Trace, settings: Settings) -> Trace:
    """The trace with the project's word on its tools' effects."""
    return replace(trace, steps=tuple(_with_effect(step, settings) for step in trace.steps))


def _with_effect(step: Step, settings: Settings) -> Step:
    effect = settings.effect_of(step.name) if step.kind == "tool" else None
    return step if effect is None else replace(step, effect=effect, effect_source="configured")
