"""`Trace` to `SanitizedTrace`: harvest everything first, then replace everywhere.

Pass one reads the whole batch and learns what is personal or secret: by the keys that values stand under, by form, in
JSON inside strings and in percent-encoded parts, and in the keys of objects. Pass two replaces all spellings of all
learnt values wherever they occur. What is learnt stays, so that a loose value (an expectation, an argument in a
replay) meets the batch in the same surrogates.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalkit.canonical import Json
from evalkit.sanitize.allowed import Allowed
from evalkit.sanitize.changes import path_counts
from evalkit.sanitize.detect import Detector
from evalkit.sanitize.digests import rules_digest, trace_digests
from evalkit.sanitize.exchange import Exchange, told_by
from evalkit.sanitize.harvest import Harvester
from evalkit.sanitize.key import key_id
from evalkit.sanitize.lexicon import Entity, Lexicon
from evalkit.sanitize.model import SEAL, SanitizationRecord, SanitizedTrace
from evalkit.sanitize.ner import load_recogniser
from evalkit.sanitize.policy import Kind, Policy
from evalkit.sanitize.register import Register, Surrogates, merged
from evalkit.sanitize.rewrite import Rewriter
from evalkit.sanitize.surrogate import Mint
from evalkit.sanitize.verify import Harvested, harvested_of
from evalkit.trace.model import Step, StepError, Trace
from evalkit.trace.repeats import Repeats

__all__ = ["Sanitizer", "step_parts"]


class _Rules:
    """A policy made ready."""

    def __init__(self, policy: Policy) -> None:
        self.digest = rules_digest(policy)
        self.allowed = Allowed(policy)
        self.policy = replace(policy, allow=self.allowed)
        self.detector = Detector(self.policy, [load_recogniser(name) for name in policy.ner])


class Sanitizer:
    """Sanitizes traces and loose values of one project. May be shared by threads.

    Args:
        policy: the project's rules.
        key: the project key (see `key.load_key`).
        rules: of the same policy, to save making them again.
        register: the surrogates that the project has already; None for none.

    Attributes:
        written: has written the messages of the trace that was sanitized last, of several the first.
    """

    def __init__(
        self, policy: Policy, key: bytes, *, rules: _Rules | None = None, register: Register | None = None
    ) -> None:
        self.policy = policy
        self._key = key
        self._rules = rules = rules or _Rules(policy)
        self._register = register
        self._mint = Mint(key, register=register)
        self._lexicon = Lexicon(rules.policy, self._mint)
        self._harvester = Harvester(rules.policy, rules.detector)
        harvester = self._harvester
        self._rewriter = Rewriter(rules.policy, rules.detector, self._lexicon, harvester.flat, harvester.parsed)
        self._lock = threading.RLock()
        self.written = Repeats()
        self._harvested: Harvested | None = None

    def sanitize(self, traces: Sequence[Trace]) -> list[SanitizedTrace]:
        """The traces, sanitized together: a value that any of them gives away is replaced in all.

        The result does not depend on the order of the traces.

        Raises:
            InputError: a value is no JSON.
            SanitizationFailed: two keys of an object would become one, or a range of surrogates is used up.
        """
        with self._lock:
            met = [self._met(trace) for trace in traces]
            for trace in met:
                self._rules.allowed.meet(trace)
                self._lexicon.exempt(_labels(trace))
            self.written = writing = Repeats()
            self._harvester.nodes((part for trace in met for part in _parts(trace, trace.steps)), _results(met))
            self._learn()
            self._rewriter.expect(self._harvester.flat)
            pairs = zip(traces, met, strict=True)
            return [self._sanitized(*pair, Repeats() if at else writing) for at, pair in enumerate(pairs)]

    def fresh(self, clean: Iterable[str] = (), register: Register | None = None) -> Sanitizer:
        """A sanitizer of the same project that knows of no value yet.

        Args:
            clean: texts that were sanitized before and needn't be read again.
            register: the surrogates that there are already; None for those that this one started from.
        """
        shared = None if self.policy.allow_paths else self._rules  # they know what was met at allowed paths
        made = Sanitizer(self.policy, self._key, rules=shared, register=register or self._register)
        made._harvester.skip(clean)
        return made

    def trace(self, trace: Trace, *, fresh: Sequence[Step] | None = None) -> Trace:
        """One trace with everything replaced that is known so far or found in it, without a record of it.

        Args:
            fresh: those of its steps that are read; the others hold nothing but what was sanitized before.

        Raises:
            As `sanitize`.
        """
        with self._lock:
            trace = self._met(trace)
            self._rules.allowed.meet(trace)
            self._lexicon.exempt(_labels(trace))
            self._harvester.nodes(_parts(trace, trace.steps if fresh is None else fresh))
            self._learn()
            return self._cleaned(trace)

    def leaves(self, trace: Trace, *, fresh: Sequence[Step], clean: Iterable[str]) -> bool:
        """Whether a sanitizer that knows of no value yet is sure to leave a trace as it is, its id aside.

        Args:
            fresh: as for `trace`.
            clean: texts that were sanitized before and needn't be read again.

        Raises:
            InputError: a value is no JSON.
        """
        if trace.surrogates or self.policy.allow_paths:
            return False
        harvester = Harvester(self._rules.policy, self._rules.detector)
        harvester.skip(clean)
        harvester.nodes(_bodies(trace, fresh))
        return not harvester.take()

    def value(self, value: Json) -> Json:
        """A loose JSON value with everything replaced that is known so far or found in it.

        `value` is not changed; what of it stays as it is, is shared with the result.

        Raises:
            As `sanitize`.
        """
        with self._lock:
            self._harvester.node(value)
            self._learn()
            return self._rewriter.value(value)

    def step(self, step: Step) -> Step:
        """One step with everything replaced that is known so far or found in it: for a recorder, step by step.

        Raises:
            As `sanitize`.
        """
        with self._lock:
            if step.kind in ("tool", "agent"):
                self._lexicon.exempt((step.name,))
            self._harvester.nodes(step_parts(step))
            self._learn()
            return self._step(step)

    def text(self, text: str) -> str:
        """A loose text, such as a title; as `value`."""
        return str(self.value(text))

    @property
    def key_id(self) -> str:
        """Names the key without giving it away."""
        return key_id(self._key)

    @property
    def surrogates(self) -> Surrogates:
        """Every surrogate that was given so far, with the tag of its value: for the record of what is written."""
        return merged(self.surrogates_after(0))

    def surrogates_after(self, number: int) -> Surrogates:
        """The same without the first ones, so many: for a record that grows."""
        with self._lock:
            return self._mint.made(number)

    @property
    def harvested(self) -> Harvested:
        """The originals that must not be found in anything written: for `verify`."""
        with self._lock:
            if self._harvested is None:
                self._harvested = harvested_of(self._lexicon.forms)
            return self._harvested

    def _learn(self) -> None:
        claims = self._harvester.take()
        if claims and self._lexicon.learn(claims):
            self._rewriter.forget()
            self._harvested = None

    def _met(self, trace: Trace) -> Trace:
        """A trace that a recorder sanitized, with the surrogates that its values have here; any other as it is."""
        if not trace.surrogates:
            return trace
        told = [
            one for one in told_by(trace) if not self._rules.detector.spans(one[1])
        ]  # no value in a surrogate's prefix
        moves = self._moves(one for one in told if one[0] != "account")
        names = Exchange(moves)  # which the names of accounts are made of
        accounts = [(kind, core, names.text(core), tag) for kind, core, tag in told if kind == "account"]
        moves |= self._moves((kind, named, tag) for kind, _, named, tag in accounts)
        moves |= {(kind, core): moves.get((kind, named), named) for kind, core, named, _ in accounts if core != named}
        bare = replace(trace, surrogates={})
        return Exchange(moves).trace(bare) if moves else bare

    def _moves(self, told: Iterable[tuple[Kind, str, str]]) -> dict[tuple[Kind, str], str]:
        """The surrogates that are to be others here, and which."""
        met = {(kind, core): self._mint.meet(kind, core, tag) for kind, core, tag in told}
        return {at: new for at, new in met.items() if at[1] != new}

    def _sanitized(self, raw: Trace, trace: Trace, writing: Repeats) -> SanitizedTrace:
        with self._rewriter.tallying() as found:
            clean = self._cleaned(trace)
        return SanitizedTrace(clean, self._record(raw, clean, found, writing), SEAL)

    def _cleaned(self, trace: Trace) -> Trace:
        if not (self._lexicon.forms or self._harvester.claimed):
            return trace
        return replace(
            trace,
            id=self._rewriter.text(trace.id),
            name=self._rewriter.label(trace.name),
            steps=tuple(self._step(step) for step in trace.steps),
            input=self._rewriter.value(trace.input),
            output=self._rewriter.value(trace.output),
            error=self._error(trace.error),
            attributes=self._attributes(trace.attributes),
            gaps=tuple(self._rewriter.text(gap) for gap in trace.gaps),
        )

    def _step(self, step: Step) -> Step:
        name = self._rewriter.label(step.name)
        model = None if step.model is None else self._rewriter.label(step.model)
        given = self._rewriter.value(step.input)
        output = self._rewriter.value(step.output, again=step.kind == "tool")
        error, attributes = self._error(step.error), self._attributes(step.attributes)
        same = name == step.name and model == step.model and given is step.input and output is step.output
        if same and error == step.error and attributes == step.attributes:
            return step
        return replace(step, name=name, model=model, input=given, output=output, error=error, attributes=attributes)

    def _error(self, error: StepError | None) -> StepError | None:
        if error is None:
            return None
        return StepError(
            type=self._rewriter.label(error.type),
            message=self._rewriter.text(error.message),
            module=None if error.module is None else self._rewriter.label(error.module),
            stack=None if error.stack is None else self._rewriter.text(error.stack),
        )

    def _attributes(self, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
        clean = self._rewriter.value(dict(attributes)) if attributes else {}
        return clean if isinstance(clean, dict) else {}

    def _record(self, raw: Trace, clean: Trace, found: set[Entity], writing: Repeats) -> SanitizationRecord:
        raw_hash, sanitized_hash = trace_digests(raw, clean, self._key, writing)
        return SanitizationRecord(
            policy_version=self.policy.version,
            rules_digest=self._rules.digest,
            key_id=self.key_id,
            raw_hash=raw_hash,
            sanitized_hash=sanitized_hash,
            counts=dict(sorted(Counter(entity.kind for entity in found).items())),
            rules=dict(sorted(Counter(map(self._harvester.origins.rule, found)).items())),
            paths=path_counts(raw, clean),
            unsure=tuple(sorted(self._unsure(found))),
        )

    def _unsure(self, found: set[Entity]) -> Iterator[str]:
        for entity in found:
            claim = self._harvester.origins.unsure(entity)
            if claim is not None:
                yield self._lexicon.stand_in(claim, claim.text)


def _labels(trace: Trace) -> Iterator[str]:
    yield from (step.name for step in trace.steps if step.kind in ("tool", "agent"))


def _results(traces: Iterable[Trace]) -> Iterator[Any]:
    """What tools gave: the next request holds it as JSON in a text."""
    yield from (step.output for trace in traces for step in trace.steps if step.kind == "tool")


def _parts(trace: Trace, steps: Iterable[Step]) -> Iterator[Any]:
    yield trace.id
    yield from _bodies(trace, steps)


def _bodies(trace: Trace, steps: Iterable[Step]) -> Iterator[Any]:
    yield from (trace.name, trace.input, trace.output, dict(trace.attributes), *trace.gaps)
    yield from _error_parts(trace.error)
    for step in steps:
        yield from step_parts(step)


def step_parts(step: Step) -> Iterator[Any]:
    """The values of a step that sanitizing reads."""
    yield from (step.name, step.model, step.input, step.output, dict(step.attributes))
    yield from _error_parts(step.error)


def _error_parts(error: StepError | None) -> Iterator[Any]:
    if error is not None:
        yield from (error.type, error.message, error.module, error.stack)
