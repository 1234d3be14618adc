"""What happened: a trace and its steps, the one model of production runs and of replays.

Everything foreign (an OpenTelemetry span, a chat log, a provider's HTTP body) is brought into this form by a reader or
a wire module; everything later (pruning, checks, matching, the report) reads only this form.

Normal form of a step's ``input`` and ``output`` by kind:

========== =============================================================== ==========================================
kind       input                                                           output
========== =============================================================== ==========================================
agent      what the agent or sub-agent was asked                           what it answered
model      ``{"messages": [Message], "tools": [...], "params": {...}}``    one assistant Message
tool       the arguments, an object                                        the result, any JSON
retrieval  ``{"query": ...}`` and what else was asked                      ``[Document]``
policy     what was asked of the policy, an object                         the decision, any JSON
approval   ``{"tool", "arguments"}``, and what else was told               ``{"approved", "approver", "until"}``
state      what was written                                                what it was before
other      any                                                             any
========== =============================================================== ==========================================

A **Document** is ``{"id", "content", "version", "chunk_id", "content_hash", "rank", "score", "metadata"}``, what is not
known left out. `trace.approval` reads approvals, `trace.side_effect` the `state` steps that tell a side effect's life.
The first step of each tool in a recording holds the tool's definition in the attribute ``definition``.

A **Message** is ``{"role": "system" | "user" | "assistant" | "tool", "content": str | [part] | None}`` and, where it
applies, ``"tool_calls": [{"id": str, "name": str, "arguments": object}]`` (a string where the model's text was no
JSON object), ``"tool_call_id"`` and ``"name"`` (role tool), ``"reasoning"`` and ``"refusal"`` (role assistant). A part
is ``{"type": "text", "text": str}`` or another typed object. ``params`` holds the sampling parameters by their
OpenAI names (``temperature``, ``max_tokens``, ...).

A user's turn is a step of kind ``other`` named ``user_message`` whose output is the Message; a message that the agent
is given by its developer (system prompt) stays inside the model steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from evalkit.canonical import Json

__all__ = [
    "DEPENDENCY_KINDS",
    "KINDS",
    "USER_MESSAGE",
    "Effect",
    "EffectSource",
    "Json",
    "Kind",
    "Status",
    "Step",
    "StepError",
    "Trace",
    "Usage",
]

Kind: TypeAlias = Literal["agent", "model", "tool", "retrieval", "policy", "approval", "state", "other"]
Effect: TypeAlias = Literal["read", "write", "pure"]
EffectSource: TypeAlias = Literal["declared", "configured", "guessed"]
Status: TypeAlias = Literal["completed", "failed", "unfinished"]

KINDS: frozenset[str] = frozenset(get_args(Kind))
DEPENDENCY_KINDS: frozenset[str] = frozenset({"model", "tool", "retrieval", "policy", "approval"})
"""Kinds whose answer came from outside the agent's own code: what a frozen replay substitutes."""
USER_MESSAGE = "user_message"
"""Name of the `other` step that holds a user's turn."""


@dataclass(frozen=True, slots=True)
class StepError:
    """An error as it was raised or reported.

    Attributes:
        type: the exception's class name, or the source's error code.
        message: its text.
        module: the module of the class, when known (``builtins`` for built-ins): a replay raises the class again.
        stack: the traceback as text, when recorded.
    """

    type: str
    message: str = ""
    module: str | None = None
    stack: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a model call used. Token counts as the provider reported them; None where it did not.

    Attributes:
        cached_tokens: the part of `input_tokens` that was read from a cache.
        reasoning_tokens: the part of `output_tokens` that was spent on hidden reasoning.
        cost_usd: US dollars, when the source states it.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a trace.

    Attributes:
        seq: position in the trace, from 0, without gaps in a whole trace (a pruned one keeps its numbers).
        kind: see the module's table.
        name: the tool's, agent's or model operation's name; ``chat`` for model calls.
        parent: `seq` of the step that this one ran inside of.
        effect: what a tool does to the world; None for other kinds.
        effect_source: who says so; ``guessed`` is a guess from the name.
        started_at, ended_at: seconds since 1970 UTC in the agent's own (logical) time; None where unknown.
        model: the model that answered, for kind ``model``.
        attributes: whatever else the source held; never needed to understand the step.
    """

    seq: int
    kind: Kind
    name: str
    input: Json = None
    output: Json = None
    error: StepError | None = None
    parent: int | None = None
    effect: Effect | None = None
    effect_source: EffectSource | None = None
    started_at: float | None = None
    ended_at: float | None = None
    model: str | None = None
    usage: Usage | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_dependency(self) -> bool:
        """Whether a frozen replay answers this step from its recording."""
        return self.kind in DEPENDENCY_KINDS

    @property
    def is_effect(self) -> bool:
        """Whether this step changed the world: a tool call with effect ``write`` that did not fail."""
        return self.kind == "tool" and self.effect == "write" and self.error is None


@dataclass(frozen=True, slots=True)
class Trace:
    """The ordered record of one agent run.

    Attributes:
        id: the source's id of the run; unique in its file.
        name: the agent's or workflow's name.
        dialect: the reader that made it, such as ``evalkit`` or ``otlp``.
        steps: in order of `seq`.
        input: what the agent was started with, any JSON.
        output: its final answer, any JSON.
        error: the error that ended it.
        status: ``unfinished`` when the record stops before the run did.
        started_at, ended_at: seconds since 1970 UTC, logical time.
        attributes: run-level facts (environment, framework, session) by name.
        gaps: what the source lacks, one sentence each (see `trace.evidence`).
        surrogates: what a recorder that sanitizes says of the surrogates in it: by kind and surrogate, the tag of the
            value that it stands for (see `sanitize.register`).
    """

    id: str
    name: str
    dialect: str
    steps: tuple[Step, ...]
    input: Json = None
    output: Json = None
    error: StepError | None = None
    status: Status = "completed"
    started_at: float | None = None
    ended_at: float | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()
    surrogates: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def step(self, seq: int) -> Step:
        """The step numbered `seq`; KeyError if there is none (it may have been pruned)."""
        if seq < len(self.steps) and self.steps[seq].seq == seq:
            return self.steps[seq]
        for step in self.steps:
            if step.seq == seq:
                return step
        raise KeyError(seq)

    def of_kind(self, *kinds: Kind) -> Iterator[Step]:
        """The steps of some kinds, in order."""
        return (step for step in self.steps if step.kind in kinds)
