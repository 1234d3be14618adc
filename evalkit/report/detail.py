"""What is told of one case below its row: facts of the incident, checks, losses, trajectory, lineage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.case.view import pruning_words
from evalkit.check.judge import sentence_of
from evalkit.check.model import Check
from evalkit.figures import counted, figures
from evalkit.percent import whole_percent
from evalkit.report.text import cost_text, cut, date_text, json_text
from evalkit.report.trajectory import Trajectory, build_trajectory
from evalkit.suite.model import Outcome, Sample, SampleCheck
from evalkit.suite.samples import column
from evalkit.trace.model import StepError, Trace

__all__ = ["CheckView", "Detail", "Loss", "SampleLine", "build_detail", "shown_samples", "shown_traces"]

_SENTENCE = 400
_MAX_LOSSES = 12
_MAX_REASONS = 3
_MAX_EVENTS = 20
_MAX_SAMPLES = 100
_MAX_NUMBERS = 20
_NAME = 80


@dataclass(frozen=True, slots=True)
class CheckView:
    """One check over all samples.

    Attributes:
        state: ``failed`` in some sample, ``held`` in all, or ``unjudged``.
        failed, judged: samples.
        reasons: the distinct reasons of its failures with their counts, most frequent first, at most three.
    """

    id: str
    sentence: str
    gating: bool
    rule: str
    state: str
    failed: int
    judged: int
    reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Loss:
    """Samples that did not pass, for one reason.

    Attributes:
        reason: empty where a check tells it.
        samples: their numbers, from 1, at most twenty.
        misses: for missed samples what was asked for, with the nearest recorded call.
    """

    outcome: Outcome
    reason: str
    count: int
    samples: tuple[int, ...]
    misses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SampleLine:
    """One sample.

    Attributes:
        number: from 1.
        run: a letter that samples with equal steps share; empty where none do.
        numbers: time, calls, tokens and cost as text.
        reason: why it did not pass.
    """

    number: int
    outcome: Outcome
    run: str
    numbers: str
    reason: str


@dataclass(frozen=True, slots=True)
class Detail:
    """A case told in full.

    Attributes:
        incident: what happened, sentences of facts.
        trajectory: None where the case has no steps.
        samples: the first hundred.
        runs: how many different runs of steps the samples took, in words.
        lineage: (label, value).
        life: (date, state, actor, reason), oldest first, the latest twenty.
    """

    incident: tuple[str, ...]
    checks: tuple[CheckView, ...]
    losses: tuple[Loss, ...]
    more_losses: int
    trajectory: Trajectory | None
    samples: tuple[SampleLine, ...]
    more_samples: int
    runs: str
    lineage: tuple[tuple[str, str], ...]
    life: tuple[tuple[str, str, str, str], ...]


def shown_samples(samples: Sequence[Sample]) -> tuple[Sample | None, Sample | None]:
    """The sample whose steps explain the trouble (failed before missed before errored), and a passing one."""
    bad, good = _shown(samples)
    return None if bad is None else samples[bad], None if good is None else samples[good]


def shown_traces(samples: Sequence[Sample]) -> list[str]:
    """The digests of these samples' traces."""
    traces = column(samples, "trace")
    return [traces[at] for at in _shown(samples) if at is not None]


def _shown(samples: Sequence[Sample]) -> tuple[int | None, int | None]:
    first: dict[Outcome, int] = {}
    for at, (outcome, trace) in enumerate(zip(column(samples, "outcome"), column(samples, "trace"), strict=True)):
        if trace:
            first.setdefault(outcome, at)
    order: tuple[Outcome, ...] = ("failed", "missed", "errored")
    return next((first[outcome] for outcome in order if outcome in first), None), first.get("passed")


