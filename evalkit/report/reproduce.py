"""The command that replays a case as the run did, ready to paste into a shell."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping

from evalkit.canonical import Json
from evalkit.playback.faults import fault_text
from evalkit.playback.modes import LIVE_MODES
from evalkit.verdict.model import CaseVerdict

__all__ = ["reproduce"]

_LONGEST_PROMPT = 1_500
_MOST_REPEATS = 20
_SEEN_AT_LEAST_ONCE = 0.05
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def reproduce(verdict: CaseVerdict, suite: Mapping[str, Json]) -> str:
    """The command: the version, target, mode and conditions of the run, from the suite as its manifest has it.

    Where the agent fails at times only, it is repeated as often as is needed to see a failure with 95 %, at the rate
    that the run found, and at most twenty times. A system prompt is given by the shell (``<(printf ...)``, bash and
    zsh); one of more than 1,500 characters is asked for as a file.
    """
    words = ["evalkit", "replay", f"{verdict.case_id}@{verdict.version}"]
    if suite.get("target"):
        words += ["--target", str(suite["target"])]
    words += [*_conditions(suite)]
    repeats = _repeats(verdict) if suite.get("mode") != "exact" else 1
    if repeats > 1:
        words += ["--repeat", str(repeats)]
    return f"{shlex.join(words)}{_prompt(suite)}"


def _conditions(suite: Mapping[str, Json]) -> Iterator[str]:
    model, mode = suite.get("model"), suite.get("mode")
    if mode in LIVE_MODES and isinstance(model, dict):
        yield from ("--mode", str(mode), "--base-url", str(model.get("base_url")), "--reason", "report")
        for flag, key in (("--model", "name"), ("--temperature", "temperature")):
            if model.get(key) is not None:
                yield from (flag, str(model[key]))
        if model.get("extra_body"):
            yield from ("--extra-body", json.dumps(model["extra_body"]))
    for fault in _tables(suite, "faults"):
        yield from ("--fault", fault_text(fault))
    supposed = suite.get("what_if")
    for text in supposed if isinstance(supposed, list) else ():
        yield from ("--what-if", str(text))
    for rule in _tables(suite, "on_miss"):
        stub = f":{json.dumps(rule['value'])}" if "value" in rule else ""
        yield from ("--on-miss", f"{rule.get('tools')}={rule.get('policy')}{stub}")
    if suite.get("seed"):
        yield from ("--seed", str(suite["seed"]))
    for flag, key in (("--strict", "strict"), ("--sandbox", "sandbox")):
        if suite.get(key):
            yield flag


def _tables(suite: Mapping[str, Json], key: str) -> Iterator[dict[str, Json]]:
    tables = suite.get(key)
    return (table for table in (tables if isinstance(tables, list) else ()) if isinstance(table, dict))


def _repeats(verdict: CaseVerdict) -> int:
    rate = verdict.rate
    if rate is None or not 0 < rate < 1:
        return 1
    return min(math.ceil(math.log(_SEEN_AT_LEAST_ONCE) / math.log(rate)), _MOST_REPEATS)


def _prompt(suite: Mapping[str, Json]) -> str:
    model = suite.get("model")
    prompt = model.get("system_prompt") if isinstance(model, dict) and suite.get("mode") in LIVE_MODES else None
    if not isinstance(prompt, str):
        return ""
    if len(prompt) > _LONGEST_PROMPT:
        return " --system-prompt PROMPT.txt"
    return f" --system-prompt <(printf '%s\\n' {_quoted(prompt)})"


def _quoted(text: str) -> str:
    """A text of several lines in one: bash's and zsh's ``$'...'``."""
    return "$'" + "".join(_ESCAPES.get(character, character) for character in text) + "'"
