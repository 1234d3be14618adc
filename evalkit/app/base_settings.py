"""Whether the project's settings still say what a gate goes by: folders, what agents are told, the frozen world.

It is told, as what a suite says otherwise than the base's (`app.base_suite`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from evalkit.app.base_tree import BaseTree
from evalkit.app.settings import Settings
from evalkit.playback.options import PLAIN_WORLD
from evalkit.suite.model import Manifest
from evalkit.suite.sources import NO_SOURCES, Sources
from evalkit.suite.sources_file import SourcesFile

__all__ = ["changed_settings"]


def changed_settings(manifest: Manifest, settings: Settings, tree: BaseTree) -> Iterator[str]:
    """What the settings say otherwise than the base's, a sentence each."""
    table, base = tree.settings, tree.base
    for name, folder in (("cases", settings.cases), ("suites", settings.suites)):
        there = str(table.get(name, name))
        if folder != settings.root / there and tree.has_folder(there):  # a base from before evalkit has none
            yield f"the {name} are those in {folder}, where {base} has them in {there}"
    then, now = _sources(table.get("affected")), settings.affected
    for name, before, today in (("prompt", then.prompt, now.prompt), ("tools", then.tools, now.tools)):
        if before and before != today:
            told = f"{_listed(today)}, where {base} has {_listed(before)}"
            yield f"the settings' [affected] {name} is {told}: by it a gate tells which cases it touches"
    world = table.get("world")
    chosen = {**PLAIN_WORLD.json(), **(world if isinstance(world, Mapping) else {})}
    for key, here in manifest.world.items():
        if here != chosen.get(key):
            told = f"{key} {_said(here)} instead of {_said(chosen.get(key))}"
            yield f"the run's [world] is another one than in {base}: {told}"


def _sources(table: object) -> Sources:
    try:
        return SourcesFile.model_validate(table).sources() if table else NO_SOURCES
    except ValidationError:
        return NO_SOURCES


def _said(value: object) -> str:
    return _listed([*map(str, value)]) if isinstance(value, list | tuple) else "unsaid" if value is None else str(value)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "unsaid"
