"""Where personal and secret values are: in a text by their form, and whole ones under a key that says what they are.

A `Claim` says that a text is a value of a kind. Whatever is found already replaced (a surrogate of any key) is not
claimed, which is what makes a second pass change nothing.

A text is looked at in two steps: RE2 sets of our own patterns (`ruleset`) and one Aho-Corasick pass over gitleaks'
keywords say which patterns are worth trying; those are then matched one by one. Most texts end after the first step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from evalkit.sanitize.claim import Claim, Span
from evalkit.sanitize.forms import by_hint, judged
from evalkit.sanitize.key_hints import COOKIE_SETTINGS, NO_SECRET_KEY, SHORTEST_COOKIE, KeyHints
from evalkit.sanitize.keywords import keywords_of
from evalkit.sanitize.made_up import is_made_up
from evalkit.sanitize.ner import Recogniser, recognised
from evalkit.sanitize.policy import Kind, Policy, precedence
from evalkit.sanitize.ranges import han_surrogates, is_surrogate, is_surrogate_int
from evalkit.sanitize.rules.patterns import RULES, Rule
from evalkit.sanitize.rules.words import PLACEHOLDERS
from evalkit.sanitize.ruleset import compiled
from evalkit.sanitize.screen import Candidate, worth_looking
from evalkit.sanitize.secrets import GENERIC, GitleaksRules, gitleaks_rules

__all__ = ["Claim", "Detector", "Span"]

_SHORT = 64
_PLAIN = re.compile(r"(?!/)[A-Za-z_./-]{0,15}|[0-9.-]{0,6}|.{0,2}")
"""Texts that are too short and too plain for any built-in rule: most keys, labels and numbers."""
_DIGIT = re.compile(rb"[0-9]")
_BEHIND_SIGN = re.compile(r"[._+-](u[0-9a-f]{12}(?:@|%40)example\.com)$")
_WIDE = re.compile("[０-９Ａ-Ｚａ-ｚ＠]")
_NARROW = {
    code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1A), 0xFF20, *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
}
_NARROW |= {0xFF0B: 0x2B, 0xFF0D: 0x2D}
_COUNTED = re.compile(r"[A-Za-z_-]{0,12}0?12345678?9?0?")
"""What somebody writes who has no token at hand: ``xoxp-1234567890``."""
_SHORTEST_NUMBER = {"secret": 3, "account": 7}
"""Digits of a number under a key that is taken for such a value; fewer may count something, or be the id of a row."""
_Found = tuple[int, int, Claim, str, bool]
"""Start and end in bytes, claim, rule, sure."""
_place = itemgetter(0, 1)


class Detector:
    """Finds claims in texts and under keys, by the built-in rules and a policy's own.

    Attributes:
        key_hints: what the keys of objects say of their values.

    Args:
        policy: the project's rules.
        recognisers: what finds names and places by a model (see `ner`), on top of the rules.
    """

    def __init__(self, policy: Policy, recognisers: Sequence[Recogniser] = ()) -> None:
        self._policy = policy
        self._recognisers = tuple(recognisers)
        custom = tuple(
            Rule("custom", kind, "any", pattern if _has_group(pattern) else f"({pattern})", whole=False)
            for kind, pattern in policy.patterns
        )
        self._rules = compiled(tuple(rule for rule in (*custom, *RULES) if policy.action(rule.kind) != "keep"))
        self._gitleaks: GitleaksRules | None = gitleaks_rules() if policy.action("secret") != "keep" else None
        known = self._gitleaks
        self._keywords = keywords_of(known.keywords, known.shortest) if known else keywords_of((), ())
        self.key_hints = KeyHints(policy, known, self._keywords)

    def worth_looking(self, texts: Iterable[str]) -> Iterator[Candidate]:
        """Those of some texts that may hold a value known by its form; `spans` finds none in the others."""
        if self._recognisers or self._policy.patterns:
            yield from map(Candidate, texts)
            return
        plain: list[str] = []
        for text in texts:
            if not text.isascii() and _WIDE.search(text):
                yield Candidate(text)
            elif len(text) >= 16 or not _PLAIN.fullmatch(text):
                plain.append(text)
        yield from worth_looking(plain, self._rules, self._keywords)

    def in_text(self, text: str) -> Iterator[Claim]:
        """The values in `text` that are known by their form.

        A value inside a longer one is left out (the digits of an IBAN are no phone number; only secrets count
        anywhere), and so is what overlaps a surrogate.
        """
        if len(text) < 16 and _PLAIN.fullmatch(text) and not self._policy.patterns:
            return
        if not text.isascii() and _WIDE.search(text):
            yield from (span.claim for span in self.spans(text))
            return
        for found in self._found(text, text.encode()):
            yield found[2]

    def spans(self, text: str, among: Sequence[int] | None = None) -> list[Span]:
        """As `in_text`, with the place of each value, the rule and how sure it is; by place.

        Args:
            among: as `worth_looking` said of the text.
        """
        if len(text) < 16 and _PLAIN.fullmatch(text) and not self._policy.patterns:
            return []
        plain = text.translate(_NARROW) if not text.isascii() and _WIDE.search(text) else text  # of the same length
        data = plain.encode()
        found = self._found(plain, data, among)
        if len(data) == len(text):
            return [Span(start, end, claim, rule, sure) for start, end, claim, rule, sure in sorted(found, key=_place)]
        spans: list[Span] = []
        at = chars = 0
        for start, end, claim, rule, sure in sorted(found, key=_place):
            if start >= at:
                chars, at = chars + len(data[at:start].decode("utf-8", "replace")), start
            else:  # an overlap
                chars, at = len(data[:start].decode("utf-8", "replace")), start
            stop = chars + len(data[start:end].decode("utf-8", "replace"))
            if plain is not text:
                claim = claim._replace(text=text[chars:stop])
            spans.append(Span(chars, stop, claim, rule, sure))
        return spans

    def _found(self, text: str, data: bytes, among: Sequence[int] | None = None) -> list[_Found]:
        candidates = self._candidates(data, among)
        if self._recognisers:
            candidates += self._recognised(text)
        if not candidates:
            return candidates
        if len(candidates) == 1 and "某" not in text and not _surrogate_behind(candidates[0][2]):
            claim = candidates[0][2]
            stays = is_surrogate(claim.kind, claim.text) or claim.text in self._policy.allow
            return [] if stays else candidates
        candidates.sort(key=lambda found: (found[0] - found[1], precedence(found[2].kind), found[0], found[3]))
        surrogate, covered = bytearray(len(data)), bytearray(len(data))
        for start, end in han_surrogates(text):
            size = len(text[start:end].encode())
            first = len(text[:start].encode())
            surrogate[first : first + size] = b"\1" * size
        real: list[_Found] = []
        for found in candidates:
            start, end, claim = found[:3]
            behind = _surrogate_behind(claim)
            if behind:
                surrogate[end - behind : end] = b"\1" * behind
            if is_surrogate(claim.kind, claim.text):
                surrogate[start:end] = b"\1" * (end - start)
                covered[start:end] = b"\1" * (end - start)
                continue
            inside = covered[start] and covered[end - 1]
            covered[start:end] = b"\1" * (end - start)
            if not inside or claim.kind == "secret":
                real.append(found)
        real = [found for found in real if found[2].text not in self._policy.allow]
        mixed = [found for found in real if any(surrogate[found[0] : found[1]])]
        if mixed:
            real = [found for found in real if found not in mixed] + [*self._beside(data, surrogate, mixed)]
        taken: dict[tuple[int, int], _Found] = {}
        for found in real:
            taken.setdefault(found[:2], found)
        return list(taken.values())

    def _beside(self, data: bytes, surrogate: bytearray, mixed: Sequence[_Found]) -> Iterator[_Found]:
        """What matches that hold a surrogate are values of beside it: those that are found without it, too.

        One that runs into the surrogate without any sign between them is taken with it.
        """
        blank = bytes(32 if hidden else byte for byte, hidden in zip(data, surrogate, strict=True))
        for found in self._candidates(blank, None):
            start, end, claim = found[:3]
            around = next((one for one in mixed if one[0] <= start and end <= one[1]), None)
            if around is None or claim.text in self._policy.allow or is_surrogate(claim.kind, claim.text):
                continue
            runs_on = _run_together(data, surrogate, start - 1) or _run_together(data, surrogate, end)
            yield around if runs_on else found

    def _candidates(self, data: bytes, among: Sequence[int] | None) -> list[_Found]:
        found: list[_Found] = []
        for index in self._rules.worth(data, among):
            for start, stop in self._rules.windows(index, data):
                found += self._matches(index, data, start, stop)
        if self._gitleaks is None:
            return found
        met = self._keywords.met(data.lower())
        for start, end, rule in self._gitleaks.find(data, met) if met else ():
            value = data[start:end].decode("utf-8", "replace")
            if len(value) >= 6 and _is_own_secret(rule, value, data, start):
                found.append((start, end, Claim("secret", value, value), f"gitleaks:{rule}", True))
        return found

    def _matches(self, index: int, data: bytes, at: int, stop: int) -> Iterator[_Found]:
        rule = self._rules.rules[index]
        while at < stop and (match := self._rules.matches(index, data, at, stop)) is not None:
            start, end = match.span(1)
            if start >= end:  # a pattern of the user's whose group took no part
                at = max(match.end(), at + 1)
                continue
            if rule.name == "cookie":
                yield from _cookie_values(data, start, end)
                at = end
                continue
            claim = judged(rule, data, start, end)
            if claim is not None:
                end = max(start + 1, start + len(claim.text.encode()))
                yield start, end, claim, rule.name, rule.sure
            # a rejected match may hide one that starts inside it (7917 4000 0010 0000 0000)
            at = start + 1 if claim is None and end - start <= _SHORT else max(end, at + 1)

    def _recognised(self, text: str) -> Iterator[_Found]:
        for recogniser in self._recognisers:
            for start, end, claim in recognised(recogniser, text):
                if self._policy.action(claim.kind) != "keep":
                    first = len(text[:start].encode())
                    yield first, first + len(text[start:end].encode()), claim, recogniser.name, False

    def under_hint(self, kind: Kind, value: str) -> Claim | None:
        """The claim for a whole value under a key of `kind`; None when the value is none of that kind."""
        if not value or value.strip().lower() in PLACEHOLDERS:
            return None
        claim = by_hint(kind, value)
        return claim if claim is not None and self._wanted(claim) else None

    def number_under_hint(self, kind: Kind, number: int) -> Claim | None:
        """As `under_hint`, for a value that is a JSON number."""
        digits = str(number)
        if len(digits) < _SHORTEST_NUMBER.get(kind, 0):
            return None
        return None if number <= 0 or is_surrogate_int(digits) else self.under_hint(kind, digits)

    def _wanted(self, claim: Claim) -> bool:
        return claim.text not in self._policy.allow and not is_surrogate(claim.kind, claim.text)


def _is_own_secret(rule: str, value: str, data: bytes, start: int) -> bool:
    """Whether what the most general rule found is whole, not made up, and by its key no other thing."""
    if rule != GENERIC:
        return True
    if value.endswith("...") or _COUNTED.fullmatch(value) or is_made_up(value):
        return False
    return not NO_SECRET_KEY.search(data[max(0, start - 60) : start].decode("utf-8", "ignore"))


def _surrogate_behind(claim: Claim) -> int:
    """How long the e-mail surrogate is that a match ends in; what a sign parts from it is no part of it."""
    if claim.kind != "email":
        return 0
    found = _BEHIND_SIGN.search(claim.text)
    return len(found[1]) if found and is_surrogate("email", found[1]) else 0


def _run_together(data: bytes, surrogate: bytearray, at: int) -> bool:
    """Whether a surrogate stands at a place beside a value, and begins there with a letter or digit."""
    return 0 <= at < len(data) and bool(surrogate[at]) and chr(data[at]).isalnum()


def _cookie_values(data: bytes, start: int, end: int) -> Iterator[_Found]:
    """The values of a cookie header that could let somebody in: those of eight characters or more with a digit."""
    at = start
    for pair in data[start:end].split(b";"):
        name, sign, value = pair.partition(b"=")
        token = value.strip()
        left = at + len(name) + len(sign) + len(value) - len(value.lstrip())
        at += len(pair) + 1
        if (
            len(token) < SHORTEST_COOKIE
            or not _DIGIT.search(token)
            or b" " in token
            or name.strip().lower() in COOKIE_SETTINGS
        ):
            continue
        text = token.decode("utf-8", "ignore")
        if len(text.encode()) == len(token):
            yield left, left + len(token), Claim("secret", text, text), "cookie", True


def _has_group(pattern: str) -> bool:
    import re2  # lazy: a C++ library that only sanitizing needs

    return bool(re2.compile(pattern).groups)
