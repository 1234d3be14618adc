"""What two suites or policies differ in, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from evalkit.suite.model import Policy

__all__ = ["differences", "policy_changes"]

_TOLD = {"acceptance": ("p_good", "p_bad"), "min_rate": ("min_rate",), "not_worse": ("margin",)}
"""What is told of a policy besides its kind."""
_OF_EVERY_KIND = ("alpha", "max_lost", "on_degraded")


def differences(now: Mapping[str, object], then: Mapping[str, object]) -> Iterator[str]:
    """A phrase for each key whose values differ; lists and tables are only named, for they may be long."""
    for key in {**now, **then}:
        one, other = now.get(key), then.get(key)
        if one == other:
            continue
        if all(value is None or isinstance(value, str | int | float) for value in (one, other)):
            yield f"{key} {_said(one)} instead of {_said(other)}"
        else:
            several = key.endswith("s") and not key.endswith("ss")
            yield f"{'other' if several else 'another'} {key}"


def policy_changes(now: Policy, then: Policy) -> Iterator[str]:
    """What decides otherwise; of another kind what it is, and what every kind heeds."""
    one, other = asdict(now), asdict(then)
    if now.kind != then.kind:
        yield f"{_words(now)} instead of {_words(then)}"
        one, other = ({name: policy[name] for name in _OF_EVERY_KIND} for policy in (one, other))
    yield from differences(one, other)


def _words(policy: Policy) -> str:
    told = ", ".join(f"{key} {getattr(policy, key)}" for key in _TOLD.get(policy.kind, ()))
    return f"{policy.kind} ({told})" if told else policy.kind


def _said(value: object) -> str:
    return "unsaid" if value in (None, "") else str(value)
