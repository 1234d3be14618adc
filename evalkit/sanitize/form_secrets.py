"""Whether a match of a secret's pattern is a secret after all."""

from __future__ import annotations

import base64
import re

from evalkit.sanitize.claim import Claim
from evalkit.sanitize.made_up import is_made_up
from evalkit.sanitize.ranges import without_surrogates
from evalkit.sanitize.rules.words import PLACEHOLDERS
from evalkit.sanitize.secrets import entropy, gitleaks_rules

__all__ = ["hinted_secret", "judge_secret"]

_SHORTEST_SECRET = 5
"""Shorter ones are not looked for in texts (`spellings.propagates`), so nothing would come of finding them."""
_SHORTEST_KEY = 12
"""Keys and tokens are made by machines, which make them longer than people make passwords."""
_PASSWORD = re.compile(r"(?i)(?:pass(?:word|wd|phrase)?|pwd|secret)[\"']?\s{0,3}(?:=|:|=>|:=)\s{0,3}[\"'`]?$")
_NO_TOKEN = re.compile(r"0x|https?:|\d+(?:px|ms|s|kb|mb)?$")
_PEM_SIGN = re.compile(r"-----(?:BEGIN|END)[^-]*-----")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_IN_ORDER = re.compile("|".join(_ALPHABET[at : at + 10] for at in range(17)))
"""Ten letters of the alphabet in their order: somebody wrote them down who had no key at hand."""
_PLACEHOLDER = re.compile(
    r"\*{3}|x{6}|X{6}|\.{3}|#{4}|<|[_-]here|Here$|HERE$|your[-_]|^ENC\[|my-[a-z-]*token|abcdefghijklmnop"
)


def _is_secret(rule: str, value: str) -> bool:
    if rule == "private_key" and re.search(r"[A-Za-z0-9+/]{20}", _PEM_SIGN.sub("", value)) is not None:
        return "EXAMPLE" not in value
    if (
        "EXAMPLE" in without_surrogates(value)
        or value.lower() in PLACEHOLDERS
        or _PLACEHOLDER.search(value)
        or is_made_up(value)
    ):
        return False
    if rule == "api_key" and value.startswith("sk-") and not value.startswith("sk-lf-"):
        if _IN_ORDER.search(value):
            return False
        longest = max((len(run) for run in re.findall(r"[A-Za-z0-9]+", value[3:])), default=0)
        return longest >= 16 and any(char.isdigit() for char in value)
    if rule in ("jwt", "private_key", "api_key", "password_hash"):
        return True
    if rule.startswith("command_line"):
        return not value.isalpha() or len(value) >= 8
    if rule == "url_password":
        return not value.startswith(("$", "{"))
    mixed = any(char.isdigit() for char in value) and any(not char.isdigit() for char in value)
    if rule in ("said", "assignment_zh"):
        return mixed or value.isdigit() or (rule == "assignment_zh" and len(value) >= 8)
    return mixed and entropy(value) >= 2.5 and _NO_TOKEN.match(value.lower()) is None


def judge_secret(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a secret; None when it is none."""
    if rule in ("said", "assignment_zh"):
        value = value.rstrip(".,;:!?)'\"`")
    if rule != "private_key" and (value.endswith("..") or after.startswith("##")):  # the rest was taken out already
        return None
    if len(value) < _SHORTEST_SECRET and rule != "url_password":
        return None
    framed = f":{value}@" if rule == "url_password" else value  # framed, a short one can be told from a word
    if rule == "auth_header" and before[-12:].rstrip().lower().endswith("basic") and _is_login(value):
        return Claim("secret", value, value)
    if rule == "command_line_joined":  # -pSECRET: in one word with its option
        return Claim("secret", value[2:], value) if _is_secret(rule, value[2:]) else None
    if rule == "assignment" and not _is_assigned(value, before):
        return None
    return Claim("secret", value, framed) if _is_secret(rule, value) else None


def _is_assigned(value: str, before: str) -> bool:
    """Whether a value behind a key for secrets is long enough for one, and none that is known to be public."""
    if len(value) < _SHORTEST_KEY and _PASSWORD.search(before) is None:
        return False
    rules = gitleaks_rules()
    return not rules.is_public(value) and not rules.is_allowed_assignment(before[-40:] + value)


def _is_login(token: str) -> bool:
    """Whether base64 spells a user and a password."""
    try:
        plain = base64.b64decode(token + "=" * (-len(token) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in plain and plain.isprintable()


def hinted_secret(value: str) -> Claim | None:
    """The claim for a whole value under a key for secrets; None when it is none."""
    if not any(char.isalnum() for char in value) or re.fullmatch(r"[\$<{%\[].*[>}%\]]|\$\w+", value):
        return None  # asterisks, or a variable's place
    scheme = re.fullmatch(r"(?i:bearer|basic|token|digest)\s+(.+)", value)
    token = scheme[1] if scheme else value
    if " " in token and "=" not in token and len(token) > 64 and not token.startswith("-----"):
        return None  # a sentence about the secret
    return Claim("secret", token, token) if len(token) >= 4 or re.fullmatch(r"\d{3}", token) else None
