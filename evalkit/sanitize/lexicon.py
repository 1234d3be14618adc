"""All that is known to be replaced, and the replacing of it in a text.

Every occurrence is found with one Aho-Corasick pass; overlapping ones are filtered by the boundary rule first and
then the longest wins (the other order loses a value that starts inside a rejected one).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from evalkit.canonical import Json
from evalkit.sanitize.claim import Claim
from evalkit.sanitize.needles import Needles
from evalkit.sanitize.normal import NAME_WORD, composed, digits_of, name_words, stands_alone
from evalkit.sanitize.policy import Kind, Policy, precedence
from evalkit.sanitize.ranges import NUMBER_DIGITS, begins_unit_surrogate
from evalkit.sanitize.rules.words import LAST_FOUR_FRAMES
from evalkit.sanitize.spellings import spellings
from evalkit.sanitize.surrogate import Mint

__all__ = ["Entity", "Form", "Lexicon", "entity_of"]

_MERGE_AT = 512
_AT_ONCE = 4096
_TELLING_DIGITS = 10
"""Surrogates of fewer digits are known by their signs only, which a JSON number has not."""
_NUMBER = re.compile(r"[1-9][0-9]{6,19}")
"""What is known wherever it stands as a JSON number; shorter ones may count something."""
_NOTHING: frozenset[Entity] = frozenset()
_LAST_FOUR = frozenset("last4 lastfour last4digits lastfourdigits cardlast4 cardlastfour 后四位 尾号".split())


class Entity(NamedTuple):
    """A value, whatever its spelling."""

    kind: Kind
    norm: str


class Form(NamedTuple):
    """What a spelling is: of which value, by which claim. All spellings of a claim of one make share it.

    Attributes:
        part: whether the spelling is a part of a value only (see `Spelling`).
        kept: so many of its characters stay.
    """

    entity: Entity
    claim: Claim
    part: bool = False
    kept: int = 0


_Hit: TypeAlias = tuple[int, str]
"""Start and text of a form."""
_Span: TypeAlias = tuple[int, int, Form]


class Lexicon:
    """The forms of all values met so far. It only grows, and a form once given never changes.

    Attributes:
        numbers: those forms that may stand as JSON numbers.
    """

    def __init__(self, policy: Policy, mint: Mint) -> None:
        self._policy = policy
        self._mint = mint
        self.numbers: set[int] = set()
        self._forms: dict[str, Form] = {}
        self._surrogates: dict[str, str] = {}
        self._claims: set[Claim] = set()
        self._last_four: dict[str, Claim] = {}
        self._said_four: dict[str, Claim] = {}
        self._vocabulary: set[str] = set()
        self._exempt: set[str] = set()
        self._old: list[str] = []
        self._new: list[str] = []
        self._needles: list[Needles[str]] = []

    @property
    def forms(self) -> dict[str, Form]:
        """All forms by text."""
        return self._forms

    def exempt(self, labels: Iterable[str]) -> None:
        """Take the words of tools' and agents' names for no one's names, from now on."""
        self._exempt.update(labels)

    def learn(self, claims: Iterable[Claim]) -> bool:
        """Add the claims that are new; whether there were any.

        The order of claims makes no difference within one call: they are taken by precedence, then sorted.
        """
        fresh = sorted(set(claims) - self._claims, key=lambda claim: (precedence(claim.kind), claim))
        if not fresh:
            return False
        self._claims.update(fresh)
        self._vocabulary.update(word.lower() for label in self._exempt for word in NAME_WORD.findall(label))
        self._exempt.clear()
        before = len(self._forms)
        for claim in fresh:
            self._learn_spellings(claim)
            if claim.kind in ("card", "phone"):
                self._learn_last_four(claim)
        if len(self._forms) > before:
            self._rebuild()
        return True

    def _learn_spellings(self, claim: Claim) -> None:
        entity = entity_of(claim)
        forms, allow, new = self._forms, self._policy.allow, self._new
        stays = self.stand_in(claim, claim.text) == claim.text  # asked for now, while claims are in order
        shared: dict[tuple[bool, int], Form] = {}
        for text, part, kept in spellings(claim, self._vocabulary):
            if text in forms or (allow and text in allow):
                continue
            form = shared.get((part, kept))
            if form is None:
                form = shared[part, kept] = Form(entity, claim, part, kept)
            if not stays or self._spelled(form, text) != text:
                forms[text] = form
                new.append(text)
                if _NUMBER.fullmatch(text):
                    self.numbers.add(int(text))

    def surrogate(self, text: str, form: Form | None = None) -> str:
        """What stands for `text`, one of `forms`; or for what `spans` found, given its form."""
        known = self._surrogates.get(text)
        if known is not None:
            return known
        if text in self._forms:
            known = self._surrogates[text] = self._spelled(self._forms[text], text)
        elif form is not None:
            known = self._spelled(form, text)
        else:
            raise KeyError(text)
        return known

    def _spelled(self, form: Form, text: str) -> str:
        return text[: form.kept] + self.stand_in(form.claim, text[form.kept :])

    def stand_in(self, claim: Claim, text: str) -> str:
        """What stands for `text`, one spelling of the claimed value, under the policy."""
        action = self._policy.action(claim.kind)
        if action == "drop":
            return f"[{claim.kind} removed]"
        if action == "hash":
            return self._mint.digest_mark(claim.kind, claim.norm)
        if "****" in text and claim.kind == "phone":  # masked: the first three and the last four of the surrogate
            core = self._mint.core(claim.kind, claim.norm)
            return f"{core[:3]}****{core[-4:]}"
        if len(text) == 4 and claim.kind in ("phone", "card"):  # its last four digits
            return self._mint.core(claim.kind, claim.norm)[-4:]
        return self._mint.surrogate(claim.kind, claim.norm, text)

    def last_four(self, key: str, value: str) -> tuple[str, Entity] | None:
        """What stands for the last four digits of a known card, as a whole value under a key that says so."""
        if value not in self._last_four or re.sub(r"[\W_]", "", key.lower()) not in _LAST_FOUR:
            return None
        claim = self._last_four[value]
        return self._mint.core("card", claim.norm)[-4:], entity_of(claim)

    def ends_card(self, text: str) -> bool:
        """Whether `text` is the last four digits of a known card."""
        return text in self._last_four

    def as_number(self, surrogate: str, entity: Entity) -> Json:
        """A surrogate as a JSON number; as it is where the policy makes a mark of it."""
        digits = surrogate.replace("-", "")
        if not digits.isdigit() and (entity.kind != "secret" or self._policy.action("secret") != "replace"):
            return surrogate
        if entity.kind != "postcode" and (
            not digits.isdigit() or digits.startswith("0") or len(digits) < _TELLING_DIGITS
        ):
            # a number has no leading zeros and no hyphens to be known by: take an id instead
            return int(self._mint.core("custom", digits_of(entity.norm).zfill(NUMBER_DIGITS)))
        return int(digits)

    def replace(self, text: str, *, identifier: bool = False) -> tuple[str, frozenset[Entity]]:
        """`text` with every known value replaced, and which they were.

        Args:
            identifier: leave out forms that are only a part of a value, unless they are all of `text`.
        """
        whole = self._forms.get(text)
        if whole is not None:
            return self.surrogate(text), frozenset((whole.entity,))
        return self._with_spans(text, self._choose(text, identifier))

    def _with_spans(self, text: str, taken: list[_Span]) -> tuple[str, frozenset[Entity]]:
        if not taken:
            return text, frozenset()
        parts: list[str] = []
        at = 0
        for start, end, form in taken:
            parts += (text[at:start], self.surrogate(text[start:end], form))
            at = end
        return "".join((*parts, text[at:])), frozenset(form.entity for _, _, form in taken)

    def replace_all(self, texts: Sequence[str]) -> Iterator[tuple[str, str, frozenset[Entity]]]:
        """As `replace` for many texts, which are looked at together: each text with its result."""
        for first in range(0, len(texts), _AT_ONCE):
            some = texts[first : first + _AT_ONCE]
            starts = [0, *accumulate(len(text) + 1 for text in some)]
            joined = "\n".join(some)
            met: dict[int, list[_Hit]] = {}
            for needles in self._needles:
                for start, spelled in needles.find(joined):
                    at = bisect_right(starts, start) - 1
                    if start + len(spelled) < starts[at + 1]:
                        met.setdefault(at, []).append((start - starts[at], spelled))
            for at, text in enumerate(some):
                hits = met.get(at)
                if hits is None:
                    yield text, text, _NOTHING
                elif text in self._forms:
                    yield text, *self.replace(text)
                else:
                    yield text, *self._with_spans(text, self._alone(text, hits, False))

    def spans(self, text: str) -> list[_Span]:
        """Start, end and form of every known value in `text`, left to right."""
        return self._choose(text, False)

    def _choose(self, text: str, identifier: bool) -> list[_Span]:
        hits = [hit for needles in self._needles for hit in needles.find(text)]
        return self._alone(text, hits, identifier) if hits else []

    def _alone(self, text: str, hits: list[_Hit], identifier: bool) -> list[_Span]:
        """Those of some hits that are a value itself, no part of something longer; of overlapping ones the longest."""
        found = []
        for start, spelled in hits:
            end = start + len(spelled)
            form = self._forms.get(spelled)
            if form is None:
                start, end, form = end, end + 4, self._four_behind(text, end)
                spelled = text[start:end]
            if form is None or (identifier and form.part):
                continue
            if form.entity.kind == "name" and begins_unit_surrogate(text, start):
                continue
            before, after = text[max(0, start - 2) : start], text[end : end + 2]
            if stands_alone(spelled, before, after, form.entity.kind):
                found.append((start - end, precedence(form.entity.kind), start, end, form))
        return _without_overlaps(sorted(found), len(text)) if found else []

    def _four_behind(self, text: str, start: int) -> Form | None:
        """The form of the last four digits of a card or phone that stand behind words that say so."""
        claim = self._said_four.get(text[start : start + 4])
        return None if claim is None else Form(entity_of(claim), claim, part=True)

    def _learn_last_four(self, claim: Claim) -> None:
        if self._policy.action(claim.kind) == "replace":
            digits = claim.norm[-4:]
            self._said_four.setdefault(digits, claim)
            if claim.kind == "card":
                self._last_four.setdefault(digits, claim)

    def _rebuild(self) -> None:
        if len(self._new) > _MERGE_AT or not self._old:  # few new forms don't rebuild a large matcher
            self._old, self._new = [*self._old, *self._new], []
            self._needles = [Needles([*LAST_FOUR_FRAMES, *self._old])]
        else:
            self._needles = [self._needles[0], Needles(self._new)]


def entity_of(claim: Claim) -> Entity:
    """The value that is claimed. A name is known by its last word, so that in full and in part it counts once."""
    if claim.kind == "name":
        words = name_words(claim.text)
        return Entity("name", composed(words[-1]).casefold() if words else claim.norm)
    return Entity(claim.kind, claim.norm)


def _without_overlaps(found: list[tuple[int, int, int, int, Form]], size: int) -> list[_Span]:
    """The longest first, then what doesn't touch them. A later one is never longer, so its two ends tell."""
    covered = bytearray(size)
    taken: list[_Span] = []
    for _, _, start, end, form in found:
        if not covered[start] and not covered[end - 1]:
            covered[start:end] = b"\1" * (end - start)
            taken.append((start, end, form))
    return sorted(taken, key=lambda span: span[:2])
