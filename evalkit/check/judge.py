"""Checks against traces: compiled once, then judged as often as there are traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from evalkit.check.model import Check, CheckResult, Judge
from evalkit.check.registry import CHECKS
from evalkit.errors import InputError
from evalkit.trace.model import Trace

__all__ = ["JudgeAll", "compile_checks", "judge_checks", "sentence_of"]

JudgeAll: TypeAlias = Callable[[Trace], list[CheckResult]]


def compile_checks(checks: Sequence[Check], case_id: str = "") -> JudgeAll:
    """One function that judges a trace by all `checks`, with a result for each, in their order.

    Args:
        case_id: whose they are, for the message where one can't be read.

    Raises:
        ConfigError: a check's type is not known.
        InputError: a check's parameters are not of its type's form.
    """
    compiled = [(check, _compiled(check, case_id)) for check in checks]

    def judge(trace: Trace) -> list[CheckResult]:
        found = ((check, one(trace)) for check, one in compiled)
        return [CheckResult(check, finding.passed, finding.reason, finding.steps) for check, finding in found]

    return judge


def _compiled(check: Check, case_id: str) -> Judge:
    try:
        return CHECKS.get(check.type).compile(check.params)
    except InputError as error:
        if not case_id:
            raise
        cure = f"{error.cure}: evalkit edit {case_id} --checks FILE"
        raise InputError(error.what, f"case {case_id}, {error.where} ({check.id})", cure) from None


def sentence_of(check: Check) -> str:
    """A check's statement in plain language, whatever its parameters hold: a file may be forged or from elsewhere.

    Raises:
        ConfigError: the check's type is not known.
    """
    try:
        return CHECKS.get(check.type).sentence(check.params)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return f"{check.type} with parameters that it does not take."


def judge_checks(checks: Sequence[Check], trace: Trace) -> list[CheckResult]:
    """`compile_checks` for one trace."""
    return compile_checks(checks)(trace)
