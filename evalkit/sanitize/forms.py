"""Whether a match of a pattern is a value after all: what the patterns can't say, one function a kind.

Checksums classify, they never gate what has a telling form: people mistype their numbers, and test data is full of
wrong ones. They decide only where the form alone says nothing (sixteen digits in a row).
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Callable

from evalkit.sanitize.claim import Claim
from evalkit.sanitize.derived import named_by
from evalkit.sanitize.normal import (
    EXTENSION,
    digits_of,
    find_date,
    has_cjk,
    is_cjk,
    joins,
    luhn_digit,
    name_words,
    phone_norm,
)
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.ranges import is_name_surrogate, is_surrogate
from evalkit.sanitize.rules.given import NO_FAMILY, PLACE_WORDS, THING_WORDS
from evalkit.sanitize.rules.issued import CARD_ISSUERS, IBAN_LENGTH, TOP_DOMAINS
from evalkit.sanitize.rules.rule import Rule
from evalkit.sanitize.rules.said import PLAIN_SURNAMES
from evalkit.sanitize.rules.words import COMMON, GENERIC, NAME_FRAMES, NO_NAMES, PLACEHOLDERS, TITLES
from evalkit.sanitize.secrets import entropy, gitleaks_rules

__all__ = ["by_hint", "judged", "looks_like_a_name"]

_NOT_BEFORE_PHONE = {
    "nanp": tuple("#.-_="), "local_phone": tuple("-/._"), "cn_mobile": ("+",), "eight_pairs": tuple("-/._+:,#="),
    "local_pairs": tuple("-/._+:"), "double_zero": tuple("-/._+:)"),
}  # fmt: skip
_MOST_WORDS = 4
_SHORTEST_SECRET = 5
"""Shorter ones are not looked for in texts (`spellings.propagates`), so nothing would come of finding them."""
_NAME_LIKE = re.compile(r"[^\W\d_][\w\s.'’,·-]{0,79}")
_CARD_WORD = re.compile(r"(?i)card|maestro|visa|amex|卡")
_PLACEHOLDER = re.compile(
    r"\*{3}|x{6}|X{6}|\.{3}|#{4}|<|[_-]here|Here$|HERE$|your[-_]|^ENC\[|my-[a-z-]*token|abcdefghijklmnop"
)
_FULL_NAME = re.compile(r"[A-ZÀ-ӿ][^\W\d_'’.-]*[\w'’-]*(?: [A-ZÀ-ӿ]\.)?(?: [A-ZÀ-ӿ][\w'’-]+){1,2}")
_FULL_NAME_ZH = re.compile(rf"(?:{PLAIN_SURNAMES})[一-鿿]{{1,2}}")
_NO_PART = NO_FAMILY | NO_NAMES | GENERIC | PLACEHOLDERS | TITLES
_IN_PLACE = re.compile(rf"(?:^|[^A-Za-z])(?:{'|'.join(map(re.escape, PLACE_WORDS))})[ -]$")
_THINGS = tuple(f" {word}" for word in THING_WORDS)
_GROUP_END = re.compile(r"[ .-]")
_JOINED_DIGIT = re.compile(r"[-./]\d")
_DATE_LIKE = re.compile(r"\d{2}[-/ ]\d{2}[-/ ]\d{4}|\d{4}([-/.])\d{1,2}\1\d{1,2}(?!\d)")
_IP_LIKE = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?![.\d])")
_EXTENDED = re.compile(r" ?(?:x|ext\.? ?)\d{1,6}(?!\w)")
_DIGIT_GROUP_BEFORE = re.compile(r"\d[ ]$")
_DIGIT_GROUP_AFTER = re.compile(r"[ ]\d")


def judged(rule: Rule, data: bytes, start: int, end: int) -> Claim | None:
    """The claim for a match of `rule` between two byte offsets of `data`; it may be shorter than the match."""
    before = data[max(0, start - 48) : start].decode("utf-8", "ignore")
    value = data[start:end].decode("utf-8", "ignore")
    after = data[end : end + 8].decode("utf-8", "ignore")
    if rule.whole and joins(after[:1]) and not (rule.kind == "phone" and re.match(r"x\d", after)):
        cut = re.match(r".*(?=[ -])", value) if rule.kind == "phone" else None
        if cut is None:
            return None
        value, after = cut[0], value[cut.end() :] + after  # 7946 0958 4c7a: the last group belongs to what follows
    if rule.name == "custom":
        return by_hint(rule.kind, value) or Claim("custom", value, value)
    judge = _BY_RULE.get(rule.name) or _BY_KIND.get(rule.kind)
    return Claim(rule.kind, value.upper(), value) if judge is None else judge(rule.name, value, before, after)


def by_hint(kind: Kind, value: str) -> Claim | None:
    """The claim for a whole value that a key says is of `kind`; None when it can't be."""
    stripped = value.strip()
    if kind == "secret":
        return _hinted_secret(stripped)
    if kind == "name":
        return _name(stripped)
    if kind == "address":
        return _address(stripped)
    if kind == "birth_date":
        return _birth_date("", stripped, "", "")
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
        fits = re.fullmatch(r"\d[\d -]{10,30}", value) and 12 <= len(digits) <= 19
        return Claim(kind, digits, value) if fits else None
    if kind == "ssn":
        return Claim(kind, digits, value) if re.fullmatch(r"\d{3}[ -]?\d{2}[ -]?\d{4}", value) else None
    if kind == "iban":
        compact = re.sub(r"[ -]", "", value).upper()
        return Claim(kind, compact, value) if re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", compact) else None
    if kind == "national_id":
        is_id = re.fullmatch(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9 /.()-]{4,29}", value)
        return Claim(kind, value.upper(), value) if is_id else None
    if kind == "mac":
        return _mac("", value, "", "")
    if kind == "plate":
        return _plate("plate_said", value, "", "")
    return _ip("", value, "", "")


