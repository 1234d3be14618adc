"""Another policy for a run that is finished: from a flag, or from a file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from evalkit.errors import ConfigError
from evalkit.suite.config import check_policy_keys

__all__ = ["policy_of_file", "policy_of_text"]

_FORM = "as in --policy kind=min_rate,min_rate=0.9, or --policy zero_failures"


def policy_of_text(text: str) -> dict[str, Any]:
    """What ``zero_failures`` or ``kind=min_rate,min_rate=0.9`` says, as keys of a suite.

    Raises:
        ConfigError: a part is no ``key=value``, or means nothing to the policy's kind. Whether it is a policy, the
            suite's reader says.
    """
    table: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            key, value = "kind", key
        if not key or not value or key in table:
            raise ConfigError(f"not a policy: {part!r}", f"policy {text!r}", _FORM)
        table[key] = _number(value)
    found = {"policy": table}
    check_policy_keys(found, f"policy {text!r}")
    return found


def policy_of_file(path: Path) -> dict[str, Any]:
    """The ``[policy]`` and ``[[policies]]`` of a suite or another TOML file.

    Raises:
        ConfigError: no such file, no TOML, it says nothing of policies, or what means nothing to their kinds.
    """
    try:
        body = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"the policy can't be read: {error}", str(path), "pass a TOML file with [policy]") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"not TOML: {error}", str(path), "correct the file") from None
    found: dict[str, Any] = {key: body[key] for key in ("policy", "policies") if key in body}
    if not found:
        raise ConfigError("the file has no [policy]", str(path), 'add [policy] kind = "zero_failures"')
    check_policy_keys(found, str(path))
    return found


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
