"""Who is in which trace, told only to whoever can name them: HMACs of normal forms, keyed.

The key of the index follows from the project key. Whoever has neither key nor name learns from an index how many terms
a trace has and which traces share one, and nothing else. Whoever has the key can try names: it is as secret as the
data.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from evalkit.canonical import exact_text
from evalkit.sanitize.detect import Claim, Detector
from evalkit.sanitize.harvest import Harvester
from evalkit.sanitize.lexicon import Entity, Lexicon, entity_of
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.ranges import words_of_account
from evalkit.sanitize.rewrite import Rewriter
from evalkit.sanitize.subject import named_words
from evalkit.sanitize.surrogate import Mint
from evalkit.trace.file import finish_json, header_json, step_json
from evalkit.trace.model import Trace

__all__ = ["Sought", "index_key", "sought", "terms_of_claims", "terms_of_traces"]


def index_key(project_key: bytes) -> bytes:
    """The key of the index, from the project's."""
    return hmac.digest(project_key, b"evalkit evidence index", "sha256")


def terms_of_traces(traces: Sequence[Trace], policy: Policy, project_key: bytes) -> list[frozenset[str]]:
    """For each trace the terms of everybody in it; read together, as sanitizing reads them.

    Raises:
        InputError: a value is no JSON.
    """
    detector = Detector(policy)
    lexicon = Lexicon(policy, Mint(project_key))
    own: list[list[Claim]] = []
    flat: set[str] = set()
    for trace in traces:
        lexicon.exempt(step.name for step in trace.steps if step.kind in ("tool", "agent"))
        harvester = Harvester(policy, detector)
        harvester.nodes(_bodies(trace))
        own.append(harvester.take())
        flat |= harvester.flat
    lexicon.learn(claim for claims in own for claim in claims)
    rewriter = Rewriter(policy, detector, lexicon, flat)
    named: dict[Entity, list[Claim]] = {}
    for claims in own:
        for claim in claims:
            named.setdefault(entity_of(claim), []).append(claim)
    return [
        terms_of_claims([*claims, *_met(trace, rewriter, named)], project_key)
        for trace, claims in zip(traces, own, strict=True)
    ]


def _met(trace: Trace, rewriter: Rewriter, named: dict[Entity, list[Claim]]) -> Iterator[Claim]:
    """The claims of the batch whose values stand in this trace, in whatever spelling.

    A name that others share the last word of counts only where its other words stand, too.
    """
    with rewriter.tallying() as found:
        for body in _bodies(trace):
            rewriter.value(body)
        met = set(found)
    text = b"\n".join(exact_text(body) for body in _bodies(trace)).decode().casefold() if met else ""
    for entity in met:
        for claim in named.get(entity, ()):
            if claim.kind != "name" or all(word in text for word in named_words(claim)):
                yield claim


def _bodies(trace: Trace) -> list[dict[str, object]]:
    return [header_json(trace), *(step_json(step) for step in trace.steps), finish_json(trace)]


def terms_of_claims(claims: Iterable[Claim], project_key: bytes) -> frozenset[str]:
    """The terms under which claimed values are found again."""
    key = index_key(project_key)
    return frozenset(_term(key, text) for claim in claims for text in _texts(claim))


@dataclass(frozen=True, slots=True)
class Sought:
    """What a subject's traces must hold.

    Attributes:
        any_of: one of these shows the subject.
        all_of: or all of one of these sets does: the words of a name.
    """

    any_of: frozenset[str]
    all_of: tuple[frozenset[str], ...]

    def presence(self, terms: frozenset[str]) -> Literal["whole", "part", "none"]:
        """Whether a trace with `terms` is about the subject, or about somebody who shares a part of the name."""
        if terms & self.any_of or any(words <= terms for words in self.all_of):
            return "whole"
        return "part" if any(words & terms for words in self.all_of) else "none"


def sought(claims: Iterable[Claim], project_key: bytes) -> Sought:
    """What to look for, for the claims of a subject."""
    key = index_key(project_key)
    every = list(claims)
    other = [claim for claim in every if claim.kind != "name"]
    names = [named_words(claim) for claim in every if claim.kind == "name"]
    return Sought(
        frozenset(_term(key, text) for claim in other for text in _own_texts(claim)),
        tuple(frozenset(_term(key, f"name\0{word}") for word in (words[0], words[-1])) for words in names if words),
    )


def _texts(claim: Claim) -> Iterator[str]:
    if claim.kind == "name":
        yield from (f"name\0{word}" for word in named_words(claim))
        return
    yield from _own_texts(claim)
    if claim.kind == "account":  # yusuf_rossi_9620 names a person
        yield from (f"name\0{word.casefold()}" for word in words_of_account(claim.text))


def _own_texts(claim: Claim) -> Iterator[str]:
    yield f"{claim.kind}\0{claim.norm}"
    yield "any\0" + re.sub(r"\s", "", claim.text).casefold()  # an id is the same under whatever key it stood


def _term(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex()[:32]
