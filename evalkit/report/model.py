"""All that a run's page, JUnit file and summary show, computed once; the templates only lay it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.distil.coverage import Coverage
from evalkit.figures import counted
from evalkit.report.coverage_view import CoverageView, view_coverage
from evalkit.report.detail import Detail, build_detail, shown_traces
from evalkit.report.history import History, build_history
from evalkit.report.overview import SECTIONS, Overview
from evalkit.report.row import KEY_LABELS, SENTENCE, Key
from evalkit.report.rows import Rows, Told
from evalkit.report.text import cost_text, cut, json_text
from evalkit.suite.account import NOTHING_SPENT, Account
from evalkit.suite.model import Manifest, Sample
from evalkit.trace.model import Trace
from evalkit.verdict.baseline import BaselineInfo
from evalkit.verdict.history import Night
from evalkit.verdict.model import CaseVerdict, Decision
from evalkit.verdict.night import night_of

__all__ = ["Background", "Facet", "Notice", "ReportModel", "Section", "Tally", "build_report"]

_DETAILED_CASES = 200
"""Cases told in full at most, the most urgent first: the rest of a broken run tells nothing new."""
_TOLD_WHOLE = 100
"""A run of no more cases is told in full, passing cases too."""
_PAGE_CHARACTERS = 2_500_000
_VALUES_A_CASE = 40
_QUIET_SHOWN = 20
"""Passing permanent gates beyond this number are folded."""
_FACET_VALUES = 200


@dataclass(frozen=True, slots=True)
class Background:
    """What a run is seen against.

    Attributes:
        nights: the suite's earlier runs, oldest first; this run's own night is passed over.
        baseline: where the baseline comes from.
        coverage: of the run's cases.
        uncovered: why there is none, one sentence.
    """

    nights: Sequence[Night] = ()
    baseline: BaselineInfo | None = None
    coverage: Coverage | None = None
    uncovered: str = ""


NO_BACKGROUND = Background()


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one urgency; `folded` are shown on demand."""

    key: str
    title: str
    note: str
    rows: Rows
    folded: Rows

    @property
    def count(self) -> int:
        """All its rows."""
        return len(self.rows) + len(self.folded)


