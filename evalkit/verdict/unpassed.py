"""What a case's samples that did not pass say: which checks they broke, and what most of them ended with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from evalkit.check.judge import sentence_of
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Sample

__all__ = ["Alike", "cause", "failing_checks", "first_loss"]

Alike: TypeAlias = Sequence[tuple[Sample, int]]
"""Samples, and how many each stands for."""


def failing_checks(case: CaseRef, samples: Alike) -> tuple[tuple[str, str, int], ...]:
    """The gating checks that failed: id, sentence, and in how many samples; the most frequent first."""
    counts: Counter[str] = Counter()
    for sample, count in samples:
        for one in sample.checks if sample.outcome == "failed" else ():
            if one.gating and not one.passed:
                counts[one.check] += count
    sentences = {check.id: sentence_of(check) for check in case.checks if check.id in counts} if counts else {}
    return tuple((check, sentences.get(check, check), count) for check, count in counts.most_common())


def cause(samples: Alike, failing: Sequence[tuple[str, str, int]]) -> str:
    """What most failing samples failed for: how they ended, which no check needs to say, or else a check."""
    ended: Counter[str] = Counter()
    for sample, count in samples:
        if sample.outcome == "failed" and not _of_a_check(sample):
            ended[sample.reason] += count
    if ended and (not failing or ended.total() >= failing[0][2]):
        return f"; {ended.most_common(1)[0][0]}"
    return f"; broken: {failing[0][1].rstrip('.')}" if failing else ""


def _of_a_check(sample: Sample) -> bool:
    """Whether the sample's reason is that of a failing check."""
    return not sample.reason or any(
        check.reason == sample.reason for check in sample.checks if check.gating and not check.passed
    )


def first_loss(samples: Alike) -> str:
    """Why the first of those was lost that were missed or errored."""
    lost = next((sample.reason for sample, _ in samples if sample.outcome in ("missed", "errored")), "")
    return f": {lost}" if lost else ""
