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

__all__ = ["WHOEVER", "entrypoint", "is_alone", "is_outside", "parse_reference", "reference_text"]

WHOEVER = "whoever connects"
"""What stands for the target where nobody starts one: `evalkit gateway`."""

_FORMS = (
    'target = "agent:run", "command: node agent.mjs", "http://127.0.0.1:9000/run", '
    'or a table such as { type = "command", argv = ["node", "agent.mjs"] }'
)


def reference_text(value: str | Mapping[str, Json]) -> str:
    """A target as one text, from a text or a table."""
    return value if isinstance(value, str) else exact_text(dict(value)).decode()


def is_outside(reference: str | Callable[..., Any]) -> bool:
    """Whether a reference names an agent in another process, as its form tells; a function may stand for itself."""
    if not isinstance(reference, str):
        return False
    if reference == WHOEVER:
        return True
    try:
        return parse_reference(reference)[0] in ("command", "http")
    except ConfigError:
        return False


def is_alone(reference: str) -> bool:
    """Whether only one replay of a target can be under way: its gateway has a port of its own."""
    try:
        body = parse_reference(reference)[1]
    except ConfigError:
        return False
    return isinstance(body, dict) and bool(body.get("port"))


def parse_reference(reference: str) -> tuple[str, str | dict[str, Json]]:
    """The kind that a reference names, and what its factory is given.

    Raises:
        ConfigError: a table without a type, no JSON, or a text of none of the forms.
    """
    text = reference.strip()
    if text.startswith("{"):
        return _table(text)
    if text.startswith(("http://", "https://")):
        return "http", text
    head, colon, rest = text.partition(":")
    if colon and head == "command" and rest[:1].isspace():
        return "command", rest.strip()
    entrypoint(reference)
    return "python", reference


def entrypoint(reference: str) -> tuple[str, str]:
    """Module and function of ``module:function``.

    Raises:
        ConfigError: it is not of that form.
    """
    module, _, function = reference.partition(":")
    if not module or not function:
        raise ConfigError(f"target {reference!r} is not of the form module:function", cure=_FORMS)
    return module, function


def _table(text: str) -> tuple[str, dict[str, Json]]:
    try:
        body: Any = parse_exact(text)
    except ValueError as error:
        raise ConfigError(f"not JSON: {error}", f"target {text[:80]}", _FORMS) from None
    if not isinstance(body, dict) or not isinstance(body.get("type"), str):
        raise ConfigError("a target's table names its type", f"target {text[:80]}", _FORMS)
    if body["type"] == "python":
        raise ConfigError("a Python target is no table", f"target {text[:80]}", 'target = "agent:run"')
    return body["type"], {key: value for key, value in body.items() if key != "type"}
