"""What the commands on runs show, as lines for people and as JSON with stable keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from evalkit.app.run_model import Run
from evalkit.percent import whole_percent
from evalkit.playback.model import LAYERS, OUTSIDE_LAYERS, UNSAFE
from evalkit.report.data import savings
from evalkit.suite.account import Account
from evalkit.suite.model import Manifest
from evalkit.trace.visible import visible
from evalkit.verdict.effect import effect_sentence
from evalkit.verdict.model import CaseVerdict, Decision
from evalkit.verdict.verdicts import distinct

__all__ = [
    "account_lines",
    "decision_json",
    "decision_lines",
    "notice_lines",
    "run_json",
    "run_lines",
    "saving_lines",
    "unsafe_lines",
]


def account_lines(account: Account) -> Iterator[str]:
    """What was spent on a live model, and what stopped it."""
    if account.sentence:
        yield f"spent {visible(account.sentence)}"
    if account.stopped:
        yield f"stopped: {visible(account.stopped)}"


def run_json(run: Run) -> dict[str, Any]:
    """A run: folder, decision, verdicts."""
    return {
        "run": str(run.folder),
        "decision": decision_json(run.decision),
        "cases": [_verdict_json(verdict) for verdict in run.verdicts],
        "effect": None if run.effect is None else asdict(run.effect),
        "savings": savings(run.verdicts),
        "account": asdict(run.account),
        "notices": list(run.notices),
    }


def run_lines(run: Run) -> Iterator[str]:
    """What `run` says at its end: the cases that need a look, then where the report is."""
    for verdict in run.verdicts:
        if verdict.screened:
            continue
        if verdict.verdict != "PASS" or len(run.verdicts) <= 20:
            gate = " [permanent gate]" if verdict.permanent else ""
            yield f"{verdict.verdict:<12} {verdict.case_id}{gate}: {visible(verdict.reason)}{_repeated(verdict)}"
            if verdict.underpowered:
                yield f"{'':<12} underpowered: {visible(verdict.underpowered)}"
    yield from _tally_lines(run)
    if run.manifest.layers not in ((), LAYERS):
        yield f"kept from the world by {', '.join(map(visible, run.manifest.layers))}"
    yield from account_lines(run.account)
    yield from notice_lines(run)
    if run.account.stopped:
        yield f"go on with evalkit run --resume {run.folder} --budget ..."
    yield from _part_lines(run.manifest)
    yield f"run {run.folder}"
    if run.manifest.history and not run.account.stopped:
        yield f"history {run.manifest.history}"
    yield f"report {run.folder / 'report.html'}"


def _part_lines(manifest: Manifest) -> Iterator[str]:
    """What the run was limited to."""
    if manifest.part:
        limits = [f"--{key.replace('_', '-')} {value}" for key, value in manifest.part.items() if key != "of"]
        of = f"{len(manifest.cases):,} of {manifest.part['of']:,} cases"
        yield visible(f"a part of the suite: {of} ({', '.join(limits)})")


def _repeated(verdict: CaseVerdict) -> str:
    """What the samples say of the case's steadiness, where that is not in the word already."""
    if verdict.stability == "UNKNOWN" or (verdict.stability == "STABLE_PASS" and verdict.verdict == "PASS"):
        return ""
    many = [f"pass^{one.k} {whole_percent(one.all_pass)}" for one in verdict.many_runs if one.all_pass is not None]
    return f" ({', '.join([verdict.stability, *many])})"


def _tally_lines(run: Run) -> Iterator[str]:
    """How many cases came to which word, what the suite came to against its baseline, and what stopping early saved."""
    words: Counter[str] = Counter()
    for verdict, cases in distinct(run.verdicts):
        words["screened" if verdict.screened else verdict.verdict] += cases
    told = [f"{words['PASS']} passed", f"{words['FAIL']} failed", f"{words['INCONCLUSIVE']} inconclusive"]
    if words["DEGRADED_WITHIN_MARGIN"]:
        told.append(f"{words['DEGRADED_WITHIN_MARGIN']} degraded within the margin")
    if words["screened"]:
        told.append(f"{words['screened']} screened without suspicion")
    yield ", ".join(told)
    if run.effect is not None:
        yield effect_sentence(run.effect)
    yield from saving_lines(run)


def saving_lines(run: Run) -> Iterator[str]:
    """What stopping early saved; nothing where it saved nothing."""
    found = savings(run.verdicts)
    taken, fixed, calls_saved = found["samples"], found["samples_fixed"], found["model_calls_saved"]
    if fixed > taken:
        calls = f"; {calls_saved:,} model calls saved" if calls_saved > 0 else ""
        yield f"{taken:,} samples instead of {fixed:,} (-{whole_percent((fixed - taken) / fixed)}){calls}"


def notice_lines(run: Run) -> Iterator[str]:
    """What a reader of the run's numbers should know."""
    yield from (f"note: {visible(sentence)}" for sentence in run.notices)


def decision_json(decision: Decision) -> dict[str, Any]:
    """The release decision."""
    return {
        "outcome": decision.outcome,
        "reason": decision.reason,
        "blocking": [{"case": case, "what": what} for case, what in decision.blocking],
        "inconclusive": [{"case": case, "what": what} for case, what in decision.inconclusive],
    }


def decision_lines(decision: Decision) -> Iterator[str]:
    """The decision, its reason first; then each case, where the reason is not all there is to say."""
    yield f"{decision.outcome}: {visible(decision.reason)}"
    every = [*decision.blocking, *decision.inconclusive]
    if len(every) == 1 and decision.reason == ": ".join(every[0]):
        return
    for label, entries in (("blocks", decision.blocking), ("not measured", decision.inconclusive)):
        for case, what in entries:
            yield f"  {label}: {visible(case)}: {visible(what)}"


def unsafe_lines(run: Run) -> Iterator[str]:
    """What a gate's reader must know: that the replays were kept in by less than they might seem."""
    known = (UNSAFE, *OUTSIDE_LAYERS)
    yield from (f"  {visible(layer)}" for layer in run.manifest.layers if layer.startswith(known))


def _verdict_json(verdict: CaseVerdict) -> dict[str, Any]:
    return {**asdict(verdict), "rate": verdict.rate, "n": verdict.n, "samples": verdict.samples}
