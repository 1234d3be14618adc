"""What must never recur: a case, its checks, and its life.

A case is immutable; every change (an edited check, a promotion) is a new version that names its parent's digest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from evalkit.canonical import Json
from evalkit.check.model import Check
from evalkit.errors import InputError
from evalkit.sanitize.model import SanitizedTrace
from evalkit.trace.model import Trace

__all__ = ["FIXTURE_OF", "STATES", "Case", "Dropped", "LifeEvent", "State", "check_case_id", "lost_gates"]

State: TypeAlias = Literal["proposed", "reviewed", "permanent", "retired"]

FIXTURE_OF = "fixture_of"
"""Attribute of a step that is no event of the incident but a fixture from a healthy run; holds that run's id."""

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # device names on Windows

_NEXT: dict[State, tuple[State, ...]] = {
    "proposed": ("proposed", "reviewed", "retired"),
    "reviewed": ("proposed", "reviewed", "permanent", "retired"),
    "permanent": ("permanent", "retired"),
    "retired": ("reviewed",),
}


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """One change of a case's state.

    Attributes:
        state: the state from then on.
        actor: who did it, a name or an address; ``evalkit ingest`` for the first.
        reason: why, one sentence.
        at: UTC, ISO 8601 with seconds.
        proved: what was shown to hold at that moment, in words; empty where the event proves nothing.
    """

    state: State
    actor: str
    reason: str
    at: str
    proved: str = ""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A step of the incident that is not on the path to the failure.

    A dependency step that was dropped stays in the file as a fixture (``kept`` is false), because an agent may still
    ask for it; any other dropped step leaves only this line.
    """

    seq: int
    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Case:
    """One version of a case.

    Attributes:
        id: ASCII ``[a-z0-9._-]``, at most 80 characters: a folder's name.
        version: from 1.
        parent: digest of the version before; None for the first.
        title: one line for people.
        trace: the pruned, sanitized incident. Its steps hold the kept ones and the fixtures off the path.
        kept: `seq` of the steps on the path to the failure.
        dropped: what was left out or set aside, with the reason.
        checks: what must hold.
        life: all changes of state, oldest first.
        source: where it came from: ``trace_id``, ``dialect``, ``passing`` (the healthy runs' ids), ``found`` (why those
            were taken that `ingest` looked for itself), and ``earlier`` (incidents of the versions before).
        signature: the failure's stable name, such as ``SIDE_EFFECT_REPEATED:refund_order``.
        evidence: completeness score of the incident, 0 to 1.
        closed: the replay modes for which the incident holds too little, with the reasons (see `trace.modes`).
        strength: what the checks catch and spare on changed healthy runs (`distil.strength`); empty when not measured.
        target: what the case was made for, such as ``module:function``; empty when unknown.
        volatile: per capability the argument paths (``/request/id``) that matching leaves out.
        on_miss: how calls that the case holds no answer for are answered, by tool pattern (`playback.missing`).
        tags: for selection.
        pruning: whether a replay of the pruned case failed as the incident did: ``verified``, with ``how`` and
            ``widened`` (how often the slice had to be widened), or with ``why`` not. Empty in files from before.
        fingerprint: of the whole sanitized incident (`distil.fingerprint`); empty in files from before.
        proof: what healthy passes the present checks, a sentence each.
        approved: what somebody agreed to although the incident had it otherwise: fingerprints of ``prompts`` and, by
            name, of ``tools``, and ``effects`` (see `distil.surroundings`).
    """

    id: str
    version: int
    title: str
    trace: SanitizedTrace
    kept: tuple[int, ...]
    checks: tuple[Check, ...]
    life: tuple[LifeEvent, ...]
    parent: str | None = None
    dropped: tuple[Dropped, ...] = ()
    source: Mapping[str, Json] = field(default_factory=dict)
    signature: str = ""
    evidence: float = 1.0
    closed: Mapping[str, str] = field(default_factory=dict)
    strength: Mapping[str, Json] = field(default_factory=dict)
    target: str = ""
    owner: str = ""
    link: str = ""
    volatile: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    on_miss: Mapping[str, Json] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    pruning: Mapping[str, Json] = field(default_factory=dict)
    fingerprint: str = ""
    proof: tuple[str, ...] = ()
    approved: Mapping[str, Json] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """Where the case is in its life."""
        return self.life[-1].state

    @property
    def permanent(self) -> bool:
        """Whether the case blocks releases."""
        return self.state == "permanent"

    @property
    def incident(self) -> Trace:
        """The sanitized trace of the incident, pruned, without the answers that only healthy runs were given."""
        whole = self.trace.trace
        own = tuple(step for step in whole.steps if FIXTURE_OF not in step.attributes)
        return whole if len(own) == len(whole.steps) else replace(whole, steps=own)

    @property
    def gating(self) -> tuple[Check, ...]:
        """The checks that fail a sample."""
        return tuple(check for check in self.checks if check.gating)

    def revised(self, parent: str, **changes: Any) -> Case:
        """The next version with some fields changed; `parent` is this version's digest."""
        return replace(self, version=self.version + 1, parent=parent, **changes)

    def moved(self, parent: str, event: LifeEvent) -> Case:
        """The next version in another state.

        Raises:
            InputError: the state can't follow the present one, or actor or reason is empty.
        """
        if event.state not in _NEXT[self.state]:
            cure = f"from {self.state}: {', '.join(_NEXT[self.state])}"
            if event.state == "permanent":
                cure = f"evalkit review {self.id} comes first: somebody reads the checks and says so"
            raise InputError(f"a {self.state} case can't become {event.state}", f"case {self.id}", cure)
        for name in ("actor", "reason"):
            if not getattr(event, name).strip():
                raise InputError(f"the {name} is empty", f"case {self.id}", f"pass --{name}")
        return self.revised(parent, life=(*self.life, event))


def lost_gates(before: Case, after: Case) -> list[str]:
    """The ids of the checks that gate in one version and not in another, sorted."""
    return sorted({check.id for check in before.gating} - {check.id for check in after.gating})


def check_case_id(case_id: str) -> str:
    """`case_id` if it is one.

    Raises:
        InputError: it could leave its folder, or is no portable folder name.
    """
    if not _ID.fullmatch(case_id) or _RESERVED.fullmatch(case_id) or case_id.endswith("."):
        raise InputError(
            f"{case_id[:100]!r} is no case id",
            cure="use a-z, 0-9, '.', '_' and '-', at most 80, starting with a-z or 0-9",
        )
    return case_id


STATES: tuple[State, ...] = get_args(State)
