"""SEEN -> WANTED: which samples a run takes next, and when it has enough; the same after a kill as without one.

A case is looked at only when all samples up to a planned number are there, in the order of their index. Which of them
ended first says nothing: failures and timeouts are slower, so deciding on whoever is there would be biased.

Lost samples (missed, errored) are replaced by the next indices, whatever they might have come to; the same in every
run, and so in both arms of a comparison. A case that lost more than its policy puts up with is given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalkit.suite.model import Outcome, Sample
from evalkit.suite.samples import column
from evalkit.suite.seen import CaseSeen
from evalkit.suite.texts import beside
from evalkit.verdict.plans import CasePlan, Plans

__all__ = [
    "TWICE",
    "Standing",
    "blocks",
    "deterministic",
    "equal_replays",
    "lost_too_many",
    "outcomes_by_index",
    "standing",
    "traces_left",
    "wanted",
]

TWICE = 2
"""Equal replays of a frozen case that show that its target is deterministic."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What may be decided on: the samples without a gap before them.

    Attributes:
        passed: whether each sample that came to a result passed, by index.
        missed: samples among them that asked for what the case does not hold.
        errored: samples lost to the infrastructure.
    """

    passed: tuple[bool, ...]
    missed: int = 0
    errored: int = 0

    @property
    def lost(self) -> int:
        """Missed and errored ones."""
        return self.missed + self.errored

    @property
    def taken(self) -> int:
        """All of them."""
        return len(self.passed) + self.lost


def wanted(plans: Plans, seen: Mapping[str, CaseSeen], *, frozen: bool) -> Mapping[str, int]:
    """How many samples each case that is not decided should have now; empty where all are decided.

    Args:
        frozen: whether everything the target sees is: then two equal replays show that there is no variance.
    """
    return beside(plans, (_wanted(plan, seen.get(case_id), frozen) for case_id, plan in plans.items()))


def standing(outcomes: Sequence[Outcome | None]) -> Standing:
    """What samples by index come to, as far as none is lacking; None stands for one that is not there."""
    whole = outcomes[: outcomes.index(None)] if None in outcomes else outcomes
    passed = tuple(outcome == "passed" for outcome in whole if outcome in ("passed", "failed"))
    return Standing(passed, whole.count("missed"), whole.count("errored"))


def outcomes_by_index(samples: Sequence[Sample]) -> list[Outcome | None]:
    """What samples came to, as `standing` takes it."""
    indices = column(samples, "index")
    found: list[Outcome | None] = [None] * (1 + max(indices, default=-1))
    for index, outcome in zip(indices, column(samples, "outcome"), strict=True):
        found[index] = outcome
    return found


def lost_too_many(plan: CasePlan, now: Standing, of: int) -> bool:
    """Whether a larger share of so many samples was lost than the policy puts up with.

    Of as many as the plan may take, that can't be made up for. Of those that were taken, what is left shows nothing: a
    plan that decides early would else pass a case that lost half of them, and failures may be what was lost.
    """
    return now.lost > plan.policy.max_lost * of + 1e-9


def equal_replays(samples: Sequence[Sample]) -> bool:
    """Whether all replays that left a trace were equal, and none drew random numbers: those may be equal by chance.

    What an outage did to a replay says nothing about the agent, as for `CaseSeen.equal`.
    """
    replays = {(trace, drew) for trace, drew, outcome in {*_replays(samples)} if trace and outcome != "errored"}
    return len(replays) == 1 and not next(iter(replays))[1]


def traces_left(samples: Sequence[Sample]) -> Iterator[tuple[str, bool]]:
    """The digests of the replays that left a trace and that no outage ended, and whether chance had a part in each."""
    return ((trace, drew) for trace, drew, outcome in _replays(samples) if trace and outcome != "errored")


def _replays(samples: Sequence[Sample]) -> Iterator[tuple[str, bool, Outcome]]:
    return zip(*(column(samples, name) for name in ("trace", "drew", "outcome")), strict=True)


def deterministic(now: Standing, equal: bool, *, frozen: bool) -> bool:
    """Whether replays that came to a result, all of them equal, show a target without variance."""
    return frozen and equal and len(now.passed) >= TWICE


def blocks(plan: CasePlan, passed: Sequence[bool], *, frozen: bool) -> list[slice]:
    """The samples between two looks of a case, in which alone their order says nothing of what they came to.

    Whether there are more samples hangs on what came before: a run that goes on until one fails has its failures late.
    """
    found, start = [], 0
    while start < len(passed):
        look = plan.next_look(passed[:start])
        end = len(passed) if look is None else min(TWICE, look) if frozen and start < TWICE else look
        found.append(slice(start, end))
        start = end
    return found


def _wanted(plan: CasePlan, seen: CaseSeen | None, frozen: bool) -> int | None:
    if seen is None:
        return _next(plan, Standing(()), False, frozen)
    outcomes = seen.outcomes
    now = standing(outcomes)
    if not now.lost:
        return _next(plan, now, seen.equal, frozen)
    # what was lost moves what is asked for after it: gone through round by round, as in a run that was never killed
    taken = 0
    while True:
        following = _next(plan, standing(outcomes[:taken]), seen.equal, frozen)
        if following is None or following > now.taken:
            return following
        taken = following


def _next(plan: CasePlan, now: Standing, equal: bool, frozen: bool) -> int | None:
    """How many samples there should be after those that there are; None where there are enough."""
    if deterministic(now, equal, frozen=frozen) or lost_too_many(plan, now, plan.most):
        return None
    look = plan.next_look(now.passed)
    if look is None:
        return None
    return min(TWICE, look) if frozen and now.taken < TWICE else look + now.lost
