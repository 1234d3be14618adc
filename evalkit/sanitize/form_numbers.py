"""Whether a match of a number's pattern is one after all: phones, cards, ids, addresses of machines, dates, postcodes.

Checksums classify, they never gate what has a telling form: people mistype their numbers, and test data is full of
wrong ones. They decide only where the form alone says nothing (sixteen digits in a row).
"""

from __future__ import annotations

import ipaddress
import re

from evalkit.sanitize.claim import Claim
from evalkit.sanitize.normal import EXTENSION, digits_of, find_date, joins, luhn_digit, phone_norm
from evalkit.sanitize.ranges import is_surrogate
from evalkit.sanitize.rules.issued import CARD_ISSUERS, IBAN_LENGTH

__all__ = [
    "judge_birth_date",
    "judge_card",
    "judge_iban",
    "judge_id_said",
    "judge_ip",
    "judge_mac",
    "judge_phone",
    "judge_plate",
    "judge_postcode",
    "judge_ssn",
]

_NOT_BEFORE_PHONE = {
    "nanp": tuple("#.-_="), "local_phone": tuple("-/._"), "cn_mobile": ("+",), "eight_pairs": tuple("-/._+:,#="),
    "local_pairs": tuple("-/._+:"), "double_zero": tuple("-/._+:)"),
}  # fmt: skip
_CARD_WORD = re.compile(r"(?i)card|maestro|visa|amex|卡")
_GROUP_END = re.compile(r"[ .-]")
_JOINED_DIGIT = re.compile(r"[-./]\d")
_DATE_LIKE = re.compile(r"\d{2}[-/ ]\d{2}[-/ ]\d{4}|\d{4}([-/.])\d{1,2}\1\d{1,2}(?!\d)")
_IP_LIKE = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?![.\d])")
_EXTENDED = re.compile(r" ?(?:x|ext\.? ?)\d{1,6}(?!\w)")
_CALL = re.compile(r"[\w)\]]$")
_DIGIT_GROUP_BEFORE = re.compile(r"\d[ ]$")
_DIGIT_GROUP_AFTER = re.compile(r"[ ]\d")


def judge_phone(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a phone number; None when it is none."""
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
    if rule == "area_paren" and (not 7 <= len(digits) <= 12 or _CALL.search(before)):
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


def judge_card(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a card number; None when it is none."""
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


def judge_iban(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be an IBAN; None when it is none."""
    size = IBAN_LENGTH.get(value[:2].upper())
    if size is None or before.endswith(("-", "_", ".")):  # the end of a longer id
        return None
    own = [at for at, char in enumerate(value) if char not in " -"]
    if len(own) < size:
        return None
    end = own[size - 1] + 1
    compact = re.sub(r"[ -]", "", value[:end]).upper()
    if joins(value[end : end + 1]):
        return None
    valid = int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1
    # a country's own length and the word, or its groups of four, tell it too
    told = value[:4] == compact[:4] and ("IBAN" in before.upper() or re.match(r"\w{4}(?: \w{4}){3}", value))
    return Claim("iban", compact, value[:end]) if valid or told else None


def judge_ssn(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a social security number; None when it is none."""
    digits = digits_of(value)
    if rule == "ssn" and (re.match(r"-", after) or before.endswith("-")):
        return None
    itin = digits[0] == "9" and digits[3] in "56789"
    never = digits[:3] in ("000", "666") or (digits[0] == "9" and not itin)
    if never or digits[3:5] == "00" or digits.endswith("0000"):
        return None
    return Claim("ssn", digits, value)


def judge_ip(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a public IP address; None when it is none."""
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


def judge_mac(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a MAC address; None when it is none."""
    digits = re.sub(r"[:.-]", "", value).lower()
    if not re.fullmatch(r"[0-9a-f]{12}", digits) or len(set(digits)) < 2 or re.search(r"[:.-]$", before):
        return None
    if re.match(r"[:.-][0-9A-Fa-f]", after) or (digits.isdigit() and rule in ("mac", "mac_dotted")):
        return None  # a fingerprint, or a time and its like
    return Claim("mac", digits, value)


def judge_plate(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a plate; None when it is none."""
    if not any(char.isdigit() for char in value) or (rule == "plate_said" and len(value) < 4):
        return None
    return Claim("plate", re.sub(r"[^\w]", "", value).upper(), value)


def judge_id_said(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a number of a document or an account; None when it is none."""
    if sum(char.isdigit() for char in value) < 5:
        return None
    return Claim("national_id", value.upper(), value)


def judge_birth_date(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a date of birth; None when it is none."""
    found = find_date(value)
    return None if found is None else Claim("birth_date", found.day.isoformat(), found.text)


def judge_postcode(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be a postcode; None when it is none."""
    if re.match(r"[-/.]\d", after):
        return None
    return Claim("postcode", re.sub(r"[ -]", "", value).upper() if rule != "postcode_kept" else value, value)