def _is_secret(rule: str, value: str) -> bool:
    if "EXAMPLE" in value or _PLACEHOLDER.search(value):
        return False
    if rule == "api_key" and value.startswith("sk-"):
        longest = max((len(run) for run in re.findall(r"[A-Za-z0-9]+", value[3:])), default=0)
        return longest >= 16 and any(char.isdigit() for char in value)
    if rule in ("jwt", "private_key", "api_key"):
        return True
    if rule == "url_password":
        return value.lower() not in PLACEHOLDERS and not value.startswith(("$", "{"))
    mixed = any(char.isdigit() for char in value) and any(not char.isdigit() for char in value)
    if rule in ("said", "assignment_zh"):
        return mixed or value.isdigit() or (rule == "assignment_zh" and len(value) >= 8)
    return mixed and entropy(value) >= 2.5 and not re.match(r"(?:0x|https?:|\d+(?:px|ms|s|kb|mb)?$)", value.lower())


def _secret(rule: str, value: str, before: str, after: str) -> Claim | None:
    if rule in ("said", "assignment_zh"):
        value = value.rstrip(".,;:!?)'\"`")
    if value.endswith("..") or after.startswith("##"):  # the rest was taken out already
        return None
    if len(value) < _SHORTEST_SECRET and rule != "url_password":
        return None
    framed = f":{value}@" if rule == "url_password" else value  # framed, a short one can be told from a word
    if rule == "auth_header" and before[-12:].rstrip().lower().endswith("basic") and _is_login(value):
        return Claim("secret", value, value)
    if rule == "assignment" and gitleaks_rules().is_allowed_assignment(before[-40:] + value):
        return None
    return Claim("secret", value, framed) if _is_secret(rule, value) else None


