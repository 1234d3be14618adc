"""`evalkit gate`: reads a finished run, makes no calls, and decides the release."""

from __future__ import annotations

from pathlib import Path

from evalkit.app.locks import base_lock_problems, current_lock_problems
from evalkit.app.run import Run, judged, load_run
from evalkit.app.settings import Settings
from evalkit.case.lock import read_lock
from evalkit.errors import ExitCode
from evalkit.suite.account import read_account
from evalkit.verdict.effect import suite_effect
from evalkit.verdict.gate import decide
from evalkit.verdict.model import Decision
from evalkit.verdict.notices import run_notices

__all__ = ["gate_exit_code", "gate_run"]

_CODES = {"PASS": ExitCode.DONE, "BLOCKED": ExitCode.BLOCKED, "INCONCLUSIVE": ExitCode.INCONCLUSIVE}


def gate_run(folder: Path, settings: Settings, *, against: str = "") -> Run:
    """Decides from a run's samples and the gate lock.

    Args:
        against: a git reference, such as ``origin/main``: what its lock holds may not be missing or weaker here.

    Raises:
        InputError: the run is not finished, or a case of it is gone.
        IntegrityError: run, case or lock was changed after writing.
    """
    manifest, suite, cases, samples = load_run(folder, settings)
    account = read_account(folder)
    verdicts = judged(manifest, suite, cases, samples, account)
    problems = current_lock_problems(settings.cases)
    if against:
        problems += base_lock_problems(settings.cases, settings.root, against)
    decision = decide(verdicts, read_lock(settings.cases), problems)
    return Run(
        folder=folder,
        manifest=manifest,
        samples=samples,
        cases=tuple(cases),
        verdicts=tuple(verdicts),
        decision=decision,
        account=account,
        effect=suite_effect(verdicts),
        notices=run_notices(samples, verdicts),
    )


def gate_exit_code(decision: Decision) -> ExitCode:
    """The exit code of a decision."""
    return _CODES[decision.outcome]
