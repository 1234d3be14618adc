"""Which surrogate stands for which value in the whole project, without a value in it.

Surrogates are drawn from ranges of which some are small, so two values may draw the same one. Within one sanitizing the
mint sees that. Between two of them nobody would: so a case's record says of every surrogate which value it stands for,
by a tag that only the project key can work out, and the next sanitizing starts from what all cases say.

Full values are in it, and words of names. What is derived (the last four digits, a masked phone number, other
groupings, upper case) follows from them; two values may share their last four digits, as real ones do.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

from evalkit.sanitize.policy import Kind

__all__ = [
    "NO_SURROGATES",
    "Clash",
    "Register",
    "Surrogates",
    "clashes",
    "merged",
    "surrogates_from",
    "tag_key",
    "tag_of",
]

Surrogates: TypeAlias = Mapping[str, Mapping[str, str]]
"""By kind, then by surrogate (see `Mint.core`): the tag of the value that it stands for."""

NO_SURROGATES: Surrogates = {}
_TAG_BYTES = 8


def tag_key(key: bytes) -> bytes:
    """The key that tags are made with, from the project key."""
    return hmac.digest(key, b"evalkit surrogate tag", "sha256")


def tag_of(own: bytes, kind: str, norm: str) -> str:
    """The tag of a value: 16 hex digits.

    Args:
        own: of `tag_key`.
        norm: the value's normal form.
    """
    return hmac.digest(own, f"{kind}\0{norm}".encode("utf-8", "surrogatepass"), "sha256")[:_TAG_BYTES].hex()


class Register:
    """What is known of a project's surrogates.

    Of two values that share a surrogate, the one that was told first keeps it: the other's next surrogate is a new one.

    Args:
        told: what cases say, in the order in which they are to be believed. It is read when the first value is asked
            for, which costs nothing where nothing is to be hidden; once more where reading failed.
    """

    def __init__(self, told: Iterable[Surrogates] = ()) -> None:
        self._told: Iterable[Surrogates] | None = told
        self._owners: dict[str, str] = {}
        self._every: dict[tuple[str, str], list[str]] = {}

    def owner(self, surrogate: str) -> str | None:
        """The tag of the value that a surrogate stands for; None where it is free."""
        self._read()
        return self._owners.get(surrogate)

    def surrogate(self, kind: str, tag: str) -> str | None:
        """The surrogate that stands for a value and for no other; None where there is none yet."""
        return next((one for one in self.every(kind, tag) if self._owners[one] == tag), None)

    def every(self, kind: str, tag: str) -> Iterable[str]:
        """All surrogates that stand for a value anywhere."""
        self._read()
        return self._every.get((kind, tag), ())

    def _read(self) -> None:
        if self._told is None:
            return
        for surrogates in self._told:
            for kind, tags in surrogates.items():
                for surrogate, tag in tags.items():
                    self._owners.setdefault(surrogate, tag)
                    known = self._every.setdefault((kind, tag), [])
                    if surrogate not in known:
                        known.append(surrogate)
        self._told = None


class Clash(NamedTuple):
    """Two values with one surrogate, or two surrogates of one value.

    Attributes:
        shared: whether it is one surrogate of two values.
        first: the case that is to stay as it is.
        second: the case that is to change.
        surrogate: what it has and is not to have.
        tag: of the value that it has it for.
    """

    shared: bool
    kind: Kind
    first: str
    second: str
    surrogate: str
    tag: str


def clashes(cases: Iterable[tuple[str, Surrogates]]) -> Iterator[Clash]:
    """Where cases disagree, as two branches may that git joined: each case with the first that was there before it.

    Args:
        cases: ids and what they say, those first that are to stay as they are.
    """
    owners: dict[str, tuple[str, str]] = {}
    values: dict[tuple[Kind, str], tuple[str, str]] = {}
    for case, surrogates in cases:
        for name, tags in surrogates.items():
            kind = cast("Kind", name)
            for surrogate, tag in tags.items():
                owner, first = owners.setdefault(surrogate, (tag, case))
                if owner != tag:
                    yield Clash(True, kind, first, case, surrogate, tag)
                    continue
                usual, first = values.setdefault((kind, tag), (surrogate, case))
                if usual != surrogate:
                    yield Clash(False, kind, first, case, surrogate, tag)


def merged(*several: Surrogates) -> Surrogates:
    """What several records say together, sorted; of two that disagree, the first."""
    found: dict[str, dict[str, str]] = {}
    for surrogates in several:
        for kind, tags in surrogates.items():
            known = found.setdefault(kind, {})
            for surrogate, tag in tags.items():
                known.setdefault(surrogate, tag)
    return {kind: dict(sorted(tags.items())) for kind, tags in sorted(found.items())}


def surrogates_from(told: Mapping[str, Mapping[str, Any]]) -> Surrogates:
    """The surrogates of a record's JSON.

    Raises:
        AttributeError: they are of the wrong form.
    """
    return {str(kind): {str(one): str(tag) for one, tag in tags.items()} for kind, tags in told.items()}
