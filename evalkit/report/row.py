"""A case in one row: what it came to, in words, numbers and pictures; computed once, the templates only lay it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evalkit.report.detail import Detail
from evalkit.report.picture import Dots, IntervalPicture, draw_dots, draw_interval
from evalkit.report.text import baseline_text, cost_text, counted, cut, interval_text, p_text, percent, rate_text
from evalkit.report.trend import NO_TREND, Trend
from evalkit.suite.model import Sample
from evalkit.suite.samples import column
from evalkit.verdict.model import CaseVerdict

__all__ = ["KEY_LABELS", "Key", "Row", "build_row", "is_loud"]

Key: TypeAlias = Literal["fail", "regressed", "inconclusive", "degraded", "flaky", "improved", "pass", "gate"]
"""What a row can be filtered by."""

KEY_LABELS: tuple[tuple[Key, str], ...] = (
    ("gate", "permanent gates"),
    ("fail", "fail"),
    ("regressed", "regressed"),
    ("inconclusive", "inconclusive"),
    ("degraded", "degraded within margin"),
    ("flaky", "flaky"),
    ("improved", "fixed"),
    ("pass", "pass"),
)
SENTENCE = 600
"""Characters of a reason that are shown at most."""
_WORDS: dict[str, tuple[Key, str]] = {
    "FAIL": ("fail", "Fails"),
    "INCONCLUSIVE": ("inconclusive", "Inconclusive"),
    "DEGRADED_WITHIN_MARGIN": ("degraded", "Degraded within margin"),
    "PASS": ("pass", "Passes"),
}
_CHANGES: dict[str, Key] = {"regressed": "regressed", "improved": "improved"}


@dataclass(frozen=True, slots=True)
class Row:
    """One case.

    Attributes:
        anchor: the fragment that leads to it, ``case=ID``; a sample's is ``case=ID&sample=N``, from 1.
        reason: why the verdict is what it is, one sentence.
        keys: what it can be filtered by; the first is the verdict's.
        word: the verdict in words.
        remarks: what else there is to say of it in words, such as ``regressed``.
        counts: the samples in words.
        rate, interval, baseline, base_interval, p_raw, p_adjusted, cost: numbers as text; empty where there is none.
        href: the incident's link where it is a web address.
        detail: None where the case is told in short.
        command: what reproduces it.
        facts: what else its samples say, as (label, value).
    """

    verdict: CaseVerdict
    samples: Sequence[Sample]
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
    cost: str
    dots: Dots
    picture: IntervalPicture
    trend: Trend
    href: str
    command: str
    facts: tuple[tuple[str, str], ...] = ()
    detail: Detail | None = None

    @property
    def quiet(self) -> bool:
        """Whether nothing about the case asks for attention."""
        return "pass" in self.keys and not {"flaky", "regressed"} & set(self.keys)

    @property
    def duration_s(self) -> float:
        """Seconds of all its samples."""
        return float(sum(column(self.samples, "duration_s")))

    @property
    def lost(self) -> int:
        """Samples that did not pass."""
        return self.verdict.failed + self.verdict.missed + self.verdict.errored

    @property
    def search_text(self) -> str:
        """What the page's text filter looks through, in lower case."""
        own = self.verdict
        parts = (own.case_id, self.title, self.word, *self.remarks, self.reason, own.owner, *own.tags, own.signature)
        return " ".join(parts).lower()


def build_row(
    verdict: CaseVerdict,
    samples: Sequence[Sample],
    command: str,
    detail: Detail | None = None,
    trend: Trend = NO_TREND,
) -> Row:
    """The row of one case."""
    keys = _keys(verdict)
    base = verdict.baseline
    return Row(
        verdict=verdict,
        samples=samples,
        anchor=f"case={verdict.case_id}",
        title=cut(verdict.title, 200),
        reason=cut(verdict.reason, SENTENCE),
        keys=keys,
        word=_WORDS[verdict.verdict][1],
        remarks=tuple(_remarks(verdict, keys)),
        counts=_counts(verdict),
        rate=rate_text(verdict),
        interval=interval_text(verdict.low, verdict.high) if verdict.n else "",
        baseline=baseline_text(base),
        base_interval=interval_text(base.low, base.high) if base is not None and base.n else "",
        p_raw=p_text(verdict.p_value),
        p_adjusted=p_text(verdict.p_adjusted),
        cost=cost_text(verdict.cost_usd),
        dots=draw_dots(column(samples, "outcome")),
        picture=draw_interval(verdict),
        trend=trend,
        href=verdict.link if verdict.link.startswith(("https://", "http://")) else "",
        command=command,
        facts=tuple(_facts(verdict)),
        detail=detail,
    )


def is_loud(verdict: CaseVerdict) -> bool:
    """Whether a case is worth being told in full."""
    lost = verdict.failed + verdict.missed + verdict.errored
    return verdict.verdict != "PASS" or verdict.change == "regressed" or lost > 0


def _keys(verdict: CaseVerdict) -> tuple[Key, ...]:
    keys = [_WORDS[verdict.verdict][0]]
    if verdict.change in _CHANGES:
        keys.append(_CHANGES[verdict.change])
    if verdict.passed and verdict.failed:
        keys.append("flaky")
    if verdict.permanent:
        keys.append("gate")
    return tuple(keys)


def _remarks(verdict: CaseVerdict, keys: Sequence[Key]) -> Iterator[str]:
    if "flaky" in keys:
        yield "flaky"
    yield verdict.change
    if verdict.deterministic:
        yield "deterministic"


def _facts(verdict: CaseVerdict) -> Iterator[tuple[str, str]]:
    if verdict.stability != "UNKNOWN":
        yield "stability", verdict.stability.lower().replace("_", " ")
    for many in verdict.many_runs:
        if many.all_pass is not None and many.one_passes is not None:
            all_pass = f"{percent(many.all_pass)} ({interval_text(many.low, many.high)})"
            yield f"{many.k} runs in a row", f"all pass: {all_pass}; at least one does: {percent(many.one_passes)}"
    if verdict.more_samples is not None:
        yield "to be sure", f"{counted(verdict.more_samples, 'more sample')} are likely to tell"
    if verdict.detectable_drop is not None:
        yield "could have seen", f"a drop of {percent(verdict.detectable_drop)} or more, 4 times of 5"
    for label, text in (("too few samples", verdict.underpowered), ("baseline not compared", verdict.stale)):
        if text:
            yield label, cut(text, SENTENCE)
    if verdict.samples_fixed and verdict.samples_saved > 0:
        yield "stopped early", f"{counted(verdict.samples_saved, 'sample')} of {verdict.samples_fixed:,} saved"


def _counts(verdict: CaseVerdict) -> str:
    text = f"{verdict.passed:,} of {verdict.n:,} passed" if verdict.n else "no result"
    lost = [f"{count:,} {word}" for count, word in ((verdict.missed, "missed"), (verdict.errored, "errored")) if count]
    return ", ".join([text, *lost])
