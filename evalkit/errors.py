"""Everything that can go wrong on purpose: what happened, where, and the cure.

    EvalkitError                exit code
    ├── UsageError              2   the command was called wrongly
    ├── ConfigError             2   evalkit.toml, a suite or a flag is wrong
    ├── InputError              2   a trace, case or run can't be used as it is
    │   ├── UnreadableTrace     2   no format reads it, or the format's rules are broken
    │   │   └── UnknownFormat   2   no format claims it: it may be no trace at all
    │   ├── CaseRefused         2   no valid case can be made (its checks don't fail on the incident)
    │   ├── ReplayRefused       2   the case lacks what the replay mode needs
    │   └── SanitizationFailed  2   a value that must not be written would have been
    ├── IntegrityError          4   a hash, a chain or a lock does not hold
    ├── MissingExtra            2   an optional package is not installed
    └── Interrupted             130 the user stopped a run; what was done is kept

Outcomes are not errors: a failed check, a fixture miss, an infrastructure fault are values (see `suite.model.Sample`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar

__all__ = [
    "CaseRefused",
    "ConfigError",
    "EvalkitError",
    "ExitCode",
    "InputError",
    "IntegrityError",
    "Interrupted",
    "MissingExtra",
    "ReplayRefused",
    "SanitizationFailed",
    "UnknownFormat",
    "UnreadableTrace",
    "UsageError",
]


class ExitCode(IntEnum):
    """Exit codes of every command; they never change meaning."""

    DONE = 0
    """Done; the gate passed."""
    BLOCKED = 1
    """The gate is blocked, checks failed, or a regression is shown."""
    WRONG_INPUT = 2
    """Usage, configuration or input is wrong."""
    INCONCLUSIVE = 3
    """Too few samples, fixture misses, or infrastructure faults."""
    INTEGRITY = 4
    """A hash, a chain or a lock does not hold."""
    INTERRUPTED = 130
    """Stopped by the user; `--resume` continues."""


class EvalkitError(Exception):
    """Base of all errors that evalkit raises on purpose.

    Args:
        what: what was got against what was wanted, one sentence.
        where: file and line, case, step; may be empty.
        cure: what to do, if possible a command to paste; may be empty.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.WRONG_INPUT

    def __init__(self, what: str, where: str = "", cure: str = "") -> None:
        super().__init__(what, where, cure)  # all fields: so that it pickles through a process pool
        self.what = what
        self.where = where
        self.cure = cure

    def __str__(self) -> str:
        parts = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.cure:
            parts.append(f"  cure: {self.cure}")
        return "\n".join(parts)


class UsageError(EvalkitError):
    """The command was called wrongly."""


class ConfigError(EvalkitError):
    """`evalkit.toml`, a suite file or a flag is wrong."""


class InputError(EvalkitError):
    """A trace, case, expectation or run can't be used as it is."""


class UnreadableTrace(InputError):
    """No format reads the file, or the format's own rules are broken."""


class UnknownFormat(UnreadableTrace):
    """No format claims the file: it may be no trace at all."""


class CaseRefused(InputError):
    """No valid case can be made, for instance because its checks don't fail on the incident."""


class ReplayRefused(InputError):
    """The case or the target lacks what the replay mode needs."""


class SanitizationFailed(InputError):
    """A value that must not be written would have been written; nothing was."""


class IntegrityError(EvalkitError):
    """A hash, a chain or a lock does not hold."""

    exit_code = ExitCode.INTEGRITY


class MissingExtra(EvalkitError):
    """An optional package is not installed."""


class Interrupted(EvalkitError):
    """The user stopped a run; what was done is kept, and the cure continues it."""

    exit_code = ExitCode.INTERRUPTED
