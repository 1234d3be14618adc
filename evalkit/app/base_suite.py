"""Whether a run's suite decides as the base branch's of that name does: a weaker policy weakens each of its gates.

It is told and not held against a change: a policy may be changed on purpose, and differs until that is merged.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import Any

from evalkit.app.base_tree import BaseTree
from evalkit.app.gate_policy import policies_in, with_policy
from evalkit.errors import ConfigError
from evalkit.suite.config import suite_from_json
from evalkit.suite.model import Policy

__all__ = ["changed_policy"]


def changed_policy(suite: Mapping[str, Any], suites: Path, tree: BaseTree) -> Iterator[str]:
    """What decides otherwise than in the base branch, a sentence each.

    Args:
        suite: the run's, as its manifest has it.
        suites: the folder of suites.

    Raises:
        InputError: git can't read the base's files.
    """
    name, base = str(suite["name"]), tree.base
    then = _policies_at(tree, suites, name)
    if then is None:
        yield f"there is no suite {name} in {base}: what decides was compared with nothing"
        return
    now = suite_from_json(suite, "the run's suite")
    try:
        before = with_policy(suite, then)
    except ConfigError:
        yield f"the policy of suite {name} in {base} is none: what decides was compared with nothing"
        return
    if now.policy != before.policy:
        yield f"suite {name} decides otherwise than in {base}: {', '.join(_changes(now.policy, before.policy))}"
    if now.policies != before.policies:
        yield f"suite {name} has other policies for some of its cases than in {base}"


def _policies_at(tree: BaseTree, suites: Path, name: str) -> dict[str, Any] | None:
    """What the base's suite of that name says of policies; None where it has no such suite."""
    places = [PurePosixPath(place) for place in tree.below(suites) if place.endswith(".toml")]
    for place in sorted(places, key=lambda one: one.stem != name):  # most are called as their files
        try:
            body = tomllib.loads(tree.text(str(place)))
        except tomllib.TOMLDecodeError:
            continue
        if (body.get("name") or place.stem) == name:
            return policies_in(body)
    return None


def _changes(now: Policy, then: Policy) -> Iterator[str]:
    if now.kind != then.kind:
        yield f"{now.kind} instead of {then.kind}"
        return
    for field in fields(Policy):
        one, other = getattr(now, field.name), getattr(then, field.name)
        if one != other:
            yield f"{field.name} {one} instead of {other}"
