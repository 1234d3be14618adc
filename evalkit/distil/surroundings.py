"""What an incident's agent was told and could do: its system prompts, its tools' schemas, what they do to the world.

A case whose surroundings are no longer today's may test what nobody ships. Which they are, and what of today's touches
them, is told here; what a source does not tell is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from evalkit.canonical import Json, canonical
from evalkit.capture.definition import DEFINITION
from evalkit.case.model import Case
from evalkit.sanitize.register import NO_SURROGATES, Surrogates
from evalkit.trace.asked import prompt_fingerprint, schemas_of, system_prompt, tool_schemas, tools_fingerprint
from evalkit.trace.model import Effect

__all__ = [
    "AsKept",
    "Surroundings",
    "Today",
    "Touch",
    "approval_of",
    "fits_any_prompt",
    "fits_prompt",
    "surroundings_of",
    "touches",
]

TouchKind: TypeAlias = Literal["prompt", "tool", "effect"]
_PLACEHOLDER = re.compile(r"\{\{\s*[\w.]+\s*\}\}|\$\{[\w.]+\}|\{[\w.]*\}")
_BETWEEN = re.compile(r"[\W_]")
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a case recorded.

    Attributes:
        prompts: distinct system prompts, in order.
        tools: schemas of the tools that were called, by name, as far as they are known.
        effects: of the tools that were called.
    """

    prompts: tuple[str, ...]
    tools: Mapping[str, Json]
    effects: Mapping[str, Effect]


@dataclass(frozen=True, slots=True)
class AsKept:
    """Today's prompts as a case would hold them: a case's texts were sanitized.

    Attributes:
        surrogates: those that stand in them.
        key_id: of the key that made them; a case of another key has others for the same values.
    """

    prompts: tuple[str, ...] = ()
    surrogates: Surrogates = field(default_factory=lambda: NO_SURROGATES)
    key_id: str = ""


@dataclass(frozen=True, slots=True)
class Today:
    """What the agent is told and can do now; None where that is not known.

    Attributes:
        prompts: system prompts, which may hold placeholders such as ``{name}``.
        kept: the same, sanitized.
        tools: schemas of all tools, by name.
        effect_of: the effect of a tool, None where nobody says.
    """

    prompts: tuple[str, ...] | None = None
    tools: Mapping[str, Json] | None = None
    effect_of: Callable[[str], Effect | None] = field(default=lambda name: None)
    kept: AsKept = AsKept()


@dataclass(frozen=True, slots=True)
class Touch:
    """One way in which today's surroundings are not the case's.

    Attributes:
        name: the tool's; empty for a prompt.
        words: what is otherwise, one phrase.
    """

    kind: TouchKind
    name: str
    words: str


def surroundings_of(case: Case) -> Surroundings:
    """What a case recorded, from all its steps: those that only answer were offered too."""
    prompts: dict[str, None] = {}
    shown: dict[str, Json] = {}
    defined: dict[str, Json] = {}
    effects: dict[str, Effect] = {}
    for step in case.trace.trace.steps:
        if step.kind == "model":
            if (prompt := system_prompt(step)) is not None:
                prompts.setdefault(prompt)
            shown |= tool_schemas(step)
        elif step.kind == "tool":
            defined |= schemas_of([step.attributes.get(DEFINITION)])
            if step.effect is not None:
                effects.setdefault(step.name, step.effect)
    schemas = {**defined, **shown}
    return Surroundings(tuple(prompts), {name: schemas[name] for name in effects if name in schemas}, effects)


def touches(case: Case, today: Today) -> list[Touch]:
    """What of today's is neither as the case recorded it nor as somebody approved it for the case."""
    recorded = surroundings_of(case)
    found = [*_prompt_touches(recorded, case, today), *_tool_touches(recorded, case, today)]
    approved = _mapping(case.approved, "effects")
    for name, effect in recorded.effects.items():
        now = today.effect_of(name)
        if now is not None and now not in (effect, approved.get(name)):
            found.append(Touch("effect", name, f"{name} was of effect {effect} and is {now} now"))
    return found


def approval_of(case: Case, today: Today) -> dict[str, Json]:
    """What a person agrees to who approves the case as it is: today's fingerprints and effects of what touches it."""
    approved = dict(case.approved)
    tools, effects = _mapping(approved, "tools"), _mapping(approved, "effects")
    for touch in touches(case, today):
        if touch.kind == "prompt":
            approved["prompts"] = [*sorted(map(prompt_fingerprint, today.prompts or ()))]
        elif touch.kind == "tool":
            tools[touch.name] = _fingerprint(touch.name, today.tools or {})
        else:
            effects[touch.name] = today.effect_of(touch.name)
    return {**approved, **({"tools": tools} if tools else {}), **({"effects": effects} if effects else {})}


