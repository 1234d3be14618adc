"""The bodies of a model provider's API, asked and answered, in normal form: what every log of raw calls is read by.

One module a provider gives a `Provider`. It says whether a body is its own, and takes it apart; where the bodies stand
in a log's record, and which records are one conversation, is the business of `provider_records` and `exchanges`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from evalkit.canonical import Json
from evalkit.trace.formats.seen import SeenItems
from evalkit.trace.model import Usage

__all__ = ["Answered", "Asked", "Provider"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request.

    Attributes:
        messages: the Messages, the developer's instructions first. A tool message of a failed call has ``is_error``,
            which the caller takes out.
        tools, params: definitions and sampling parameters.
        model: the model that was asked for.
        follows: the id of the response whose conversation this request goes on with, where the server keeps it.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    tools: list[Json] = field(default_factory=list)
    params: dict[str, Json] = field(default_factory=dict)
    model: str | None = None
    follows: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """A response.

    Attributes:
        message: the assistant's Message (of several choices, the first).
        id: the response's id.
        attributes: what else it says: why it stopped unusually, the other choices.
        created: seconds since 1970.
    """

    message: dict[str, Any]
    model: str | None = None
    usage: Usage | None = None
    id: str | None = None
    created: float | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


class Provider(Protocol):
    """The dialect of one API."""

    name: str
    """The name of the format whose logs mostly hold this dialect."""

    def asks(self, body: dict[str, Any]) -> bool:
        """Whether `body` is a request of this API and of no other."""
        ...

    def answers(self, body: dict[str, Any]) -> bool:
        """Whether `body` is a response of this API."""
        ...

    def asked(self, body: dict[str, Any], seen: SeenItems) -> Asked:
        """The request in normal form.

        Args:
            seen: what the log's other requests held.
        """
        ...

    def answered(self, body: dict[str, Any]) -> Answered:
        """The response in normal form."""
        ...
