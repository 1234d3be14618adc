"""The table ``[affected]`` of settings and suites, checked."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from evalkit.suite.sources import Sources

__all__ = ["SourcesFile"]


class SourcesFile(BaseModel):
    """The table as a file has it: a path, or several."""

    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True)

    prompt: str | list[str] = []
    tools: str | list[str] = []

    def sources(self) -> Sources:
        """What the table names."""
        return Sources(_several(self.prompt), _several(self.tools))


def _several(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
