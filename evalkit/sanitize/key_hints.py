"""What the keys of an object say of their values: a kind, or that it depends on what stands beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from evalkit.sanitize.columns import are_pairs
from evalkit.sanitize.form_names import looks_like_a_name
from evalkit.sanitize.keywords import Keywords, keywords_of
from evalkit.sanitize.normal import has_cjk
from evalkit.sanitize.policy import Kind, Policy
from evalkit.sanitize.ranges import is_surrogate
from evalkit.sanitize.rules.hints import (
    PAYMENT_PARENTS,
    PERSON_IDS,
    PERSON_KEYS,
    PERSON_PARENTS,
    PERSON_ROLES,
    SECRET_PARENTS,
    SPOKEN_SECRETS,
    bare_key,
    hint_of,
)
from evalkit.sanitize.secrets import GitleaksRules

__all__ = [
    "ASK",
    "COOKIE_SETTINGS",
    "NO_SECRET_KEY",
    "PAIR",
    "SHORTEST_COOKIE",
    "Hint",
    "KeyHints",
    "child_scope",
]

SHORTEST_COOKIE = 8
COOKIE_SETTINGS = frozenset({b"expires", b"max-age", b"path", b"domain", b"samesite", b"version"})

_TOKEN = re.compile(r"(?=[^\s]*\d)[^\s\"'`]{10,300}")
NO_SECRET_KEY = re.compile(
    r"(?i)(?:cache|idempoten\w*|primary|foreign|object|sort|partition|s3|storage|file|lookup|dedup\w*|routing|public|i18n|"
    r"translation|issue|jira|group|map|hash|range|index|row|entity|trace|span|run|thread|page|continuation|next|cursor)"
    r"[_.-]?(?:key|token)|(?:task|crew|step|node|agent|tool|sub)[_.-]?key|tool[_-]?call|(?:key|token|auth|access|api)[_-]?(?:id|name|type|count|version|date|time|at|url)s?\b"
)
_NO_TOKEN = re.compile(r".*(?:\s|://|@)|/|v?\d{1,4}[.:/-]\d[\dT_+Z.:/-]*$|\d{1,2}[ -][A-Za-z]{3}", re.DOTALL)
"""What lies beside secrets and is none: a text, an address, a path, a version, a time."""
_ABOUT_SECRETS = frozenset(
    "expires expiry expiresat expirationdate maxage path domain samesite version type kind provider region scope "
    "scopes model url origin host hostname createdat updatedat lastused project projectid "
    "namespace uid resourceversion arn mount mountpath".split()
)
"""Keys of what is told of a secret beside it."""
_NEUTRAL_KEYS = frozenset({"name", "Name", "NAME", "id", "名称"})
_PARTS_OF_NAMES = frozenset("first last given family middle".split())
_VALUE_KEYS = frozenset({"value", "Value"})
_LABEL_KEYS = ("name", "key", "Name", "Key", "field", "label", "system", "type")
_CONTEXT_KEYS = _NEUTRAL_KEYS | _VALUE_KEYS
"""Keys whose values are a person's or not by what stands around them."""
ASK: Literal["ask"] = "ask"
"""In place of a hint: it depends on the object."""
PAIR: Literal["pair"] = "pair"
"""In place of a hint: key and value together may be a secret (see `KeyHints.is_secret_pair`)."""
Hint: TypeAlias = "Kind | Literal['ask', 'pair'] | None"


@lru_cache(maxsize=4096)
def child_scope(key: str, scope: str) -> str:
    """What an object under `key` is about: ``payment``, ``secret``, ``name`` in parts, ``person`` or nothing known."""
    bare = bare_key(key)
    if bare in PAYMENT_PARENTS or scope == "payment":
        return "payment"
    if bare in SECRET_PARENTS or scope == "secret":
        return "secret"
    if bare == "name" or hint_of(key) == "name":
        return "name"
    return "person" if bare in PERSON_PARENTS else ""


