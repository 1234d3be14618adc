"""A run as a night of its suite's history, and what makes two nights measure the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from evalkit.canonical import digest
from evalkit.suite.model import Manifest, Sample
from evalkit.suite.samples import column, live_samples
from evalkit.suite.texts import ByText
from evalkit.verdict.history import Night
from evalkit.verdict.model import CaseVerdict, Decision
from evalkit.verdict.verdicts import judged_ids

__all__ = ["HARMLESS", "measured_part", "night_of"]

HARMLESS = frozenset("budget sandbox unsafe_replay history baseline baseline_rules keep_traces sequential".split())
"""Keys of a suite that change nothing of what is measured, or only how exactly."""
_NOT_MEASURED = {*HARMLESS, "name", "prices"}
_ASKED_OF_MODEL = ("name", "system_prompt", "temperature", "extra_body")
"""Keys of a suite's model that change what it is asked; the others say where and how often."""


def night_of(
    manifest: Manifest,
    samples: Mapping[str, Sequence[Sample]],
    verdicts: Sequence[CaseVerdict],
    decision: Decision,
) -> Night:
    """A run as a night."""
    served = [sample.served for one in samples.values() for sample in live_samples(one) if sample.served is not None]
    policy = manifest.suite.get("policy")
    cases: list[tuple[int, int]] = []
    lost: dict[str, tuple[int, int]] = {}
    words: dict[str, str] = {}
    alike: dict[tuple[int, int], tuple[int, int]] = {}  # most cases have the same counts
    for one in verdicts:
        counts = one.passed, one.n
        cases.append(alike.setdefault(counts, counts))
        if one.missed or one.errored:
            lost[one.case_id] = one.missed, one.errored
        if one.verdict != "PASS":
            words[one.case_id] = one.verdict
    return Night(
        run_id=manifest.run_id,
        started_at=manifest.started_at,
        passed=sum(passed for passed, _ in cases),
        n=sum(n for _, n in cases),
        cost_usd=_total(samples, "cost_usd"),
        cases=ByText(judged_ids(verdicts), cases),
        missed=sum(missed for missed, _ in lost.values()),
        errored=sum(errored for _, errored in lost.values()),
        lost=lost,
        verdicts=words,
        outcome=decision.outcome,
        suite=_suite_digest(manifest.suite),
        policy=str(policy.get("kind", "")) if isinstance(policy, Mapping) else "",
        commit=str(manifest.environment.get("git_commit") or ""),
        dirty=bool(manifest.environment.get("git_dirty")),
        models=_sorted(name for answer in served for name in answer.models),
        fingerprints=_sorted(name for answer in served for name in answer.fingerprints),
        duration_s=_total(samples, "duration_s"),
        estimates={
            one.case_id: (one.estimate.rate, one.estimate.variance)
            for one in verdicts
            if one.estimate is not None and one.estimate.rate != one.rate
        },
    )


def _total(samples: Mapping[str, Sequence[Sample]], name: str) -> float:
    return float(sum(value for one in samples.values() for value in column(one, name)))


def _suite_digest(suite: Mapping[str, Any]) -> str:
    """16 hex digits for what a suite measures: its cases, target, samples, policy, and what is asked of the model."""
    return digest(measured_part(suite, _NOT_MEASURED))[:16]


def measured_part(suite: Mapping[str, Any], without: Collection[str]) -> dict[str, Any]:
    """A suite, as a manifest has it, without some keys, and of its model what that is asked alone."""
    found = {key: value for key, value in suite.items() if key not in without}
    if isinstance(found.get("model"), Mapping):
        found["model"] = {key: found["model"].get(key) for key in _ASKED_OF_MODEL}
    return found


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