def build_detail(case: Case, samples: Sequence[Sample], traces: Mapping[str, Trace], text_limit: int) -> Detail:
    """The drill-down of one case.

    Args:
        traces: digest to replayed trace, as far as they were kept.
        text_limit: characters of one value that are shown at most.
    """
    checks = _check_views(case.checks, samples)
    losses = list(_losses(samples, {reason for check in checks for reason, _ in check.reasons}))
    return Detail(
        incident=tuple(_incident(case)),
        checks=tuple(checks),
        losses=tuple(losses[:_MAX_LOSSES]),
        more_losses=sum(loss.count for loss in losses[_MAX_LOSSES:]),
        trajectory=_trajectory(case, samples, traces, text_limit),
        samples=tuple(_sample_lines(samples[:_MAX_SAMPLES])),
        more_samples=max(len(samples) - _MAX_SAMPLES, 0),
        runs=_runs(samples),
        lineage=tuple(_lineage(case)),
        life=tuple((e.at, e.state, cut(e.actor, _NAME), cut(e.reason, _SENTENCE)) for e in case.life[-_MAX_EVENTS:]),
    )


def _trajectory(
    case: Case, samples: Sequence[Sample], traces: Mapping[str, Trace], text_limit: int
) -> Trajectory | None:
    runs: list[tuple[str, Trace]] = [("incident", case.incident)]
    bad, good = shown_samples(samples)
    if bad is not None and bad.trace in traces:
        runs.append((f"{_WORDS[bad.outcome]} replay (sample {bad.index + 1})", traces[bad.trace]))
    if good is not None and good.trace in traces:
        runs.append((f"passing replay (sample {good.index + 1})", traces[good.trace]))
    return build_trajectory(runs, text_limit) if any(trace.steps for _, trace in runs) else None


_WORDS: dict[Outcome, str] = {"failed": "failing", "missed": "missed", "errored": "errored", "passed": "passing"}


def _incident(case: Case) -> Iterator[str]:
    trace = case.incident
    when = f" on {date_text(trace.started_at)}" if trace.started_at is not None else ""
    yield f"Recorded{when} from agent {cut(trace.name or 'unnamed', _NAME)} (read as {trace.dialect})."
    if trace.input is not None:
        yield f"It was asked: {cut(json_text(trace.input), _SENTENCE)}"
    left_out = f", {counted(len(case.dropped), 'step')} set aside" if case.dropped else ""
    yield f"{counted(len(case.kept), 'step')} on the path to the failure{left_out}."
    effects = Counter(step.name for step in trace.steps if step.is_effect)
    if effects:
        told = ", ".join(cut(name, _NAME) + (f" {count} times" if count > 1 else "") for name, count in effects.items())
        yield f"It changed the world by: {cut(told, _SENTENCE)}."
    for step in [step for step in trace.steps if step.error is not None][:_MAX_REASONS]:
        assert step.error is not None
        yield f"Step {step.seq}, {step.kind} {cut(step.name, _NAME)}, failed with {_error(step.error)}"
    if trace.error is not None:
        yield f"It ended with {_error(trace.error)}"
    elif trace.output is not None:
        yield f"It answered: {cut(json_text(trace.output), _SENTENCE)}"


def _error(error: StepError) -> str:
    return cut(f"{error.type}: {error.message}", _SENTENCE)


def _check_views(checks: Sequence[Check], samples: Sequence[Sample]) -> list[CheckView]:
    found: dict[str, list[SampleCheck]] = {}
    for sample in samples:
        for result in sample.checks:
            found.setdefault(result.check, []).append(result)
    views = [_check_view(check, found.get(check.id, ())) for check in checks]
    return sorted(views, key=lambda view: (not (view.gating and view.failed), not view.failed, not view.gating))


def _check_view(check: Check, results: Sequence[SampleCheck]) -> CheckView:
    reasons = Counter(cut(result.reason, _SENTENCE) for result in results if not result.passed)
    failed = reasons.total()
    return CheckView(
        id=check.id,
        sentence=cut(sentence_of(check), _SENTENCE),
        gating=check.gating,
        rule=check.rule,
        state="failed" if failed else "held" if results else "unjudged",
        failed=failed,
        judged=len(results),
        reasons=tuple(reasons.most_common(_MAX_REASONS)),
    )


