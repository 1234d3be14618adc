"""What makes two calls the same call: the parts of a request that matching looks at.

For a model call these are model, messages, tool definitions and sampling parameters; tool-call ids are replaced by
their position in the conversation, because providers invent them anew each time and some reuse them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from evalkit.canonical import Json, canonical, same
from evalkit.playback.model import Difference
from evalkit.trace.model import Step
from evalkit.trace.paths import without

__all__ = [
    "Key",
    "call_key",
    "leaf_differences",
    "matched_arguments",
    "query_of",
    "requested_model",
    "unknown_parts",
]

Key: TypeAlias = "tuple[str, str, bytes]"

_ABSENT = object()
_RELEASE = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8})\Z")


def call_key(kind: str, name: str, arguments: Json, volatile: Sequence[str] = (), model: str | None = None) -> Key:
    """The key of a call: equal for calls that the same recorded answer may serve.

    Raises:
        InputError: the arguments are no JSON.
    """
    if kind == "model" or volatile:
        arguments = matched_arguments(kind, arguments, volatile, model)
    return kind, name, canonical(arguments)


def requested_model(step: Step) -> str | None:
    """The model that a recorded call asked for (another one, such as a dated release of it, may have answered)."""
    asked = step.attributes.get("requested_model")
    return asked if isinstance(asked, str) else step.model


def query_of(arguments: Json) -> Key | None:
    """The key of a retrieval's query alone; None where the arguments hold none."""
    query = arguments.get("query") if isinstance(arguments, dict) else arguments
    return None if query is None else call_key("retrieval", "", query)


def unknown_parts(step: Step) -> frozenset[str]:
    """The parts of a recorded model call that its source does not tell; a call seen on the wire tells them all."""
    if step.kind != "model" or "wire" in step.attributes or not isinstance(step.input, dict):
        return frozenset()
    parts = {part for part in ("tools", "params") if part not in step.input}
    return frozenset(parts if requested_model(step) is not None else {*parts, "model"})


def matched_arguments(kind: str, arguments: Json, volatile: Sequence[str] = (), model: str | None = None) -> Json:
    """The arguments as they are matched.

    For a model call, ids by position and the model's name without its release date; volatile paths are left out.
    """
    if kind == "model" and isinstance(arguments, dict):
        messages = arguments.get("messages")
        if isinstance(messages, list):
            arguments = {**arguments, "messages": _positional_ids(messages)}
        if model is not None:
            arguments = {**arguments, "model": _RELEASE.sub("", model)}
    for path in volatile:
        arguments = without(arguments, path)
    return arguments


def leaf_differences(recorded: Any, actual: Any, path: str = "") -> tuple[Difference, ...]:
    """The paths (``/a/0/b``) at which two values differ."""
    if isinstance(recorded, dict) and isinstance(actual, dict):
        keys = [*recorded, *(key for key in actual if key not in recorded)]
        pairs: list[tuple[str, Any, Any]] = [
            (f"{path}/{key}", recorded.get(key, _ABSENT), actual.get(key, _ABSENT)) for key in keys
        ]
    elif isinstance(recorded, list) and isinstance(actual, list):
        length = max(len(recorded), len(actual))
        pairs = [
            (
                f"{path}/{at}",
                recorded[at] if at < len(recorded) else _ABSENT,
                actual[at] if at < len(actual) else _ABSENT,
            )
            for at in range(length)
        ]
    elif same(recorded, actual):
        return ()
    else:
        return (Difference(path, recorded, actual),)
    found: list[Difference] = []
    for where, left, right in pairs:
        if left is _ABSENT or right is _ABSENT:
            found.append(Difference(where, None if left is _ABSENT else left, None if right is _ABSENT else right))
        else:
            found += leaf_differences(left, right, where)
    return tuple(found)


def _positional_ids(messages: list[Any]) -> list[Any]:
    names: dict[str, str] = {}
    count = 0
    renamed: list[Any] = []
    for message in messages:
        if not isinstance(message, dict):
            renamed.append(message)
            continue
        if isinstance(message.get("tool_calls"), list):
            calls = []
            for call in message["tool_calls"]:
                if not isinstance(call, dict):
                    continue
                names[str(call.get("id"))] = f"call_{count}"  # an id used again means the newer call from here on
                calls.append({**call, "id": f"call_{count}"})
                count += 1
            message = {**message, "tool_calls": calls}
        if "tool_call_id" in message:
            message = {**message, "tool_call_id": names.get(str(message["tool_call_id"]), message["tool_call_id"])}
        renamed.append(message)
    return renamed
