"""What the commands on traces and cases show, as lines for people and as JSON with stable keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evalkit.app.ingest import Ingested
from evalkit.app.settings import Settings
from evalkit.case.header import header_json
from evalkit.case.model import Case
from evalkit.case.store import find_case, read_case
from evalkit.case.view import other_records_words, pruning_words, render_view, volatile_words
from evalkit.check.idle import passes_idle
from evalkit.check.judge import sentence_of
from evalkit.check.model import CheckResult, check_json
from evalkit.errors import InputError
from evalkit.figures import counted, figures
from evalkit.percent import whole_percent
from evalkit.trace.diff import compare
from evalkit.trace.file import step_json
from evalkit.trace.json_input import parse_json
from evalkit.trace.model import Trace
from evalkit.trace.read import load_traces
from evalkit.trace.visible import visible

__all__ = [
    "case_json",
    "check_lines",
    "diff_lines",
    "difference_json",
    "idle_words",
    "ingested_lines",
    "read_json",
    "hidden_lines",
    "review_lines",
]

_OF_TRACES = frozenset({".trace", ".json", ".jsonl", ".gz", ".zip", ".tar"})
_SURE = 0.8
"""Proposals below this confidence are pointed out: a healthy run may break them."""
_NOTHING = "nothing left to hide"


_OTHER_KEY = "equal values have other surrogates there; EVALKIT_PSEUDONYM_KEY is where the key of a project goes"


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
    header["checks"] = [{**check_json(check), "id": check.id, "sentence": sentence_of(check)} for check in case.checks]
    kept = set(case.kept)
    header["steps"] = [{**step_json(step), "kept": step.seq in kept} for step in case.trace.trace.steps]
    return header


def ingested_lines(done: Ingested) -> Iterator[str]:
    """What `ingest` says of a case."""
    case = done.case
    yield f"case {case.id} version {case.version}" + (f": wrote {done.path}" if done.path else " (not written)")
    yield f"  {visible(case.title)}"
    record = case.trace.record
    hidden = ", ".join(f"{count} {kind}" for kind, count in sorted(record.counts.items()))
    yield f"  signature {visible(case.signature)}; evidence {case.evidence:.2f}; sanitized: {hidden or _NOTHING}"
    yield f"  kept {len(case.kept)} steps, set {len(case.dropped)} aside; pruning {visible(pruning_words(case))}"
    if done.strange:
        yield f"  {done.strange} of the cases here were made with another project key: {_OTHER_KEY}"
    yield from _search_lines(done)
    yield from _runs_lines(case)
    for check in case.checks:
        mark = "must hold" if check.gating else "observe"
        sure = "" if check.confidence >= _SURE else f", {whole_percent(check.confidence)} sure: review it"
        yield f"  {mark}: {visible(sentence_of(check))} [{check.rule}{sure}]"
    yield from _strength_lines(case)
    for result in done.failing:
        yield f"  fails on the incident: {visible(result.reason)}"


def hidden_lines(case: Case) -> Iterator[str]:
    """What a person looks at before a case is written: what was hidden, found how and where; surrogates only."""
    record = case.trace.record
    yield f"case {case.id}: {visible(case.title)}"
    yield f"  policy {visible(record.policy_version)}, rules {record.rules_digest[:12]}, key {record.key_id}"
    for label, counts in (("hidden", record.counts), ("found by", record.rules), ("texts changed in", record.paths)):
        yield f"  {label}:"
        for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
            yield f"    {count:5} {visible(name)}"
    yield f"  names to look at: {len(record.unsure)} (they may be none, or be somebody else's)"
    for name in record.unsure:
        yield f"    {visible(name)}"


def review_lines(case: Case) -> Iterator[str]:
    """What a reviewer needs to know before the checks."""
    yield f"case {case.id} version {case.version} ({case.state}): {visible(case.title)}"
    pruning = visible(pruning_words(case)) or "not verified"
    yield f"  signature {visible(case.signature)}; evidence {case.evidence:.2f}; pruning {pruning}"
    yield from _strength_lines(case)
    yield from _runs_lines(case)
    for sentence in case.proof:
        yield f"  {visible(sentence)}"


def check_lines(case: Case, result: CheckResult) -> Iterator[str]:
    """One check for a reviewer: what it says, on what evidence, and what it says of the incident."""
    check = result.check
    mark = "must hold" if check.gating else "observe"
    yield f"{mark}: {visible(sentence_of(check))}"
    yield f"  {check.id}, from {visible(check.rule)}, {whole_percent(check.confidence)} sure"
    names = {step.seq: step.name for step in case.incident.steps}
    steps = ", ".join(f"{seq} {visible(names.get(seq, '(dropped)'))}" for seq in check.evidence)
    if steps:
        yield f"  evidence: steps {steps}"
    yield f"  {'holds' if result.passed else 'fails'} on the incident: {visible(result.reason)}"
    if check.note:
        yield f"  note: {visible(check.note)}"


def _runs_lines(case: Case) -> Iterator[str]:
    """What is learnt from the healthy runs beside checks, and what is not."""
    for sentence in other_records_words(case):
        yield f"  {visible(sentence)}"
    for sentence in volatile_words(case):
        yield f"  volatile: {visible(sentence)}"


def _search_lines(done: Ingested) -> Iterator[str]:
    """Which healthy runs were found, and why."""
    if done.found is None:
        return
    others = ", ".join(f"{count} {why}" for why, count in sorted(done.found.passed_over.items()))
    yield f"  healthy runs found: {len(done.found.found)}; passed over: {others or 'none'}"
    whys = done.case.source.get("found")
    for one in whys if isinstance(whys, list) else ():
        if isinstance(one, list) and len(one) == 2:
            yield f"    {visible(str(one[0]))}: {visible(str(one[1]))}"


def idle_words(case: Case) -> str:
    """That an agent which does nothing passes; empty where it does not."""
    if not passes_idle(case.checks, case.incident):
        return ""
    return (
        "an agent that calls nothing and says nothing passes: where something was due, a check should say so "
        "(--expect, or review --checks with called, effects_equal or output_fields)"
    )


def _strength_lines(case: Case) -> Iterator[str]:
    if idle := idle_words(case):
        yield f"  weak: {idle}"
    found = case.strength
    if not found:
        yield "  strength: not measured: it needs a healthy run (--passing)"
        return
    if "caught" not in found:
        yield "  strength: not measured since the checks were edited"
        return
    yield (
        f"  strength: caught {found['caught']} of {found['faults']} small faults in the healthy runs, "
        f"passed {found['passed']} of {found['variations']} harmless variations"
    )
    survivors = found["survivors"]
    for sentence in survivors if isinstance(survivors, list) else ():
        yield f"    not caught: {visible(str(sentence))}"


def diff_lines(left: str, right: str, settings: Settings) -> Iterator[str]:
    """What differs, as lines: of two cases their views' differing lines, of two traces their comparison."""
    if _is_case(left) and _is_case(right):
        import difflib

        ours, theirs = (
            render_view(read_case(find_case(reference, settings.cases))).splitlines() for reference in (left, right)
        )
        if ours == theirs:
            yield f"{visible(left)} and {visible(right)} are the same"
        yield from difflib.unified_diff(ours, theirs, left, right, lineterm="", n=2)
        return
    every = difference_json(left, right, settings)
    for found in every:
        if len(every) > 1:
            yield f"{visible(found['right'])}:"
        for key in ("same_outcome", "same_tools", "same_effects"):
            yield f"{key.replace('_', ' ')}: {found[key]}"
        yield f"answers alike: {whole_percent(found['similarity'])}"
        yield f"took: {_spent_words(found['spent'][0])} against {_spent_words(found['spent'][1])}"
        for entry in found["differences"]:
            steps = [f"step {entry[side]}" for side in ("left", "right") if entry[side] is not None]
            at = f" ({' and '.join(dict.fromkeys(steps))})" if steps else ""
            yield f"  {entry['kind']}: {visible(str(entry['sentence']))}{at}"


