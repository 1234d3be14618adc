"""A case in one row: what it came to, in words, numbers and pictures; the templates only lay it out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evalkit.canonical import Json
from evalkit.figures import counted
from evalkit.percent import percent
from evalkit.report.detail import Detail
from evalkit.report.picture import Dots, IntervalPicture, draw_dots, draw_interval
from evalkit.report.reproduce import reproduce
from evalkit.report.text import baseline_text, cost_text, cut, interval_text, p_text, rate_text
from evalkit.report.trend import Trend, draw_trend
from evalkit.suite.model import Sample
from evalkit.suite.samples import column
from evalkit.verdict.history import Night
from evalkit.verdict.model import CaseVerdict
from evalkit.verdict.verdicts import came_to

__all__ = ["KEY_LABELS", "Key", "Row", "is_loud"]

Key: TypeAlias = Literal[
    "fail", "regressed", "inconclusive", "degraded", "flaky", "improved", "screened", "pass", "gate"
]
"""What a row can be filtered by."""

KEY_LABELS: tuple[tuple[Key, str], ...] = (
    ("gate", "permanent gates"),
    ("fail", "fail"),
    ("regressed", "regressed"),
    ("inconclusive", "inconclusive"),
    ("degraded", "degraded within margin"),
    ("flaky", "flaky"),
    ("improved", "fixed"),
    ("screened", "screened"),
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
_SCREENED: tuple[Key, str] = "screened", "Screened"
_CHANGES: dict[str, Key] = {"regressed": "regressed", "improved": "improved"}


@dataclass(frozen=True, slots=True)
class Row:
    """One case. It holds what it is told from; a page of very many cases has its words made one case after the other.

    Attributes:
        samples: in the order of their index.
        suite: of the run, as its manifest has it.
        nights: the runs before, oldest first.
        make_detail: None where the case is told in short.
    """

    verdict: CaseVerdict
    samples: Sequence[Sample]
    suite: Mapping[str, Json]
    nights: Sequence[Night] = ()
    make_detail: Callable[[], Detail] | None = None

    @property
    def detail(self) -> Detail | None:
        """What is told below it; None where the case is told in short."""
        return None if self.make_detail is None else self.make_detail()

    @property
    def anchor(self) -> str:
        """The fragment that leads to it, ``case=ID``; a sample's is ``case=ID&sample=N``, from 1."""
        return f"case={self.verdict.case_id}"

    @property
    def title(self) -> str:
        """The case's title."""
        return cut(self.verdict.title, 200)

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, one sentence."""
        return cut(self.verdict.reason, SENTENCE)

    @property
    def found(self) -> Hashable:
        """What its verdict says, but of whose case: rows of which it is the same say the same."""
        return came_to(self.verdict)

    @property
    def came(self) -> Hashable:
        """Likewise with its samples and nights."""
        return self.found, tuple(column(self.samples, "outcome")), self.trend

    @property
    def keys(self) -> tuple[Key, ...]:
        """What it can be filtered by; the first is the verdict's."""
        return _keys(self.verdict)

    @property
    def word(self) -> str:
        """The verdict in words."""
        return _word(self.verdict)[1]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else there is to say of it in words, such as ``regressed``."""
        return tuple(_remarks(self.verdict))

    @property
    def counts(self) -> str:
        """The samples in words."""
        return _counts(self.verdict)

    @property
    def rate(self) -> str:
        """Empty without a result, like the other numbers."""
        return rate_text(self.verdict)

    @property
    def interval(self) -> str:
        """Of the rate."""
        own = self.verdict
        return interval_text(own.low, own.high) if own.n else ""

    @property
    def baseline(self) -> str:
        """The rate then."""
        return baseline_text(self.verdict.baseline)

    @property
    def base_interval(self) -> str:
        """Of the rate then."""
        base = self.verdict.baseline
        return interval_text(base.low, base.high) if base is not None and base.n else ""

    @property
    def p_raw(self) -> str:
        """The p-value of the case alone."""
        return p_text(self.verdict.p_value)

    @property
    def p_adjusted(self) -> str:
        """The p-value that decides, over all cases."""
        return p_text(self.verdict.p_adjusted)

    @property
    def cost(self) -> str:
        """Of all its samples."""
        return cost_text(self.verdict.cost_usd)

    @property
    def dots(self) -> Dots:
        """The samples as a picture."""
        return draw_dots(column(self.samples, "outcome"))

    @property
    def picture(self) -> IntervalPicture:
        """The interval as a picture."""
        return draw_interval(self.verdict)

    @property
    def trend(self) -> Trend:
        """The rate over the last nights."""
        return draw_trend(self.verdict.case_id, self.nights, (self.verdict.passed, self.verdict.n))

    @property
    def href(self) -> str:
        """The incident's link where it is a web address."""
        link = self.verdict.link
        return link if link.startswith(("https://", "http://")) else ""

    @property
    def command(self) -> str:
        """What reproduces it."""
        return reproduce(self.verdict, self.suite)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What else its samples say, as (label, value)."""
        return tuple(_facts(self.verdict))

    @property
    def quiet(self) -> bool:
        """Whether nothing about the case asks for attention."""
        return self.keys[0] in ("pass", "screened") and not {"flaky", "regressed"} & set(self.keys)

    @property
    def duration_s(self) -> float:
        """Seconds of all its samples."""
        return float(sum(column(self.samples, "duration_s")))

    @property
    def lost(self) -> int:
        """Samples that did not pass."""
        return self.verdict.samples - self.verdict.passed

    @property
    def search_text(self) -> str:
        """What the page's text filter looks through, in lower case."""
        own = self.verdict
        parts = (own.case_id, self.title, self.word, *self.remarks, self.reason, own.owner, *own.tags, own.signature)
        return " ".join(parts).lower()


def is_loud(verdict: CaseVerdict) -> bool:
    """Whether a case is worth being told in full."""
    passes = verdict.verdict == "PASS" or verdict.screened
    return not passes or verdict.change == "regressed" or verdict.passed < verdict.samples


def _keys(verdict: CaseVerdict) -> tuple[Key, ...]:
    keys = [_word(verdict)[0]]
    if verdict.change in _CHANGES:
        keys.append(_CHANGES[verdict.change])
    if verdict.passed and verdict.failed:
        keys.append("flaky")
    if verdict.permanent:
        keys.append("gate")
    return tuple(keys)


def _word(verdict: CaseVerdict) -> tuple[Key, str]:
    """The verdict's key and word; what screening left alone has its own, since nobody wants more of it."""
    return _SCREENED if verdict.screened else _WORDS[verdict.verdict]


def _remarks(verdict: CaseVerdict) -> Iterator[str]:
    if verdict.passed and verdict.failed:
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
