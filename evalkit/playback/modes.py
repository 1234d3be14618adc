"""What answers an agent in a replay: tools always do so from fixtures."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ["LIVE_MODES", "MODES", "SUITE_MODES", "Mode", "SuiteMode"]

SuiteMode: TypeAlias = Literal["exact", "live-model", "model-swap", "prompt-swap", "simulation"]
"""What a whole run can be replayed in, since it needs no step.

- ``exact``: the model answers from fixtures, too; ``live-model``: it really runs.
- ``model-swap``, ``prompt-swap``: ``live-model`` with another model, or another system prompt.
- ``simulation``: with declared faults; the model is live where an endpoint is given.
"""

Mode: TypeAlias = Literal[SuiteMode, "fork"]
"""``fork``: from one recorded model step on, with a live model and the built-in agent loop."""

SUITE_MODES: tuple[SuiteMode, ...] = get_args(SuiteMode)
MODES: tuple[Mode, ...] = get_args(Mode)

LIVE_MODES = tuple(mode for mode in MODES if mode not in ("exact", "simulation"))
"""Those that ask a live model, and so need an endpoint."""