@dataclass(frozen=True, slots=True)
class Notice:
    """One line under the decision; `anchor` is empty where the run has no such case."""

    case_id: str
    sentence: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows have a key."""

    key: Key
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Facet:
    """What rows can be chosen by from a list: ``tag``, ``signature`` or ``owner``; (value, number of cases)."""

    key: str
    label: str
    values: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ReportModel:
    """The page.

    Attributes:
        headline: the decision in words.
        reason: why, one sentence; where there are several reasons it counts them, and the notices tell them.
        summary: what was run, one sentence.
        compared: what it is compared with, one sentence.
        notes: what a reader of the numbers should know.
        conditions: the manifest as (label, value).
        loud: the rows that ask for attention; `quiet_gates`: the permanent gates that don't.
        failing: the ids of the cases that fail, or are inconclusive.
        duration_s: seconds of all samples.
    """

    run_id: str
    suite: str
    started_at: str
    decision: Decision
    headline: str
    reason: str
    summary: str
    compared: str
    blocking: tuple[Notice, ...]
    inconclusive: tuple[Notice, ...]
    notes: tuple[str, ...]
    tallies: tuple[Tally, ...]
    facets: tuple[Facet, ...]
    sections: tuple[Section, ...]
    history: History
    coverage: CoverageView | None
    uncovered: str
    conditions: tuple[tuple[str, str], ...]
    loud: Rows
    quiet_gates: Rows
    failing: frozenset[str]
    duration_s: float

    @property
    def rows(self) -> Rows:
        """All rows, the most urgent first."""
        return Rows.joined([part for section in self.sections for part in (section.rows, section.folded)])


_HEADLINES = {
    "PASS": "Passed: this release may go",
    "BLOCKED": "Blocked: this release must not go",
    "INCONCLUSIVE": "Inconclusive: this run can't decide",
}


def build_report(
    manifest: Manifest,
    verdicts: Sequence[CaseVerdict],
    decision: Decision,
    samples: Mapping[str, Sequence[Sample]],
    cases: Mapping[str, Case],
    traces: Callable[[list[str]], Mapping[str, Trace]],
    account: Account = NOTHING_SPENT,
    background: Background = NO_BACKGROUND,
    *,
    notices: Sequence[str] = (),
) -> ReportModel:
    """The page's content.

    Args:
        samples: by case id, in the order of their index.
        cases: by id; only those that are told in full are asked for.
        traces: digests to the replayed traces, as far as they were kept; called once.
        account: what the run spent.
        notices: what a reader of the run's numbers should know (`verdict.notices`).
    """
    seen = Overview(verdicts, samples)
    whole = len(verdicts) <= _TOLD_WHOLE
    told = [seen.ids[at] for at in islice((at for at in seen.order if whole or seen.loud[at]), _DETAILED_CASES)]
    nights = [night for night in background.nights if night.run_id != manifest.run_id]
    parts = Told(verdicts, samples, manifest.suite, nights, _details(told, samples, cases, traces))
    named = {case_id for case_id, _ in (*decision.blocking, *decision.inconclusive)}
    asked = {at: case_id for case_id in named if (at := seen.ids.find(case_id)) >= 0}
    places = {asked[at]: place for place, at in enumerate(seen.order) if at in asked}
    return ReportModel(
        run_id=manifest.run_id,
        suite=str(manifest.suite.get("name", "")),
        started_at=manifest.started_at,
        decision=decision,
        headline=_HEADLINES[decision.outcome],
        reason=_reason(decision, places),
        summary=_summary(seen, manifest),
        compared=_compared(background.baseline, compared=seen.compared),
        blocking=_notices(decision.blocking, places),
        inconclusive=_notices(decision.inconclusive, places),
        notes=tuple(cut(notice, SENTENCE) for notice in notices),
        tallies=tuple(_tally(key, label, seen.keys[key]) for key, label in KEY_LABELS),
        facets=tuple(_facets(seen)),
        sections=tuple(_sections(seen, parts)),
        history=build_history(nights, lambda: night_of(manifest, samples, verdicts, decision), background.baseline),
        coverage=None if background.coverage is None else view_coverage(background.coverage),
        uncovered=background.uncovered,
        conditions=(*_conditions(manifest), *_spent(account)),
        loud=Rows(parts, (at for at in seen.order if not seen.quiet[at])),
        quiet_gates=Rows(parts, (at for at in seen.order if seen.quiet[at] and seen.gates[at])),
        failing=frozenset(seen.failing),
        duration_s=seen.duration_s,
    )


def _spent(account: Account) -> Iterator[tuple[str, str]]:
    if account.sentence:
        yield "spent", account.sentence
    if account.stopped:
        yield "stopped", f"{account.stopped}; evalkit run --resume with a larger --budget goes on"


def _tally(key: Key, label: str, count: int) -> Tally:
    return Tally(key, label.removesuffix("s") if count == 1 and key == "gate" else label, count)


def _facets(seen: Overview) -> Iterator[Facet]:
    """Lists to choose from; one value for all cases is no choice."""
    for key, label in (("tag", "tags"), ("signature", "signatures"), ("owner", "owners")):
        named = ((value, count) for value, count in seen.chosen[key].items() if value)
        found = sorted(named, key=lambda one: (-one[1], one[0]))
        if len(found) > 1 or (found and found[0][1] < len(seen.ids)):
            yield Facet(key, label, tuple(found[:_FACET_VALUES]))


def _details(
    told: Sequence[str],
    samples: Mapping[str, Sequence[Sample]],
    cases: Mapping[str, Case],
    traces: Callable[[list[str]], Mapping[str, Trace]],
) -> dict[str, Callable[[], Detail]]:
    """What makes the details of the cases that are told in full."""
    own = {case_id: samples.get(case_id, ()) for case_id in told}
    wanted = {digest for one in own.values() for digest in shown_traces(one)}
    kept = traces(sorted(wanted)) if wanted else {}
    limit = min(max(_PAGE_CHARACTERS // (max(len(told), 1) * _VALUES_A_CASE), 200), 2_000)
    return {
        case_id: lambda case_id=case_id: build_detail(cases[case_id], [*own[case_id]], kept, limit)  # type: ignore[misc]  # mypy can't infer it
        for case_id in told
        if case_id in cases
    }


def _sections(seen: Overview, told: Told) -> Iterator[Section]:
    start = 0  # a section's rows stand together
    for key, title, note in SECTIONS:
        own = seen.order[start : start + seen.sections[key]]
        start += len(own)
        quiet = sum(seen.quiet[at] for at in own)
        room = _QUIET_SHOWN if key not in ("rest", "screened") or len(seen.sections) == 1 else 0
        if own and quiet > room:
            rows = Rows(told, (at for at in own if not seen.quiet[at]))
            yield Section(key, title, note, rows, Rows(told, (at for at in own if seen.quiet[at])))
        elif own:
            yield Section(key, title, note, Rows(told, own), Rows(told))


def _reason(decision: Decision, places: Mapping[str, int]) -> str:
    """One reason as it is, several counted; what is about no case of the run is no gate of it."""
    if len(decision.blocking) + len(decision.inconclusive) < 2:
        return cut(decision.reason, SENTENCE)
    names = {case_id for case_id, _ in decision.blocking}
    noun = "permanent gate" if names <= set(places) else "reason"
    blocking = len(names) if noun == "permanent gate" else len(decision.blocking)
    unmeasured = len({case_id for case_id, _ in decision.inconclusive})
    told = [f"{counted(blocking, noun)} {'blocks' if blocking == 1 else 'block'}"] if blocking else []
    if unmeasured:
        short = told and noun == "permanent gate"
        told.append(f"{unmeasured if short else counted(unmeasured, 'permanent gate')} could not be measured")
    return f"{', '.join(told)}."


def _summary(seen: Overview, manifest: Manifest) -> str:
    cases, gates = len(seen.ids), seen.keys["gate"]
    told = [counted(cases, "case"), counted(gates, "permanent gate"), counted(seen.samples, "sample")]
    if manifest.suite.get("mode"):
        told.append(f"mode {cut(str(manifest.suite['mode']), 40)}")
    spent = cost_text(seen.cost_usd)
    return ", ".join([*told, spent] if spent else told)


def _compared(info: BaselineInfo | None, *, compared: bool) -> str:
    """What the run is compared with; a baseline that no case has is none."""
    if not compared:
        return "Compared with no baseline: what got worse can't be told, only what fails."
    if info is None:
        return "Compared with a baseline."
    reason = f": {info.reason}" if info.reason else ""
    told = f"Compared with run {info.run_id}, blessed by {info.actor or 'nobody named'} on {info.set_at[:10]}{reason}"
    return f"{cut(told, SENTENCE).rstrip('.')}."


def _notices(found: Sequence[tuple[str, str]], places: Mapping[str, int]) -> tuple[Notice, ...]:
    """What is about no case of the run first, then the cases as they stand on the page."""
    ordered = sorted(found, key=lambda notice: places.get(notice[0], -1))
    return tuple(
        Notice(case_id, cut(sentence, SENTENCE), f"case={case_id}" if case_id in places else "")
        for case_id, sentence in ordered
    )


def _conditions(manifest: Manifest) -> Iterator[tuple[str, str]]:
    yield "run", manifest.run_id
    yield "started", manifest.started_at
    for label, value in (("by", manifest.actor), ("because", manifest.reason)):
        if value:
            yield label, value
    for key, setting in manifest.suite.items():
        if text := _setting(setting):
            yield f"suite {key}", cut(text, 300)
    facts: Mapping[str, Any] = manifest.environment
    for key, fact in facts.items():
        if text := _setting(fact):
            yield key, cut(text, 300)
    if manifest.layers:
        yield "kept from the world by", ", ".join(manifest.layers)


def _setting(value: Json) -> str:
    """A setting as text; empty for one that says nothing. Of a table what it sets."""
    if value in (None, "", [], {}) or value is False:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{key} {text}" for key, item in value.items() if (text := _setting(item)))
    return json_text(value)
