"""How a target is named, in settings, suites, cases and flags: one text, whatever its kind.

- ``module:function``: a Python entrypoint.
- ``command: node agent.mjs``: a program; the line is split as a shell would, and no shell reads it.
- ``http://127.0.0.1:9000/run``: an agent service.
- a table, as JSON: ``{"type": "command", "argv": ["node", "agent.mjs"]}``; in TOML it may be written as a table. Its
  ``type`` is a name of the registry, so that third parties' targets are named the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalkit.canonical import Json, exact_text, parse_exact
from evalkit.errors import ConfigError
from evalkit.playback.targets.protocol import TARGETS, AnyTarget

__all__ = ["is_outside", "make_target", "reference_text"]

_FORMS = (
    'target = "agent:run", "command: node agent.mjs", "http://127.0.0.1:9000/run", '
    'or a table such as { type = "command", argv = ["node", "agent.mjs"] }'
)


def make_target(reference: str | Callable[..., Any]) -> AnyTarget:
    """The target of a reference; a function stands for itself.

    Raises:
        ConfigError: there is no such target, or the reference is of no form.
    """
    kind, rest = _parsed(reference) if isinstance(reference, str) else ("python", reference)
    return TARGETS.get(kind)(rest)


def reference_text(value: str | Mapping[str, Json]) -> str:
    """A target as one text, from a text or a table."""
    return value if isinstance(value, str) else exact_text(dict(value)).decode()


def is_outside(reference: str) -> bool:
    """Whether a reference names an agent in another process, as its form tells."""
    try:
        return _parsed(reference)[0] in ("command", "http")
    except ConfigError:
        return False


def _parsed(reference: str) -> tuple[str, Any]:
    text = reference.strip()
    if text.startswith("{"):
        return _table(text)
    if text.startswith(("http://", "https://")):
        return "http", text
    head, colon, rest = text.partition(":")
    if colon and head == "command" and rest[:1].isspace():
        return "command", rest.strip()
    return "python", reference


def _table(text: str) -> tuple[str, Any]:
    try:
        body = parse_exact(text)
    except ValueError as error:
        raise ConfigError(f"not JSON: {error}", f"target {text[:80]}", _FORMS) from None
    if not isinstance(body, dict) or not isinstance(body.get("type"), str):
        raise ConfigError("a target's table names its type", f"target {text[:80]}", _FORMS)
    return body["type"], {key: value for key, value in body.items() if key != "type"}
