"""Pass one: what in a batch is personal or secret."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from evalkit.errors import InputError
from evalkit.sanitize.claim import Claim
from evalkit.sanitize.columns import Table, are_pairs, table_in, table_of
from evalkit.sanitize.derived import named_by
from evalkit.sanitize.detect import Detector
from evalkit.sanitize.embedded import MAX_NESTING, Parsed, content_key
from evalkit.sanitize.folding import fold
from evalkit.sanitize.key_hints import ASK, PAIR, child_scope
from evalkit.sanitize.keyed_text import keyed_pieces
from evalkit.sanitize.origins import Origins
from evalkit.sanitize.policy import Kind, Policy
from evalkit.sanitize.rules.hints import bare_key
from evalkit.sanitize.signs import PLAIN, Signs, signs_of
from evalkit.trace.prefixes import Prefixes

__all__ = ["HUGE_NUMBER", "LONG_NUMBER", "MAX_DEPTH", "NUMBER_KINDS", "Harvester"]

MAX_DEPTH = 200
NUMBER_KINDS = frozenset({"phone", "card", "ssn", "national_id", "postcode", "secret", "account"})
"""Kinds whose values may stand as JSON numbers."""

LONG_NUMBER = 10**10
"""From here on a number without a hint is looked at: mobile and card numbers have eleven digits or more."""

HUGE_NUMBER = 10**20
"""From here on it is no number of a person: all of them have nineteen digits or fewer."""

_GIVEN = frozenset({"firstname", "givenname", "forename"})
_FAMILY = frozenset({"lastname", "familyname", "surname"})
_REMEMBERED = 50_000


class _Visited:
    """Objects that were read, by identity; they are kept, so that no others get their identities."""

    def __init__(self) -> None:
        self.objects: dict[tuple[int, Kind | None, str], Any] = {}
        self.lists: Prefixes[bool] = Prefixes()

    def unread(self, items: list[Any], hint: Kind | None, scope: str) -> list[Any]:
        """The items of a list that no earlier list began with."""
        count, _ = self.lists.of(items, (hint, scope))
        self.lists.keep(items, True, (hint, scope))
        return items[count:] if count else items


class Harvester:
    """Gathers claims from JSON values. A text that was read once is not read again.

    Attributes:
        origins: what found the values.
        claimed: whether there was any claim yet.
        flat: texts that were read and hold no other value in them: to replace what is known in them is all.
        parsed: JSON in texts that were read.
    """

    def __init__(self, policy: Policy, detector: Detector) -> None:
        self._policy = policy
        self._detector = detector
        self._key_hints = detector.key_hints
        self._claims: list[Claim] = []
        self.origins = Origins()
        self.claimed = False
        self.flat: set[str] = set()
        self.parsed = Parsed()
        self._read: set[str] = set()
        self._read_values: set[bytes] = set()
        self._read_keys: set[tuple[str, ...]] = set()
        self._read_hinted: set[tuple[Kind, str]] = set()
        self._met: list[tuple[str, int, int]] = []
        self._nesting = 0

    def take(self) -> list[Claim]:
        """The claims since the last call."""
        claims, self._claims = self._claims, []
        self.claimed = self.claimed or bool(claims)
        return claims

    def skip(self, texts: Iterable[str]) -> None:
        """Take some texts for read."""
        self._read.update(texts)

    def nodes(self, nodes: Iterable[Any], again: Iterable[Any] = ()) -> None:
        """Read several values; objects that they share are read once.

        Args:
            again: those of them that may stand in texts as JSON, too: what a tool gave, in the next request.

        Raises:
            InputError: one is no JSON, or nested deeper than 200 levels.
        """
        visited = _Visited()
        with self._reading():
            self._read_values.update(key for value in again if (key := content_key(value)) is not None)
            for node in nodes:
                self._node(node, None, "", 0, visited)

    def node(self, node: Any) -> None:
        """Read one value.

        Raises:
            InputError: as `nodes`.
        """
        with self._reading():
            self._node(node, None, "", 0, None)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Look at what is met meanwhile; after an error nothing passes for read that may not have been."""
        if len(self._read) + len(self._read_hinted) > _REMEMBERED:  # a recorder that runs for days
            self._forget()
        try:
            yield
            self._read_texts()
        except BaseException:
            self._forget()
            self._met.clear()
            self._nesting = 0
            raise

    def _forget(self) -> None:
        for read in (self._read, self._read_values, self._read_keys, self._read_hinted, self.flat):
            read.clear()
        self.parsed.clear()

    def _node(self, node: Any, hint: Kind | None, scope: str, depth: int, visited: _Visited | None) -> None:
        kind = type(node)
        if kind is str:
            self._text(node, hint, depth)
        elif kind is int:
            self._number(node, hint)
        elif kind is dict or kind is list:
            if visited is not None:
                mark = (id(node), hint, scope)
                if mark in visited.objects:
                    return
                visited.objects[mark] = node
            if depth > MAX_DEPTH:
                raise InputError(f"nested deeper than {MAX_DEPTH} levels", cure="flatten the value")
            if kind is dict:
                self._object(node, scope, depth, visited)
            else:
                for item in node if visited is None else visited.unread(node, hint, scope):
                    self._node(item, hint, scope, depth + 1, visited)
                if node and type(node[0]) is list:
                    self._lists(node, scope, depth, visited)
        elif node is not None and kind is not bool and kind is not float:
            raise InputError(f"{kind.__name__} is not a JSON type", cure="pass JSON values only")

    def _object(self, node: dict[str, Any], scope: str, depth: int, visited: _Visited | None) -> None:
        keys = tuple(node)
        if keys not in self._read_keys:
            for key in keys:
                self._text(key, None, depth)
            self._read_keys.add(keys)
        names = 0
        read, nesting = self._read, self._nesting
        for key, item, plain_hint in zip(keys, node.values(), self._key_hints.hints(keys, scope), strict=True):
            hint: Kind | None = None
            if plain_hint is not None:
                ask = plain_hint in (ASK, PAIR)
                hint = self._key_hints.hint(key, node, scope) if ask else plain_hint  # type: ignore[assignment]  # told by `ask`
                names += hint == "name"
            kind = type(item)
            if kind is str:
                if hint is not None:
                    self._text(item, hint, depth)
                elif item not in read:
                    read.add(item)
                    self._met.append((item, depth, nesting))
            elif kind is int:
                if hint is not None or item >= LONG_NUMBER:
                    self._number(item, hint)
            elif item is not None and kind is not float:
                self._node(item, hint, child_scope(key, scope), depth + 1, visited)
        if names > 1:
            self._full_name(node)
        table = table_in(node, keys)
        if table is not None:
            self._rows(table, node[table.rows], scope, depth, visited)

    def _lists(self, items: list[Any], scope: str, depth: int, visited: _Visited | None) -> None:
        table = table_of(items)
        if table is not None and not self._key_hints.are_secret_pairs(items):
            self._rows(table, items[1:], scope, depth, visited)
        elif are_pairs(items):
            for key, value in items:
                if self._key_hints.hint(key, {key: value}, "") == "secret":
                    self._text(value, "secret", depth)

    def _rows(self, table: Table, rows: list[Any], scope: str, depth: int, visited: _Visited | None) -> None:
        for row in rows:
            self._object(dict(zip(table.columns, row, strict=True)), scope, depth + 1, visited)

    def _full_name(self, node: dict[str, Any]) -> None:
        given = [item for key, item in node.items() if bare_key(key) in _GIVEN and isinstance(item, str)]
        family = [item for key, item in node.items() if bare_key(key) in _FAMILY and isinstance(item, str)]
        if given and family:
            self._claim("name", f"{given[0].strip()} {family[0].strip()}")

    def _text(self, text: str, hint: Kind | None, depth: int) -> None:
        if hint is not None and (hint, text) not in self._read_hinted:
            self._read_hinted.add((hint, text))
            self._claim(hint, text)
        if text not in self._read:
            self._read.add(text)
            self._met.append((text, depth, self._nesting))

    def _read_texts(self) -> None:
        """Look at the texts that were met, and at those that lie in them."""
        while self._met:
            met, self._met = self._met, []
            plain: dict[str, None] = {}
            for text, depth, self._nesting in met:
                seen = self._taken_apart(text, depth)
                if seen is not None:
                    plain[seen] = None
            self._nesting = 0
            for text, among in self._detector.worth_looking(plain):
                self._found(text, among)

    def _taken_apart(self, text: str, depth: int) -> str | None:
        """Meet what `text` holds; the text to look at as a whole, None where it is nothing but another value's JSON."""
        signs = signs_of(_utf_8(text))
        opens = text[:1] in '{["' or text[:1].isspace()
        if signs is PLAIN and not opens:
            self.flat.add(text)
            return text
        nested = self.parsed.keep(text) if opens and self._nesting < MAX_NESTING else None
        self._nesting += 1
        if isinstance(nested, str):
            return self._taken_apart(nested, depth)
        if nested is not None:
            if not self._read_values or content_key(nested) not in self._read_values:
                self._node(nested, None, "", depth + 1, None)
            return None
        folded = fold(text) if signs.folds else None
        self._inside(text, signs, depth)
        if folded is None:
            return text
        self.flat.discard(text)
        return folded.text

    def _inside(self, text: str, signs: Signs, depth: int) -> None:
        """What lies in parts of a plain text; one that has no parts is noted."""
        parts = False
        for piece in keyed_pieces(text, self._key_hints.tells) if signs.pairs else ():
            parts = True
            hint = self._key_hints.hint(piece.key, piece.beside or {piece.key: piece.value}, "")
            if hint is not None and (hint, piece.value) not in self._read_hinted:
                self._read_hinted.add((hint, piece.value))
                self._claim(hint, piece.value)
        if self._nesting <= MAX_NESTING:
            for codec in signs.codecs:
                for piece in codec(text):
                    parts = True
                    self._node(piece.value, None, "", depth + 1, None)
            if not parts:
                self.flat.add(text)

    def _claim(self, hint: Kind, text: str) -> None:
        folded = None if text.isascii() else fold(text)
        for each in (text,) if folded is None else (text, folded.text):
            claim = self._detector.under_hint(hint, each)
            if claim is not None:
                self._take(claim, "key")

    def _found(self, text: str, among: Sequence[int] | None = None) -> None:
        for span in self._detector.spans(text, among):
            claim = span.claim
            if claim.kind == "email" and "%40" in claim.text:
                continue  # found decoded: here ``%20`` before it would be taken for a part of it
            self._take(claim, span.rule, sure=span.sure)

    def _take(self, claim: Claim, rule: str, *, sure: bool = True) -> None:
        self._claims.append(claim)
        self.origins.add(claim, rule, sure=sure)
        named = named_by(claim) if self._policy.action("name") != "keep" else ""
        guess = self._detector.under_hint("name", named) if named else None
        if guess is not None:
            self._claims.append(guess)
            self.origins.add(guess, f"in {claim.kind}", sure=claim.kind == "account")

    def _number(self, number: int, hint: Kind | None) -> None:
        if number >= HUGE_NUMBER:
            return
        if hint in NUMBER_KINDS:
            claim = self._detector.number_under_hint(hint, number)
            if claim is not None:
                self._take(claim, "key")
        elif number >= LONG_NUMBER:
            self._found(str(number))


def _utf_8(text: str) -> bytes:
    """A text's bytes.

    Raises:
        InputError: it holds a lone surrogate code point.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"a lone surrogate code point at character {error.start}", cure="pass valid Unicode text"
        ) from None
