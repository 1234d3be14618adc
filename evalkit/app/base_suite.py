"""Whether a run's suite measures and decides as the base branch's of that name does: what is weaker weakens each gate.

It is told and not held against a change: a suite may be changed on purpose, and differs until that is merged.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from evalkit.app.base_tree import BaseTree
from evalkit.app.differences import differences, policy_changes
from evalkit.app.run_plan import with_settings
from evalkit.app.settings_file import settings_of
from evalkit.errors import ConfigError
from evalkit.playback.modes import LIVE_MODES
from evalkit.suite.config import suite_from_json
from evalkit.suite.manifest import suite_json
from evalkit.suite.model import Suite
from evalkit.verdict.baseline import read_baseline_info
from evalkit.verdict.night import measured_part

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
        own = suite_from_json({**body, "name": name, **_endpoint(body, suite)}, base)
        before = with_settings(own, settings_of(_added(tree.settings), base, Path(), {}))
    except ConfigError:
        yield f"suite {name} in {base} is none: target, samples and policy were compared with nothing"
        return
    if now.policy != before.policy:
        yield f"suite {name} decides otherwise than in {base}: {', '.join(policy_changes(now.policy, before.policy))}"
    if now.policies != before.policies:
        yield f"suite {name} has other policies for some of its cases than in {base}"
    otherwise = [*differences(*(measured_part(suite_json(one), _APART) for one in (now, before)))]
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
    if not isinstance(own, Mapping) or not (own or known or body.get("mode") in LIVE_MODES):
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


def _added(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared of the base's settings; the rest may be of another version of evalkit."""
    return {key: settings[key] for key in ("target", "on_miss") if key in settings}


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
