"""`evalkit affected`: which cases were recorded under another prompt, other tools or other effects than today's.

Today's are read from files, or seen in a fresh replay of the target. Nothing is asked of a live model.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from evalkit.app.environment import acting, now_utc
from evalkit.app.keys import output_sanitizer
from evalkit.app.life import write_revised
from evalkit.app.proving import proving_replays
from evalkit.app.settings import Settings
from evalkit.canonical import Json
from evalkit.case.model import Case, LifeEvent
from evalkit.case.store import find_case, read_case, read_with_digest
from evalkit.distil.surroundings import AsKept, Today, Touch, approval_of, fits_any_prompt, surroundings_of, touches
from evalkit.errors import ConfigError, InputError
from evalkit.integrations.mcp_forms import effect_of_hints
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.select import list_cases
from evalkit.suite.sources import Sources
from evalkit.trace.asked import schemas_of, system_prompt, tool_schemas
from evalkit.trace.model import Effect, Step

__all__ = ["Affected", "Held", "affected_cases", "holding", "reapprove_case"]

_CURE = "re-record it (evalkit ingest --into {0}), or evalkit reapprove {0} --reason WHY"


@dataclass(frozen=True, slots=True)
class Affected:
    """One case, and what of today's touches it.

    Attributes:
        unknown: why it could not be told, where a target was asked; empty else.
    """

    case_id: str
    version: int
    state: str
    touches: tuple[Touch, ...]
    unknown: str = ""


def _today_of(sources: Sources, settings: Settings) -> Today:
    """What the files say, with the settings' word on effects before the tools' own annotations.

    Raises:
        ConfigError: there is no such file, or it holds no prompt, or no tools.
    """
    prompts = [_prompt(path) for path in _files(sources.prompt, settings.root)]
    tools: dict[str, Json] = {}
    hinted: dict[str, Effect] = {}
    for path in _files(sources.tools, settings.root):
        definitions = _definitions(path)
        tools |= schemas_of(definitions)
        hinted |= _hinted(definitions)
    return Today(
        tuple(prompts) if sources.prompt else None,
        tools if sources.tools else None,
        lambda name: settings.effect_of(name) or hinted.get(name),
        _as_kept(prompts, settings),
    )


def affected_cases(
    settings: Settings, sources: Sources, *, cases: Sequence[str] = (), target: str = ""
) -> list[Affected]:
    """What of today's touches each case that is not retired, by id; untouched ones are among them.

    Args:
        sources: files that say what the agent is told.
        cases: ids or glob patterns; empty for all.
        target: an agent whose first request in the case's frozen world says it, for what no file says.

    Raises:
        ConfigError: nothing says what there is today, a file is wrong, or a pattern means no case.
    """
    if not sources and not target and not settings.effects:
        raise ConfigError(
            "nothing says what the agent is told today",
            settings.source,
            "pass --prompt, --tools or --target, or add [affected] prompt = ... to evalkit.toml",
        )
    today = _today_of(sources, settings)
    chosen = [case for case in list_cases(settings.cases) if case.state != "retired" and _is_meant(case.id, cases)]
    if cases and not chosen:
        raise ConfigError(f"no case is meant by {', '.join(cases)}", str(settings.cases), "evalkit list")
    return [_affected(read_case(case.path), today, target, settings) for case in chosen]


def reapprove_case(
    case_id: str, settings: Settings, sources: Sources, *, actor: str, reason: str, target: str = ""
) -> tuple[Path, list[Touch]]:
    """Says that a case tests what it should under today's prompt and tools, too; gives the new version's file.

    What was agreed to is kept with the case: another change touches it anew.

    Raises:
        InputError: nothing of today's touches the case, it is retired, or actor or reason is missing.
    """
    case, digest = read_with_digest(find_case(case_id, settings.cases))
    if case.state == "retired":
        raise InputError("the case is retired", f"case {case.id}", f"evalkit review {case.id} takes it up again")
    today = _today_of(sources, settings)
    if target:
        today, unknown = _seen(case, today, target, settings)
        if unknown:
            raise InputError(unknown, f"case {case.id}", "pass --prompt or --tools")
    found = touches(case, today)
    if not found:
        raise InputError("nothing of today's touches the case", f"case {case.id}", "evalkit affected")
    words = "; ".join(touch.words for touch in found)
    proved = f"agreed to as it is, though {output_sanitizer(settings).text(words)}"
    event = LifeEvent(case.state, acting(actor, settings), reason, now_utc(), proved)
    moved = replace(case.moved(digest, event), approved=approval_of(case, today))
    return write_revised(moved, settings), found


@dataclass(frozen=True, slots=True)
class Held:
    """What today's prompt and tools mean for a release.

    Attributes:
        holds: touched cases: (case id, why and the cure).
        unknown: ids of those of which it can't be told, since the recording shows no system prompt.
    """

    holds: tuple[tuple[str, str], ...] = ()
    unknown: tuple[str, ...] = ()


def holding(cases: Iterable[CaseRef], sources: Sources, settings: Settings) -> Held:
    """The cases of these that today's prompt and tools touch; none where no file says, and none that is retired."""
    if not sources:
        return Held()
    today = _today_of(sources, settings)
    holds: list[tuple[str, str]] = []
    unknown: list[str] = []
    for known in cases:
        if known.state == "retired":
            continue
        case = read_case(known.path)
        found = touches(case, today)
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            holds.append((case.id, f"{found[0].words}{more}; {_CURE.format(case.id)}"))
        elif _lacks_prompt(case, today):
            unknown.append(case.id)
    return Held(tuple(holds), tuple(unknown))


