"""Other surrogates in a case: the next version, where two branches that git joined disagree about some."""

from __future__ import annotations

from evalkit.case.erase import case_texts
from evalkit.case.model import Case, LifeEvent
from evalkit.case.rewritten import rewritten_case
from evalkit.errors import CaseRefused
from evalkit.sanitize.exchange import Exchange

__all__ = ["parted_case"]


def parted_case(case: Case, parent: str, exchange: Exchange, event: LifeEvent) -> Case:
    """The next version of `case` with some surrogates exchanged.

    Args:
        parent: the digest of `case`.

    Raises:
        CaseRefused: one of them stands in encoded text.
    """
    found = rewritten_case(case, parent, exchange, event)
    if exchange.left_in(case_texts(found)):
        raise CaseRefused(
            "a surrogate that two values share stands in encoded text, where it can't be replaced",
            f"case {case.id}",
            f"remove {case.id}, then evalkit ingest its trace again",
        )
    return found
