"""Tools that are called for real, outside of any replay: found by name, where somebody says that they only read."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evalkit.canonical import Json
from evalkit.capture.plain import plain
from evalkit.capture.tools import marked_tools
from evalkit.errors import ConfigError
from evalkit.playback.targets.python import load_function
from evalkit.playback.targets.reference import is_outside
from evalkit.trace.model import Effect, Step

__all__ = ["LiveTool", "OtherArguments", "live_tools", "named_tool"]

_READS: frozenset[Effect | None] = frozenset({"read", "pure"})


class OtherArguments(Exception):
    """The tool takes other arguments than it did."""


@dataclass(frozen=True, slots=True)
class LiveTool:
    """A tool's function, and the effect that it declares itself."""

    name: str
    function: Callable[..., Any]
    effect: Effect | None

    def must_only_read(self, configured: Effect | None, recorded: Iterable[Step]) -> None:
        """Refuses a tool that somebody says changes the world, or of which nobody says that it only reads.

        Raises:
            ConfigError: it must not be called.
        """
        told = [step.effect for step in recorded if step.effect_source in ("declared", "configured")]
        effects = {effect for effect in (configured, self.effect, *told) if effect is not None}
        if effects and effects <= _READS:
            return
        what = "changes the world" if effects else "may change the world: nobody says that it only reads"
        cure = f'[tools."{self.name}"] effect = "read", if it only reads'
        raise ConfigError(f"{self.name} {what}; it is not called", f"--tool {self.name}", cure)

    def answer(self, arguments: Mapping[str, Any], timeout_s: float) -> tuple[Json, BaseException | None]:
        """The plain answer, or what was raised; a call that takes too long is left to itself."""
        came: list[tuple[Json, BaseException | None]] = []
        thread = threading.Thread(target=lambda: came.append(self._called(arguments)), daemon=True)
        thread.start()
        thread.join(timeout_s)
        return came[0] if came else (None, TimeoutError(f"no answer in {timeout_s:g} s"))

    def _called(self, arguments: Mapping[str, Any]) -> tuple[Json, BaseException | None]:
        try:
            inspect.signature(self.function).bind(**arguments)
        except TypeError as error:
            return None, OtherArguments(str(error))
        try:
            result = self.function(**arguments)
            return plain(asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result), None
        except Exception as error:  # noqa: BLE001  # whatever a foreign tool raises is its answer
            return None, error


def named_tool(text: str) -> tuple[str, str]:
    """Name and place of ``name`` or ``name=module:function``.

    Raises:
        ConfigError: it is a pattern: what is called for real is named.
    """
    name, _, place = text.partition("=")
    if not name or any(c in name for c in "*?["):
        raise ConfigError(f"a tool that is called for real is named, not {text!r}", "--tool", "--tool lookup_order")
    return name, place


def live_tools(wanted: Mapping[str, str], targets: Iterable[str]) -> dict[str, LiveTool]:
    """The tools, from where their place says, or as the targets' modules mark them with `evalkit.tool`.

    Raises:
        ConfigError: a module can't be imported, or there is no such tool.
    """
    loaded = sorted({target for target in targets if target and not is_outside(target)})
    for target in loaded:
        load_function(target)
    marked = marked_tools()
    found: dict[str, LiveTool] = {}
    for name, place in wanted.items():
        if place:
            found[name] = LiveTool(name, load_function(place), None)
        elif name in marked:
            found[name] = LiveTool(name, *marked[name])
        else:
            where = ", ".join(loaded) or "no target"
            cure = f"pass --target module:function, or --tool {name}=module:function"
            raise ConfigError(f"no tool {name!r} is marked with evalkit.tool in {where}", f"--tool {name}", cure)
    return found


async def _awaited(result: Any) -> Any:
    return await result
