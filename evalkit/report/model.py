"""All that a run's page, JUnit file and summary show, computed once; the templates only lay it out."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.playback.faults import fault_text
from evalkit.report.detail import Detail, build_detail, shown_samples
from evalkit.report.picture import Dots, IntervalPicture, draw_dots, draw_interval
from evalkit.report.text import (
    baseline_text,
    counted,
    cut,
    interval_text,
    json_text,
    p_text,
    rate_text,
)
from evalkit.suite.account import NOTHING_SPENT, Account
from evalkit.suite.model import Manifest, Sample
from evalkit.trace.model import Trace
from evalkit.verdict.model import CaseVerdict, Decision

__all__ = ["Key", "Notice", "ReportModel", "Row", "Section", "Tally", "build_report"]

Key: TypeAlias = Literal["fail", "regressed", "inconclusive", "flaky", "improved", "pass", "gate"]
"""What a row can be filtered by."""

_DETAILED_CASES = 200
"""Cases told in full at most, the most urgent first: the rest of a broken run tells nothing new."""
_PAGE_CHARACTERS = 2_500_000
_VALUES_A_CASE = 40
_SENTENCE = 600
_QUIET_SHOWN = 20
"""Passing rows of a section beyond this number are folded."""


@dataclass(frozen=True, slots=True)
class Row:
    """One case.

    Attributes:
        anchor: the fragment that leads to it, ``case=ID``.
        reason: why the verdict is what it is, one sentence.
        keys: what it can be filtered by.
        word: the verdict in a word.
        remarks: what else there is to say of it in words, such as ``regressed``.
        counts: the samples in words.
        rate, interval, baseline, base_interval, p_raw, p_adjusted: numbers as text; empty where there is none.
        href: the incident's link where it is a web address.
        detail: None where the case is told in short.
        command: what reproduces it.
    """

    verdict: CaseVerdict
    samples: tuple[Sample, ...]
    anchor: str
    title: str
    reason: str
    keys: tuple[Key, ...]
    word: str
    remarks: tuple[str, ...]
    counts: str
    rate: str
    interval: str
    baseline: str
    base_interval: str
    p_raw: str
    p_adjusted: str
    dots: Dots
    picture: IntervalPicture
    href: str
    command: str
    detail: Detail | None = None

    @property
    def quiet(self) -> bool:
        """Whether nothing about the case asks for attention."""
        return "pass" in self.keys and not {"flaky", "regressed"} & set(self.keys)

    @property
    def duration_s(self) -> float:
        """Seconds of all its samples."""
        return sum(sample.duration_s for sample in self.samples)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one urgency; `folded` are shown on demand."""

    key: str
    title: str
    note: str
    rows: tuple[Row, ...]
    folded: tuple[Row, ...]

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
class ReportModel:
    """The page.

    Attributes:
        headline: the decision in words.
        reason: why, one sentence; where there are several reasons it counts them, and the notices tell them.
        summary: what was run, one sentence.
        conditions: the manifest as (label, value).
    """

    run_id: str
    suite: str
    started_at: str
    decision: Decision
    headline: str
    reason: str
    summary: str
    blocking: tuple[Notice, ...]
    inconclusive: tuple[Notice, ...]
    tallies: tuple[Tally, ...]
    sections: tuple[Section, ...]
    conditions: tuple[tuple[str, str], ...]

    @property
    def rows(self) -> Iterator[Row]:
        """All rows, the most urgent first."""
        for section in self.sections:
            yield from section.rows
            yield from section.folded


_HEADLINES = {
    "PASS": "Passed: this release may go",
    "BLOCKED": "Blocked: this release must not go",
    "INCONCLUSIVE": "Inconclusive: this run can't decide",
}
_SECTIONS: tuple[tuple[str, str, str], ...] = (
    ("gates", "Permanent gates", "one failing blocks the release"),
    ("regressed", "Regressions", "shown to be worse than the baseline"),
    ("failing", "Failing", "not permanent: they block nothing"),
    ("inconclusive", "Inconclusive", "too few results to tell"),
    ("flaky", "Flaky", "pass, though some samples fail"),
    ("rest", "Passing", ""),
)
_LABELS: tuple[tuple[Key, str], ...] = (
    ("gate", "permanent gates"),
    ("fail", "fail"),
    ("regressed", "regressed"),
    ("inconclusive", "inconclusive"),
    ("flaky", "flaky"),
    ("improved", "improved"),
    ("pass", "pass"),
)