def _affected(case: Case, today: Today, target: str, settings: Settings) -> Affected:
    unknown = ""
    if target:
        today, unknown = _seen(case, today, target, settings)
    if not unknown and _lacks_prompt(case, today):
        unknown = "its model calls were recorded without a system prompt: whether today's is another one can't be told"
    return Affected(case.id, case.version, case.state, tuple(touches(case, today)), unknown)


def _lacks_prompt(case: Case, today: Today) -> bool:
    """Whether it asked a model, and its recording has no system prompt to be compared with today's."""
    if today.prompts is None or surroundings_of(case).prompts:
        return False
    return next(case.trace.trace.of_kind("model"), None) is not None


def _seen(case: Case, today: Today, target: str, settings: Settings) -> tuple[Today, str]:
    """What a target's first model call in the case's frozen world shows, where no file says it; or why nothing does."""
    (replay,) = proving_replays(case, target, settings)
    asked = next(replay.trace.of_kind("model"), None)
    missed = next((miss for miss in replay.misses if miss.kind == "model"), None)
    if missed is not None and (asked is None or missed.number == 1):
        asked = Step(0, "model", "chat", missed.arguments)
    if asked is None:
        return today, f"a replay of {target} asks no model: {replay.reason or replay.status}"
    prompt, tools = system_prompt(asked), tool_schemas(asked)
    prompts, kept = today.prompts, today.kept
    if prompts is None and prompt is not None:
        prompts, kept = (prompt,), _as_kept([prompt], settings)
    declared = {step.name: step.effect for step in replay.trace.of_kind("tool") if step.effect_source == "declared"}
    seen = Today(
        prompts,
        tools if today.tools is None and tools else today.tools,
        lambda name: today.effect_of(name) or declared.get(name),
        kept,
    )
    return seen, ""


def _as_kept(prompts: Sequence[str], settings: Settings) -> AsKept:
    if not prompts:
        return AsKept()
    sanitizer = output_sanitizer(settings)
    kept = tuple(sanitizer.text(prompt) for prompt in prompts)
    return AsKept(kept, sanitizer.surrogates, sanitizer.key_id)


def _files(patterns: Sequence[str], root: Path) -> Iterator[Path]:
    for pattern in patterns:
        found = sorted(glob.glob(str(root / pattern), recursive=True))
        if not found:
            raise ConfigError(f"there is no {pattern}", str(root), "name the file that holds it today")
        yield from map(Path, found)


def _prompt(path: Path) -> str:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the prompt can't be read: {error}", str(path), "give a file of UTF-8 text") from None
    if not text.strip():
        raise ConfigError("the file holds no prompt", str(path), "name the file that holds it today")
    if fits_any_prompt(text):
        cure = "name the files of system prompts alone"
        raise ConfigError("the file holds placeholders alone, which every recorded prompt fits", str(path), cure)
    return text


def _definitions(path: Path) -> list[Any]:
    """The definitions in a file: a list, or an object that holds it under ``tools`` (or ``result.tools``)."""
    try:
        body = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, OSError) as error:
        raise ConfigError(f"not JSON: {error}", str(path), "give the tools as a JSON list") from None
    if isinstance(body, dict) and isinstance(body.get("result"), dict):
        body = body["result"]
    found = body.get("tools") if isinstance(body, dict) else body
    if not isinstance(found, list) or not schemas_of(found):
        raise ConfigError("the file holds no tools", str(path), 'give [{"name": ..., "parameters": {...}}, ...]')
    return found


def _hinted(definitions: Iterable[Any]) -> Mapping[str, Effect]:
    """The effects that MCP annotations declare."""
    found: dict[str, Effect] = {}
    for tool in definitions:
        hints = tool.get("annotations") if isinstance(tool, dict) else None
        effect = effect_of_hints(hints) if isinstance(hints, dict) else None
        if effect is not None and isinstance(tool.get("name"), str):
            found[tool["name"]] = effect
    return found


def _is_meant(case_id: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(case_id, pattern) for pattern in patterns)
