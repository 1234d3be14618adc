"""Retrievers, policies and approvals: functions that are recorded, and answered in a replay, each as a kind of its own.

They are marked as tools are, and work as tools do: untouched outside of a recording or replay, sync and async, in any
thread. What the function gave is recorded in the normal form of its kind (see `trace.model`); where that is not the
value itself, the attribute ``returned`` holds the value, so that a replay gives the agent exactly what it got.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, overload

from evalkit.canonical import Json
from evalkit.capture.arguments import binder, capability_of, what_lacks
from evalkit.capture.copies import copies
from evalkit.capture.plain import plain
from evalkit.capture.rebuild import rebuild_output
from evalkit.capture.retrieved import documents_of
from evalkit.capture.seam import Answer, Call, Session, Turn
from evalkit.capture.through import Shape, given, instrument
from evalkit.trace import approval as approvals
from evalkit.trace.model import Kind

__all__ = ["RETURNED", "action_hash", "answer_of", "approval", "policy", "retrieval"]

P = ParamSpec("P")
R = TypeVar("R")

RETURNED = "returned"
"""The attribute of a step whose output is not the value itself: the value."""


@overload
def retrieval(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def retrieval(*, name: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def retrieval(function: Any = None, /, *, name: str | None = None) -> Any:
    """Marks a function that finds documents for a query.

    Its step's input holds the arguments, the first of them as ``query``; its output the documents by `documents_of`:
    id, version, chunk id, content and its hash, rank, score. Documents may be texts, objects, ``(document, score)``
    pairs, or a framework's own.

    Args:
        name: the retriever's name; the function's own by default.

    Raises:
        UsageError: it is no function, has no name or signature, or is a generator.
    """
    if function is None:
        return functools.partial(retrieval, name=name)
    name = capability_of(function, name)
    first = next((each for each in inspect.signature(function).parameters if each not in ("self", "cls")), "")
    return _marked(function, "retrieval", name, {}, functools.partial(_with_query, first))


@overload
def policy(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def policy(*, name: str | None = None, version: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def policy(function: Any = None, /, *, name: str | None = None, version: str | None = None) -> Any:
    """Marks a function that decides what the agent may do: its step holds what was asked and the decision.

    Args:
        name: the policy's name; the function's own by default.
        version: of the rules; stands in the step's attributes.

    Raises:
        UsageError: it is no function, has no name or signature, or is a generator.
    """
    if function is None:
        return functools.partial(policy, name=name, version=version)
    return _marked(function, "policy", name, {} if version is None else {"version": version})


@overload
def approval(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def approval(*, name: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def approval(function: Any = None, /, *, name: str | None = None) -> Any:
    """Marks a function that asks somebody to approve an action.

    Let it take ``tool`` and ``arguments`` (or an ``action_hash``): that ties the approval to the call it is for. Let it
    return a truth value, or an object with ``approved``, ``approver`` and ``until`` (seconds since 1970, or ISO 8601).

    Args:
        name: the approval's name; the function's own by default.

    Raises:
        UsageError: it is no function, has no name or signature, or is a generator.
    """
    if function is None:
        return functools.partial(approval, name=name)
    return _marked(function, "approval", name, {})


def action_hash(tool: str, arguments: Mapping[str, Any]) -> str:
    """The hash that names an action: what is approved, and later done.

    Hex SHA-256 over the canonical JSON of ``[tool, arguments]``.

    Args:
        tool: the tool's name.
        arguments: as the tool's step has them: by parameter name, defaults filled in.

    Raises:
        InputError: the arguments nest deeper than 200 levels.
    """
    return approvals.action_hash(tool, plain(arguments))


def answer_of(kind: Kind, value: Json) -> Answer:
    """What a retriever, policy or approver gave, as its step has it.

    Args:
        value: plain JSON.
    """
    shown = (
        documents_of(value) if kind == "retrieval" else approvals.decision_of(value) if kind == "approval" else value
    )
    if shown is None or shown == value:
        return Answer(value)
    return Answer(shown, attributes={RETURNED: value})


def _marked(
    function: Callable[..., Any],
    kind: Kind,
    name: str | None,
    attributes: Mapping[str, Any],
    asked: Callable[[dict[str, Json]], dict[str, Json]] = lambda given: given,
) -> Callable[..., Any]:
    """`function` as a dependency of `kind`."""
    capability = capability_of(function, name)
    bind = binder(function)

    def begin(session: Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Turn:
        lost: list[str] = []
        arguments = bind(args, kwargs, lost)
        turn = session.begin(Call(kind, capability, asked(arguments), attributes=attributes))
        if session.records:
            turn.lacks = functools.partial(what_lacks, bind, args, kwargs, arguments, lost)
        return turn

    def written(output: Any) -> Answer:
        return answer_of(kind, plain(output))

    def rebuilt(answer: Answer) -> Any:
        whole = answer.error is None and RETURNED in answer.attributes
        return rebuild_output(copies(answer.attributes[RETURNED])() if whole else given(answer), function)

    return instrument(function, begin, Shape(written, rebuilt))


def _with_query(first: str, arguments: dict[str, Json]) -> dict[str, Json]:
    """The arguments with the one called `first` as ``query``, where none is called so."""
    if "query" in arguments or first not in arguments:
        return arguments
    return {"query": arguments[first], **{name: value for name, value in arguments.items() if name != first}}
