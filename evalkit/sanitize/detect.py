"""Where personal and secret values are: by the key they stand under, and by their form.

A `Claim` says that a text is a value of a kind. Whatever is found already replaced (a surrogate of any key) is not
claimed, which is what makes a second pass change nothing.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from evalkit.sanitize.normal import digits_of, find_date, is_cjk, joins, luhn_digit, name_words, phone_norm
from evalkit.sanitize.policy import Kind, Policy
from evalkit.sanitize.ranges import is_name_surrogate, is_surrogate, is_surrogate_int
from evalkit.sanitize.rules.hints import PAYMENT_PARENTS, PERSON_KEYS, PERSON_PARENTS, bare_key, hint_of
from evalkit.sanitize.rules.patterns import RULES, Rule
from evalkit.sanitize.rules.words import GENERIC, PLACEHOLDERS, TITLES

__all__ = ["Claim", "Detector", "child_scope"]

_NOT_BEFORE_PHONE = {"nanp": tuple("#.-_="), "local_phone": tuple("-/._"), "cn_mobile": ("+",)}
_SHORT = 64
_NAME_LIKE = re.compile(r"[^\W\d_][\w\s.'’,·-]{0,79}")
_CARD_ISSUERS: dict[int, tuple[str, ...]] = {
    13: ("4",), 14: ("30", "36", "38", "39"), 15: ("34", "37", "1800", "2131"), 16: ("2", "3", "4", "5", "6"),
    17: ("4", "6"), 18: ("4", "6"), 19: ("4", "6"),
}  # fmt: skip
"""How numbers of a length start, by ISO/IEC 7812 as the networks publish it."""
_IBAN_LENGTH = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28,
    "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
    "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22,
    "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24,
    "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27,
    "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip
_TOP_DOMAINS = frozenset(
    "com org net edu gov mil int info biz name pro mobi aero coop museum travel jobs cat tel asia post xyz app dev "
    "online site store tech shop club cloud email live life world today news blog page agency company solutions "
    "services systems network digital media group global center support work works software design studio consulting "
    "finance bank insurance health care clinic law legal school academy university education foundation house homes "
    "london berlin paris tokyo example test invalid local localhost internal corp lan".split()
)


class Claim(NamedTuple):
    """A text that is a value of a kind.

    Attributes:
        norm: the value's normal form; equal values have equal ones.
        text: the value as it stands.
    """

    kind: Kind
    norm: str
    text: str


@lru_cache(maxsize=4096)
def child_scope(key: str, scope: str) -> str:
    """What an object under `key` is about: ``payment``, ``person`` or nothing known."""
    bare = bare_key(key)
    if bare in PAYMENT_PARENTS or scope == "payment":
        return "payment"
    return "person" if bare in PERSON_PARENTS else ""


class Detector:
    """Finds claims in texts and under keys, by the built-in rules and a policy's own."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._extra_hints = {bare_key(key): kind for key, kind in policy.hints.items()}
        self._hints: dict[str, Kind | None] = {}
        custom = tuple(
            Rule("custom", kind, pattern if _has_group(pattern) else f"({pattern})", whole=False)
            for kind, pattern in policy.patterns
        )
        self._rules = [rule for rule in (*custom, *RULES) if policy.action(rule.kind) != "keep"]
        self._set, self._compiled = _compile(tuple(rule.pattern for rule in self._rules))

    def hint(self, key: str, node: dict[str, Any], scope: str) -> Kind | None:
        """The kind that the value under `key` of the object `node` has to be taken for."""
        if key not in self._hints:
            if len(self._hints) > 10_000:
                self._hints.clear()
            self._hints[key] = self._key_hint(key)
        kind = self._hints[key]
        if kind is None:
            return self._context_hint(key, node, scope) if key in ("name", "id", "value", "名称") else None
        if kind == "secret" and ("logprob" in node or (bare_key(key) == "token" and _is_word(node[key]))):
            return None  # a token of a model's output
        return kind

    def _key_hint(self, key: str) -> Kind | None:
        kind = self._extra_hints.get(bare_key(key)) or hint_of(key)
        return None if kind is None or self._policy.action(kind) == "keep" else kind

    def _context_hint(self, key: str, node: dict[str, Any], scope: str) -> Kind | None:
        if key == "id":
            found: Kind | None = "payment" if scope == "payment" else None
        elif key == "value":  # a header or a form field: {"name": "Authorization", "value": "..."}
            label = node.get("name", node.get("key"))
            return self._key_hint(label) if isinstance(label, str) else None
        elif scope == "person" or any(isinstance(node[k], str) and bare_key(k) in PERSON_KEYS for k in node):
            found = None if "role" in node else "name"
        else:
            found = None
        return None if found is None or self._policy.action(found) == "keep" else found

    def in_text(self, text: str) -> Iterator[Claim]:
        """The values in `text` that are known by their form.

        A value inside a longer one is left out (the digits of an IBAN are no phone number; only secrets count
        anywhere), and so is what overlaps a surrogate.
        """
        data = text.encode()
        matched = self._set.Match(data)
        if matched is None:
            return
        spans = sorted(self._spans(data, matched), key=lambda span: (span[0] - span[1], span[0]))
        surrogate, covered = bytearray(len(data)), bytearray(len(data))
        for start, end, claim in spans:
            if is_surrogate(claim.kind, claim.text):
                surrogate[start:end] = b"\1" * (end - start)
        for start, end, claim in spans:
            inside = covered[start] and covered[end - 1]
            covered[start:end] = b"\1" * (end - start)
            if (not inside or claim.kind == "secret") and not any(surrogate[start:end]) and self._wanted(claim):
                yield claim

    def _spans(self, data: bytes, matched: Iterable[int]) -> Iterator[tuple[int, int, Claim]]:
        for index in matched:
            rule, compiled, at = self._rules[index], self._compiled[index], 0
            while (match := compiled.search(data, at)) is not None:
                start, end = match.span(1)
                if start >= end:  # a pattern of the user's whose group took no part
                    at = max(match.end(), at + 1)
                    continue
                claim = _judged(rule, data, start, end)
                if claim is not None:
                    end = max(start + 1, min(end, start + len(claim.text.encode())))
                    yield start, end, claim
                # a rejected match may hide one that starts inside it (7917 4000 0010 0000 0000)
                at = start + 1 if claim is None and end - start <= _SHORT else max(end, at + 1)

    def under_hint(self, kind: Kind, value: str) -> Claim | None:
        """The claim for a whole value under a key of `kind`; None when the value is none of that kind."""
        if not value or value.strip().lower() in PLACEHOLDERS:
            return None
        claim = _by_hint(kind, value)
        return claim if claim is not None and self._wanted(claim) else None

    def number_under_hint(self, kind: Kind, number: int) -> Claim | None:
        """As `under_hint`, for a value that is a JSON number."""
        digits = str(number)
        return None if number <= 0 or is_surrogate_int(digits) else self.under_hint(kind, digits)

    def _wanted(self, claim: Claim) -> bool:
        return claim.text not in self._policy.allow and not is_surrogate(claim.kind, claim.text)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\W*[^\W\d_]{0,30}\W*", value) is not None


