"""The tables that describe targets outside of Python, checked."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.errors import ConfigError
from evalkit.validation import faults_text

__all__ = ["CommandTable", "HttpTable", "read_table"]

T = TypeVar("T", bound=BaseModel)


class _Strict(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True)


class CommandTable(_Strict):
    """``{ type = "command", ... }``.

    Attributes:
        argv: the program and its arguments; no shell reads them.
        cwd: the folder to start it in; the current one by default.
        env: variables on top of the allowed ones.
        passed: names of variables that are passed on as they are (``pass`` in the table).
        output: how its answer is read, see `answer.answer_of`.
    """

    argv: list[str] = Field(min_length=1)
    cwd: str = ""
    env: dict[str, str] = {}
    passed: list[str] = Field(default=[], alias="pass")
    output: Literal["auto", "text", "json"] = "auto"


class HttpTable(_Strict):
    """``{ type = "http", ... }``.

    Attributes:
        url: what the input is posted to.
        headers: sent along.
        port: where the gateway is to be, for a service that was started with its base URLs; 0 for any.
        token: with a port: the first part of the gateway's paths; none by default.
        output: how its answer is read.
    """

    url: str = Field(pattern=r"^https?://[^/]")
    headers: dict[str, str] = {}
    port: int = Field(default=0, ge=0, le=65535)
    token: str = Field(default="", pattern=r"^[A-Za-z0-9._~-]*$")
    output: Literal["auto", "text", "json"] = "auto"


def read_table(model: type[T], body: Any, kind: str) -> T:
    """A table, checked.

    Raises:
        ConfigError: an unknown or missing key, or a value of the wrong kind.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise ConfigError(
            faults_text(error, model), f"target of type {kind}", "see docs/gateway.md for its keys"
        ) from None
