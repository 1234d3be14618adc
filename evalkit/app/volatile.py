"""Volatile arguments as people name them: ``pay=/key``, the tool and the path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evalkit.app.environment import acting, now_utc
from evalkit.app.life import write_decided
from evalkit.app.settings import Settings
from evalkit.case.model import LifeEvent, State
from evalkit.case.store import find_case, read_with_digest
from evalkit.distil.volatile import ignoring, looks_drawn
from evalkit.errors import ConfigError, InputError
from evalkit.playback.model import Miss
from evalkit.trace.paths import united

__all__ = ["edit_volatile", "named_paths", "volatile_hint"]


def named_paths(named: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The paths by tool, of texts of the form ``pay=/key``.

    Raises:
        ConfigError: one is not of that form.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in named:
        name, equals, path = text.partition("=")
        if not (name and equals) or not path.startswith("/") or path == "/":
            raise ConfigError(f"{text!r} is not of the form TOOL=/path", "volatile", "--volatile 'pay=/items/*/id'")
        found = united(found, {name: (path,)})
    return found


def edit_volatile(
    case_id: str, settings: Settings, *, add: Sequence[str] = (), drop: Sequence[str] = (), actor: str, reason: str
) -> Path:
    """Changes which arguments matching leaves out, as a new version; the case is proposed again unless it is permanent.

    Args:
        add, drop: as ``pay=/key``.

    Raises:
        ConfigError: one is not of that form.
        InputError: one to add is of a tool that the case never calls, one to drop is not volatile, or actor or reason
            is missing.
    """
    case, digest = read_with_digest(find_case(case_id, settings.cases))
    added = named_paths(add)
    called = dict.fromkeys(step.name for step in case.incident.steps if step.is_dependency)
    for name in added:
        if name not in called:
            cure = f"name one of its calls: {', '.join(called)}"
            raise InputError(f"the case never calls {name}, so nothing of it is matched", f"case {case.id}", cure)
    kept = {name: list(paths) for name, paths in united(case.volatile, added).items()}
    for name, paths in named_paths(drop).items():
        for path in paths:
            if path not in kept.get(name, ()):
                raise InputError(f"{path} of {name} is not volatile", f"case {case.id}", f"evalkit show {case.id}")
            kept[name].remove(path)
    volatile = {name: tuple(paths) for name, paths in kept.items() if paths}
    state: State = "permanent" if case.permanent else "proposed"
    moved = case.moved(digest, LifeEvent(state, acting(actor, settings), reason, now_utc()))
    told = ignoring(case.checks, volatile)
    return write_decided(moved, settings, checks=told, volatile=volatile)


def volatile_hint(misses: Sequence[Miss], case_id: str) -> Iterator[str]:
    """The command that lets a missed call match, where it only differs in values that look drawn anew."""
    for miss in misses:
        differences = miss.differences
        if differences and all(looks_drawn(one.recorded) and looks_drawn(one.actual) for one in differences):
            flags = " ".join(f"--volatile '{miss.name}={one.path}'" for one in differences)
            yield f"if the agent draws these anew in every run: evalkit edit {case_id} {flags} --reason WHY"
