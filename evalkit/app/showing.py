"""What the commands show, as lines for people and as JSON with stable keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evalkit.app.ingest import Ingested
from evalkit.app.run import Run
from evalkit.app.settings import Settings
from evalkit.canonical import exact_text
from evalkit.case.header import header_json
from evalkit.case.model import Case
from evalkit.case.store import find_case, read_case
from evalkit.case.view import render_view
from evalkit.check.model import CheckResult, check_json
from evalkit.check.registry import CHECKS
from evalkit.errors import InputError
from evalkit.playback.model import Replay
from evalkit.trace.diff import compare
from evalkit.trace.file import error_json, step_json
from evalkit.trace.json_input import parse_json
from evalkit.trace.model import Step, Trace
from evalkit.trace.read import load_traces
from evalkit.trace.visible import one_line, visible
from evalkit.verdict.model import CaseVerdict, Decision

__all__ = [
    "case_json",
    "decision_json",
    "decision_lines",
    "diff_lines",
    "difference_json",
    "ingested_lines",
    "read_json",
    "replay_json",
    "replay_lines",
    "result_json",
    "result_lines",
    "run_json",
    "run_lines",
    "step_rows",
    "trace_json",
]

_LONG = 400


def read_json(path: Path) -> Any:
    """The JSON in a file that a person wrote.

    Raises:
        InputError: there is no such file, or it is no JSON.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", str(path), "check the path") from None
    return parse_json(data, str(path))


def case_json(case: Case, digest: str | None) -> dict[str, Any]:
    """A case: its header, its checks with their sentences, its steps."""
    header = header_json(case, "")
    header.pop("steps_hash")
    header["digest"] = digest
    header["checks"] = [
        {**check_json(check), "id": check.id, "sentence": CHECKS.get(check.type).sentence(check.params)}
        for check in case.checks
    ]
    kept = set(case.kept)
    header["steps"] = [{**step_json(step), "kept": step.seq in kept} for step in case.trace.trace.steps]
    return header


def trace_json(trace: Trace) -> dict[str, Any]:
    """A trace, for `inspect --json`."""
    return {
        "id": trace.id,
        "name": trace.name,
        "dialect": trace.dialect,
        "status": trace.status,
        "input": trace.input,
        "output": trace.output,
        "error": error_json(trace.error),
        "gaps": list(trace.gaps),
        "steps": [step_json(step) for step in trace.steps],
    }


def step_rows(trace: Trace) -> list[list[str]]:
    """A row a step: number (indented by parent), kind, name, effect, and what happened."""
    depth: dict[int, int] = {}
    rows = []
    for step in trace.steps:
        depth[step.seq] = depth.get(step.parent, -1) + 1 if step.parent is not None else 0
        effect = (step.effect or "") + ("?" if step.effect_source == "guessed" else "")
        rows.append(["  " * depth[step.seq] + str(step.seq), step.kind, step.name, effect, _what(step)])
    return rows


def ingested_lines(done: Ingested) -> Iterator[str]:
    """What `ingest` says of a case."""
    case = done.case
    yield f"case {case.id} version {case.version}" + (f": wrote {done.path}" if done.path else " (dry run)")
    yield f"  {visible(case.title)}"
    record = case.trace.record
    hidden = ", ".join(f"{count} {kind}" for kind, count in sorted(record.counts.items()))
    yield f"  signature {case.signature}; evidence {case.evidence:.2f}; sanitized: {hidden or 'nothing left to hide'}"
    yield f"  kept {len(case.kept)} steps, set {len(case.dropped)} aside; not verified by replay: no target was run"
    for check in case.checks:
        mark = "must hold" if check.gating else "observe"
        yield f"  {mark}: {visible(CHECKS.get(check.type).sentence(check.params))} [{check.rule}]"
    for result in done.failing:
        yield f"  fails on the incident: {visible(result.reason)}"


def result_json(result: CheckResult) -> dict[str, Any]:
    """A check's result."""
    return {
        "check": result.check.id,
        "sentence": CHECKS.get(result.check.type).sentence(result.check.params),
        "gating": result.gating,
        "passed": result.passed,
        "reason": result.reason,
        "steps": list(result.steps),
    }


def result_lines(results: Iterable[CheckResult]) -> Iterator[str]:
    """A line a result, failing ones first."""
    for result in sorted(results, key=lambda one: (one.passed, not one.gating)):
        word = "ok  " if result.passed else "FAIL" if result.gating else "note"
        yield f"{word} {visible(result.reason)}"


def replay_json(replay: Replay) -> dict[str, Any]:
    """A replay: outcome, counts, results, misses."""
    return {
        "status": replay.status,
        "reason": replay.reason,
        "counts": {**asdict(replay.counts), "recorded": replay.recorded},
        "results": [result_json(result) for result in replay.results],
        "misses": [miss.sentence() for miss in replay.misses],
        "output": replay.trace.output,
        "duration_s": replay.duration_s,
    }