class KeyHints:
    """The built-in hints of keys, and a policy's own.

    Args:
        secrets: the rules for secrets; None where these are kept.
        keywords: of those rules.
    """

    def __init__(self, policy: Policy, secrets: GitleaksRules | None, keywords: Keywords) -> None:
        self._policy = policy
        self._secrets = secrets
        self._keywords = keywords
        self._telling = keywords_of(secrets.key_words, secrets.shortest) if secrets else keywords
        self._extra_hints = {bare_key(key): kind for key, kind in policy.hints.items()}
        self._hints: dict[str, Kind | None] = {}
        self._secret_keys: dict[str, bool] = {}
        self._secret_pairs: dict[tuple[str, str], bool] = {}
        self._silent: set[str] = set()
        self._hints_of: dict[tuple[tuple[str, ...], str], tuple[Hint, ...]] = {}

    def hints(self, keys: tuple[str, ...], scope: str) -> tuple[Hint, ...]:
        """What the keys of an object say by themselves, one by one; `ASK` and `PAIR` where it depends."""
        known = self._hints_of.get((keys, scope))
        if known is None:
            if len(self._hints_of) > 10_000:
                self._hints_of.clear()
            person = scope == "person" or any(bare_key(key) in PERSON_KEYS | PERSON_IDS for key in keys)
            known = self._hints_of[keys, scope] = tuple(self._plain_hint(key, scope, person) for key in keys)
        return known

    def _plain_hint(self, key: str, scope: str, person: bool) -> Hint:
        kind = self._key_hint(key)
        if scope == "name" and key.lower() in _PARTS_OF_NAMES and self._policy.action("name") != "keep":
            return "name"
        if kind is not None:
            return ASK if kind == "secret" else kind
        # `name` and `id`: nobody's, and no means of payment, in an object that speaks of neither
        depends = (scope == "payment" if key == "id" else person) if key in _NEUTRAL_KEYS else _depends(key)
        if depends or scope == "secret":
            return ASK
        return PAIR if self._tells_secret(key) else None

    def tells(self, key: str) -> bool:
        """Whether a key may say what the value under it is, by itself or with what stands beside it."""
        depends = _depends(key) and key != "id"  # which is known by the object around it alone
        return depends or self._key_hint(key) is not None or self._tells_secret(key)

    def hint(self, key: str, node: dict[str, Any], scope: str) -> Kind | None:
        """The kind that the value under `key` of the object `node` has to be taken for."""
        if scope == "secret" and self._is_beside_secrets(key, node):
            return "secret"
        if key in self._silent:
            return None
        if key not in self._hints:
            if len(self._hints) > 10_000:
                self._hints.clear()
                self._silent.clear()
            kind = self._hints[key] = self._key_hint(key)
            if kind is None and not _depends(key) and not self._tells_secret(key):
                self._silent.add(key)
        kind = self._hints[key]
        if kind is None:
            kind = self._context_hint(key, node, scope) if _depends(key) else None
            return kind or ("secret" if self.is_secret_pair(key, node.get(key)) else None)
        if kind == "secret" and ("logprob" in node or (bare_key(key) == "token" and _is_word(node[key]))):
            return None  # a token of a model's output
        if kind == "secret" and type(node.get(key)) is int and bare_key(key) not in SPOKEN_SECRETS:
            return None  # a token's number, or how many there are
        return kind

    def _is_beside_secrets(self, key: str, node: dict[str, Any]) -> bool:
        """Whether a value under a key like ``cookies`` lets somebody in, as far as its key and its form say."""
        if self._policy.action("secret") == "keep" or self._key_hint(key) or hint_of(key):
            return False
        is_label = key in _LABEL_KEYS and not _VALUE_KEYS.isdisjoint(node)
        return not is_label and bare_key(key) not in _ABOUT_SECRETS and _lets_in(node.get(key))

    def _key_hint(self, key: str) -> Kind | None:
        kind = self._extra_hints.get(bare_key(key)) or hint_of(key)
        return None if kind is None or self._policy.action(kind) == "keep" else kind

    def _context_hint(self, key: str, node: dict[str, Any], scope: str) -> Kind | None:
        if key == "id":
            found: Kind | None = "payment" if scope == "payment" else None
        elif key in _VALUE_KEYS:  # a header, a form's field, a tag: {"name": "Authorization", "value": "..."}
            label = next((each for each in _LABEL_KEYS if isinstance(node.get(each), str)), None)
            found = None if label is None else self._key_hint(node[label])
            return None if found == "secret" and label == "type" else found  # a token of a text
        elif key not in _CONTEXT_KEYS:
            found = "name" if _are_names(node.get(key)) else None
        elif scope == "person" or any(isinstance(node[k], str) and bare_key(k) in PERSON_KEYS for k in node):
            found = None if "role" in node else "name"
        elif any(bare_key(k) in PERSON_IDS for k in node):
            value = node.get(key)  # "Blue Shirt" would look like one as well
            found = "name" if isinstance(value, str) and has_cjk(value) and looks_like_a_name(value) else None
        else:
            found = None
        return None if found is None or self._policy.action(found) == "keep" else found

    def are_secret_pairs(self, items: Sequence[Any]) -> bool:
        """Whether pairs are keys with their values, not rows of two columns: a secret's key stands in one of them."""
        if not are_pairs(items) or all(self._key_hint(heading) is not None for heading in items[0]):
            return False
        return any(self._key_hint(key) == "secret" for key, _ in items)

    def is_secret_pair(self, key: str, value: object) -> bool:
        """Whether key and value together are what a rule of gitleaks looks for in ``KEY = "value"``."""
        if self._secrets is None or type(value) is not str or not 10 <= len(value) <= 300:
            return False
        if not self._tells_secret(key) or not _TOKEN.fullmatch(value):
            return False
        known = self._secret_pairs.get((key, value))
        if known is None:
            if len(self._secret_pairs) > 10_000:
                self._secret_pairs.clear()
            known = self._secret_pairs[key, value] = self._assigns_secret(self._secrets, key, value)
        return known

    def _assigns_secret(self, rules: GitleaksRules, key: str, value: str) -> bool:
        data = f'{key} = "{value}"'.encode()
        low = data.lower()
        if not any(shortest <= len(data) for _, shortest in self._keywords.places(low)):
            return False
        behind = len(key.encode())
        found = any(span.start > behind for span in rules.find(data, self._keywords.met(low)))
        return found and not is_surrogate("secret", value)

    def _tells_secret(self, key: str) -> bool:
        telling = self._secret_keys.get(key)
        if telling is None:
            if len(self._secret_keys) > 10_000:
                self._secret_keys.clear()
            telling = bool(self._telling.places(key.encode("utf-8", "replace").lower()))
            self._secret_keys[key] = telling = telling and not NO_SECRET_KEY.search(key)
        return telling


@lru_cache(maxsize=4096)
def _depends(key: str) -> bool:
    """Whether it depends on the object what the value under `key` is."""
    return key in _CONTEXT_KEYS or bare_key(key) in PERSON_ROLES


def _are_names(value: object) -> bool:
    """Whether a text, or each in a list of texts, looks like a name."""
    texts = value if isinstance(value, list) and value else [value]
    return all(isinstance(text, str) and looks_like_a_name(text) for text in texts)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\W*[^\W\d_]{0,30}\W*", value) is not None


def _lets_in(value: object) -> bool:
    """Whether the value of a cookie or the like could let somebody in: eight characters or more with a digit."""
    if not isinstance(value, str) or len(value) < SHORTEST_COOKIE or _NO_TOKEN.match(value):
        return False
    return any(map(str.isdigit, value))
