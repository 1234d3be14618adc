"""The nearer cause of a failure, where the trace shows one: who allowed a call, what it was based on, what was found.

A check says what did not hold; most often that is the model's decision or a side effect. When the trace holds the
decision of a policy, an approval, a state, a retrieval or a prompt that the failure hangs on, the failure is named
after that. Each rule reads only what every exporter of the kind has; none of the run's own values is in the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from evalkit.canonical import Json, digest
from evalkit.check.grounding import is_identifier
from evalkit.check.model import CheckResult
from evalkit.check.view import agent_calls, final_text, shown
from evalkit.check.writes import did_write, same_call
from evalkit.errors import InputError
from evalkit.trace.approval import approval_of
from evalkit.trace.flow import leaves
from evalkit.trace.model import Step, Trace

__all__ = ["Named", "nearer_cause"]

Named: TypeAlias = tuple[str, list[str]]
"""A pattern and the names that belong to it."""

_NO = frozenset("deny denied reject rejected block blocked refuse refused forbid forbidden terminate no false".split())
_YES = frozenset("allow allowed approve approved grant granted accept accepted permit permitted yes true".split())
_VERDICT_KEYS = ("decision", "result", "outcome", "effect", "verdict", "status", "allowed", "approved", "granted")
_TOOL_KEYS = ("tool", "tool_name", "name", "action", "function", "capability", "call")
_ANSWERS = ("DATA_", "MODEL_DECISION_TOLD", "MODEL_DECISION_OUTPUT")
_CHANGES = ("SIDE_EFFECT_UNEXPECTED", "SIDE_EFFECT_FORBIDDEN", "SIDE_EFFECT_MISSING")
_PLACEHOLDER = re.compile(r"\{\{\s*[A-Za-z_][\w.]*\s*\}\}|\$\{[A-Za-z_][\w.]*\}")
_TOO_LONG = re.compile(r"context.?(length|window)|maximum context|too many tokens|prompt is too long", re.IGNORECASE)
_NUMBER = re.compile(r"\d[\d.,]*\d")


def nearer_cause(trace: Trace, result: CheckResult, pattern: str) -> Named | None:
    """What the failure hangs on; None where the trace shows nothing nearer than the check's own `pattern`."""
    wanted = set(result.steps)
    calls = [step for step in trace.steps if step.seq in wanted and step.kind == "tool"]
    return next((found for rule in _RULES if (found := rule(trace, calls, pattern)) is not None), None)


def _ruled(trace: Trace, calls: Sequence[Step], pattern: str) -> Named | None:
    """A call that a policy or an approver had refused, or that a policy let through."""
    ruled = [(call, rule) for call in calls if (rule := _last_rule(trace, call)) is not None]
    for kind, name in (("policy", "AUTHORITY_CALL_NOT_ALLOWED"), ("approval", "APPROVAL_DENIED")):
        refused = [call.name for call, rule in ruled if rule.kind == kind and _verdict(rule) is False]
        if refused:
            return name, refused
    if pattern.startswith(("SIDE_EFFECT_FORBIDDEN", "SIDE_EFFECT_UNEXPECTED", "MODEL_DECISION_FORBIDDEN")):
        let = [call.name for call, rule in ruled if rule.kind == "policy" and _verdict(rule) is True]
        if let:
            return "POLICY_LET_THROUGH", let
    return None


def _stopped(trace: Trace, calls: Sequence[Step], pattern: str) -> Named | None:
    """A run that ended because a policy stopped it, a store failed, or the prompt was longer than the model takes."""
    if not pattern.startswith("INFRASTRUCTURE"):
        return None
    last = next((step for step in reversed(trace.steps) if step.kind in ("tool", "policy", "approval")), None)
    if last is not None and last.kind == "policy" and _verdict(last) is False:
        return "POLICY_STOPPED_RUN", [last.name]
    errors = [trace.error, *(step.error for step in trace.steps if step.kind == "model")]
    if any(error and _TOO_LONG.search(f"{error.type} {error.message}") for error in errors):
        return "PROMPT_TOO_LONG", []
    return None


def _state(trace: Trace, calls: Sequence[Step], pattern: str) -> Named | None:
    """A state that could not be read or written, or a call with a value that had been read anew since."""
    failed = [step.name for step in trace.of_kind("state") if step.error is not None]
    if failed and not pattern.startswith("SIDE_EFFECT_REPEATED"):
        return "STATE_FAILED", failed
    if pattern.startswith(("SIDE_EFFECT_UNEXPECTED", "SIDE_EFFECT_FORBIDDEN", "MODEL_DECISION")):
        stale = [call.name for call in calls if _is_stale(trace, call)]
        if stale:
            return "STATE_STALE", stale
    return None


def _concurrent(trace: Trace, calls: Sequence[Step], pattern: str) -> Named | None:
    """Two different changes of one record at the same time."""
    if not pattern.startswith(_CHANGES):
        return None
    writes = [step for step in agent_calls(trace) if did_write(step)]
    shown_by = {call.seq for call in calls} or {step.seq for step in writes}
    for one, other in combinations(writes, 2):
        involved = one.seq in shown_by or other.seq in shown_by
        if involved and _overlap(one, other) and not same_call(one, other) and _records(one) & _records(other):
            return "CONCURRENCY_CONFLICTING_WRITES", [one.name, other.name]
    return None


