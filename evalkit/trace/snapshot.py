"""What a run stood on, drawn from its trace: one object that says which input, configuration, prompt, documents, tools,
models, approvals and environment it was, each named by a hash.

Nothing of it is stored: every hash is over what the steps hold, so it can't disagree with them. The parts of two runs
that differ are where to look for why their outcomes do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalkit.canonical import Json, digest
from evalkit.errors import EvalkitError
from evalkit.shapes import dicts
from evalkit.trace.approval import Approval, action_hash, approval_of
from evalkit.trace.message import messages_of
from evalkit.trace.model import Step, Trace
from evalkit.trace.side_effect import lives, side_effect_name

__all__ = ["snapshot"]

_DOCUMENT = ("id", "version", "chunk_id", "content_hash", "rank", "score")
_INSTRUCTIONS = ("system", "developer")


def snapshot(trace: Trace) -> dict[str, Any]:
    """The snapshot of a run. Hashes are `canonical.digest`; lists are in the order of the steps, which ``step`` names.

    ``input``, ``output``, ``config``, ``environment`` as the trace has them; ``prompts``: each compiled system prompt
    once, with its hash; ``models``: model, temperature, tokens, hashes of request, context (all messages) and response;
    ``tools``: hashes of definition, arguments and result, effect, and the step of the approval that covers the call;
    ``retrieval``: the documents, without their content; ``policies``, ``approvals``, ``side_effects``; ``state``: what
    was written last, by name.
    """
    approvals = [approval_of(step) for step in trace.of_kind("approval")]
    definitions = _definitions(trace)
    return {
        "input": trace.input,
        "config": trace.attributes.get("config"),
        "prompts": [{"hash": digest(text), "content": text} for text in dict.fromkeys(_prompts(trace))],
        "models": [_model(step) for step in trace.of_kind("model")],
        "tools": [_tool(step, definitions, approvals) for step in trace.of_kind("tool")],
        "retrieval": [_retrieval(step) for step in trace.of_kind("retrieval")],
        "policies": [
            {"step": step.seq, "name": step.name, "version": step.attributes.get("version"), "decision": step.output}
            for step in trace.of_kind("policy")
        ],
        "approvals": [_approval(one) for one in approvals],
        "side_effects": [
            {"name": one.name, "key": one.key, "statuses": list(one.statuses), "receipt": one.receipt}
            for one in lives(trace)
        ],
        "state": {step.name: step.input for step in trace.of_kind("state") if side_effect_name(step) is None},
        "output": trace.output,
        "environment": trace.attributes.get("environment"),
    }


def _prompts(trace: Trace) -> Iterator[str]:
    for step in trace.of_kind("model"):
        for message in messages_of(step):
            if message.get("role") in _INSTRUCTIONS and isinstance(message.get("content"), str):
                yield message["content"]


def _model(step: Step) -> dict[str, Any]:
    given = step.input if isinstance(step.input, dict) else {}
    params = given.get("params")
    return {
        "step": step.seq,
        "model": step.model,
        "temperature": params.get("temperature") if isinstance(params, dict) else None,
        "input_tokens": step.usage and step.usage.input_tokens,
        "output_tokens": step.usage and step.usage.output_tokens,
        "request": _hash(step.input),
        "context": _hash(given.get("messages")),
        "response": _hash(step.output),
    }


def _tool(step: Step, definitions: dict[str, Json], approvals: list[Approval]) -> dict[str, Any]:
    return {
        "step": step.seq,
        "name": step.name,
        "effect": step.effect,
        "definition": _hash(definitions.get(step.name)),
        "arguments": _hash(step.input),
        "result": _hash(step.output),
        "error": step.error and step.error.type,
        "approval": _approved_by(step, approvals),
    }


def _definitions(trace: Trace) -> dict[str, Json]:
    """The tools' definitions: the recorder's, else what a model was shown."""
    found: dict[str, Json] = {}
    for step in trace.of_kind("tool"):
        if step.attributes.get("definition") is not None:
            found.setdefault(step.name, step.attributes["definition"])
    for step in trace.of_kind("model"):
        shown: Any = step.input.get("tools") if isinstance(step.input, dict) else None
        for tool in shown if isinstance(shown, list) else ():
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                found.setdefault(tool["name"], tool)
    return found


def _approved_by(step: Step, approvals: list[Approval]) -> int | None:
    """The last approval of this very action before it, if it was granted and had not run out."""
    try:
        action = action_hash(step.name, step.input)
    except EvalkitError:
        return None
    asked = [one for one in approvals if one.action == action and one.seq < step.seq]
    if not asked or not asked[-1].approved:
        return None
    until, at = asked[-1].until, step.started_at
    return None if until is not None and at is not None and at > until else asked[-1].seq


def _retrieval(step: Step) -> dict[str, Any]:
    query = step.input.get("query") if isinstance(step.input, dict) else step.input
    documents = dicts(step.output)
    return {
        "step": step.seq,
        "name": step.name,
        "query": query,
        "documents": [{key: one[key] for key in _DOCUMENT if key in one} for one in documents],
    }


def _approval(one: Approval) -> dict[str, Any]:
    return {
        "step": one.seq,
        "approved": one.approved,
        "approver": one.approver,
        "action": one.action,
        "at": one.at,
        "until": one.until,
    }


def _hash(value: Json) -> str | None:
    return None if value is None else digest(value)
