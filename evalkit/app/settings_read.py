"""Project settings: ``evalkit.toml`` or ``[tool.evalkit]`` in ``pyproject.toml``, read once.

Precedence, highest first: a flag, an ``EVALKIT_<KEY>`` variable, the file, the default. Unknown keys and unknown
``EVALKIT_`` variables are errors, because a misspelt setting that is ignored makes a wrong green.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evalkit.app.settings import DEFAULTS, Settings
from evalkit.app.settings_file import CASES, settings_of
from evalkit.errors import ConfigError
from evalkit.project import SETTINGS_NAME, SHARED_NAME, project_here

__all__ = ["cases_named", "load_settings", "project_table", "settings_here"]

_FOLDERS_AND_WORDS = ("cases", "suites", "reports", "target", "owner")
_VARIABLES = {*(f"EVALKIT_{name.upper()}" for name in _FOLDERS_AND_WORDS), "EVALKIT_KEY_FILE", "EVALKIT_EVIDENCE"}
_OTHER_VARIABLES = {
    "EVALKIT_PSEUDONYM_KEY",
    "EVALKIT_ACTOR",
    "EVALKIT_VENV",
    "EVALKIT_RECORD_OUT",
    "EVALKIT_RECORD_NAME",
    "EVALKIT_RECORD_POLICY",
    "EVALKIT_REPLAYED",
    "EVALKIT_MCP_URL",
    "EVALKIT_TIME",
    "EVALKIT_SEED",
}


def load_settings(root: Path, environment: Mapping[str, str]) -> Settings:
    """The settings of the project at `root`.

    Raises:
        ConfigError: a file is no TOML, a key or an ``EVALKIT_`` variable is unknown, a value is of the wrong kind.
    """
    body, source = _read(root)
    unknown = {name for name in environment if name.startswith("EVALKIT_")} - _VARIABLES - _OTHER_VARIABLES
    if unknown:
        known = ", ".join(sorted(_VARIABLES | _OTHER_VARIABLES))
        raise ConfigError(f"unknown variable {', '.join(sorted(unknown))}", "environment", f"known are: {known}")
    for name in _FOLDERS_AND_WORDS:
        if environment.get(f"EVALKIT_{name.upper()}"):
            body[name] = environment[f"EVALKIT_{name.upper()}"]
    return settings_of(body, source, root, environment)


def settings_here(environment: Mapping[str, str]) -> Settings:
    """The settings of the project that the current folder is in; its paths are told from the current folder.

    Raises:
        ConfigError: see `load_settings`.
    """
    here, root = Path.cwd(), project_here()
    return load_settings(Path() if root == here else Path(os.path.relpath(root, here)), environment)


def cases_named(table: Mapping[str, Any]) -> str:
    """The folder of cases as a project's table has it, see `project_table`; the usual one where it does not say."""
    return str(table.get("cases", CASES))


def project_table(text_of: Callable[[str], str | None]) -> Mapping[str, Any]:
    """What a project's files say, unchecked; nothing where they don't, or can't be read.

    Args:
        text_of: the content of a file of the project's folder, by its name; None where there is none.
    """
    for name in (SETTINGS_NAME, SHARED_NAME):
        text = text_of(name)
        if text is None:
            continue
        try:
            body = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            break
        own = body if name == SETTINGS_NAME else _of_shared(body)
        if isinstance(own, dict):
            return own
    return {}


def _read(root: Path) -> tuple[dict[str, Any], str]:
    own, shared = root / SETTINGS_NAME, root / SHARED_NAME
    if own.exists():
        return _toml(own), str(own)
    if shared.exists():
        found = _of_shared(_toml(shared))
        if found is not None and not isinstance(found, dict):
            raise ConfigError("tool.evalkit is no table", str(shared), "write [tool.evalkit], and the keys below it")
        if found is not None:
            return found, f"{shared} [tool.evalkit]"
    return {}, DEFAULTS


def _of_shared(body: Mapping[str, Any]) -> Any:
    """What a file that tools share says of evalkit; None for nothing."""
    tool = body.get("tool")
    return tool.get("evalkit") if isinstance(tool, dict) else None


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"not TOML: {error}", str(path), "correct the file") from None