def _retrieval(trace: Trace, calls: Sequence[Step], pattern: str) -> Named | None:
    """A wrong answer after a search that failed or found nothing, or with numbers that nothing found holds."""
    searches = list(trace.of_kind("retrieval"))
    if not searches or not pattern.startswith(_ANSWERS):
        return None
    names = [step.name for step in searches]
    if all(step.error is not None for step in searches):
        return "RETRIEVAL_FAILED", names
    if all(step.error is not None or _is_empty(step.output) for step in searches):
        return "RETRIEVAL_EMPTY", names
    known = shown([trace.input, *(step.output for step in trace.steps if step.kind != "model")], 10_000_000)
    numbers = _numbers(final_text(trace))
    return ("RETRIEVAL_UNGROUNDED_ANSWER", names) if numbers - _numbers(known) else None


def _prompt(trace: Trace, calls: Sequence[Step], pattern: str) -> Named | None:
    """A decision taken on a prompt with a placeholder that nothing was put in for."""
    if not pattern.startswith(("MODEL_DECISION", "DATA_", *_CHANGES)):
        return None
    return ("PROMPT_NOT_FILLED", []) if any(_PLACEHOLDER.search(text) for text in _instructions(trace)) else None


_RULES: Sequence[Callable[[Trace, Sequence[Step], str], Named | None]] = (
    _ruled, _stopped, _concurrent, _state, _retrieval, _prompt,
)  # fmt: skip


def _last_rule(trace: Trace, call: Step) -> Step | None:
    """The last policy or approval before a call that is about it, or that names no call and stands right before it."""
    near: Step | None = None
    for step in trace.steps:
        if step.seq == call.seq:
            break
        if step.kind == "tool":
            near = near if near is not None and _names(near) else None
        elif step.kind in ("policy", "approval") and _is_about(step, call):
            near = step
    return near


def _is_about(rule: Step, call: Step) -> bool:
    asked_id = rule.attributes.get("tool_call_id")
    if asked_id is not None and call.attributes.get("tool_call_id") is not None:
        return bool(asked_id == call.attributes["tool_call_id"])
    named = _names(rule)
    return not named or call.name in named


def _names(rule: Step) -> set[str]:
    """The tools that a rule names."""
    if not isinstance(rule.input, dict):
        return set()
    found: set[str] = set()
    for key in _TOOL_KEYS:
        value = rule.input.get(key)
        value = value.get("name", value.get("tool")) if isinstance(value, dict) else value
        if isinstance(value, str):
            found.add(value)
    return found


def _verdict(rule: Step) -> bool | None:
    """What a policy or an approver decided; None where the step does not say."""
    if rule.kind == "approval" and (approved := approval_of(rule).approved) is not None:
        return approved
    output = rule.output
    if isinstance(output, Mapping):
        if isinstance(output.get("triggered"), bool):
            return not output["triggered"]
        output = next((output[key] for key in _VERDICT_KEYS if key in output), None)
    if isinstance(output, bool | str):
        word = str(output).lower()
        return True if word in _YES else False if word in _NO else None
    return None


def _is_stale(trace: Trace, call: Step) -> bool:
    before = [step for step in trace.steps if step.seq < call.seq and _reads(step)]
    given = {_key(leaf) for _, leaf in leaves(call.input) if _tells(leaf)}
    newest: dict[str, dict[str, Any]] = {}
    replaced: list[tuple[str, str, Any]] = []
    for step in before:
        source = _key([step.kind, step.name, step.input if step.kind == "tool" else None])
        found = dict(leaves(step.output))
        replaced += [(source, at, leaf) for at, leaf in newest.get(source, {}).items() if found.get(at) != leaf]
        newest[source] = found
    return any(
        _tells(leaf) and _key(leaf) in given and at in newest[source] and _key(newest[source][at]) not in given
        for source, at, leaf in replaced
    )


def _reads(step: Step) -> bool:
    return step.error is None and (step.kind == "state" or (step.kind == "tool" and step.effect == "read"))


def _tells(leaf: Json) -> bool:
    """Whether a value is one that is not in a run by chance."""
    return not isinstance(leaf, bool) and leaf is not None and len(str(leaf)) > 1


def _overlap(one: Step, other: Step) -> bool:
    if one.started_at is None or other.started_at is None or one.ended_at is None or other.ended_at is None:
        return False
    return one.started_at < other.ended_at and other.started_at < one.ended_at


def _records(step: Step) -> set[str]:
    return {str(leaf) for _, leaf in leaves(step.input) if is_identifier(leaf)}


def _is_empty(value: Json) -> bool:
    if isinstance(value, dict):
        lists = [item for item in value.values() if isinstance(item, list)]
        return not value or (bool(lists) and not any(lists))
    return value is None or value in ("", [], "[]")


def _numbers(text: str) -> set[str]:
    found = (number.replace(",", "") for number in _NUMBER.findall(text))
    return {number.rstrip("0").rstrip(".") if "." in number else number for number in found}


def _instructions(trace: Trace) -> Iterator[str]:
    """What the developer wrote: the system messages of the first model call."""
    first = next(trace.of_kind("model"), None)
    messages = first.input.get("messages") if first is not None and isinstance(first.input, dict) else None
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") in ("system", "developer"):
            yield shown(message.get("content"), 1_000_000)


def _key(value: Any) -> str:
    try:
        return digest(value)
    except InputError:  # no JSON: as it prints
        return repr(value)
