"""What `evalkit replay`, `gateway` and `judge` show, as lines for people and as JSON with stable keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evalkit.check.judge import sentence_of
from evalkit.check.model import CheckResult
from evalkit.figures import counted
from evalkit.percent import whole_percent
from evalkit.playback.model import Replay
from evalkit.playback.targets.loop import first_request
from evalkit.trace.diff import Comparison
from evalkit.trace.model import Step
from evalkit.trace.visible import visible

if TYPE_CHECKING:
    from evalkit.app.replay_plan import Plan

__all__ = [
    "comparison_json",
    "comparison_line",
    "dry_json",
    "dry_lines",
    "layer_lines",
    "repeat_lines",
    "replay_json",
    "replay_lines",
    "result_json",
    "result_lines",
]


def replay_json(replay: Replay) -> dict[str, Any]:
    """A replay: outcome, counts, results, misses."""
    return {
        "status": replay.status,
        "reason": replay.reason,
        "counts": {**asdict(replay.counts), "recorded": replay.recorded, "missed": len(replay.misses)},
        "manifest": replay.trace.attributes.get("replay"),
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
        f"recorded {replay.recorded}, substituted {counts.substituted}, missed {len(replay.misses)}"
    )
    if replay.status == "missed" and replay.results:
        yield "  distorted: the misses were answered, the run went on, and its checks say nothing of the agent"
    for line in result_lines(replay.results):
        yield f"  {line}"
    for miss in replay.misses:
        yield f"  missed: {visible(miss.sentence())}"
    manifest = replay.trace.attributes.get("replay")
    from evalkit.app.volatile import volatile_hint  # loads all that makes cases, which most commands don't need

    for line in volatile_hint(replay.misses, manifest["case"]["id"]) if manifest else ():
        yield f"  {visible(line)}"


def layer_lines(replays: Sequence[Replay]) -> Iterator[str]:
    """What kept sandboxed replays from the world."""
    for replay in replays[:1]:
        manifest = replay.trace.attributes.get("replay")
        layers = manifest.get("layers") if isinstance(manifest, dict) else None
        if isinstance(layers, list) and len(layers) > 1:
            yield f"kept from the world by {', '.join(visible(str(layer)) for layer in layers)}"


def repeat_lines(replays: Sequence[Replay], found: Sequence[Comparison]) -> Iterator[str]:
    """What several replays of a case came to together."""
    if len(replays) < 2:
        return
    statuses = Counter(one.status for one in replays)
    told = ", ".join(f"{count} {status}" for status, count in statuses.items())
    same = sum(one.same_outcome for one in found)
    fixture, live = (sum(getattr(one.counts, name) for one in replays) for name in ("substituted", "live_model"))
    missed = sum(len(one.misses) for one in replays)
    yield f"{len(replays)} replays: {told}; {same} with the incident's outcome"
    yield f"  calls: {fixture} from fixtures, {live} live, {missed} missed"


def result_json(result: CheckResult) -> dict[str, Any]:
    """A check's result."""
    return {
        "check": result.check.id,
        "sentence": sentence_of(result.check),
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


def comparison_json(found: Comparison) -> dict[str, Any]:
    """How a replay and the incident compare."""
    body = asdict(found)
    del body["pairs"]
    return {"comparison": body}


def comparison_line(found: Comparison) -> str:
    """The same in a line."""
    same = [
        f"{'same' if is_same else 'other'} {what}"
        for what, is_same in (
            ("outcome", found.same_outcome),
            ("tools", found.same_tools),
            ("effects", found.same_effects),
        )
    ]
    first = f"; first: {found.first.kind}: {visible(found.first.sentence)}" if found.first else ""
    return f"  against the incident: {', '.join(same)}, answers {whole_percent(found.similarity)} alike{first}"


def dry_json(plan: Plan) -> dict[str, Any]:
    """What the replay would ask, of whom; nothing is run, imported or called."""
    ready, incident = plan.ready, plan.case.trace.trace
    steps = [step for step in incident.steps if ready.from_step is None or step.seq >= ready.from_step]
    found: dict[str, Any] = {"manifest": plan.manifest, "fixtures": _answers(steps, plan.live)}
    if plan.live:
        asked = incident.step(ready.from_step) if ready.from_step is not None else None
        step = asked or next(incident.of_kind("model"), None)
        found["live"] = {
            "endpoint": ready.endpoint,
            "recorded_calls": sum(each.kind == "model" for each in steps),
            "first_request": None if step is None else ready.overrides.applied("openai_chat", first_request(step)[0]),
        }
    return found


def dry_lines(plan: Plan) -> Iterator[str]:
    """The same for people."""
    body = dry_json(plan)
    ready, manifest = plan.ready, plan.manifest
    yield f"dry: nothing was run; mode {ready.mode}, case {plan.case.id} version {plan.case.version}"
    yield f"  would run {manifest['target']}" + (f" from step {ready.from_step}" if ready.from_step is not None else "")
    if live := body.get("live"):
        request = live["first_request"] or {}
        yield (
            f"  would ask {live['endpoint']} for model {request.get('model') or '(the agent decides)'}: "
            f"{live['recorded_calls']} calls in the recording, {len(request.get('messages', ()))} messages in the first"
        )
    for name, count in body["fixtures"].items():
        yield f"  would answer {name} from {counted(count, 'recorded answer')}"
    for name, value in ready.overrides.json().items():
        yield f"  would change {name}: {str(value)[:80]!r}"
    for fault in ready.faults:
        yield f"  would inject {fault.kind} in {fault.tool}, rate {fault.rate:g}, seed {fault.seed}"
    for one in ready.what_if:
        yield f"  would answer {one.name} by {one.then}"


def _answers(steps: Sequence[Step], live: bool) -> dict[str, int]:
    kinds = {"tool", "retrieval", "policy", "approval"} | (set() if live else {"model"})
    return dict(Counter(f"{step.kind} {step.name}" for step in steps if step.kind in kinds))
