"""Another policy for a run that is finished: from a flag, or from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit.errors import ConfigError
from evalkit.suite.config import check_policy_keys, suite_from_json
from evalkit.suite.model import Suite

__all__ = ["policy_of_file", "policy_of_text", "with_policy"]

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
    found = {key: value for key, value in body.items() if key in ("policy", "policies")}
    if not found:
        raise ConfigError("the file has no [policy]", str(path), 'add [policy] kind = "zero_failures"')
    check_policy_keys(found, str(path))
    return found


def with_policy(suite: Mapping[str, Any], policy: Mapping[str, Any]) -> Suite:
    """A suite, as a manifest has it, with other policies; what policies it had for some cases goes with its own.

    Raises:
        ConfigError: they are none.
    """
    kept = {key: value for key, value in suite.items() if key not in ("policy", "policies")}
    return suite_from_json({**kept, **policy}, "the policy given")


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