def replay_lines(replay: Replay) -> Iterator[str]:
    """What `replay` says of one replay."""
    counts = replay.counts
    yield f"{replay.status}" + (f": {visible(replay.reason)}" if replay.reason else "")
    yield (
        f"  tool bodies executed {counts.tool_bodies}, live model attempts {counts.live_model}, "
        f"recorded {replay.recorded}, substituted {counts.substituted}"
    )
    for line in result_lines(replay.results):
        yield f"  {line}"
    for miss in replay.misses:
        yield f"  missed: {visible(miss.sentence())}"


def run_json(run: Run) -> dict[str, Any]:
    """A run: folder, decision, verdicts."""
    return {
        "run": str(run.folder),
        "decision": decision_json(run.decision),
        "cases": [_verdict_json(verdict) for verdict in run.verdicts],
    }


def run_lines(run: Run) -> Iterator[str]:
    """What `run` says at its end: the cases that need a look, then where the report is."""
    for verdict in run.verdicts:
        if verdict.verdict != "PASS" or len(run.verdicts) <= 20:
            gate = " [permanent gate]" if verdict.permanent else ""
            yield f"{verdict.verdict:<12} {verdict.case_id}{gate}: {visible(verdict.reason)}"
    words = [verdict.verdict for verdict in run.verdicts]
    yield f"{words.count('PASS')} passed, {words.count('FAIL')} failed, {words.count('INCONCLUSIVE')} inconclusive"
    yield f"run {run.folder}"
    yield f"report {run.folder / 'report.html'}"


def decision_json(decision: Decision) -> dict[str, Any]:
    """The release decision."""
    return {
        "outcome": decision.outcome,
        "reason": decision.reason,
        "blocking": [{"case": case, "what": what} for case, what in decision.blocking],
        "inconclusive": [{"case": case, "what": what} for case, what in decision.inconclusive],
    }


def decision_lines(decision: Decision) -> Iterator[str]:
    """The decision, its reason first."""
    yield f"{decision.outcome}: {visible(decision.reason)}"
    for label, entries in (("blocks", decision.blocking), ("not measured", decision.inconclusive)):
        for case, what in entries:
            yield f"  {label}: {visible(case)}: {visible(what)}"


def diff_lines(left: str, right: str, settings: Settings) -> Iterator[str]:
    """What differs, as lines: of two cases their views' differing lines, of two traces their comparison."""
    if _is_case(left) and _is_case(right):
        import difflib

        ours, theirs = (
            render_view(read_case(find_case(reference, settings.cases))).splitlines() for reference in (left, right)
        )
        yield from difflib.unified_diff(ours, theirs, left, right, lineterm="", n=2)
        return
    found = difference_json(left, right, settings)
    for key, value in found.items():
        if not isinstance(value, list):
            yield f"{key.replace('_', ' ')}: {value}"
    for entry in found["differences"]:
        yield f"  {entry['kind']}: {visible(str(entry['sentence']))}"


def difference_json(left: str, right: str, settings: Settings) -> dict[str, Any]:
    """What differs between the traces of two references."""
    return comparison_json(_trace_of(left, settings), _trace_of(right, settings))


def comparison_json(left: Trace, right: Trace) -> dict[str, Any]:
    """A comparison of two traces."""
    found = compare(left, right)
    return {
        "same_outcome": found.same_outcome,
        "same_tools": found.same_tools,
        "same_effects": found.same_effects,
        "differences": [{"kind": d.kind, "sentence": d.sentence} for d in found.differences],
    }


def _trace_of(reference: str, settings: Settings) -> Trace:
    if _is_case(reference):
        return read_case(find_case(reference, settings.cases)).incident
    found = list(load_traces(reference))
    if len(found) != 1:
        raise InputError(f"{len(found)} traces, one wanted", reference, "pass a file with one trace")
    return found[0]


def _is_case(reference: str) -> bool:
    return reference.endswith(".parquet") or not Path(reference).exists()


def _verdict_json(verdict: CaseVerdict) -> dict[str, Any]:
    return {**asdict(verdict), "rate": verdict.rate, "n": verdict.n}


def _what(step: Step) -> str:
    if step.error is not None:
        return f"{_short(step.input)} failed: {step.error.type}: {one_line(step.error.message, _LONG)}"
    if step.kind == "model" or step.kind == "other":
        return _message(step.output)
    return f"{_short(step.input)} -> {_short(step.output)}"


def _message(output: Any) -> str:
    if not isinstance(output, dict):
        return _short(output)
    calls = output.get("tool_calls")
    if isinstance(calls, list) and calls:
        names = [f"{c.get('name')}({_short(c.get('arguments'))})" for c in calls if isinstance(c, dict)]
        return "calls " + ", ".join(names)
    return _short(output.get("content"))


def _short(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else exact_text(value).decode()
    return text if len(text) <= _LONG else text[:_LONG]
