"""What a policy allows: exact strings, patterns, and the values at allowed places of the traces at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from evalkit.sanitize.embedded import parse_nested
from evalkit.sanitize.policy import Policy
from evalkit.trace.model import Trace

__all__ = ["Allowed"]

_REMEMBERED = 50_000


class Allowed(frozenset[str]):
    """A policy's `allow` as a set that also answers for its patterns and for what was met at its allowed paths."""

    _patterns: list[Any]
    _met: set[str]
    _answers: dict[str, bool]
    _paths: list[re.Pattern[str]]

    def __new__(cls, policy: Policy) -> Allowed:
        """The set of `policy`."""
        made = super().__new__(cls, policy.allow)
        made._met, made._answers = set(), {}
        made._paths = [_path_pattern(path) for path in policy.allow_paths]
        made._patterns = []
        if policy.allow_patterns:
            import re2  # lazy: a C++ library that only sanitizing needs

            made._patterns = [re2.compile(pattern) for pattern in policy.allow_patterns]
        return made

    def __bool__(self) -> bool:
        """Whether it allows anything."""
        return bool(len(self) or self._met or self._patterns)

    def __contains__(self, text: object) -> bool:
        if super().__contains__(text) or text in self._met:
            return True
        if not self._patterns or not isinstance(text, str):
            return False
        found = self._answers.get(text)
        if found is None:
            if len(self._answers) > _REMEMBERED:
                self._answers.clear()
            found = self._answers[text] = any(pattern.fullmatch(text) for pattern in self._patterns)
        return found

    def meet(self, trace: Trace) -> None:
        """Learn the values at the allowed places of a trace."""
        if not self._paths:
            return
        places = [("run", {"input": trace.input, "output": trace.output, "attributes": dict(trace.attributes)})]
        for step in trace.steps:
            body = {"input": step.input, "output": step.output, "attributes": dict(step.attributes)}
            places.append((f"{step.kind} {step.name}", body))
        for place, body in places:
            for path, value in _leaves(place, body):
                if any(pattern.fullmatch(path) for pattern in self._paths):
                    self._met.add(value)


def _leaves(path: str, node: Any) -> Iterator[tuple[str, str]]:
    waiting = [(path, node)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, dict):
            waiting.extend((f"{path}.{key}", item) for key, item in node.items())
        elif isinstance(node, list):
            waiting.extend((f"{path}.*", item) for item in node)
        elif isinstance(node, str):
            nested = parse_nested(node)
            if isinstance(nested, dict | list):
                waiting.append((path, nested))
            else:
                yield path, node
        elif type(node) is int:
            yield path, str(node)


def _path_pattern(path: str) -> re.Pattern[str]:
    """The pattern of a path; ``**`` matches no part as well."""
    text = re.escape(path).replace(r"\*\*\.", "(?:.+\\.)?").replace(r"\*\*", ".+").replace(r"\*", r"[^.]+")
    return re.compile(text)
