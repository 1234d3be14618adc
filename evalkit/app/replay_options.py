"""What a replay changes, read from flags and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalkit.errors import ConfigError
from evalkit.playback.overrides import Overrides

__all__ = ["read_overrides"]


def read_overrides(
    model: str | None = None,
    system_prompt: Path | None = None,
    temperature: float | None = None,
    tools: Path | None = None,
    extra_body: str = "",
) -> Overrides:
    """The overrides that flags ask for.

    Args:
        system_prompt: a text file, taken as it is but for the newline at its end.
        tools: a JSON file with a list of definitions.
        extra_body: a JSON object.

    Raises:
        ConfigError: a file can't be read, or a JSON is not of that form.
    """
    prompt = None if system_prompt is None else _text(system_prompt).removesuffix("\n")
    if system_prompt is not None and not (prompt or "").strip():
        raise ConfigError("the system prompt is empty", str(system_prompt), "write one into the file")
    found: tuple[Any, ...] | None = None
    if tools is not None:
        listed = _json(_text(tools), str(tools))
        if not isinstance(listed, list) or not all(isinstance(tool, dict) for tool in listed):
            raise ConfigError("tools are a JSON list of definitions", str(tools), _TOOLS)
        found = tuple(listed)
    extra = _json(extra_body, "--extra-body") if extra_body else {}
    if not isinstance(extra, dict):
        raise ConfigError("extra fields are a JSON object", "--extra-body", """--extra-body '{"top_k": 20}'""")
    return Overrides(model, prompt, temperature, found, extra)


_TOOLS = '[{"name": "lookup", "description": "...", "parameters": {"type": "object"}}]'


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror}", str(path), "correct the path") from None
    except UnicodeDecodeError:
        raise ConfigError("not UTF-8", str(path), "save it as UTF-8") from None


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(f"not JSON: {error}", where, "correct it") from None
