"""One Inspect sample (of one epoch) as a trace: from its events, else from its messages.

Long texts stand in ``attachments`` and are put back in; messages of model events may stand in a pool (``events_data``,
earlier ``message_pool``). Target, scores, choices and metadata are labels, or may hold them, and never enter a trace.
Source: https://github.com/UKGovernmentBEIS/inspect_ai (``log/_log.py``, ``log/_condense.py``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from evalkit.canonical import Json
from evalkit.shapes import dict_of, dicts
from evalkit.trace.formats.chat import text_of, unix_seconds
from evalkit.trace.formats.conversation import Turn, conversation_steps, messages_in
from evalkit.trace.formats.inspect_events import error_of, event_steps
from evalkit.trace.formats.inspect_messages import failed_call, message_from_inspect, usage_from_inspect
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.model import Status, Step, StepError, Trace

__all__ = ["Log", "sample_trace"]

DIALECT = "inspect"
_LABELS = ("target", "choices", "scores", "score", "metadata", "reductions")
_MARKS = ("attachment://", "tc://")
_ONLY_MESSAGES = "the sample holds no events: steps are rebuilt from its messages, without times and tool definitions"


@dataclass(slots=True)
class Log:
    """What is known of the log around a sample.

    Attributes:
        header: the log without its samples.
        ids: how often each trace id was given.
    """

    header: dict[str, Any] = field(default_factory=dict)
    ids: Counter[str] = field(default_factory=Counter)


def sample_trace(raw: dict[str, Any], log: Log, where: str, report: ReadReport) -> Trace:
    """The trace of a sample.

    Raises:
        UnreadableTrace: an event points outside the pool of messages.
    """
    sample = _whole(raw)
    report.skipped.update(f"{label}: a label, not part of the run" for label in _LABELS if sample.get(label))
    if isinstance(sample.get("error_retries"), list) and sample["error_retries"]:
        report.skipped["error retry: an earlier attempt, not part of the run"] += len(sample["error_retries"])
    events = sample["events"] if isinstance(sample.get("events"), list) else []
    from_events = any(event.get("event") == "model" for event in dicts(events)) or not sample.get("messages")
    if from_events:
        steps = event_steps(events, dicts(sample["pool"]), where, report)
    else:
        report.skipped.update(["event: without any model event"] * len(events))
        steps = _from_messages(sample, report)
    error = error_of(sample.get("error")) or _limit(sample.get("limit"))
    times = [at for step in steps for at in (step.started_at, step.ended_at) if at is not None]
    started, ended = unix_seconds(sample.get("started_at")), unix_seconds(sample.get("completed_at"))
    return Trace(
        id=_trace_id(sample, log),
        name=str(dict_of(log.header.get("eval")).get("task") or "inspect"),
        dialect=DIALECT,
        steps=steps,
        input=_asked(sample.get("input")),
        output=_answered(sample, steps),
        error=error,
        status=_status(error, steps),
        started_at=min(times, default=None) if started is None else started,
        ended_at=max(times, default=None) if ended is None else ended,
        attributes=_attributes(sample, log.header),
        gaps=() if from_events else (_ONLY_MESSAGES,),
    )


def _whole(raw: dict[str, Any]) -> dict[str, Any]:
    """The sample with its attachments put in; ``pool`` holds the messages that model events point to."""
    sample = dict(raw)
    transcript = dict_of(sample.pop("transcript", None))  # the first form of the events
    if transcript and not sample.get("events"):
        sample["events"] = transcript.get("events")
    attachments = {**dict_of(transcript.get("content")), **dict_of(sample.pop("attachments", None))}
    pools = dict_of(sample.pop("events_data", None))
    sample["pool"] = pools.get("messages") or sample.pop("message_pool", None) or []
    for key in ("events", "messages", "pool", "input", "output", "error"):
        if key in sample:
            sample[key] = _attached(sample[key], attachments)
    return sample


def _attached(value: Any, attachments: dict[str, Any]) -> Any:
    if isinstance(value, str):
        mark = next((mark for mark in _MARKS if value.startswith(mark)), None)
        return value if mark is None else attachments.get(value.removeprefix(mark), value)
    if isinstance(value, dict):
        return {key: _attached(item, attachments) for key, item in value.items()}
    return [_attached(item, attachments) for item in value] if isinstance(value, list) else value


def _from_messages(sample: dict[str, Any], report: ReadReport) -> tuple[Step, ...]:
    output = dict_of(sample.get("output"))
    model = output.get("model")
    turns: list[Turn] = []
    listed = sample["messages"] if isinstance(sample["messages"], list) else []
    found = messages_in(listed, report)
    last = max((at for at, raw in found if raw.get("role") == "assistant"), default=None)
    for at, raw in found:
        spoken = raw.get("role") == "assistant"
        named = raw.get("model") or model
        failed = failed_call(raw) if raw.get("role") == "tool" else None
        turns.append(
            Turn(
                index=at,
                message=message_from_inspect(raw),
                usage=usage_from_inspect(output.get("usage")) if at == last and _calls_once(found) else None,
                model=named if spoken and isinstance(named, str) and named else None,
                failed=failed is not None if raw.get("role") == "tool" else None,
                error=StepError(*failed) if failed else None,
            )
        )
    return conversation_steps(turns, report)


def _calls_once(found: list[tuple[int, dict[str, Any]]]) -> bool:
    """Whether one model call made the sample, so that the sample's usage is the call's."""
    return len([raw for _, raw in found if raw.get("role") == "assistant"]) == 1


def _trace_id(sample: dict[str, Any], log: Log) -> str:
    base = f"{sample.get('id', 'sample')}/epoch-{sample.get('epoch', 1)}"
    log.ids[base] += 1
    return base if log.ids[base] == 1 else f"{base}/{log.ids[base]}"


def _limit(raw: Any) -> StepError | None:
    limit = dict_of(raw)
    return StepError("LimitExceeded", f"{limit.get('type')} limit of {limit.get('limit')}") if limit else None


def _status(error: StepError | None, steps: tuple[Step, ...]) -> Status:
    if error is not None:
        return "unfinished" if error.type == "CancelledError" else "failed"
    pending = any(step.kind in ("model", "tool") and step.attributes.get("unfinished") for step in steps)
    return "unfinished" if pending else "completed"


def _asked(given: Any) -> Json:
    if not isinstance(given, list):
        return given  # type: ignore[no-any-return]  # a JSON value from a parsed document
    users = [message_from_inspect(raw) for raw in dicts(given) if raw.get("role") == "user"]
    return text_of(users[-1]) if users else None


def _answered(sample: dict[str, Any], steps: tuple[Step, ...]) -> Json:
    choices = dicts(dict_of(sample.get("output")).get("choices"))
    if choices:
        return text_of(message_from_inspect(dict_of(choices[0].get("message"))))
    spoken = [text for step in steps if step.kind == "model" and isinstance(step.output, dict)
              and (text := text_of(step.output))]  # fmt: skip
    return spoken[-1] if spoken else None


def _attributes(sample: dict[str, Any], header: dict[str, Any]) -> dict[str, Any]:
    spec = dict_of(header.get("eval"))
    kept = {
        "sample_id": sample.get("id"),
        "epoch": sample.get("epoch"),
        "sample_uuid": sample.get("uuid"),
        "run_id": spec.get("run_id"),
        "eval_id": spec.get("eval_id"),
        "model": spec.get("model"),
        "log_status": header.get("status"),
        "sandbox": sample.get("sandbox") or spec.get("sandbox"),
    }
    return {key: value for key, value in kept.items() if value not in (None, "", [], {})}
