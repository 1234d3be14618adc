"""What is looked for and what becomes of it: the kinds, their precedence, and a project's own rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from evalkit.canonical import Json
from evalkit.errors import ConfigError

__all__ = ["ACTIONS", "KINDS", "Action", "Kind", "Policy", "precedence"]

Kind: TypeAlias = Literal[
    "secret",
    "custom",
    "ssn",
    "national_id",
    "card",
    "iban",
    "email",
    "phone",
    "ip",
    "mac",
    "plate",
    "account",
    "payment",
    "address",
    "birth_date",
    "name",
    "postcode",
]
Action: TypeAlias = Literal["keep", "replace", "drop", "hash"]

KINDS: tuple[Kind, ...] = get_args(Kind)
"""All kinds, the strongest first: a text that two kinds claim belongs to the one that stands earlier."""
ACTIONS: frozenset[str] = frozenset(get_args(Action))
_RANK: dict[str, int] = {kind: rank for rank, kind in enumerate(KINDS)}


def precedence(kind: Kind) -> int:
    """The rank of `kind`; 0 wins over all."""
    return _RANK[kind]


@dataclass(frozen=True, slots=True)
class Policy:
    """A project's rules, on top of the built-in ones.

    Attributes:
        version: the project's own name for this set of rules; stored with everything that is sanitized.
        allow: strings that are never replaced, exactly as they stand (a support address, a test card).
        allow_patterns: RE2 patterns; a value that one of them matches in full is never replaced.
        allow_paths: places whose values are nobody's, such as ``tool find.output.**.name``: step kind and tool,
            ``input``, ``output`` or ``attributes``, then keys; ``*`` stands for one part (an item is one), ``**`` for
            any number. What stands at such a place is left as it is there and everywhere else in the batch.
        hints: key to kind: the value under that key of an object is of that kind. Case and separators don't matter.
            The kind ``custom`` replaces ids of any form.
        patterns: kind and RE2 pattern; the first group, or the whole match, is of that kind. What is ``custom`` is
            replaced wherever it occurs, inside longer words too.
        actions: per kind: ``replace`` (the default) by a surrogate of the same shape, ``hash`` by a keyed digest,
            ``drop`` by a mark, ``keep`` as it is.
        ner: recognisers that look for names by a model as well (see `ner`): ``spacy``, ``presidio``, ``jieba``.

    Raises:
        ConfigError: a kind or an action is not known, or a pattern is no RE2.
    """

    version: str = "1"
    allow: frozenset[str] = frozenset()
    hints: Mapping[str, Kind] = field(default_factory=dict)
    patterns: tuple[tuple[Kind, str], ...] = ()
    actions: Mapping[Kind, Action] = field(default_factory=dict)
    allow_patterns: tuple[str, ...] = ()
    allow_paths: tuple[str, ...] = ()
    ner: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for kind in (*self.hints.values(), *self.actions, *(kind for kind, _ in self.patterns)):
            if kind not in _RANK:
                raise ConfigError(f"{kind!r} is no kind of value", "sanitization rules", f"use {', '.join(KINDS)}")
        for action in self.actions.values():
            if action not in ACTIONS:
                raise ConfigError(f"{action!r} is no action", "sanitization rules", f"use {', '.join(sorted(ACTIONS))}")
        for pattern in (*(pattern for _, pattern in self.patterns), *self.allow_patterns):
            _check_pattern(pattern)

    def action(self, kind: Kind) -> Action:
        """What becomes of values of `kind`."""
        return self.actions.get(kind, "replace")

    @classmethod
    def from_json(cls, body: Any) -> Policy:
        """The policy that `as_json` gave.

        Raises:
            ConfigError: it is none.
        """
        try:
            return cls(
                str(body["version"]),
                frozenset(body["allow"]),
                dict(body["hints"]),
                tuple((kind, pattern) for kind, pattern in body["patterns"]),
                dict(body["actions"]),
                tuple(body.get("allow_patterns", ())),
                tuple(body.get("allow_paths", ())),
                tuple(body.get("ner", ())),
            )
        except (KeyError, TypeError, ValueError):
            raise ConfigError("no sanitization rules", "sanitization rules", "pass what as_json gave") from None

    def as_json(self) -> dict[str, Json]:
        """The rules as plain JSON, for the digest and for another process."""
        allow: list[Json] = [*sorted(self.allow)]
        return {
            "version": self.version,
            "allow": allow,
            "hints": {key: str(kind) for key, kind in self.hints.items()},
            "patterns": [[str(kind), pattern] for kind, pattern in self.patterns],
            "actions": {str(kind): str(action) for kind, action in self.actions.items()},
            "allow_patterns": list(self.allow_patterns),
            "allow_paths": list(self.allow_paths),
            "ner": [*self.ner],
        }


def _check_pattern(pattern: str) -> None:
    import re2  # lazy: loaded only where patterns are used

    options = re2.Options()
    options.log_errors = False  # the error is raised: it needn't be on stderr as well
    try:
        compiled = re2.compile(pattern, options=options)
    except re2.error as error:
        raise ConfigError(
            f"the pattern {pattern!r} is no RE2 pattern: {error}",
            "sanitization rules",
            "RE2 has no look-around and no back-reference; repeats go up to 1000",
        ) from None
    if compiled.match(""):
        raise ConfigError(f"the pattern {pattern!r} matches the empty text", "sanitization rules", "make it longer")