def fits_prompt(recorded: str, today: str) -> bool:
    """Whether a recorded system prompt is today's, whatever its placeholders are filled with.

    A placeholder is ``{name}``, ``{{name}}`` or ``${name}``; doubled braces stand for themselves. Literal text is
    looked for from left to right, which finds a way to fill the placeholders where there is one.
    """
    text = _plain(recorded.strip())
    first, *middle = [_plain(part) for part in _PLACEHOLDER.split(today.strip())]
    if not middle:
        return text == first
    *middle, last = middle
    if not (text.startswith(first) and text.endswith(last) and len(text) >= len(first) + len(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def fits_any_prompt(today: str) -> bool:
    """Whether a prompt is made of placeholders alone: nothing that was recorded is another one."""
    return not _PLACEHOLDER.sub("", today).strip()


def _prompt_touches(recorded: Surroundings, case: Case, today: Today) -> Iterator[Touch]:
    if today.prompts is None or not recorded.prompts:
        return
    approved = case.approved.get("prompts")
    known = set(map(prompt_fingerprint, (*today.prompts, *today.kept.prompts)))
    if isinstance(approved, list) and approved and set(map(str, approved)) <= known:
        return
    gone = [prompt for prompt in recorded.prompts if not _is_todays(prompt, case, today)]
    if gone:
        which = "its system prompt" if len(recorded.prompts) == 1 else f"{len(gone)} of its system prompts"
        yield Touch("prompt", "", f"{which} (“{_short(gone[0])}”) is not today's any more")


def _is_todays(prompt: str, case: Case, today: Today) -> bool:
    """Whether a recorded prompt is one of today's; by another key than its own, whatever its surrogates stand for."""
    kept, record = today.kept, case.trace.record
    if any(fits_prompt(prompt, now) for now in (*(today.prompts or ()), *kept.prompts)):
        return True
    if kept.key_id == record.key_id:
        return False
    without = _without(record.surrogates, prompt)
    return any(fits_prompt(without, _without(kept.surrogates, now)) for now in kept.prompts)


def _without(surrogates: Surrogates, text: str) -> str:
    """A text with one mark for each of some surrogates, in whatever spelling (``+49 30``, ``4930``)."""
    bare = _BETWEEN.sub("", text).lower()
    each = {_BETWEEN.sub("", one).lower() for of_kind in surrogates.values() for one in of_kind}
    found = sorted((one for one in each if one and one in bare), key=len, reverse=True)
    return re.sub("|".join(map(r"[\W_]*".join, found)), "\0", text, flags=re.IGNORECASE) if found else text


def _tool_touches(recorded: Surroundings, case: Case, today: Today) -> Iterator[Touch]:
    if today.tools is None:
        return
    approved = _mapping(case.approved, "tools")
    for name, schema in recorded.tools.items():
        now = _fingerprint(name, today.tools)
        if now in (tools_fingerprint({name: _bare(schema)}), approved.get(name)):
            continue
        if not now:
            yield Touch("tool", name, f"it calls {name}, which is no tool any more")
        else:
            changed = "; ".join(_differences(_bare(schema), _bare(today.tools[name])))
            yield Touch("tool", name, f"it calls {name}, which is described otherwise: {changed}")


def _fingerprint(name: str, tools: Mapping[str, Json]) -> str:
    """Of one tool's schema; empty for a tool that there is not."""
    return tools_fingerprint({name: _bare(tools[name])}) if name in tools else ""


def _bare(schema: Json) -> Json:
    """A schema without what only names it."""
    if isinstance(schema, dict):
        return {
            key: _bare(value)
            for key, value in schema.items()
            if key != "$schema" and not (key == "title" and isinstance(value, str))
        }
    return [_bare(item) for item in schema] if isinstance(schema, list) else schema


def _differences(then: Json, now: Json) -> list[str]:
    """The first places in which two schemas differ, in words."""
    before, after = dict(_leaves(then, "")), dict(_leaves(now, ""))
    found = [
        f"{path} {_told(before.get(path))} → {_told(after.get(path))}"
        for path in dict.fromkeys([*before, *after])
        if before.get(path) != after.get(path)
    ]
    more = len(found) - _NAMED
    return found[:_NAMED] + ([f"and {more} more"] if more > 0 else [])


def _leaves(value: Json, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key in value:
            yield from _leaves(value[key], f"{path}/{key}")
    else:
        yield path.removeprefix("/parameters").removeprefix("/properties") or "/", canonical(value).decode()


def _told(value: str | None) -> str:
    return "nothing" if value is None else _short(value)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("{{", "{").replace("}}", "}")


def _mapping(body: Mapping[str, Json], key: str) -> dict[str, Json]:
    found = body.get(key)
    return dict(found) if isinstance(found, dict) else {}
