"""What is known of a live model's endpoint, and how a call to it can end a replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from evalkit.playback.fixtures import ReplayHalt

__all__ = ["DEFAULT_KEY", "Endpoint", "EndpointHalt", "GivenUp", "HaltKind"]

HaltKind: TypeAlias = Literal["outage", "budget", "refused"]
"""Why there is no answer: the endpoint gave none, the budget is spent, or the request is not the endpoint's."""


DEFAULT_KEY = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint (or an Anthropic one).

    Attributes:
        base_url: up to and with ``/v1``.
        headers: sent with every request; ``${NAME}`` in a value is the environment variable's, which is kept nowhere.
        key_env: the environment variable with the key; left at its default, ``ANTHROPIC_API_KEY`` goes before it for
            Anthropic's API. The agent's own key is sent where none is set.
        tries: how often a call is made at most, when it meets a rate limit or an outage.
        timeout_s: seconds that one try may take.
        concurrency: calls at once at most, over all workers; fewer while the endpoint says that it is too many.
    """

    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    key_env: str = DEFAULT_KEY
    tries: int = 5
    timeout_s: float = 300.0
    concurrency: int = 32


class GivenUp(ReplayHalt):
    """The replay ended before a live model's answer came."""


class EndpointHalt(ReplayHalt):
    """Ends a replay whose model call will not be answered; nothing that the agent could catch."""

    def __init__(self, kind: HaltKind, reason: str) -> None:
        super().__init__(reason)
        self.kind: HaltKind = kind
        self.reason = reason
