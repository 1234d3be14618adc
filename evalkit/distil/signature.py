"""A short, stable name of what went wrong: the same incident, again or from another exporter, has the same one.

``TYPE_PATTERN:what``, where TYPE is one of MODEL_DECISION, PROMPT, RETRIEVAL, TOOL, AUTHORITY, APPROVAL, SIDE_EFFECT,
STATE, CONCURRENCY, INFRASTRUCTURE, POLICY, DATA, and `what` names tools or fields, sorted. Values of the run (ids,
amounts, texts, step numbers) are no part of it. The failed check names it, unless the trace shows a nearer cause
(`distil.cause`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalkit.canonical import Json
from evalkit.check.combined import parts_of
from evalkit.check.judge import judge_checks
from evalkit.check.model import CheckResult
from evalkit.distil.cause import nearer_cause
from evalkit.trace.flow import leaves
from evalkit.trace.model import Trace

__all__ = ["TYPES", "signature"]

TYPES = (
    "MODEL_DECISION", "PROMPT", "RETRIEVAL", "TOOL", "AUTHORITY", "APPROVAL", "SIDE_EFFECT", "STATE", "CONCURRENCY",
    "INFRASTRUCTURE", "POLICY", "DATA",
)  # fmt: skip
"""What can have gone wrong: the first words of every signature."""

_MAX_NAMES = 3


def signature(trace: Trace, results: Sequence[CheckResult]) -> str:
    """The signature of a run whose checks were judged; ``UNKNOWN`` when none failed.

    The gravest failed check names it: what was done to the world before what was said, gating before observed.
    """
    failed = [part for result in results if not result.passed for part in _parts(trace, result)]
    if not failed:
        return "UNKNOWN"
    worst = min(failed, key=lambda result: (not result.gating, _order(result.check.type)))
    pattern, names = _NAMED.get(worst.check.type, _other)(trace, worst)
    pattern, names = nearer_cause(trace, worst, pattern) or (pattern, names)
    return f"{pattern}:{'+'.join(_few(names))}" if names else pattern


def _parts(trace: Trace, result: CheckResult) -> list[CheckResult]:
    if result.check.type != "all_of":
        return [result]
    inner = judge_checks(parts_of(result.check.params), trace)
    return [part for one in inner if not one.passed for part in _parts(trace, one)]


def _few(names: Sequence[str]) -> list[str]:
    unique = sorted(set(names))
    return unique if len(unique) <= _MAX_NAMES else [*unique[:_MAX_NAMES], "more"]


def _tools(trace: Trace, result: CheckResult) -> list[str]:
    wanted = set(result.steps)
    return [step.name for step in trace.steps if step.seq in wanted and step.kind == "tool"]


def _repeated(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "SIDE_EFFECT_REPEATED", _tools(trace, result)


def _forbidden(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    wrote = any(step.seq in result.steps and step.effect == "write" for step in trace.steps)
    return ("SIDE_EFFECT_FORBIDDEN" if wrote else "MODEL_DECISION_FORBIDDEN_CALL"), [_name(result.check.params)]


def _effects(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    done = [step.name for step in trace.steps if step.seq in result.steps and step.is_effect]
    if done:
        return "SIDE_EFFECT_UNEXPECTED", done
    expected = [one.get("name") for one in result.check.params.get("effects") or [] if isinstance(one, dict)]  # type: ignore[union-attr]  # a list where the check compiled
    return "SIDE_EFFECT_MISSING", [name for name in expected if isinstance(name, str)]


def _missing(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "MODEL_DECISION_MISSING_CALL", [_name(result.check.params)]


def _order_kept(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "MODEL_DECISION_ORDER", [str(result.check.params.get("then"))]


def _grounded(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "MODEL_DECISION_INVENTED_ARGUMENT", _tools(trace, result)


def _output(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    fields: Json = result.check.params.get("fields")
    wrong = [pointer for pointer, _ in leaves(fields) if f"{pointer}: expected" in result.reason]
    return "DATA_OUTPUT_WRONG", [pointer.strip("/") for pointer in wrong]


def _told(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "MODEL_DECISION_TOLD_WRONG", []


def _error(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "TOOL_ERROR_IGNORED", _tools(trace, result)


def _ended(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "INFRASTRUCTURE_RUN_FAILED", [trace.error.type if trace.error else trace.status]


def _not_approved(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "APPROVAL_MISSING", _tools(trace, result)


def _unknown_retry(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE", _tools(trace, result)


def _not_allowed(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    tools = _tools(trace, result)
    return ("AUTHORITY_CALL_NOT_ALLOWED", tools) if tools else ("POLICY_NOT_KEPT", [])


def _stopped(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "MODEL_DECISION_STOPPED_EARLY", []


def _limit(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return "MODEL_DECISION_TOO_MANY_STEPS", []


def _other(trace: Trace, result: CheckResult) -> tuple[str, list[str]]:
    return f"MODEL_DECISION_{result.check.type.upper()}", []


def _name(params: Mapping[str, Any]) -> str:
    return str(params.get("name"))


_NAMED: Mapping[str, Callable[[Trace, CheckResult], tuple[str, list[str]]]] = {
    "unknown_retry": _unknown_retry,
    "repeated_effect": _repeated,
    "policy_kept": _not_allowed,
    "approved": _not_approved,
    "completed": _ended,
    "not_called": _forbidden,
    "effects_equal": _effects,
    "called": _missing,
    "arguments_grounded": _grounded,
    "order": _order_kept,
    "output_fields": _output,
    "output_contains": _output,
    "output_matches": _output,
    "no_tool_error": _error,
    "tells": _told,
    "ends_with": _stopped,
    "step_limit": _limit,
}


def _order(type_name: str) -> int:
    return list(_NAMED).index(type_name) if type_name in _NAMED else len(_NAMED)
