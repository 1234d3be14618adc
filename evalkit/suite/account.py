"""What a run spent on its live model, and whether its budget stopped it; in the file that its workers share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalkit.canonical import Json
from evalkit.playback.endpoint.budget import spent_text
from evalkit.playback.endpoint.ledger import LEDGER_NAME, Ledger
from evalkit.suite.journal import JOURNAL_NAME

__all__ = ["NOTHING_SPENT", "Account", "read_account"]


@dataclass(frozen=True, slots=True)
class Account:
    """A run's account.

    Attributes:
        spent: see `playback.endpoint.budget.Spent`; empty for a run without live model and budget.
        stopped: why the run stopped before its end; empty for a whole one.
    """

    spent: Mapping[str, Json] = field(default_factory=dict)
    limits: Mapping[str, Json] = field(default_factory=dict)
    stopped: str = ""

    @property
    def sentence(self) -> str:
        """What was spent, in words; empty where nothing could be."""
        return spent_text(self.spent, self.limits) if self.spent else ""


NOTHING_SPENT = Account()


def read_account(folder: Path) -> Account:
    """The account of a run.

    Raises:
        IntegrityError: it is broken.
    """
    if not (folder / LEDGER_NAME).exists():
        return NOTHING_SPENT
    ledger = Ledger(folder / LEDGER_NAME)
    spent, limits = ledger.told()
    unfinished = (folder / JOURNAL_NAME).exists()
    return Account(spent, limits, ledger.stopped() if unfinished else "")
