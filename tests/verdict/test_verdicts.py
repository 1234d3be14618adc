"""Verdicts of very many cases: what is alike is held once."""

from __future__ import annotations

from dataclasses import replace

from evalkit.suite.case_ref import CaseRef, CaseRefs
from evalkit.suite.model import Policy
from evalkit.verdict.compare import case_verdicts
from evalkit.verdict.model import CaseVerdict
from evalkit.verdict.verdicts import Verdicts, changed, distinct
from tests.verdict.planned import plans_of
from tests.verdict.test_compare import samples

CASES = [
    CaseRef(f"l/c{at}/v0001.parquet", f"c{at}", 1, f"{at}", "reviewed", f"t {at}", "S", "", ("t",), "me", f"link {at}")
    for at in range(6)
]
FOUND = {f"c{at}": samples(("passed", 5 if at % 3 else 4), ("missed", 0 if at % 3 else 1)) for at in range(6)}


def judged(cases: list[CaseRef] | CaseRefs) -> list[CaseVerdict]:
    """The verdicts on samples of which every third case misses one."""
    return [*case_verdicts(cases, FOUND, plans_of(cases, FOUND, Policy("zero_failures")), None, frozen=False)]


def test_verdicts_on_packed_cases_are_those_on_the_cases() -> None:
    """In any form in which a sequence is asked."""
    wanted = judged(CASES)
    held = Verdicts(CaseRefs(CASES), wanted)
    assert [*held] == judged(CaseRefs(CASES)) == wanted
    assert held[-1] == wanted[-1]
    assert [*held[1:3]] == wanted[1:3]


def test_each_kind_of_verdict_is_counted_once() -> None:
    """By the first case that came to it."""
    found = distinct(Verdicts(CaseRefs(CASES), judged(CASES)))
    assert [(one.case_id, one.missed, count) for one, count in found] == [("c0", 1, 2), ("c1", 0, 4)]
    assert sum(count for _, count in distinct(judged(CASES))) == 6


def test_changed_verdicts_keep_their_cases() -> None:
    """Only what was found is another."""
    held = changed(Verdicts(CaseRefs(CASES), judged(CASES)), lambda one: replace(one, stale=one.case_id))
    assert [one.stale for one in held] == [one.case_id for one in held] == [case.id for case in CASES]