def difference_json(left: str, right: str, settings: Settings) -> list[dict[str, Any]]:
    """How one run differs from others: one comparison for each trace on the right side.

    Of two cases it has ``case`` as well: what differs in their headers and checks, each as left and right.
    """
    if _is_case(left) and _is_case(right):
        ours, theirs = (read_case(find_case(one, settings.cases)) for one in (left, right))
        found = comparison_json(ours.incident, theirs.incident)
        return [{"right": theirs.incident.id, **found, "case": _header_differences(ours, theirs)}]
    one, others = _traces_of(left, settings), _traces_of(right, settings)
    if len(one) != 1:
        raise InputError(
            f"{len(one)} traces, one wanted on the left side", left, "pass a file with one trace, or a case"
        )
    if not others:
        raise InputError("no trace", right, f"evalkit inspect {right}")
    return [{"right": other.id, **comparison_json(one[0], other)} for other in others]


def _header_differences(left: Case, right: Case) -> dict[str, list[Any]]:
    ours, theirs = case_json(left, None), case_json(right, None)
    told = [key for key in ours if key not in ("steps", "digest") and ours[key] != theirs.get(key)]
    return {key: [ours[key], theirs.get(key)] for key in told}


def comparison_json(left: Trace, right: Trace) -> dict[str, Any]:
    """A comparison of two traces."""
    found = asdict(compare(left, right))
    return {key: value for key, value in found.items() if key not in ("pairs", "first")}


def _spent_words(found: dict[str, Any]) -> str:
    parts = [counted(found["model_calls"], "model call")]
    parts += [f"{found['tokens']:,} tokens"] if found["tokens"] is not None else []
    parts += [f"${figures(found['cost_usd'], 4)}"] if found["cost_usd"] is not None else []
    parts += [f"{figures(found['duration_s'], 3)} s"] if found["duration_s"] is not None else []
    return ", ".join(parts)


def _traces_of(reference: str, settings: Settings) -> list[Trace]:
    if _is_case(reference):
        return [read_case(find_case(reference, settings.cases)).incident]
    return list(load_traces(reference))


def _is_case(reference: str) -> bool:
    if reference.endswith(".parquet"):
        return True
    path = Path(reference)
    return not (path.exists() or path.suffix in _OF_TRACES or len(path.parts) > 1)
