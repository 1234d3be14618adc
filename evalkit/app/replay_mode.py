"""The mode that a replay's other arguments come to; what does not go together is refused."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.errors import ConfigError
from evalkit.playback.faults import Fault
from evalkit.playback.modes import LIVE_MODES, Mode
from evalkit.playback.overrides import Overrides
from evalkit.playback.what_if import WhatIf

__all__ = ["settled_mode"]

_SWAPPED = {"prompt-swap": "system_prompt", "model-swap": "model"}
"""What of the model is another one, by the mode that is about it."""


def settled_mode(
    mode: str | None,
    *,
    base_url: str | None,
    overrides: Overrides,
    faults: Sequence[Fault | WhatIf],
    from_step: int | None,
    where: str,
) -> Mode:
    """The mode that is asked for.

    Args:
        mode: None for the one that the others ask for.
        faults: faults or counterfactuals.

    Raises:
        ConfigError: they don't go together, or a live mode has no endpoint.
    """
    if from_step is not None:
        chosen = _only(mode, "fork", "--from-step", where)
    elif mode == "fork":
        raise ConfigError("mode fork needs a step", where, "pass --from-step N")
    else:
        chosen = _of_a_whole_replay(mode, [*overrides.json()], faults, where, live=base_url is not None)
    if chosen in LIVE_MODES and base_url is None:
        raise ConfigError(f"mode {chosen} needs an endpoint", where, "pass --base-url http://...")
    return chosen


def _of_a_whole_replay(
    mode: str | None, changed: Sequence[str], faults: Sequence[Fault | WhatIf], where: str, *, live: bool
) -> Mode:
    if changed and not live:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
        raise ConfigError(f"{flags} is for a live model", where, "pass --base-url http://...")
    if faults:
        return _only(mode, "simulation", "--fault" if isinstance(faults[0], Fault) else "--what-if", where)
    if mode == "simulation":
        cure = "pass --fault tool=NAME,kind=error,rate=0.5, or --what-if NAME=refused"
        raise ConfigError("mode simulation needs a fault or a counterfactual", where, cure)
    if mode in _SWAPPED and _SWAPPED[mode] not in changed:
        raise ConfigError(f"mode {mode} changes nothing", where, f"pass --{_SWAPPED[mode].replace('_', '-')}")
    if mode == "exact" and changed:
        raise ConfigError("mode exact asks no live model", where, "use --mode live-model")
    if mode == "model-swap" or ("model" in changed and "system_prompt" not in changed):
        return "model-swap"
    if "system_prompt" in changed:
        return "prompt-swap"
    return "live-model" if changed or mode == "live-model" else "exact"


def _only(mode: str | None, wanted: Mode, flag: str, where: str) -> Mode:
    if mode not in (None, wanted):
        raise ConfigError(f"{flag} is mode {wanted}, and {mode} was asked for", where, f"use --mode {wanted}")
    return wanted
