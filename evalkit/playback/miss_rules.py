"""Rules for calls that a case holds no answer for: what each tool's misses come to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias, get_args

from evalkit.canonical import Json
from evalkit.errors import ConfigError
from evalkit.trace.model import Step

__all__ = [
    "MissPolicy",
    "MissRule",
    "check_rules",
    "in_order",
    "parse_rule",
    "rule_for",
    "rules_of_table",
    "table_of",
    "why_write",
]

MissPolicy: TypeAlias = Literal["fail", "error", "stub", "live"]
Source: TypeAlias = Literal["flag", "suite", "case", "settings"]
"""Who says a rule, the nearest first."""

_FORM = "--on-miss 'search_*=error', or =stub, =stub:JSON, =live, =fail"


@dataclass(frozen=True, slots=True)
class MissRule:
    """How misses of some tools are answered.

    Attributes:
        tools: glob pattern of tool and retrieval names.
        policy: ``fail``: the replay ends there; ``error``: the call fails, which the agent is told; ``stub``: a value
            of the shape that the tool's results have, or `value`; ``live``: the tool's body really runs, read tools
            only.
        value: what a stub answers, where `given`.
        source: who says so; a nearer one comes first: flag, suite, case, settings.
    """

    tools: str
    policy: MissPolicy
    value: Json = None
    given: bool = False
    source: Source = "flag"

    def json(self) -> dict[str, Json]:
        """The rule as a manifest holds it."""
        told: dict[str, Json] = {"tools": self.tools, "policy": self.policy, "source": self.source}
        return {**told, "value": self.value} if self.given else told


def parse_rule(text: str) -> MissRule:
    """The rule that a flag declares: ``PATTERN=POLICY``, or a policy alone for every tool.

    Raises:
        ConfigError: it is no rule.
    """
    tools, has_pattern, said = text.partition("=")
    if not has_pattern:
        tools, said = "*", text
    policy, has_value, value = said.partition(":")
    where = f"--on-miss {text!r}"
    if not has_value:
        return _rule(tools.strip(), policy.strip(), "flag", where)
    try:
        return _rule(tools.strip(), {policy.strip(): json.loads(value)}, "flag", where)
    except ValueError as error:
        raise ConfigError(f"the stub is no JSON: {error}", where, _FORM) from None


def rules_of_table(table: Mapping[str, Any], source: Source, where: str) -> tuple[MissRule, ...]:
    """The rules of a table ``{"search_*": "error", "rate": {"stub": 1.2}}``, in its order.

    Raises:
        ConfigError: it holds something else.
    """
    return tuple(_rule(tools, said, source, where) for tools, said in table.items())


def table_of(rules: Iterable[MissRule]) -> dict[str, Json]:
    """The table that says the rules."""
    return {rule.tools: {"stub": rule.value} if rule.given else rule.policy for rule in rules}


def in_order(rules: Iterable[MissRule]) -> tuple[MissRule, ...]:
    """The rules as they are tried: the nearest source's first, each source's in its own order."""
    ranks = get_args(Source)
    return tuple(sorted(rules, key=lambda rule: ranks.index(rule.source)))


def check_rules(rules: Sequence[MissRule], steps: Iterable[Step], *, sandbox: bool = False) -> None:
    """Refuses live tools that must not be live.

    Args:
        steps: the case's.
        sandbox: whether the replay is confined: then a tool reaches nothing.

    Raises:
        ConfigError: a rule makes a tool live that changes the world, or every tool, or one inside of a sandbox.
    """
    by_name = {step.name: step for step in steps if step.kind == "tool"}
    for rule in rules:
        if rule.policy != "live":
            continue
        where = f"on_miss {rule.tools} ({rule.source})"
        if not rule.tools.strip("*?"):
            raise ConfigError("live is for tools that are named", where, "--on-miss 'search_docs=live'")
        if sandbox:
            raise ConfigError("a live tool reaches nothing in a sandbox", where, "use error or stub, or no sandbox")
        for name, step in by_name.items():
            if fnmatchcase(name, rule.tools) and rule_for(rules, name) is rule and step.effect == "write":
                why = why_write(name, guessed=step.effect_source == "guessed")
                raise ConfigError(why, where, "narrow the pattern, or declare the tool's effect if it only reads")


def rule_for(rules: Sequence[MissRule], name: str) -> MissRule | None:
    """The first rule for a tool; None for none."""
    return next((rule for rule in rules if fnmatchcase(name, rule.tools)), None)


def why_write(name: str, *, guessed: bool) -> str:
    """Why a tool is not run."""
    return f"a write tool is never live: {name} " + ("is taken for one" if guessed else "changes the world")


def _rule(tools: str, said: Any, source: Source, where: str) -> MissRule:
    if not tools:
        raise ConfigError("the pattern of tool names is empty", where, _FORM)
    if isinstance(said, Mapping):
        if set(said) != {"stub"}:
            raise ConfigError(f"{tools}: only a stub has a value", where, f'"{tools}" = {{ stub = ... }}')
        return MissRule(tools, "stub", said["stub"], True, source)
    if said not in get_args(MissPolicy):
        raise ConfigError(f"{tools}: no miss policy is {said!r}", where, f"one of {', '.join(get_args(MissPolicy))}")
    return MissRule(tools, said, None, False, source)
