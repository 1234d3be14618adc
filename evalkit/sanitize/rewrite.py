"""Pass two: everything that is known is replaced, wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import is_
from typing import Any

from evalkit.canonical import Json
from evalkit.errors import InputError, SanitizationFailed
from evalkit.sanitize.claim import Claim
from evalkit.sanitize.columns import Table, are_pairs, table_in, table_of
from evalkit.sanitize.detect import Detector
from evalkit.sanitize.embedded import MAX_NESTING, Parsed, content_key, serialize_like
from evalkit.sanitize.folding import fold
from evalkit.sanitize.harvest import HUGE_NUMBER, LONG_NUMBER, MAX_DEPTH, NUMBER_KINDS
from evalkit.sanitize.key_hints import ASK, PAIR, child_scope
from evalkit.sanitize.keyed_text import keyed_pieces
from evalkit.sanitize.lexicon import Entity, Lexicon, entity_of
from evalkit.sanitize.pieces import CODECS, Piece, rewritten
from evalkit.sanitize.policy import Kind, Policy
from evalkit.sanitize.signs import signs_of
from evalkit.trace.prefixes import Prefixes

__all__ = ["Rewriter"]

_REMEMBERED = 50_000
_IDENTIFIER = re.compile(r"[\w.-]{0,40}", re.ASCII)
_NOTHING: frozenset[Entity] = frozenset()


class Rewriter:
    """Replaces what a lexicon knows in JSON values; remembers the result for every text.

    Args:
        flat: texts of which harvesting showed that no other value is in them (see `Harvester`).
        parsed: JSON in texts that harvesting parsed already.
    """

    def __init__(
        self, policy: Policy, detector: Detector, lexicon: Lexicon, flat: set[str], parsed: Parsed | None = None
    ) -> None:
        self._flat_texts = flat
        self._parsed = parsed or Parsed()
        self._policy = policy
        self._detector = detector
        self._key_hints = detector.key_hints
        self._lexicon = lexicon
        self._texts: dict[str, tuple[str, frozenset[Entity]]] = {}
        self._hinted: dict[tuple[str, str], tuple[str, frozenset[Entity]]] = {}
        self._labels: dict[str, tuple[str, frozenset[Entity]]] = {}
        self._keys: dict[tuple[str, ...], tuple[tuple[str, ...], frozenset[Entity]]] = {}
        self._clean: set[str] = set()
        self._values: dict[bytes | None, Json] = {}
        self._pairs: dict[tuple[tuple[str, ...], str], tuple[str, ...] | None] = {}
        self._found: set[Entity] | None = None
        self._memo: dict[tuple[int, Kind | None, str], tuple[Any, Json]] | None = None
        self._lists: Prefixes[list[Json]] = Prefixes()
        self._nesting = 0

    def forget(self) -> None:
        """Forget the remembered results, because the lexicon has grown."""
        self._texts.clear()
        self._hinted.clear()
        self._labels.clear()
        self._keys.clear()
        self._clean.clear()
        self._values.clear()
        self._pairs.clear()

    def expect(self, texts: Iterable[str]) -> None:
        """Rewrite many texts at once, of which harvesting showed that no other value is in them."""
        known, allow = self._texts, self._policy.allow
        fresh = [text for text in texts if text not in self._clean and text not in known]
        for text, new, entities in self._lexicon.replace_all(fresh):
            if entities and not (allow and text in allow):
                known[text] = new, entities
            elif not self._lexicon.ends_card(text):
                self._clean.add(text)

    @contextmanager
    def tallying(self) -> Iterator[set[Entity]]:
        """Gather what is replaced meanwhile. Objects that values share are rewritten once and stay shared."""
        self._bound()
        self._found, self._memo, self._lists = set(), {}, Prefixes()
        self._values.clear()
        try:
            yield self._found
        finally:
            self._found, self._memo, self._lists = None, None, Prefixes()

    def text(self, text: str) -> str:
        """A whole text."""
        return self._text(text)

    def label(self, text: str) -> str:
        """A name of the program's (a tool, a field): a value's parts inside it stay, as they do in all labels."""
        known = self._labels.get(text)
        if known is None:
            known = self._remember(self._labels, text, self._label(text))
        if known[1]:
            self._tally(known[1])
        return known[0]

    def _label(self, text: str) -> tuple[str, frozenset[Entity]]:
        new, entities = self._lexicon.replace(text, identifier=" " not in text)
        if new == text and not _IDENTIFIER.fullmatch(text):
            outer, self._found = self._found, set()
            try:
                new = self._pieces(self._folded(text))
                entities = frozenset(self._found)
            finally:
                self._found = outer
        return new, entities

    def value(self, node: Any, *, again: bool = False) -> Json:
        """A JSON value with everything replaced. What stays as it is, is shared with `node`.

        Args:
            again: it may stand in texts as JSON, too.

        Raises:
            InputError: nested deeper than 200 levels.
            SanitizationFailed: two keys of an object would become one.
        """
        if self._memo is None:
            self._bound()
        made = self._node(node, None, "", 0)
        key = content_key(node) if again else None
        if key is not None:
            self._values[key] = made
        return made

    def _bound(self) -> None:
        if len(self._clean) + len(self._texts) + len(self._hinted) + len(self._labels) + len(self._keys) > _REMEMBERED:
            self.forget()

    def _node(self, node: Any, hint: Kind | None, scope: str, depth: int) -> Json:
        kind = type(node)
        if kind is str:
            new = self._string(node, hint)
            return node if new == node else new
        if kind is int:
            return self._number(node, hint)
        if kind is not dict and kind is not list:
            return node  # type: ignore[no-any-return]  # None, a bool or a float: harvesting refused all else
        mark = (id(node), hint, scope)
        if self._memo is not None and mark in self._memo:
            return self._memo[mark][1]
        if depth > MAX_DEPTH:
            raise InputError(f"nested deeper than {MAX_DEPTH} levels", cure="flatten the value")
        if kind is dict:
            made: Json = self._object(node, scope, depth)
        else:
            made = self._list(node, hint, scope, depth)
        if self._memo is not None:
            made = node if made == node else made  # a number is replaced by another one, never by its equal
            self._memo[mark] = (node, made)  # the node is kept, so that its identity is not given to another one
        return made

    def _list(self, node: list[Any], hint: Kind | None, scope: str, depth: int) -> list[Json]:
        if node and type(node[0]) is list:
            table = table_of(node)
            if table is not None and not self._key_hints.are_secret_pairs(node):
                return [self._node(node[0], hint, scope, depth + 1), *self._rows(table, node[1:], scope, depth)]
            if are_pairs(node):
                return [self._pair_of(*each) for each in node]
        count, before = (0, None) if self._memo is None else self._lists.of(node, (hint, scope))
        made = [*(before or ()), *(self._node(item, hint, scope, depth + 1) for item in node[count:])]
        if self._memo is not None:
            self._lists.keep(node, made, (hint, scope))
        return node if all(map(is_, made, node)) else made

    def _rows(self, table: Table, rows: list[Any], scope: str, depth: int) -> list[Json]:
        """The rows of a table, each as an object of its columns."""
        named = (dict(zip(table.columns, row, strict=True)) for row in rows)
        return [[*self._object(row, scope, depth + 1).values()] for row in named]

    def _pair_of(self, key: str, value: str) -> Json:
        secret = self._key_hints.hint(key, {key: value}, "") == "secret"
        return [self._text(key), self._string(value, "secret" if secret else None)]

    def _object(self, node: dict[str, Any], scope: str, depth: int) -> dict[str, Json]:
        keys = tuple(node)
        pairs = self._pairs_of(keys, scope)
        if pairs is not None and self._are_clean(node.values()):
            secret = self._key_hints.is_secret_pair
            if not pairs or not any(secret(key, node[key]) for key in pairs):
                return node
        made: dict[str, Json] = {}
        labels = self._labelled(keys)
        last_four, clean = self._lexicon.last_four, self._clean
        same = labels == keys
        for key, label, item, plain_hint in zip(
            keys, labels, node.values(), self._key_hints.hints(keys, scope), strict=True
        ):
            hint: Kind | None = None
            if plain_hint is not None:
                ask = plain_hint in (ASK, PAIR)
                hint = self._key_hints.hint(key, node, scope) if ask else plain_hint  # type: ignore[assignment]  # told by `ask`
            kind = type(item)
            if kind is str:
                if hint is None and item in clean:
                    new: Json = item  # most texts hold nothing
                elif hint is None and len(item) == 4 and (form := last_four(key, item)) is not None:
                    new = form[0]
                    self._tally(frozenset((form[1],)))
                else:
                    new = self._string(item, hint)
                    if new == item:
                        new = item
            elif item is None or kind is float:
                new = item
            else:
                new = self._node(item, hint, child_scope(key, scope), depth + 1)
            made[label] = new
            same = same and new is item
        table = table_in(node, keys)
        if table is not None and len(made) == len(node):
            label, rows = labels[keys.index(table.rows)], node[table.rows]
            made[label] = self._rows(table, rows, scope, depth)
            same = same and made[label] == rows
        if len(made) != len(node):
            raise SanitizationFailed("two keys of an object would become one", cure="allow one of them in the rules")
        return node if same else made

    def _pairs_of(self, keys: tuple[str, ...], scope: str) -> tuple[str, ...] | None:
        """The keys of an object that may make a secret of their values.

        None where its keys don't stay as they are, or say more of their values.
        """
        if (keys, scope) not in self._pairs:
            hints = self._key_hints.hints(keys, scope)
            silent = all(hint is None or hint == PAIR for hint in hints) and self._labelled(keys) == keys
            pairs = tuple(key for key, hint in zip(keys, hints, strict=True) if hint)
            self._pairs[keys, scope] = pairs if silent else None
        return self._pairs[keys, scope]

    def _are_clean(self, values: Iterable[Any]) -> bool:
        """Whether values that nothing is said of stay as they are; none of them is an object or a list."""
        clean, numbers = self._clean, self._lexicon.numbers
        for item in values:
            kind = type(item)
            if kind is str:
                if item not in clean:
                    return False
            elif kind is int:
                if item >= LONG_NUMBER or abs(item) in numbers:
                    return False
            elif item is not None and kind is not float and kind is not bool:
                return False
        return True

    def _labelled(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """The keys of an object, as `label` gives them."""
        known = self._keys.get(keys)
        if known is None:
            outer, self._found = self._found, set()
            try:
                known = tuple(map(self.label, keys)), frozenset(self._found)
            finally:
                self._found = outer
            self._keys[keys] = known
        self._tally(known[1])
        return known[0]

    def _string(self, text: str, hint: Kind | None) -> str:
        if hint is None:
            return self._text(text)
        known = self._hinted.get((hint, text))
        if known is None:
            known = self._remember(self._hinted, (hint, text), self._under_hint(hint, text))
        if known[1]:
            self._tally(known[1])
        return known[0]

    def _under_hint(self, hint: Kind, text: str) -> tuple[str, frozenset[Entity]]:
        form = self._lexicon.forms.get(text)
        claim = None if form is not None else self._detector.under_hint(hint, text)
        if claim is None:
            return self._rewritten(text)
        before, _, after = text.partition(claim.text)
        new = before + self._stand_in(claim) + after
        return new, _NOTHING if new == text else frozenset((entity_of(claim),))

    def _stand_in(self, claim: Claim) -> str:
        known = claim.text in self._lexicon.forms
        return self._lexicon.surrogate(claim.text) if known else self._lexicon.stand_in(claim, claim.text)

    def _text(self, text: str) -> str:
        if text in self._clean:
            return text
        known = self._texts.get(text)
        if known is None:
            known = self._remember(self._texts, text, self._rewritten(text))
        if known[1]:
            self._tally(known[1])
        return known[0]

    def _rewritten(self, text: str) -> tuple[str, frozenset[Entity]]:
        if text in self._policy.allow:
            return text, _NOTHING
        if text in self._flat_texts or self._nesting >= MAX_NESTING or text in self._lexicon.forms:
            return self._lexicon.replace(text)
        self._nesting += 1
        outer, self._found = self._found, set()
        try:
            nested = self._parsed.take(text)
            new = self._flat(text) if nested is None else self._nested(text, nested)
            return new, frozenset(self._found)
        finally:
            self._found = outer
            self._nesting -= 1

    def _flat(self, text: str) -> str:
        """Pieces first: an encoded value must not be taken for the parts of it that stand in the clear."""
        signs = signs_of(text.encode())
        new = rewritten(text, self._keyed, self._pair) if signs.pairs else text
        if signs.codecs or new is not text:
            new = self._pieces(new)
        text = self._folded(new) if signs.folds or new is not text else text
        new, entities = self._lexicon.replace(text)
        self._tally(entities)
        return new

    def _folded(self, text: str) -> str:
        """`text` with what only its folded form shows replaced."""
        folded = fold(text)
        if folded is None:
            return text
        parts: list[str] = []
        at = 0
        for start, end, form in self._lexicon.spans(folded.text):
            parts += (text[at : folded.places[start]], self._lexicon.surrogate(folded.text[start:end], form))
            at = folded.places[end - 1] + 1
            self._tally(frozenset((form.entity,)))
        return "".join((*parts, text[at:])) if parts else text

    def _keyed(self, text: str) -> Iterator[Piece]:
        return keyed_pieces(text, self._key_hints.tells)

    def _pair(self, piece: Piece) -> Any:
        hint = self._key_hints.hint(piece.key, piece.beside or {piece.key: piece.value}, "")
        return piece.value if hint is None else self._string(piece.value, hint)

    def _pieces(self, text: str) -> str:
        """`text` with what its pieces spell rewritten."""
        memo, self._memo = self._memo, None  # decoded objects live shortly: nothing to share
        try:
            before, codecs = text, signs_of(text.encode()).codecs
            for codec in CODECS:
                if text is not before:  # what it was changed to may be read in other ways
                    before, codecs = text, signs_of(text.encode()).codecs
                if codec in codecs:
                    text = rewritten(text, codec, lambda piece: self._node(piece.value, None, "", 0))
        finally:
            self._memo = memo
        return text

    def _nested(self, text: str, nested: Any) -> str:
        key = content_key(nested) if self._values else None
        memo, self._memo = self._memo, None  # parsed objects live shortly: nothing to share
        try:
            if key is not None and key in self._values:
                clean = self._values[key]  # what is in it was told when it was rewritten
            else:
                clean = self._text(nested) if isinstance(nested, str) else self._node(nested, None, "", 0)
            unchanged = clean is nested or clean == nested
            return text if unchanged else serialize_like(clean, nested, text)
        except ValueError:  # an infinity: such a text is not taken apart
            return self._lexicon.replace(text)[0]
        finally:
            self._memo = memo

    def _number(self, number: int, hint: Kind | None) -> Json:
        if -number in self._lexicon.numbers:
            new = self._number(-number, None)
            return -new if isinstance(new, int) else new
        told = hint in NUMBER_KINDS or number >= LONG_NUMBER or number in self._lexicon.numbers
        if not told or number >= HUGE_NUMBER:
            return number
        form = self._lexicon.forms.get(str(number))
        claim = self._detector.number_under_hint(hint, number) if hint in NUMBER_KINDS else None
        if form is not None:
            shown, entity = self._lexicon.surrogate(str(number)), form.entity
        elif claim is not None:
            shown, entity = self._lexicon.stand_in(claim, claim.text), entity_of(claim)
        else:
            return number
        self._tally(frozenset((entity,)))
        return self._lexicon.as_number(shown, entity)

    def _tally(self, entities: frozenset[Entity]) -> None:
        if entities and self._found is not None:
            self._found.update(entities)

    def _remember(self, table: dict[Any, Any], key: Any, result: tuple[str, frozenset[Entity]]) -> Any:
        table[key] = result
        return result
