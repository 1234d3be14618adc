"""How strong a case's checks are: the share of small faults that they catch, and of harmless changes that they pass.

Measured on the healthy runs that the case was made with, as `distil.mutate` changes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from evalkit.canonical import Json
from evalkit.check.judge import compile_checks
from evalkit.check.model import Check
from evalkit.distil.mutate import harmful, harmless
from evalkit.trace.model import Trace

__all__ = ["Strength", "strength"]

_MAX_NAMED = 20
_MAX_VARIANTS = 300


@dataclass(frozen=True, slots=True)
class Strength:
    """The result.

    Attributes:
        caught: how many of `faults` a gating check failed on.
        faults: how many harmful variants were tried.
        survivors: those that no check caught, in words, at most 20.
        passed: how many of `variations` all gating checks passed.
        variations: how many harmless variants were tried.
        blamed: those that a check failed on, in words, at most 20.
    """

    caught: int
    faults: int
    survivors: tuple[str, ...] = ()
    passed: int = 0
    variations: int = 0
    blamed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """The result with stable keys."""
        return {
            "caught": self.caught,
            "faults": self.faults,
            "survivors": [*self.survivors],
            "passed": self.passed,
            "variations": self.variations,
            "blamed": [*self.blamed],
        }


def strength(checks: Sequence[Check], healthy: Sequence[Trace], incident: Trace | None = None) -> Strength | None:
    """The strength of a case's gating checks; None where there is no healthy run that they pass to measure it on.

    Args:
        healthy: runs that the checks hold on; others are passed over.
        incident: its own changes of the world are tried on the healthy runs, too. At most 300 variants of each side are
            tried in all.
    """
    gating = [check for check in checks if check.gating]
    judge = compile_checks(gating)

    def passes(trace: Trace) -> bool:
        return all(result.passed for result in judge(trace))

    bases = [run for run in healthy if passes(run)]
    most = max(1, _MAX_VARIANTS // max(1, len(bases)))
    if not gating or not bases:
        return None
    faults = [(one.sentence, passes(one.trace)) for run in bases for one in islice(harmful(run, incident), most)]
    variations = [(one.sentence, passes(one.trace)) for run in bases for one in islice(harmless(run), most)]
    survivors = _named(sentence for sentence, passed in faults if passed)
    blamed = _named(sentence for sentence, passed in variations if not passed)
    return Strength(
        caught=sum(not passed for _, passed in faults),
        faults=len(faults),
        survivors=survivors,
        passed=sum(passed for _, passed in variations),
        variations=len(variations),
        blamed=blamed,
    )


def _named(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))[:_MAX_NAMED]