def _losses(samples: Sequence[Sample], told: AbstractSet[str]) -> Iterator[Loss]:
    groups: dict[tuple[Outcome, str, tuple[str, ...]], list[int]] = {}
    for sample in samples:
        if sample.outcome != "passed":
            groups.setdefault((sample.outcome, sample.reason, sample.misses), []).append(sample.index + 1)
    for (outcome, reason, misses), numbers in sorted(groups.items(), key=lambda item: -len(item[1])):
        sentence = cut(reason, _SENTENCE)
        yield Loss(
            outcome=outcome,
            reason="" if sentence in told else sentence,
            count=len(numbers),
            samples=tuple(numbers[:_MAX_NUMBERS]),
            misses=tuple(cut(miss, _SENTENCE) for miss in misses[:_MAX_REASONS]),
        )


def _sample_lines(samples: Sequence[Sample]) -> Iterator[SampleLine]:
    letters = _letters(samples)
    for sample in samples:
        reason = sample.reason or next((c.reason for c in sample.checks if c.gating and not c.passed), "")
        yield SampleLine(
            number=sample.index + 1,
            outcome=sample.outcome,
            run=letters.get(sample.trace, ""),
            numbers=", ".join(_numbers(sample)),
            reason="" if sample.outcome == "passed" else cut(reason, _SENTENCE // 2),
        )


def _letters(samples: Sequence[Sample]) -> dict[str, str]:
    """A name for each different run of steps, in the order in which they came: A, B, ... Z, 27, ..."""
    kept = [sample.trace for sample in samples if sample.trace]
    digests = dict.fromkeys(kept)
    if len(digests) == len(kept):
        return {}
    return {digest: chr(65 + at) if at < 26 else str(at + 1) for at, digest in enumerate(digests)}


def _numbers(sample: Sample) -> Iterator[str]:
    yield f"{figures(sample.duration_s, 3)} s"
    if sample.live_model:
        yield counted(sample.live_model, "model call")
    tokens = sample.input_tokens + sample.output_tokens
    if tokens:
        yield counted(tokens, "token")
    if sample.cost_usd:
        yield cost_text(sample.cost_usd)


def _runs(samples: Sequence[Sample]) -> str:
    kept = [sample.trace for sample in samples if sample.trace]
    if len(kept) < 2:
        return ""
    different = len(set(kept))
    if different == len(kept):  # times and drawn ids alone make live runs differ
        return ""
    if different == 1:
        return f"all {len(kept)} took the same steps"
    return f"{different} different runs of steps in {len(kept)} samples"


def _lineage(case: Case) -> Iterator[tuple[str, str]]:
    yield "case", f"{case.id}@v{case.version}"
    if case.parent:
        yield "made from", f"version {case.version - 1}, digest {case.parent[:16]}"
    if case.target:
        yield "target", cut(case.target, 200)
    for key in sorted(key for key, value in case.source.items() if value not in (None, "", [], {})):
        yield f"source {cut(key, _NAME)}", cut(json_text(case.source[key]), 200)
    gaps = cut("; ".join(case.incident.gaps), 300)
    yield "evidence", f"{whole_percent(case.evidence)} complete" + (f"; {gaps}" if gaps else "")
    if case.closed:
        yield "replay modes closed", cut("; ".join(f"{mode}: {why}" for mode, why in case.closed.items()), 300)
    if case.pruning:
        yield "pruning", cut(pruning_words(case), 200)
    if case.strength:
        yield "strength of the checks", _strength(case.strength)
    hidden = ", ".join(f"{count} {kind}" for kind, count in sorted(case.trace.record.counts.items()))
    yield "sanitized", f"policy {case.trace.record.policy_version}: {hidden or 'nothing found to hide'}"


def _strength(found: Mapping[str, Json]) -> str:
    told = (
        f"caught {found.get('caught')} of {found.get('faults')} small faults in changed healthy runs, passed "
        f"{found.get('passed')} of {found.get('variations')} harmless variations"
    )
    survivors = found.get("survivors")
    named = "; ".join(map(str, survivors)) if isinstance(survivors, list) else ""
    return cut(f"{told}; not caught: {named}" if named else told, 400)
