"""No side effect twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.canonical import canonical
from evalkit.check.model import Finding, Judge
from evalkit.check.params import known_only, object_of, texts
from evalkit.check.view import shown
from evalkit.check.writes import effects_of
from evalkit.errors import InputError
from evalkit.trace.model import Step, Trace

__all__ = ["REPEATED_EFFECT", "repeated_writes"]


class RepeatedEffect:
    """No successful write is made twice with the same tool and the same key arguments.

    A call without any argument says nothing of what it is done to (a toggle, a reboot): it counts only where its effect
    was declared or configured, or where it is named.

    ``names`` limits it to some tools. ``keys`` gives, by tool, the top-level arguments that say what is done
    (``{"refund_order": ["order_id"]}``); without it all arguments count.
    """

    name = "repeated_effect"

    def sentence(self, params: Mapping[str, Any]) -> str:
        """The statement in plain language."""
        names, keys = params.get("names"), params.get("keys") or {}
        what = " or ".join(names) if names else "a change"
        by = "".join(f", told apart by {', '.join(fields)} for {name}" for name, fields in keys.items())
        return f"The agent does not make {what} twice{by}."

    def compile(self, params: Mapping[str, Any]) -> Judge:
        """Remembers each write's key."""
        known_only(params, self.name, "names", "keys")
        names = frozenset(texts(params, "names", self.name))
        keys = object_of(params, "keys", self.name)
        for tool in keys:
            texts(keys, tool, self.name)

        def judge(trace: Trace) -> Finding:
            seen: dict[tuple[str, bytes], Step] = {}
            again: list[Step] = []
            for step in effects_of(trace):
                if (step.name not in names) if names else _says_nothing(step):
                    continue
                first = seen.setdefault((step.name, _key(step, keys.get(step.name))), step)
                if first is not step:
                    again += [first, step] if not again else [step]
            if not again:
                return Finding(True, "no change was made twice")
            steps = tuple(step.seq for step in again)
            at = ", ".join(str(seq) for seq in steps)
            call = f"{again[0].name}({shown(again[0].input)})"
            return Finding(False, f"wanted {call} once, got it again: steps {at}", steps)

        return judge


def repeated_writes(trace: Trace) -> list[Step]:
    """The first of each group of successful writes with the same tool and arguments that has more than one."""
    groups: dict[tuple[str, bytes], list[Step]] = {}
    for step in effects_of(trace):
        if _says_nothing(step):
            continue
        groups.setdefault((step.name, _key(step, None)), []).append(step)
    return [group[0] for group in groups.values() if len(group) > 1]


def _says_nothing(step: Step) -> bool:
    return not step.input and step.effect_source not in ("declared", "configured")


def _key(step: Step, fields: list[str] | None) -> bytes:
    given = step.input
    if fields and isinstance(given, dict):
        given = {name: given.get(name) for name in fields}
    try:
        return canonical(given)
    except InputError:  # no JSON: told apart by its place
        return str(step.seq).encode()


REPEATED_EFFECT = RepeatedEffect()
