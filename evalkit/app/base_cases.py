"""What became of a case that the base branch locks, where that has a later version here: weaker, or only otherwise.

What is weaker blocks. What a person decided on is told, with who and why: it may be right, and must not go unnoticed.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from evalkit.app.base_tree import BaseTree
from evalkit.canonical import Json
from evalkit.case.lock import LockLine
from evalkit.case.model import Case, LifeEvent, lost_gates
from evalkit.case.store import case_versions, read_case, read_with_digest
from evalkit.case.tombstone import Tombstone, read_tombstones
from evalkit.errors import InputError, IntegrityError
from evalkit.sanitize.exchange import Exchange
from evalkit.sanitize.policy import Kind
from evalkit.suite.case_ref import CaseRef
from evalkit.trace.model import Step, Trace

__all__ = ["Later", "later_versions", "otherwise", "weaker"]


@dataclass(frozen=True, slots=True)
class Later:
    """A case that was retired since, or is permanent with a later version than the one that the base locks.

    Attributes:
        before: the locked version, from here or from the base; None where neither has it.
        digest: of the file here; empty where it is gone.
        forgotten: the act of forgetting that took the locked version away, if one did.
        after: the newest version.
    """

    line: LockLine
    before: Case | None
    digest: str
    forgotten: Tombstone | None
    after: Case

    @property
    def since(self) -> tuple[LifeEvent, ...]:
        """What happened to the case after the locked version."""
        if self.before is not None:
            return self.after.life[len(self.before.life) :]
        return self.after.life[self.line.version :]  # an event a version, since each says who made it and why

    @property
    def retired(self) -> LifeEvent | None:
        """Its last retirement since."""
        return next((event for event in reversed(self.since) if event.state == "retired"), None)

    @property
    def same_incident(self) -> bool:
        """Whether it still is of the incident that it was of."""
        return self.before is None or self.before.trace.record.raw_hash == self.after.trace.record.raw_hash


def later_versions(
    locked: Iterable[LockLine], listed: Iterable[CaseRef], tree: BaseTree, folder: str
) -> Iterator[Later]:
    """The locked cases that went on.

    Args:
        listed: the newest version of each case here.
        folder: where the base has its cases, with a slash at its end; empty for the top.
    """
    lines = {line.case_id: line for line in locked}
    for now in listed:
        line = lines.get(now.id)
        if line is None or not (now.state == "retired" or now.version > line.version):
            continue
        place = Path(now.path).parent
        path = dict(case_versions(place)).get(line.version)
        before: Case | None = None
        forgotten, digest = None, ""
        if path is not None:
            before, digest = read_with_digest(path)
        else:
            before = _of_base(line, tree, folder)
            acts = read_tombstones(place)
            forgotten = next((act for act in acts if (line.version, line.digest) in act.versions), None)
        later = Later(line, before, digest, forgotten, read_case(now.path))
        if now.state in ("permanent", "retired") or later.retired is not None:
            yield later


def weaker(one: Later) -> Iterator[str]:
    """That a case no longer gates on something, or that its locked version is not what was locked.

    Fewer gates are right after a retirement, which has a reason of its own, and for another incident (`ingest --into`).
    Forgetting a subject leaves as many of each type: what they say may be another thing then.
    """
    retired = "is retired, but " if one.after.state == "retired" else ""
    if not one.digest and one.forgotten is None:
        yield f"{retired}its locked version {one.line.version} is missing"
    elif one.digest and one.digest != one.line.digest:
        yield f"{retired}version {one.line.version} is not the file that was locked"
    elif one.before is not None and one.after.version > one.line.version and not one.since:
        yield f"{retired}its version {one.after.version} does not say who changed it, and why"
    elif one.retired is not None:
        if not one.retired.actor.strip() or not one.retired.reason.strip():
            yield "is retired, but nobody says why"
    elif one.same_incident and (lost := _lost(one)):
        yield f"no longer gates on {', '.join(lost)}, and was not retired for it"


def otherwise(one: Later, base: str) -> Iterator[str]:
    """What is decided on, or tested, otherwise than in the base, a sentence each."""
    name = f"case {one.line.case_id}"
    event = one.retired
    if event is not None:
        state = one.after.state
        again = "" if state == "retired" else f", and is {state} again{_fewer(one) if one.after.permanent else ''}"
        yield f"{name}, a permanent gate in {base}, was retired,{_by(event)}{again}"
        if not one.after.permanent:
            return
    if one.forgotten is not None:
        said = f"by {one.forgotten.actor} at {one.forgotten.at}: {one.forgotten.reason}"
        unseen = "; what it gated on was compared with nothing" if one.before is None else ""
        yield f"of {name} the version that {base} locks was forgotten, {said}{unseen}"
        return
    before, after = one.before, one.after
    if before is None or not one.since:
        return
    if not one.same_incident:
        fewer = "" if event else _fewer(one)
        yield f"{name} is of another incident than in {base},{_by(one.since[-1])}{fewer}"
        return
    who = f"(evalkit history {one.line.case_id} says who and why)"
    if more := [*_left_out(before, after)]:
        yield f"{name} compares less than in {base}: of calls it leaves out {', '.join(more)} {who}"
    if before.approved != after.approved:
        yield f"{name} was agreed to as it is under another prompt, other tools or effects since {base} {who}"
    if [*before.on_miss.items()] != [*after.on_miss.items()]:  # the first pattern that fits counts
        tools = sorted(name for name in {*before.on_miss, *after.on_miss} if _another(one, name))
        what = ", ".join(tools) or "its rules in another order"
        yield f"{name} answers what it holds no answer for otherwise than in {base}: {what} {who}"
    if lost := sorted({*before.tags} - {*after.tags}):
        yield f"{name} has fewer tags than in {base}: {', '.join(lost)}; a suite may hold it to another policy {who}"
    if _played(_as_named_now(before, after)[1]) != _played(after.trace.trace):
        yield f"{name} replays another recording of its incident than in {base} {who}"
    if before.target != after.target:
        yield f"{name} names another target than in {base}: {after.target or 'none'} {who}"


def _of_base(line: LockLine, tree: BaseTree, folder: str) -> Case | None:
    """The locked version as the base has it; None where that has none, or does not hold its content."""
    place = f"{folder}{line.case_id}/v{line.version:04d}.parquet"
    content = tree.fetched(place) if tree.has(place) else None
    if content is None:
        return None
    with TemporaryDirectory() as aside, contextlib.suppress(InputError, IntegrityError):
        path = Path(aside, f"v{line.version:04d}.parquet")
        path.write_bytes(content)
        case, digest = read_with_digest(path)
        return case if digest == line.digest else None
    return None


def _lost(one: Later) -> list[str]:
    """What gates no more: ids of checks; of a case that forgot a subject, how many of which types."""
    if one.before is None:
        return []
    if one.forgotten is None:
        return lost_gates(_as_named_now(one.before, one.after)[0], one.after)
    then, now = (Counter(check.type for check in case.gating) for case in (one.before, one.after))
    return [f"{count} {kind}" for kind, count in sorted((then - now).items())]


def _fewer(one: Later) -> str:
    lost = _lost(one)
    return f"; it no longer gates on {', '.join(lost)}" if lost else ""


def _played(trace: Trace) -> tuple[tuple[Step, ...], Json, float | None]:
    """What of a recording a replay is made of."""
    return trace.steps, trace.input, trace.started_at


def _as_named_now(then: Case, now: Case) -> tuple[Case, Trace]:
    """The earlier version and its recording, by the surrogates of now: some may have been parted since."""
    known = {(kind, tag): one for kind, tags in now.trace.record.surrogates.items() for one, tag in tags.items()}
    moves = {
        (cast("Kind", kind), one): known[kind, tag]
        for kind, tags in then.trace.record.surrogates.items()
        for one, tag in tags.items()
        if known.get((kind, tag), one) != one
    }
    whole = then.trace.trace
    if not moves:
        return then, whole
    by = Exchange(moves)
    checks = tuple(replace(one, params=by.value(dict(one.params))) for one in then.checks)
    return replace(then, checks=checks), by.trace(whole)


def _left_out(before: Case, after: Case) -> Iterator[str]:
    """An id that is new in every run is left out rightly, and an amount is not: a person must see which it is."""
    for tool, places in after.volatile.items():
        yield from (f"{tool}={place}" for place in places if place not in before.volatile.get(tool, ()))


def _another(one: Later, tool: str) -> bool:
    return one.before is not None and one.before.on_miss.get(tool) != one.after.on_miss.get(tool)


def _by(event: LifeEvent) -> str:
    return f" by {event.actor} at {event.at}: {event.reason}"
