"""`evalkit gateway`: one replay of a case for whoever connects, until it is told to end."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evalkit.app.replay import run_plan
from evalkit.app.replay_plan import Plan
from evalkit.app.settings import Settings
from evalkit.canonical import Json
from evalkit.errors import InputError
from evalkit.playback.gateway.address import Address
from evalkit.playback.gateway.gateway import Gateway
from evalkit.playback.model import Replay
from evalkit.playback.shape import shaped_as
from evalkit.playback.targets.protocol import Surroundings
from evalkit.trace.model import Trace

__all__ = ["environment_lines", "gateway_replay", "write_environment"]


def gateway_replay(
    plan: Plan,
    settings: Settings,
    *,
    port: int,
    token: str,
    opened: Callable[[Address], None],
    wait: Callable[[Gateway], None],
    strict: bool = False,
) -> Replay:
    """One replay, by an agent that somebody else starts.

    Its answer is what was posted to the session's ``/output``, else the text that the model said last, in the shape of
    the recorded answer.

    Args:
        port: 0 for a free one.
        opened: is told where the session is.
        wait: returns when the agent is done.

    Raises:
        ConfigError: the port can't be had.
    """
    target = _Whoever(plan.case.trace.trace, (port, token), opened, wait)
    done = run_plan(plan, settings, strict=strict, target=target)
    return done.replays[0]


def environment_lines(address: Address) -> list[str]:
    """The variables that lead an agent to a session, as a shell reads them."""
    return [f"export {name}={shlex.quote(value)}" for name, value in address.environment().items()]


def write_environment(path: Path, address: Address) -> None:
    """Writes the variables to a file that a shell can source, at once and for its owner only.

    Raises:
        InputError: it can't be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in environment_lines(address))
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"can't be written: {error.strerror}", str(path), "choose another --env-file") from None


@dataclass(frozen=True, slots=True)
class _Whoever:
    """An agent that is not started here."""

    incident: Trace
    place: tuple[int, str]
    opened: Callable[[Address], None]
    wait: Callable[[Gateway], None]

    def run_outside(self, given: Json, around: Surroundings) -> Json:
        del given  # whoever starts the agent gives it its input
        self.opened(around.address)
        self.wait(around.gateway)
        told, said = around.gateway.said
        return said if told else shaped_as(self.incident, said)
