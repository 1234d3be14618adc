"""Whether a run's suite measures and decides as the base branch's of that name, or its own file: else it may be weaker.

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
from evalkit.app.run_plan import baseline_path, with_settings
from evalkit.app.settings import Settings
from evalkit.app.settings_file import settings_of
from evalkit.errors import ConfigError
from evalkit.playback.modes import LIVE_MODES
from evalkit.suite.config import suite_from_json
from evalkit.suite.manifest import suite_json
from evalkit.suite.model import Manifest, Suite
from evalkit.verdict.baseline import read_baseline_info
from evalkit.verdict.night import measured_part

__all__ = ["changed_suite", "other_than_its_file"]

_APART = frozenset(
    "name policy policies baseline budget concurrency history keep_traces pass_k prices retries sequential".split()
)
"""Keys of a suite that change nothing that a verdict rests on, or are told apart."""
_UNKNOWN = "http://unknown.invalid"
"""The model's address in a base that does not say one."""


def changed_suite(manifest: Manifest, suites: Path, tree: BaseTree) -> Iterator[str]:
    """What is measured or decided otherwise than in the base branch, a sentence each.

    Args:
        manifest: the run's, whose suite is with what the command line said.
        suites: the folder of suites.

    Raises:
        InputError: git can't read the base's files.
    """
    name, base = str(manifest.suite["name"]), tree.base
    place, body = _suite_at(tree, manifest.file, suites, name)
    if not place:
        yield f"there is no suite {name} in {base}: target, samples and policy were compared with nothing"
        return
    now = suite_from_json(manifest.suite, "the run's suite")
    try:
        own = settings_of(_added(tree.settings), base, Path(), {})
        before = _suite(body, name, own, base)
    except ConfigError:
        yield f"suite {name} in {base} is none: target, samples and policy were compared with nothing"
        return
    yield from _otherwise(now, before, base)
    yield from _another_baseline(now, before, place, tree)


def other_than_its_file(manifest: Manifest, settings: Settings) -> Iterator[str]:
    """What a run measured or decides otherwise than its suite's file says: the command line did, or it was changed."""
    if not manifest.file:
        return
    path, name = Path(manifest.file), str(manifest.suite["name"])
    whole, root = path.resolve(), settings.root.resolve()
    place = whole.relative_to(root).as_posix() if whole.is_relative_to(root) else manifest.file
    try:
        before = _suite(tomllib.loads(path.read_text("utf-8")), name, settings, place)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ConfigError):
        yield f"{place} is no suite now: what the run measured was compared with nothing"
        return
    yield from _otherwise(suite_from_json(manifest.suite, "the run's suite"), before, place)


def _suite(body: Mapping[str, Any], name: str, settings: Settings, where: str) -> Suite:
    return with_settings(suite_from_json({**body, "name": name, **_asked(body, settings.model)}, where), settings)


def _otherwise(now: Suite, before: Suite, there: str) -> Iterator[str]:
    if now.policy != before.policy:
        changes = ", ".join(policy_changes(now.policy, before.policy))
        yield f"suite {now.name} decides otherwise than in {there}: {changes}"
    if now.policies != before.policies:
        yield f"suite {now.name} has other policies for some of its cases than in {there}"
    otherwise = [*differences(*map(_measured, (now, before)))]
    if otherwise:
        yield f"suite {now.name} is another one than in {there}: {', '.join(otherwise)}"
    yield from _asks_elsewhere(now, before, there)


def _measured(suite: Suite) -> dict[str, Any]:
    """What of a suite a verdict rests on; of patterns the first that fits counts, so that their order does."""
    return {**measured_part(suite_json(suite), _APART), "timeouts": [*suite.timeouts.items()]}


def _suite_at(tree: BaseTree, file: str, suites: Path, name: str) -> tuple[str, dict[str, Any]]:
    """Where the base has the suite, and what that file says; empty where it has none.

    It is the one in the place of the run's file; or, where that is none, one of its name, and not one that lies deeper
    than another.
    """
    own = tree.place_of(Path(file)) if file else ""
    if tree.has(own) and (body := _body(tree, own)) is not None:
        return own, body
    named = str(tree.settings.get("suites", "suites"))
    places = [PurePosixPath(place) for place in tree.below(named, suites) if place.endswith(".toml")]
    # most are called as their files
    for place in sorted(places, key=lambda one: (one.stem != name, len(one.parts))):
        body = _body(tree, str(place))
        if body is not None and (body.get("name") or place.stem) == name:
            return str(place), body
    return "", {}


def _body(tree: BaseTree, place: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(tree.text(place))
    except tomllib.TOMLDecodeError:
        return None


def _asked(body: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The model of the base's suite, with what it leaves to the base's settings (as `suite.config.load_suite`)."""
    own = body.get("model", {})
    asks = "model" in body or body.get("mode") in LIVE_MODES
    return {"model": {"base_url": _UNKNOWN, **settings, **own}} if asks and isinstance(own, Mapping) else {}


def _asks_elsewhere(now: Suite, before: Suite, base: str) -> Iterator[str]:
    """Another address of the model, where both say one, or other headers, by which some endpoints choose a model."""
    if not now.live or now.model is None or before.model is None:
        return
    here, there = now.model.base_url, before.model.base_url
    if there not in (here, _UNKNOWN):
        yield f"suite {now.name} asks the model at {_place(here)}, where {base} asks that at {_place(there)}"
    one, other = now.model.headers, before.model.headers
    if names := sorted(name for name in {*one, *other} if one.get(name) != other.get(name)):
        yield f"suite {now.name} asks the model with other headers than in {base}: {', '.join(names)}"


def _place(url: str) -> str:
    """An address to be shown: without who asks."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"


def _added(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared of the base's settings; the rest may be of another version of evalkit."""
    return {key: settings[key] for key in ("target", "on_miss", "model") if key in settings}


def _another_baseline(now: Suite, before: Suite, place: str, tree: BaseTree) -> Iterator[str]:
    """That what the run's cases must not be worse than is not the base's measure; other policies only show it.

    Args:
        place: where the base has the suite.
    """
    kinds = {now.policy.kind, *(one.policy.kind for one in now.policies)}
    if "not_worse" not in kinds or not now.baseline:
        return
    path = Path(now.baseline)
    measure = tree.place_from_root(before.baseline) if before.baseline else baseline_path(Path(place)).as_posix()
    known = tree.has(measure)
    if known and tree.holds_as(measure, path):
        return
    info = read_baseline_info(path)
    told = f"run {info.run_id}, set by {info.actor} at {info.set_at}: {info.reason}"
    what = "another baseline than" if known else "a baseline that it does not have"
    yield f"suite {now.name} must not be worse than {what} in {tree.base} ({told})"
