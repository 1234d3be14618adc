"""`evalkit replay`: one case, replayed in its frozen world, with its checks' results."""

from __future__ import annotations

from pathlib import Path

from evalkit.app.keys import output_sanitizer
from evalkit.app.settings import Settings
from evalkit.case.store import find_case, read_case
from evalkit.errors import ConfigError
from evalkit.playback.model import Mode, Replay
from evalkit.playback.replay import prepare
from evalkit.playback.targets.protocol import TARGETS
from evalkit.trace.file import encode_trace

__all__ = ["replay_case", "write_trace"]


def replay_case(
    reference: str,
    settings: Settings,
    *,
    target: str = "",
    mode: Mode = "exact",
    base_url: str | None = None,
    strict: bool = False,
    repeat: int = 1,
    seed: int = 0,
    timeout_s: float = 60.0,
) -> list[Replay]:
    """Replays a case `repeat` times.

    Raises:
        InputError: no such case.
        ConfigError: no target, or a live mode without an endpoint.
        ReplayRefused: the incident lacks what the mode needs.
    """
    case = read_case(find_case(reference, settings.cases))
    chosen = target or settings.target or case.target
    if not chosen:
        raise ConfigError("nothing says what to run", f"case {case.id}", "pass --target module:function")
    if mode != "exact" and base_url is None:
        raise ConfigError(f"mode {mode} needs an endpoint", f"case {case.id}", "pass --base-url http://...")
    runnable = TARGETS.get("python")(chosen)
    prepared = prepare(
        case,
        mode=mode,
        endpoint=base_url,
        strict=strict,
        seed=seed,
        timeout_s=timeout_s,
        sanitizer=lambda: output_sanitizer(settings),
    )
    with prepared.entered() as day:
        return [day.replay(runnable, sample) for sample in range(repeat)]


def write_trace(replay: Replay, path: Path) -> None:
    """Writes a replay's trace as a native file: it can be inspected, judged and ingested like any other."""
    with open(path, "xb") as file:
        file.writelines(encode_trace(replay.trace))