def _is_login(token: str) -> bool:
    """Whether base64 spells a user and a password."""
    try:
        plain = base64.b64decode(token + "=" * (-len(token) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in plain and plain.isprintable()


def _hinted_secret(value: str) -> Claim | None:
    if not any(char.isalnum() for char in value) or re.fullmatch(r"[\$<{%\[].*[>}%\]]|\$\w+", value):
        return None  # asterisks, or a variable's place
    scheme = re.fullmatch(r"(?i:bearer|basic|token|digest)\s+(.+)", value)
    token = scheme[1] if scheme else value
    if " " in token and "=" not in token and len(token) > 64 and not token.startswith("-----"):
        return None  # a sentence about the secret
    return Claim("secret", token, token) if len(token) >= 4 else None


def _phone(rule: str, value: str, before: str, after: str) -> Claim | None:
    ends = [match.start() for match in _GROUP_END.finditer(value)]
    kept = next((value[:end] for end in ends if is_surrogate("phone", value[:end])), None)
    if kept is not None:  # a surrogate, and something else behind it
        return Claim("phone", kept, kept)
    digits = digits_of(value)
    joined = _JOINED_DIGIT.match(after) or before[-1:] in _NOT_BEFORE_PHONE.get(rule, ())
    if joined or _DATE_LIKE.match(value):
        return None
    if _IP_LIKE.match(value):  # an IP address
        return None
    if rule == "local_phone" and not 9 <= len(digits) <= 12:
        return None
    extension = _EXTENDED.match(after)
    if extension is not None and not EXTENSION.search(value):
        value += extension[0]
    if rule in ("eight_pairs", "area_paren") and (
        _DIGIT_GROUP_BEFORE.search(before) or _DIGIT_GROUP_AFTER.match(after)  # a row of numbers
    ):
        return None
    if rule == "area_paren" and (not 7 <= len(digits) <= 12 or re.search(r"[\w)\]]$", before)):
        return None  # f(12) 345-678 is a call
    if rule == "e164" and (not 8 <= len(digits) <= 15 or (value[1:].isdigit() and len(digits) < 10)):
        return None
    text = value
    if rule == "e164" and not EXTENSION.search(value):
        text = _first_digits(value, {"1": 11, "86": 13})
    norm = phone_norm(text)
    return None if norm is None else Claim("phone", norm, text)


def _first_digits(value: str, lengths: dict[str, int]) -> str:
    """A number with its country code, without what follows it where the country's numbers have one length."""
    digits = digits_of(value)
    size = next((size for code, size in lengths.items() if digits.startswith(code)), len(digits))
    ends = [at + 1 for at, char in enumerate(value) if char.isdecimal()]
    return value[: ends[min(size, len(ends)) - 1]]


def _card(rule: str, value: str, before: str, after: str) -> Claim | None:
    digits = digits_of(value)
    said = rule != "card"
    if before[-1:] in tuple(".-_") or len(set(digits)) < 2 or not 12 <= len(digits) <= 19:
        return None
    if said:
        return Claim("card", digits, value)
    if not digits.startswith(CARD_ISSUERS.get(len(digits), ())) or (
        len(digits) == 12 and not _CARD_WORD.search(before)
    ):
        return None  # twelve digits are more often something else
    # four by four is how only cards are written: there, unless more groups follow, the checksum doesn't gate
    grouped = not value.isdecimal() and not re.match(r"[ -]\d", after) and not re.search(r"\d[ -]$", before)
    return Claim("card", digits, value) if grouped or luhn_digit(digits[:-1]) == int(digits[-1]) else None


def _iban(rule: str, value: str, before: str, after: str) -> Claim | None:
    size = IBAN_LENGTH.get(value[:2].upper())
    if size is None or before.endswith(("-", "_", ".")):  # the end of a longer id
        return None
    end = next((i + 1 for i in range(len(value)) if len(re.sub(r"[ -]", "", value[: i + 1])) == size), None)
    compact = re.sub(r"[ -]", "", value[:end]).upper()
    if end is None or joins(value[end : end + 1]):
        return None
    valid = int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1
    # a country's own length and the word, or its groups of four, tell it too
    told = value[:4] == compact[:4] and ("IBAN" in before.upper() or re.match(r"\w{4}(?: \w{4}){3}", value))
    return Claim("iban", compact, value[:end]) if valid or told else None


def _ssn(rule: str, value: str, before: str, after: str) -> Claim | None:
    digits = digits_of(value)
    if rule == "ssn" and (re.match(r"-", after) or before.endswith("-")):
        return None
    itin = digits[0] == "9" and digits[3] in "56789"
    never = digits[:3] in ("000", "666") or (digits[0] == "9" and not itin)
    if never or digits[3:5] == "00" or digits.endswith("0000"):
        return None
    return Claim("ssn", digits, value)


def _email(value: str, *, strict: bool) -> Claim | None:
    plain = value.replace("%40", "@")
    local, _, domain = plain.partition("@")
    top = domain.rpartition(".")[2].lower()
    if not re.fullmatch(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+\.[^\s@<>,;:\".]{2,}", plain):
        return None
    if strict and (local == "git" or local.startswith(".") or (len(top) > 2 and top not in TOP_DOMAINS)):
        return None  # n@pytest.mark is a decorator, git@host a remote
    return Claim("email", plain.lower(), value)


def _email_in_text(rule: str, value: str, before: str, after: str) -> Claim | None:
    if before.endswith("\\") and value[:2] in ("n@", "t@", "r@"):  # an escape in front of a decorator
        return None
    return _email(value, strict=True)


def _ip(rule: str, value: str, before: str, after: str) -> Claim | None:
    version = re.search(r"(?i:[a-z]/|\bv|ver|version|release|build)[ :=]?$", before)
    if version or (":" in value and after[:1] == ":") or (":" not in value and re.match(r"[.-][0-9A-Za-z]", after)):
        return None
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return None
    if not address.is_global or (address.version == 6 and value[:1] not in "23" and value.count(":") < 7):
        return None
    return Claim("ip", address.compressed, value)


def _mac(rule: str, value: str, before: str, after: str) -> Claim | None:
    digits = re.sub(r"[:.-]", "", value).lower()
    if not re.fullmatch(r"[0-9a-f]{12}", digits) or len(set(digits)) < 2 or re.search(r"[:.-]$", before):
        return None
    if re.match(r"[:.-][0-9A-Fa-f]", after) or (digits.isdigit() and rule in ("mac", "mac_dotted")):
        return None  # a fingerprint, or a time and its like
    return Claim("mac", digits, value)


def _plate(rule: str, value: str, before: str, after: str) -> Claim | None:
    if not any(char.isdigit() for char in value) or (rule == "plate_said" and len(value) < 4):
        return None
    return Claim("plate", re.sub(r"[^\w]", "", value).upper(), value)


def _id_said(rule: str, value: str, before: str, after: str) -> Claim | None:
    if sum(char.isdigit() for char in value) < 5:
        return None
    return Claim("national_id", value.upper(), value)


def _birth_date(rule: str, value: str, before: str, after: str) -> Claim | None:
    found = find_date(value)
    return None if found is None else Claim("birth_date", found.day.isoformat(), found.text)


def _postcode(rule: str, value: str, before: str, after: str) -> Claim | None:
    if re.match(r"[-/.]\d", after):
        return None
    return Claim("postcode", re.sub(r"[ -]", "", value).upper() if rule != "postcode_kept" else value, value)


def _account(rule: str, value: str, before: str, after: str) -> Claim | None:
    return Claim("account", value, value) if any(char.isdigit() for char in value) else None


def _name_in_text(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The name without the words behind it that start a sentence or are none (`Dear Mia Please`)."""
    if rule == "name_titled_zh":
        if (
            is_cjk(before[-1:] or " ")
            and before[-1] not in "请叫给是和与及找问对向替为由让、，。：的"
            and len(value) > 2
        ):
            return None
        return _name(value) if len(value) > 1 and value not in COMMON else None
    if is_cjk(value[0]):
        return None if value in NO_NAMES or value in COMMON else _name(value)
    kept: list[str] = []
    for word in value.split(" "):
        if is_name_surrogate(word):
            return None
        if word.lower().rstrip(".'’") in NO_NAMES or (not kept and not word[0].isupper()):
            break
        kept.append(word)
    del kept[_MOST_WORDS:]
    while kept and not kept[-1][0].isupper():
        kept.pop()
    name = re.sub(r"['’]s$", "", " ".join(kept)).rstrip("'’-.")
    if " " not in name and (rule == "name_introduced" or not _is_telling(name, before)):
        return None
    return _name(name) if len(name) > 1 else None


def _name_of_two(rule: str, value: str, before: str, after: str) -> Claim | None:
    """Two or three words of which none is a usual one behind a word for a person, and not all are common words."""
    if rule == "name_given" and (_IN_PLACE.search(before) or after.lower().startswith(_THINGS)):
        return None
    words = value.split(" ")
    low = [word.lower().strip(".'’-") for word in words]
    if rule == "name_before_contact" or len(words) > 2:
        while words and (low[-1] in _NO_PART or not words[-1][:1].isupper()):
            words.pop()
            low.pop()
    if len(words) < 2 or any(word in _NO_PART or is_name_surrogate(word) for word in low):
        return None
    if (
        words[0] in PLACE_WORDS
        or all(word in COMMON for word in low)
        or any(word.isupper() and len(word) > 3 for word in words)
    ):
        return None
    name = re.sub(r"['’]s$", "", " ".join(words)).rstrip("'’-.")
    return _name(name)


def looks_like_a_name(value: str) -> bool:
    """Whether a whole text is two or three capitalised words, or a Chinese family name and one or two characters."""
    if _FULL_NAME_ZH.fullmatch(value):
        return value not in NO_NAMES and value not in COMMON
    return _FULL_NAME.fullmatch(value) is not None and _name_of_two("", value, "", "") is not None


def _account_named(rule: str, value: str, before: str, after: str) -> Claim | None:
    claim = Claim("account", value, value)
    return claim if named_by(claim) and not re.match(r"[._-]\w", after) else None


def _is_telling(word: str, before: str) -> bool:
    """Whether a single name can be looked for: it is no common word, or stands where such a one is looked for too."""
    return before.endswith(NAME_FRAMES) or (len(word) > 2 and word.lower() not in COMMON)


def _name(value: str) -> Claim | None:
    if not _NAME_LIKE.fullmatch(value) or any(char.isdigit() for char in value) or "_" in value:
        return None
    words = [word for word in name_words(value) if word.lower() not in TITLES and not is_name_surrogate(word)]
    if not words or len(words) > 6 or all(word.lower() in GENERIC | PLACEHOLDERS for word in words):
        return None
    return Claim("name", value.casefold(), value)


def _address_in_text(rule: str, value: str, before: str, after: str) -> Claim | None:
    if rule == "street" and not (len(value.split()) <= 7 and re.match(r"\d{1,6}\b", value)):
        return None
    return _address(value.rstrip(" ,"))


def _address(value: str) -> Claim | None:
    if "@" in value or "://" in value or not 2 <= len(value) <= 200:
        return None
    if re.fullmatch(r"[0-9A-Fa-fx.:]+", value) and not value.isdigit():
        return None  # an IP address, or one in a computer's memory
    wordy = len(re.findall(r"\w+", value)) >= 2 or has_cjk(value) or len(value) >= 4
    return Claim("address", re.sub(r"[\s,.]+", " ", value).strip().casefold(), value) if wordy else None


_Judge = Callable[[str, str, str, str], Claim | None]
_BY_KIND: dict[str, _Judge] = {
    "secret": _secret,
    "phone": _phone,
    "card": _card,
    "iban": _iban,
    "ssn": _ssn,
    "email": _email_in_text,
    "ip": _ip,
    "mac": _mac,
    "plate": _plate,
    "name": _name_in_text,
    "birth_date": _birth_date,
    "address": _address_in_text,
    "postcode": _postcode,
    "account": _account,
}
"""Gets the rule's name, the value, what stands before and what behind it."""
_BY_RULE: dict[str, _Judge] = {
    "id_said": _id_said,
    "id_said_zh": _id_said,
    **dict.fromkeys(("name_of_person", "name_after_verb", "name_before_contact", "name_given"), _name_of_two),
    "name_of_person_zh": _name_in_text,
    "account_named": _account_named,
}