def build_report(
    manifest: Manifest,
    verdicts: Sequence[CaseVerdict],
    decision: Decision,
    samples: Mapping[str, Sequence[Sample]],
    cases: Mapping[str, Case],
    traces: Callable[[list[str]], Mapping[str, Trace]],
    account: Account = NOTHING_SPENT,
    *,
    notices: Sequence[str] = (),
) -> ReportModel:
    """The page's content.

    Args:
        samples: by case id, in the order of their index.
        cases: by id; only those that are told in full are asked for.
        account: what the run spent.
        notices: what a reader of the run's numbers should know (`verdict.notices`).
        traces: digests to the replayed traces, as far as they were kept; called once.
    """
    ordered = sorted(verdicts, key=_urgency)
    loud = [verdict.case_id for verdict in ordered if _loud(verdict)][:_DETAILED_CASES]
    details = _details(loud, samples, cases, traces)
    rows = [
        _row(
            verdict,
            tuple(samples.get(verdict.case_id, ())),
            details.get(verdict.case_id),
            _command(verdict, manifest.suite),
        )
        for verdict in ordered
    ]
    anchors = {row.verdict.case_id: row.anchor for row in rows}
    return ReportModel(
        run_id=manifest.run_id,
        suite=str(manifest.suite.get("name", "")),
        started_at=manifest.started_at,
        decision=decision,
        headline=_HEADLINES[decision.outcome],
        reason=_reason(decision),
        summary=_summary(rows),
        blocking=_notices(decision.blocking, anchors),
        inconclusive=_notices(decision.inconclusive, anchors),
        tallies=tuple(_tally(key, label, rows) for key, label in _LABELS),
        sections=tuple(_sections(rows)),
        conditions=(*_conditions(manifest), *_spent(account), *(("note", sentence) for sentence in notices)),
    )


def _spent(account: Account) -> Iterator[tuple[str, str]]:
    if account.sentence:
        yield "spent", account.sentence
    if account.stopped:
        yield "stopped", f"{account.stopped}; evalkit run --resume with a larger --budget goes on"


def _tally(key: Key, label: str, rows: Sequence[Row]) -> Tally:
    count = sum(key in row.keys for row in rows)
    return Tally(key, label.removesuffix("s") if count == 1 and key == "gate" else label, count)


