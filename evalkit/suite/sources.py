"""Files that say what an agent is told today: its system prompts and its tools, as settings and suites name them.

[affected]
prompt = "agent/prompt.txt"        # or several; patterns, too
tools = ["agent/tools.json"]       # definitions in the form of OpenAI, Anthropic or MCP
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NO_SOURCES", "Sources"]


@dataclass(frozen=True, slots=True)
class Sources:
    """Paths of files, from the project's root; glob patterns are possible.

    Attributes:
        prompt: system prompts, a file each.
        tools: JSON files with tools' definitions.
    """

    prompt: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.prompt or self.tools)

    def with_more(self, other: Sources) -> Sources:
        """Both sources' files, each once."""
        pairs = ((self.prompt, other.prompt), (self.tools, other.tools))
        prompt, tools = (tuple(dict.fromkeys((*own, *more))) for own, more in pairs)
        return Sources(prompt, tools)


NO_SOURCES = Sources()
