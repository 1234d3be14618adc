"""Recording as the project wants it: by the sanitization rules and with the key of its settings."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.app.keys import make_sanitizer, policy_of
from evalkit.app.settings import Settings
from evalkit.app.settings_read import settings_here
from evalkit.capture import recording as capture
from evalkit.capture.launch import launch
from evalkit.capture.recording import Recording
from evalkit.capture.writer import Sanitize, Sanitizes

__all__ = ["record", "record_command"]


def record(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    input: Any = None,
    config: Any = None,
    with_patch: bool = False,
    sanitizer: Sanitize | Sanitizes | None = None,
    clock: Callable[[], float] = time.time,
) -> Recording:
    """Records what happens inside of a ``with`` or ``async with`` block to a new trace file.

    Tool calls (see `tool`), the steps of `retrieval`, `policy`, `approval`, `state` and `side_effect`, and model calls
    over httpx, httpx2, requests and aiohttp become steps, also from threads and tasks started in the block. An
    exception that leaves the block is recorded as the run's error, and goes on.

    Args:
        path: the file, which must not exist; missing folders are made.
        name: the agent's name; the file's name by default.
        input: what the agent is started with.
        config: what it is set up with: model, prompt version, policies, budget, whatever else decides how it behaves.
        with_patch: write also what the working tree's tracked files differ by from the commit, up to 1 MiB; without it
            only the hash of that is written.
        sanitizer: what everything goes through before it is written; None for the rules and key of the settings of the
            current folder's project (``evalkit.toml``). `evalkit.capture.recording.as_is` writes values as they are.
        clock: logical time, seconds since 1970 UTC.

    Raises:
        ConfigError: the settings or the key can't be used; on entering, when a wire can't be loaded.
        InputError: on entering, when the file exists or can't be made.
    """
    if sanitizer is None:
        sanitizer = make_sanitizer(settings_here(os.environ))
    return capture.record(
        path, name=name, input=input, config=config, with_patch=with_patch, sanitizer=sanitizer, clock=clock
    )


def record_command(
    command: Sequence[str], out: Path, name: str | None, settings: Settings, env: Mapping[str, str]
) -> int:
    """Runs a command and records the Python that it starts; see `capture.launch.launch`."""
    return launch(command, out, name, env, policy=policy_of(settings), key_file=settings.key_file)