def _details(
    loud: Sequence[str],
    samples: Mapping[str, Sequence[Sample]],
    cases: Mapping[str, Case],
    traces: Callable[[list[str]], Mapping[str, Trace]],
) -> dict[str, Detail]:
    wanted = {
        sample.trace for case_id in loud for sample in shown_samples(samples.get(case_id, ())) if sample is not None
    }
    kept = traces(sorted(wanted)) if wanted else {}
    limit = min(max(_PAGE_CHARACTERS // (max(len(loud), 1) * _VALUES_A_CASE), 200), 2_000)
    return {
        case_id: build_detail(cases[case_id], samples.get(case_id, ()), kept, limit)
        for case_id in loud
        if case_id in cases
    }


def _command(verdict: CaseVerdict, suite: Mapping[str, Json]) -> str:
    """What reproduces a case, ready to paste: the version, the target and the mode of the run."""
    words = ["evalkit", "replay", f"{verdict.case_id}@{verdict.version}"]
    if suite.get("target"):
        words += ["--target", str(suite["target"])]
    model = suite.get("model")
    if suite.get("mode") != "exact" and isinstance(model, dict):
        words += ["--mode", str(suite.get("mode")), "--base-url", str(model.get("base_url")), "--reason", "report"]
        for flag, key in (("--model", "name"), ("--temperature", "temperature")):
            if model.get(key) is not None:
                words += [flag, str(model[key])]
        if model.get("extra_body"):
            words += ["--extra-body", json.dumps(model["extra_body"])]
        if model.get("system_prompt") is not None:
            words += ["--system-prompt", "PROMPT.txt"]
    faults = suite.get("faults")
    for fault in faults if isinstance(faults, list) else []:
        if isinstance(fault, dict):
            words += ["--fault", fault_text(fault)]
    supposed = suite.get("what_if")
    for text in supposed if isinstance(supposed, list) else []:
        words += ["--what-if", str(text)]
    return shlex.join(words)


def _row(verdict: CaseVerdict, samples: tuple[Sample, ...], detail: Detail | None, command: str) -> Row:
    keys = _keys(verdict)
    base = verdict.baseline
    return Row(
        verdict=verdict,
        samples=samples,
        anchor=f"case={verdict.case_id}",
        title=cut(verdict.title, 200),
        reason=cut(verdict.reason, _SENTENCE),
        keys=keys,
        word=_WORDS[verdict.verdict],
        remarks=tuple(_remarks(verdict, keys)),
        counts=_counts(verdict),
        rate=rate_text(verdict),
        interval=interval_text(verdict.low, verdict.high) if verdict.n else "",
        baseline=baseline_text(base),
        base_interval=interval_text(base.low, base.high) if base is not None and base.n else "",
        p_raw=p_text(verdict.p_value),
        p_adjusted=p_text(verdict.p_adjusted),
        dots=draw_dots(samples),
        picture=draw_interval(verdict),
        href=verdict.link if verdict.link.startswith(("https://", "http://")) else "",
        command=command,
        detail=detail,
    )


def _keys(verdict: CaseVerdict) -> tuple[Key, ...]:
    words: dict[str, Key] = {"FAIL": "fail", "INCONCLUSIVE": "inconclusive", "PASS": "pass"}
    changes: dict[str, Key] = {"regressed": "regressed", "improved": "improved"}
    keys = [words[verdict.verdict]]
    if verdict.change in changes:
        keys.append(changes[verdict.change])
    if verdict.passed and verdict.failed:
        keys.append("flaky")
    if verdict.permanent:
        keys.append("gate")
    return tuple(keys)


_WORDS = {"PASS": "Passes", "FAIL": "Fails", "INCONCLUSIVE": "Inconclusive"}


def _remarks(verdict: CaseVerdict, keys: Sequence[Key]) -> Iterator[str]:
    if "flaky" in keys:
        yield "flaky"
    yield verdict.change
    if verdict.deterministic:
        yield "deterministic"


def _counts(verdict: CaseVerdict) -> str:
    text = f"{verdict.passed:,} of {verdict.n:,} passed" if verdict.n else "no result"
    lost = [f"{count:,} {word}" for count, word in ((verdict.missed, "missed"), (verdict.errored, "errored")) if count]
    return ", ".join([text, *lost])


def _loud(verdict: CaseVerdict) -> bool:
    lost = verdict.failed + verdict.missed + verdict.errored
    return verdict.verdict != "PASS" or verdict.change == "regressed" or lost > 0


def _section_of(verdict: CaseVerdict) -> str:
    if verdict.permanent:
        return "gates"
    if verdict.change == "regressed":
        return "regressed"
    if verdict.verdict != "PASS":
        return "failing" if verdict.verdict == "FAIL" else "inconclusive"
    return "flaky" if verdict.failed else "rest"


def _urgency(verdict: CaseVerdict) -> tuple[int, int, bool, float, str]:
    section = [key for key, _, _ in _SECTIONS].index(_section_of(verdict))
    word = ("FAIL", "INCONCLUSIVE", "PASS").index(verdict.verdict)
    rate = 1.0 if verdict.rate is None else verdict.rate
    return section, word, verdict.change != "improved", rate, verdict.case_id


def _sections(rows: Sequence[Row]) -> Iterator[Section]:
    for key, title, note in _SECTIONS:
        own = [row for row in rows if _section_of(row.verdict) == key]
        quiet = [row for row in own if row.quiet]
        folded = quiet if len(quiet) > _QUIET_SHOWN else []
        if own:
            hidden = {row.anchor for row in folded}
            yield Section(key, title, note, tuple(row for row in own if row.anchor not in hidden), tuple(folded))


def _reason(decision: Decision) -> str:
    if len(decision.blocking) + len(decision.inconclusive) < 2:
        return cut(decision.reason, _SENTENCE)
    blocking = len({case_id for case_id, _ in decision.blocking})
    unmeasured = len({case_id for case_id, _ in decision.inconclusive})
    told = [f"{counted(blocking, 'permanent gate')} {'blocks' if blocking == 1 else 'block'}"] if blocking else []
    if unmeasured:
        told.append(f"{unmeasured if told else counted(unmeasured, 'permanent gate')} could not be measured")
    return f"{', '.join(told)}."


def _summary(rows: Sequence[Row]) -> str:
    count = sum(len(row.samples) for row in rows)
    gates = sum(row.verdict.permanent for row in rows)
    return f"{counted(len(rows), 'case')}, {counted(gates, 'permanent gate')}, {counted(count, 'sample')}"


def _notices(found: Sequence[tuple[str, str]], anchors: Mapping[str, str]) -> tuple[Notice, ...]:
    return tuple(Notice(case_id, cut(sentence, _SENTENCE), anchors.get(case_id, "")) for case_id, sentence in found)


def _conditions(manifest: Manifest) -> Iterator[tuple[str, str]]:
    yield "run", manifest.run_id
    yield "started", manifest.started_at
    for label, value in (("by", manifest.actor), ("because", manifest.reason)):
        if value:
            yield label, value
    for key, setting in manifest.suite.items():
        if setting not in (None, "", [], {}):
            yield f"suite {key}", cut(json_text(setting), 300)
    for key, fact in manifest.environment.items():
        yield key, cut(json_text(fact), 300)
    if manifest.layers:
        yield "kept from the world by", ", ".join(manifest.layers)