@lru_cache(maxsize=16)
def _compile(patterns: tuple[str, ...]) -> tuple[Any, list[Any]]:
    """All patterns as one set, and each alone. Kept, as it takes longer than to sanitize a small trace."""
    import re2  # lazy: a C++ library that only sanitizing needs

    together = re2.Set.SearchSet()
    for pattern in patterns:
        together.Add(pattern)
    together.Compile()
    return together, [re2.compile(pattern.encode()) for pattern in patterns]


def _has_group(pattern: str) -> bool:
    import re2  # lazy: see above

    return bool(re2.compile(pattern).groups)


def _judged(rule: Rule, data: bytes, start: int, end: int) -> Claim | None:
    before = data[max(0, start - 12) : start].decode("utf-8", "ignore")
    value = data[start:end].decode("utf-8", "ignore")
    after = data[end : end + 6].decode("utf-8", "ignore")
    if rule.whole and joins(after[:1]) and not (rule.kind == "phone" and re.match(r"x\d", after)):
        cut = re.match(r".*(?=[ -])", value) if rule.kind == "phone" else None
        if cut is None:
            return None
        value, after = cut[0], value[cut.end() :] + after  # 7946 0958 4c7a: the last group belongs to what follows
    return _by_form(rule, value, before, after)


def _by_form(rule: Rule, value: str, before: str, after: str) -> Claim | None:
    if rule.name == "custom":
        return _by_hint(rule.kind, value) or Claim("custom", value, value)
    if rule.kind == "secret":
        framed = f":{value}@" if rule.name == "url_password" else value  # framed, a short one can be told from a word
        return Claim("secret", value, framed) if _is_secret(rule.name, value) else None
    if rule.kind == "phone":
        return _phone_in_text(rule.name, value, before, after)
    if rule.name == "card":
        return _card_in_text(value, before, after)
    if rule.name == "iban":
        return _iban_in_text(value)
    if rule.name == "ssn":
        bad = value[:3] in ("000", "666") or value[0] == "9" or value[4:6] == "00" or value.endswith("0000")
        return None if bad or after[:1] == "-" or before.endswith("-") else Claim("ssn", digits_of(value), value)
    if rule.name == "email":
        return _email(value, strict=True)
    if rule.kind == "ip":
        return _ip(value, before, after)
    if rule.kind == "name":
        return _name(value.rstrip("'’-."))
    if rule.kind == "postcode":
        return Claim("postcode", value, value)
    if rule.kind == "account":
        return Claim("account", value, value) if any(char.isdigit() for char in value) else None
    return Claim(rule.kind, value.upper(), value)


