"""All verdicts of a run looked at once: the section of each, the most urgent first, and how many there are of what."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import TypeAlias

from evalkit.report.row import Key, Row, is_loud
from evalkit.suite.model import Sample
from evalkit.verdict.model import CaseVerdict
from evalkit.verdict.verdicts import judged_ids

__all__ = ["SECTIONS", "Overview"]

_Urgency: TypeAlias = tuple[int, int, bool, float]

SECTIONS: tuple[tuple[str, str, str], ...] = (
    ("gates", "Permanent gates", "one failing blocks the release"),
    ("regressed", "Regressions", "shown to be worse than the baseline"),
    ("failing", "Failing", "not permanent: they block nothing"),
    ("inconclusive", "Inconclusive", "too few results to tell"),
    ("degraded", "Degraded within margin", "worse than the baseline by less than the suite allows"),
    ("flaky", "Flaky", "pass, though some samples fail"),
    ("fixed", "Fixed", "shown to be better than the baseline"),
    ("screened", "Screened", "a few samples raised no suspicion; no more were taken"),
    ("rest", "Passing", ""),
)
_ORDER = {key: at for at, (key, _, _) in enumerate(SECTIONS)}
_WORDS = {"FAIL": 0, "INCONCLUSIVE": 1, "DEGRADED_WITHIN_MARGIN": 2, "PASS": 3}
_BY_WORD = {"FAIL": "failing", "INCONCLUSIVE": "inconclusive", "DEGRADED_WITHIN_MARGIN": "degraded"}


class Overview:
    """What one look at all verdicts comes to: how rows are chosen and counted, and the order in which they stand.

    Attributes:
        ids: the cases' ids, in the verdicts' order; `loud`, `quiet`, `gates`: of each, see `report.row`.
        order: where the verdicts stand, the most urgent first.
        sections: how many cases each section has.
        keys: how many rows have a key.
        chosen: what rows can be chosen by: values of ``tag``, ``signature``, ``owner``, and how many cases have each.
        compared: whether a case has a baseline.
    """

    def __init__(self, verdicts: Sequence[CaseVerdict], samples: Mapping[str, Sequence[Sample]]) -> None:
        self.ids = judged_ids(verdicts)
        self.loud, self.quiet, self.gates = bytearray(), bytearray(), bytearray()
        self.failing: set[str] = set()
        self.sections: Counter[str] = Counter()
        self.keys: Counter[Key] = Counter()
        self.chosen: dict[str, Counter[str]] = {"tag": Counter(), "signature": Counter(), "owner": Counter()}
        self.compared = False
        self.samples = 0
        self.cost_usd = self.duration_s = 0.0
        urgency: dict[_Urgency, array[int]] = {}
        for at, verdict in enumerate(verdicts):
            row = Row(verdict, samples.get(verdict.case_id, ()), {})
            keys, section = row.keys, _section_of(verdict)
            self.loud.append(is_loud(verdict))
            self.quiet.append(row.quiet)
            self.gates.append(verdict.permanent)
            if "fail" in keys or "inconclusive" in keys:
                self.failing.add(verdict.case_id)
            self.sections[section] += 1
            self.keys.update(keys)
            self.chosen["tag"].update(verdict.tags)
            self.chosen["signature"][verdict.signature] += 1
            self.chosen["owner"][verdict.owner] += 1
            self.compared = self.compared or verdict.baseline is not None
            self.samples += len(row.samples)
            self.duration_s += row.duration_s
            self.cost_usd += verdict.cost_usd
            key = _urgency(verdict, section)
            if key not in urgency:
                urgency[key] = array("I")
            urgency[key].append(at)
        alike: Iterable[Iterable[int]] = (places for _, places in sorted(urgency.items(), key=itemgetter(0)))
        if not self.ids.sorted:
            alike = (sorted(places, key=self.ids.__getitem__) for places in alike)
        self.order = array("I", chain.from_iterable(alike))


def _section_of(verdict: CaseVerdict) -> str:
    if verdict.permanent:
        return "gates"
    if verdict.change == "regressed":
        return "regressed"
    if verdict.screened:
        return "screened"
    if verdict.verdict != "PASS":
        return _BY_WORD[verdict.verdict]
    return "flaky" if verdict.failed else "fixed" if verdict.change == "improved" else "rest"


def _urgency(verdict: CaseVerdict, section: str) -> _Urgency:
    """The lower, the more urgent; cases of one urgency stand by their ids."""
    rate = 1.0 if verdict.rate is None else verdict.rate
    return _ORDER[section], _WORDS[verdict.verdict], verdict.change != "improved", rate
