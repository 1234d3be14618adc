"""Digests of traces and of rules: what was sanitized, how, and whether two were the same."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from evalkit.canonical import digest, exact_text, parse_exact
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.rules.hints import HINTS
from evalkit.sanitize.rules.patterns import RULES
from evalkit.sanitize.secrets import gitleaks_rules
from evalkit.trace.file import finish_json, header_json, step_json
from evalkit.trace.model import Step, Trace
from evalkit.trace.repeats import Repeats

__all__ = ["rules_digest", "trace_digest", "trace_digests"]

_RULES_VERSION = 5
"""Raised when what the code does with the same rules changes."""


def rules_digest(policy: Policy) -> str:
    """Hex SHA-256 over a policy and the built-in rules: two traces with the same were sanitized alike."""
    return _rules_digest(exact_text(policy.as_json()))


@lru_cache(maxsize=16)
def _rules_digest(policy: bytes) -> str:
    return digest(
        {
            "version": _RULES_VERSION,
            "policy": parse_exact(policy),
            "patterns": [[rule.name, rule.kind, rule.pattern] for rule in RULES],
            "gitleaks": gitleaks_rules().sha256,
            "hints": {str(kind): list(keys) for kind, keys in HINTS.items()},
        }
    )


def trace_digest(trace: Trace) -> str:
    """The hex SHA-256 of a trace's canonical lines, each step's input and output in them by their own SHA-256.

    A chat's requests repeat all messages before: what they begin with is read once.
    """
    return hashlib.sha256(b"\n".join(_Lines(Repeats()).of(trace))).hexdigest()


def trace_digests(raw: Trace, clean: Trace, key: bytes, writing: Repeats) -> tuple[str, str]:
    """The `trace_digest` of a trace before sanitizing, but keyed (HMAC), and that of it after.

    What sanitizing left as it was is the same object in both, and is written once.

    Args:
        writing: keeps the messages that are written.
    """
    before = _Lines(writing)
    after = _Lines(Repeats(beside=writing), before)
    keyed = hmac.new(key, b"\n".join(before.of(raw)), "sha256")
    return keyed.hexdigest(), hashlib.sha256(b"\n".join(after.of(clean))).hexdigest()


class _Lines:
    """Writes the lines of one trace.

    Args:
        beside: has written the lines of another trace, of which this one has some steps.
    """

    def __init__(self, writing: Repeats, beside: _Lines | None = None) -> None:
        self._writing = writing
        self._beside = beside
        self._written: dict[int, tuple[Step, bytes]] = {}

    def of(self, trace: Trace) -> Iterator[bytes]:
        """The lines, canonical JSON."""
        yield self._writing.text(header_json(trace))
        for step in trace.steps:
            known = self._beside._written.get(id(step)) if self._beside else None
            text = known[1] if known else self._step(step)
            self._written[id(step)] = (step, text)
            yield text
        yield self._writing.text(finish_json(trace))

    def _step(self, step: Step) -> bytes:
        body: dict[str, Any] = step_json(step)
        if "input" in body:
            body["input"] = self._writing.sha256(b"", step.input, b"")
        if "output" in body:
            body["output"] = self._writing.sha256_once(step.output)
        return self._writing.text(body)
