"""Where a gateway's session is, for people and for the environment of an agent."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.playback.sandbox.environment import DUMMY_KEY

__all__ = ["Address"]


@dataclass(frozen=True, slots=True)
class Address:
    """A session's place on the loopback.

    Attributes:
        port: of 127.0.0.1.
        token: the first part of every path; empty for a gateway with one session that anybody here may use.
    """

    port: int
    token: str = ""

    @property
    def url(self) -> str:
        """Base of everything; what an Anthropic client takes as its base URL."""
        return f"http://127.0.0.1:{self.port}" + (f"/{self.token}" if self.token else "")

    @property
    def openai(self) -> str:
        """The base URL of an OpenAI client."""
        return f"{self.url}/v1"

    @property
    def mcp(self) -> str:
        """The endpoint of an MCP client, for streamable HTTP."""
        return f"{self.url}/mcp"

    def environment(self) -> dict[str, str]:
        """The variables that lead an agent here."""
        return {
            "OPENAI_BASE_URL": self.openai,
            "OPENAI_API_KEY": DUMMY_KEY,
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": DUMMY_KEY,
            "EVALKIT_MCP_URL": self.mcp,
        }
