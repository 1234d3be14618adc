"""What a replay changes, read from flags and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalkit.errors import ConfigError
from evalkit.playback.overrides import Overrides

__all__ = ["read_extra_body", "read_overrides", "read_prompt"]

_TOOLS = '[{"name": "lookup", "description": "...", "parameters": {"type": "object"}}]'


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
    return Overrides(
        model,
        None if system_prompt is None else read_prompt(system_prompt),
        temperature,
        None if tools is None else _tools(tools),
        read_extra_body(extra_body, "--extra-body") if extra_body else {},
    )


def read_prompt(path: Path) -> str:
    """The system prompt in a text file.

    Raises:
        ConfigError: it can't be read, or is empty.
    """
    prompt = _text(path).removesuffix("\n")
    if not prompt.strip():
        raise ConfigError("the system prompt is empty", str(path), "write one into the file")
    return prompt


def read_extra_body(text: str, flag: str) -> dict[str, Any]:
    """Further fields of a model's request.

    Args:
        flag: what gave the text.

    Raises:
        ConfigError: it is no JSON object.
    """
    form = f"""{flag}='{{"top_k": 20}}'"""
    found = _json(text, flag, form)
    if not isinstance(found, dict):
        raise ConfigError("extra fields are a JSON object", flag, form)
    return found


def _tools(path: Path) -> tuple[Any, ...]:
    found = _json(_text(path), str(path), _TOOLS)
    if not isinstance(found, list) or not all(isinstance(tool, dict) for tool in found):
        raise ConfigError("tools are a JSON list of definitions", str(path), _TOOLS)
    return tuple(found)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror}", str(path), "correct the path") from None
    except UnicodeDecodeError:
        raise ConfigError("not UTF-8", str(path), "save it as UTF-8") from None


def _json(text: str, where: str, form: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(f"not JSON: {error}", where, form) from None
