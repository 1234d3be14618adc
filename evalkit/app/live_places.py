"""Where tools are that no Python function is: MCP servers and URLs, as the settings name them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from evalkit.errors import ConfigError

__all__ = ["HttpPlace", "McpPlace", "filled_headers"]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class HttpPlace:
    """A tool behind a URL: the arguments go there as a JSON object, or as the query of a GET; the answer comes as JSON.

    Attributes:
        tools: a pattern of their names.
        headers: a value may name a variable of the environment, as in ``Bearer ${TOKEN}``.
    """

    tools: str
    url: str
    method: Literal["GET", "POST"] = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class McpPlace:
    """A server of tools: a program that speaks MCP over its standard streams, or a URL (streamable HTTP).

    Attributes:
        argv: the program and its arguments; empty where `url` is given.
        env: variables on top of the few that a program needs.
        passed: names of variables that are passed on as they are.
        headers: as `HttpPlace` has them.
    """

    name: str
    argv: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    passed: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


def filled_headers(headers: Mapping[str, str], where: str) -> dict[str, str]:
    """The headers with the environment's values.

    Raises:
        ConfigError: one names a variable that is not set.
    """
    for name in (name for text in headers.values() for name in _VARIABLE.findall(text)):
        if name not in os.environ:
            raise ConfigError(f"a header names ${{{name}}}, which is not set", where, f"export {name}=...")
    return {key: _VARIABLE.sub(lambda found: os.environ[found[1]], text) for key, text in headers.items()}
