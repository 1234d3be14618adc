"""What answered a replay's live model calls, and what they were asked with, from the replay's own steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalkit.canonical import Json, digest
from evalkit.suite.model import Served
from evalkit.trace.asked import prompt_fingerprint, system_prompt, tool_schemas, tools_fingerprint
from evalkit.trace.model import Step

__all__ = ["served"]


def served(steps: Iterable[Step]) -> Served:
    """What live model steps came to; distinct values in the order of their first appearance."""
    asked = list(steps)
    return Served(
        models=_distinct(step.model for step in asked if step.error is None),
        fingerprints=_distinct(_fingerprint(step) for step in asked),
        prompts=_distinct(_prompt(step) for step in asked),
        toolsets=_distinct(_toolset(step) for step in asked),
        cached_tokens=sum(step.usage.cached_tokens or 0 for step in asked if step.usage is not None),
        answers=_answers(asked),
    )


def _distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))


def _prompt(step: Step) -> str | None:
    text = system_prompt(step)
    return None if text is None else prompt_fingerprint(text)


def _toolset(step: Step) -> str | None:
    schemas = tool_schemas(step)
    return tools_fingerprint(schemas) if schemas else None


def _fingerprint(step: Step) -> str | None:
    found = _top(step).get("system_fingerprint")
    return found if isinstance(found, str) else None


def _answers(steps: Sequence[Step]) -> str:
    ids = [str(_top(step).get("id") or "") for step in steps if step.error is None]
    return digest(list[Json](ids))[:16] if ids and all(ids) and len(set(ids)) == len(ids) else ""


def _top(step: Step) -> Mapping[str, Any]:
    """What the wire keeps of an answer besides its plain form: the fields at the body's top."""
    extra = step.attributes.get("extra")
    top = extra.get("top") if isinstance(extra, Mapping) else None
    return top if isinstance(top, Mapping) else {}
