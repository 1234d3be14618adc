"""Whether a run's suite measures and decides as the base branch's of that name does: what is weaker weakens each gate.

It is told and not held against a change: a suite may be changed on purpose, and differs until that is merged.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from evalkit.app.base_tree import BaseTree
from evalkit.app.gate_policy import policy_changes
from evalkit.errors import ConfigError
from evalkit.playback.miss_rules import rules_of_table
from evalkit.playback.targets.reference import reference_text
from evalkit.suite.config import suite_from_json
from evalkit.suite.manifest import suite_json
from evalkit.suite.model import Suite
from evalkit.verdict.baseline import read_baseline_info
from evalkit.verdict.night import ASKED_OF_MODEL

__all__ = ["changed_suite"]

_APART = frozenset(
    "name policy policies baseline budget concurrency history keep_traces pass_k prices retries sequential".split()
)
"""Keys of a suite that change nothing that a verdict rests on, or are told apart."""


def changed_suite(suite: Mapping[str, Any], suites: Path, tree: BaseTree) -> Iterator[str]:
    """What is measured or decided otherwise than in the base branch, a sentence each.

    Args:
        suite: the run's, as its manifest has it: with what the command line said.
        suites: the folder of suites.

    Raises:
        InputError: git can't read the base's files.
    """
    name, base = str(suite["name"]), tree.base
    body = _suite_at(tree, suites, name)
    if body is None:
        yield f"there is no suite {name} in {base}: target, samples and policy were compared with nothing"
        return
    now = suite_from_json(suite, "the run's suite")
    try:
        before = _with_settings(suite_from_json({**body, "name": name, **_endpoint(body, suite)}, base), tree.settings)
    except ConfigError:
        yield f"suite {name} in {base} is none: target, samples and policy were compared with nothing"
        return
    if now.policy != before.policy:
        yield f"suite {name} decides otherwise than in {base}: {', '.join(policy_changes(now.policy, before.policy))}"
    if now.policies != before.policies:
        yield f"suite {name} has other policies for some of its cases than in {base}"
    otherwise = [*_differences(_told_apart(now), _told_apart(before))]
    if otherwise:
        yield f"suite {name} is another one than in {base}: {', '.join(otherwise)}"
    there = _address(body, tree.settings)
    if there and now.live and now.model is not None and now.model.base_url != there:
        yield f"suite {name} asks the model at {_place(now.model.base_url)}, where {base} asks that at {_place(there)}"
    yield from _another_baseline(now, tree)


def _suite_at(tree: BaseTree, suites: Path, name: str) -> dict[str, Any] | None:
    """The base's suite of that name, as its file has it; None where it has no such suite."""
    named = str(tree.settings.get("suites", "suites"))
    places = [PurePosixPath(place) for place in tree.below(named, suites) if place.endswith(".toml")]
    for place in sorted(places, key=lambda one: one.stem != name):  # most are called as their files
        try:
            body = tomllib.loads(tree.text(str(place)))
        except tomllib.TOMLDecodeError:
            continue
        if (body.get("name") or place.stem) == name:
            return body
    return None


def _endpoint(body: Mapping[str, Any], suite: Mapping[str, Any]) -> dict[str, Any]:
    """The model of the base's suite; of what it leaves to the settings, the run's, for its place is not compared."""
    own, known = body.get("model", {}), suite.get("model", {})
    if not isinstance(own, Mapping) or not (own or known or body.get("mode", "exact") not in ("exact", "simulation")):
        return {}
    return {"model": {"base_url": "http://unknown.invalid", **known, **own}}


def _address(body: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    """Where the base's suite asks its model, as it or the base's settings say it; empty where neither does."""
    for told in (body.get("model"), table.get("model")):
        if isinstance(told, Mapping) and isinstance(told.get("base_url"), str):
            return str(told["base_url"])
    return ""


def _place(url: str) -> str:
    """An address to be shown: without who asks."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"


def _with_settings(suite: Suite, table: Mapping[str, Any]) -> Suite:
    """The suite with what the base's own settings add, as `app.run_plan.read_suite` does it.

    Raises:
        ConfigError: they can't be used.
    """
    target, rules = table.get("target", ""), table.get("on_miss", {})
    if not isinstance(target, str | dict) or not isinstance(rules, dict):
        raise ConfigError("no settings", "the base", "correct them")
    added = rules_of_table(rules, "settings", "the base's settings")
    return replace(suite, target=suite.target or reference_text(target), on_miss=(*suite.on_miss, *added))


def _another_baseline(suite: Suite, tree: BaseTree) -> Iterator[str]:
    """That what the run's cases must not be worse than is not what the base has; other policies only show it."""
    kinds = {suite.policy.kind, *(one.policy.kind for one in suite.policies)}
    if "not_worse" not in kinds or not suite.baseline:
        return
    path = Path(suite.baseline)
    same = tree.holds_as(path)
    if same:
        return
    info = read_baseline_info(path)
    told = f"run {info.run_id}, set by {info.actor} at {info.set_at}: {info.reason}"
    what = "a baseline that is not" if same is None else "another baseline than"
    yield f"suite {suite.name} must not be worse than {what} in {tree.base} ({told})"


def _told_apart(suite: Suite) -> dict[str, Any]:
    found = {key: value for key, value in suite_json(suite).items() if key not in _APART}
    if "model" in found:
        found["model"] = {key: found["model"].get(key) for key in ASKED_OF_MODEL}
    return found


def _differences(now: Mapping[str, Any], then: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted({*now, *then}):
        one, other = now.get(key), then.get(key)
        if one == other:
            continue
        plain = all(value is None or isinstance(value, str | int | float) for value in (one, other))
        yield f"{key} {_said(one)} instead of {_said(other)}" if plain else f"another {key}"


def _said(value: object) -> str:
    return "unsaid" if value in (None, "") else str(value)