def _by_hint(kind: Kind, value: str) -> Claim | None:
    stripped = value.strip()
    if kind == "secret":
        return _hinted_secret(stripped)
    if kind == "name":
        return _name(stripped)
    if kind == "address":
        return _address(stripped)
    if kind == "birth_date":
        found = find_date(stripped)
        return None if found is None else Claim(kind, found.day.isoformat(), found.text)
    if kind == "postcode":
        fits = re.fullmatch(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9 -]{1,9}[A-Za-z0-9]", stripped)
        return Claim(kind, re.sub(r"[ -]", "", stripped).upper(), stripped) if fits else None
    if kind in ("account", "payment", "custom"):
        named = re.fullmatch(r"[^\s@]{5,80}", stripped) and any(char.isalnum() for char in stripped)
        return Claim(kind, stripped, stripped) if named else None
    return _numbered(kind, stripped)


def _numbered(kind: Kind, value: str) -> Claim | None:
    digits = digits_of(value)
    if kind == "email":
        return _email(value, strict=False)
    if kind == "phone":
        norm = phone_norm(value) if re.fullmatch(r"[\d\s()+./extEXT#-]{7,30}", value) else None
        return None if norm is None else Claim(kind, norm, value)
    if kind == "card":
        return (
            Claim(kind, digits, value) if re.fullmatch(r"\d[\d -]{11,30}", value) and 13 <= len(digits) <= 19 else None
        )
    if kind == "ssn":
        return Claim(kind, digits, value) if re.fullmatch(r"\d{3}[ -]?\d{2}[ -]?\d{4}", value) else None
    if kind == "iban":
        compact = re.sub(r"[ -]", "", value).upper()
        return Claim(kind, compact, value) if re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", compact) else None
    if kind == "national_id":
        fits = re.fullmatch(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9 /-]{4,29}", value)
        return Claim(kind, value.upper(), value) if fits else None
    return _ip(value, "", "")


def _is_secret(rule: str, value: str) -> bool:
    if "EXAMPLE" in value or re.search(r"\*{3}|x{6}|X{6}|\.{3}|<|_here|-here|your[-_]", value):
        return False
    if rule == "api_key" and value.startswith("sk-"):
        longest = max((len(run) for run in re.findall(r"[A-Za-z0-9]+", value[3:])), default=0)
        return longest >= 16 and any(char.isdigit() for char in value)
    if rule in ("jwt", "private_key", "api_key", "assignment_zh"):
        return True
    if rule == "url_password":
        return value.lower() not in PLACEHOLDERS and not value.startswith(("$", "{"))
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return mixed and entropy(value) >= 2.5 and not re.match(r"(?:0x|https?:|\d+(?:px|ms|s|kb|mb)?$)", value.lower())


