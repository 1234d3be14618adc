"""The release decision: permanent cases block, and what was not measured is never green."""

from __future__ import annotations

from dataclasses import replace

from evalkit.case.lock import LockLine
from evalkit.verdict.gate import decide
from evalkit.verdict.model import CaseVerdict, Word


def verdict(case_id: str, word: Word, *, permanent: bool = True) -> CaseVerdict:
    """A verdict on a case whose digest is its id."""
    return CaseVerdict(
        case_id, 1, case_id, "t", permanent, 1, 0, 0, 0, 0.0, 1.0, word, "no baseline", f"{case_id} is {word}"
    )


def line(case_id: str) -> LockLine:
    """The lock's line of a case."""
    return LockLine(case_id, 1, case_id)


def test_all_permanent_cases_passing_opens_the_gate() -> None:
    """The only way to PASS."""
    found = decide([verdict("a", "PASS"), verdict("b", "PASS")], [line("a"), line("b")], [])
    assert (found.outcome, found.blocking) == ("PASS", ())


def test_a_case_that_may_be_degraded_has_not_passed() -> None:
    """The policy lets it pass; the sentence does not say that all is as it was."""
    degraded = replace(verdict("b", "DEGRADED_WITHIN_MARGIN"), on_degraded="pass")
    lock = [line("a"), line("b")]
    found = decide([verdict("a", "PASS"), degraded], lock, [])
    assert found.outcome == "PASS"
    assert found.reason == (
        "1 of 2 permanent cases is degraded within the margin, which the policy lets pass; 1 passed"
    )
    blocked = decide([verdict("a", "PASS"), replace(degraded, on_degraded="block")], lock, [])
    assert blocked.outcome == "BLOCKED"


def test_one_failing_permanent_case_blocks() -> None:
    """The reason names it."""
    found = decide([verdict("a", "PASS"), verdict("b", "FAIL")], [line("a"), line("b")], [])
    assert found.outcome == "BLOCKED"
    assert found.blocking == (("b", "b is FAIL"),)


def test_a_case_that_is_no_gate_does_not_block() -> None:
    """Proposed cases are watched, not enforced."""
    found = decide([verdict("a", "PASS"), verdict("b", "FAIL", permanent=False)], [line("a")], [])
    assert found.outcome == "PASS"


def test_an_unmeasured_permanent_case_holds_the_release() -> None:
    """Neither open nor blocked: it must be measured."""
    assert decide([verdict("a", "INCONCLUSIVE")], [line("a")], []).outcome == "INCONCLUSIVE"


def test_a_failure_outweighs_what_could_not_be_measured() -> None:
    """Both are told; the word is BLOCKED."""
    found = decide([verdict("a", "FAIL"), verdict("b", "INCONCLUSIVE")], [line("a"), line("b")], [])
    assert (found.outcome, len(found.inconclusive)) == ("BLOCKED", 1)


def test_a_locked_case_that_was_not_run_blocks() -> None:
    """A suite that leaves a gate out does not open it."""
    found = decide([verdict("a", "PASS")], [line("a"), line("b")], [])
    assert found.blocking == (("b", "is a permanent gate and was not run"),)


def test_a_locked_case_that_ran_in_another_version_blocks() -> None:
    """What was locked is what must pass."""
    found = decide([replace(verdict("a", "PASS"), digest="other")], [line("a")], [])
    assert found.outcome == "BLOCKED"


def test_a_version_that_the_lock_is_wrong_about_is_told_once() -> None:
    """What is wrong with the lock says it already."""
    found = decide([replace(verdict("a", "PASS"), digest="other")], [line("a")], [("a", "is weaker")])
    assert found.blocking == (("a", "gates.lock: is weaker"),)


def test_a_lock_problem_blocks() -> None:
    """A case that vanished without being retired."""
    found = decide([verdict("a", "PASS")], [line("a")], [("b", "is gone")])
    assert found.blocking == (("b", "gates.lock: is gone"),)


def test_no_permanent_case_is_no_green() -> None:
    """A gate that guards nothing says so."""
    assert decide([verdict("a", "PASS", permanent=False)], [], []).outcome == "INCONCLUSIVE"
