"""Confines this process for good: one order of layers, each of which says whether it held."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from evalkit.errors import ReplayRefused
from evalkit.playback.sandbox.environment import scrub_environment
from evalkit.playback.sandbox.kernel import arm, supported, syscall
from evalkit.playback.sandbox.landlock import restrict_files
from evalkit.playback.sandbox.limits import close_others, set_limits
from evalkit.playback.sandbox.model import Layers, Policy
from evalkit.playback.sandbox.network import leave_network
from evalkit.playback.sandbox.seccomp import restrict_calls

__all__ = ["confine"]

_PRCTL = (157, 167)
_NO_NEW_PRIVS, _DEATH_SIGNAL = 38, 1
_CAPSET = (126, 91)
_KEPT_CAPABILITIES = 0b1110
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER: root reads others' files as before, within what Landlock lets."""


def confine(policy: Policy, workspace: Path, pipes: Iterable[int]) -> Layers:
    """Applies every layer that this system has to this process; there is no way back.

    Args:
        workspace: the only folder that stays writable; becomes the current one.
        pipes: descriptors that stay open, beside standard output and error.

    Raises:
        ReplayRefused: Landlock or seccomp does not hold and the policy isn't `unsafe`, or threads run already (they
            would stay free).
    """
    if not supported():
        none = Layers(missing=dict.fromkeys(("rlimits", "landlock", "seccomp", "network namespace"), "not Linux"))
        if policy.unsafe:
            return none
        raise ReplayRefused(*none.refusal())
    if len(os.listdir("/proc/self/task")) > 1:
        raise ReplayRefused("threads run already, which no sandbox would hold", "", "start none at import or at fork")
    missing: dict[str, str] = {}
    close_others(pipes)
    os.chdir(workspace)
    prctl = _PRCTL[1 if arm() else 0]
    syscall(prctl, _DEATH_SIGNAL, 9, 0, 0, 0)
    network = _held("network namespace", missing, leave_network)
    limits = _held("rlimits", missing, lambda: set_limits(policy))
    scrub_environment(policy.keep, workspace)
    _held("capabilities", missing, _drop_capabilities)
    syscall(prctl, _NO_NEW_PRIVS, 1, 0, 0, 0)
    abis: list[int] = []
    _held("landlock", missing, lambda: abis.append(restrict_files(policy.readable, workspace)))
    seccomp = _held("seccomp", missing, restrict_calls)
    layers = Layers(limits, abis[0] if abis else 0, seccomp, network, missing)
    if not layers.safe and not policy.unsafe:
        raise ReplayRefused(*layers.refusal())
    return layers


def _held(name: str, missing: dict[str, str], apply: Callable[[], Any]) -> bool:
    try:
        apply()
    except (OSError, ValueError) as error:
        missing[name] = str(error)
        return False
    return True


def _drop_capabilities() -> None:
    """A root's special rights go, but for those over files' owners and modes."""
    if os.geteuid() != 0:
        return
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    kept = _KEPT_CAPABILITIES
    data = (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0)
    syscall(_CAPSET[1 if arm() else 0], header, data)