def entropy(text: str) -> float:
    """Shannon entropy of the characters of `text`, in bits a character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)


def _hinted_secret(value: str) -> Claim | None:
    if not any(char.isalnum() for char in value) or re.fullmatch(r"[\$<{%\[].*[>}%\]]|\$\w+", value):
        return None  # asterisks, or a variable's place
    scheme = re.fullmatch(r"(?i:bearer|basic|token|digest)\s+(.+)", value)
    token = scheme[1] if scheme else value
    if " " in token and "=" not in token and len(token) > 64 and not token.startswith("-----"):
        return None  # a sentence about the secret
    return Claim("secret", token, token) if len(token) >= 4 else None


def _phone_in_text(rule: str, value: str, before: str, after: str) -> Claim | None:
    ends = [match.start() for match in re.finditer(r"[ .-]", value)]
    kept = next((value[:end] for end in ends if is_surrogate("phone", value[:end])), None)
    if kept is not None:  # a surrogate, and something else behind it
        return Claim("phone", kept, kept)
    digits = digits_of(value)
    joined = re.match(r"[-./]\d", after) or before[-1:] in _NOT_BEFORE_PHONE.get(rule, ())
    if joined or re.match(r"\d{2}[-/ ]\d{2}[-/ ]\d{4}|\d{4}([-/.])\d{1,2}\1\d{1,2}(?!\d)", value):
        return None
    if rule == "local_phone" and not 9 <= len(digits) <= 12:
        return None
    if rule == "e164" and (not 8 <= len(digits) <= 15 or (value[1:].isdigit() and len(digits) < 10)):
        return None
    text = _first_digits(value, {"1": 11, "86": 13}) if rule == "e164" else value
    norm = phone_norm(text)
    return None if norm is None else Claim("phone", norm, text)


def _first_digits(value: str, lengths: dict[str, int]) -> str:
    """A number with its country code, without what follows it where the country's numbers have one length."""
    digits = digits_of(value)
    size = next((size for code, size in lengths.items() if digits.startswith(code)), len(digits))
    ends = [at + 1 for at, char in enumerate(value) if char.isdecimal()]
    return value[: ends[min(size, len(ends)) - 1]]


def _card_in_text(value: str, before: str, after: str) -> Claim | None:
    digits = digits_of(value)
    issuer = _CARD_ISSUERS.get(len(digits), ())
    if not digits.startswith(issuer) or before[-1:] in tuple(".-_") or len(set(digits)) < 2:
        return None
    # four by four is how only cards are written: there, unless more groups follow, the checksum doesn't gate
    grouped = not value.isdecimal() and not re.match(r"[ -]\d", after) and not re.search(r"\d[ -]$", before)
    return Claim("card", digits, value) if grouped or luhn_digit(digits[:-1]) == int(digits[-1]) else None


def _iban_in_text(value: str) -> Claim | None:
    size = _IBAN_LENGTH.get(value[:2].upper())
    if size is None:
        return None
    end = next((i + 1 for i in range(len(value)) if len(value[: i + 1].replace(" ", "")) == size), None)
    compact = value[:end].replace(" ", "").upper()
    if end is None or int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 != 1:
        return None
    return Claim("iban", compact, value[:end])


def _email(value: str, *, strict: bool) -> Claim | None:
    plain = value.replace("%40", "@")
    local, _, domain = plain.partition("@")
    top = domain.rpartition(".")[2].lower()
    if not re.fullmatch(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+\.[^\s@<>,;:\".]{2,}", plain):
        return None
    if strict and (local == "git" or local.startswith(".") or (len(top) > 2 and top not in _TOP_DOMAINS)):
        return None  # n@pytest.mark is a decorator, git@host a remote
    return Claim("email", plain.lower(), value)


def _ip(value: str, before: str, after: str) -> Claim | None:
    version = re.search(r"(?i:[a-z]/|\bv|ver|version|release|build)[ :=]?$", before)
    if version or (":" not in value and re.match(r"[.-][0-9A-Za-z]", after)):
        return None
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return None
    if not address.is_global or (address.version == 6 and value[:1] not in "23" and value.count(":") < 7):
        return None
    return Claim("ip", address.compressed, value)


def _name(value: str) -> Claim | None:
    if not _NAME_LIKE.fullmatch(value) or any(char.isdigit() for char in value) or "_" in value:
        return None
    words = [word for word in name_words(value) if word.lower() not in TITLES and not is_name_surrogate(word)]
    if not words or len(words) > 6 or all(word.lower() in GENERIC | PLACEHOLDERS for word in words):
        return None
    return Claim("name", value.casefold(), value)


def _address(value: str) -> Claim | None:
    if "@" in value or "://" in value or not 2 <= len(value) <= 200:
        return None
    if re.fullmatch(r"[0-9A-Fa-fx.:]+", value) and not value.isdigit():
        return None  # an IP address, or one in a computer's memory
    wordy = len(re.findall(r"\w+", value)) >= 2 or any(is_cjk(char) for char in value) or len(value) >= 4
    return Claim("address", re.sub(r"[\s,.]+", " ", value).strip().casefold(), value) if wordy else None
