"""Whether a match of a pattern, or a value under a telling key, is a value after all: what the patterns can't say."""

from __future__ import annotations

import re
from collections.abc import Callable

from evalkit.sanitize.claim import Claim
from evalkit.sanitize.form_accounts import claim_of_email, judge_account, judge_account_named, judge_email
from evalkit.sanitize.form_names import (
    claim_of_address,
    claim_of_name,
    judge_address,
    judge_name,
    judge_name_home,
    judge_name_of_two,
    looks_like_a_name,
)
from evalkit.sanitize.form_numbers import (
    judge_birth_date,
    judge_card,
    judge_iban,
    judge_id_said,
    judge_ip,
    judge_mac,
    judge_phone,
    judge_plate,
    judge_postcode,
    judge_ssn,
)
from evalkit.sanitize.form_secrets import hinted_secret, judge_secret
from evalkit.sanitize.normal import digits_of, joins, phone_norm
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.rules.rule import Rule

__all__ = ["by_hint", "judged"]

_OTHER_DATE = re.compile(
    r"\d{8}|\d{1,4}([ ./-])\d{1,2}\1\d{1,4}"
    r"|(?=.*\d)(?=.*\b(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))[\w .,/'’-]{6,40}"
)
"""Dates of birth of which `judge_birth_date` can't tell the day: 03/07/84, 7th of March 1984. A year is nobody's."""


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
        return hinted_secret(stripped)
    if kind == "name":
        return claim_of_name(stripped)
    if kind == "address":
        return claim_of_address(stripped)
    if kind == "birth_date":
        other = _OTHER_DATE.fullmatch(stripped)
        return judge_birth_date("", stripped, "", "") or (Claim("custom", stripped, stripped) if other else None)
    if kind == "postcode":
        fits = re.fullmatch(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9 -]{1,9}[A-Za-z0-9]", stripped)
        return Claim(kind, re.sub(r"[ -]", "", stripped).upper(), stripped) if fits else None
    if kind == "account" and looks_like_a_name(stripped):
        return claim_of_name(stripped)
    if kind in ("account", "payment", "custom"):
        named = re.fullmatch(r"[^\s@]{5,80}", stripped) and any(char.isalnum() for char in stripped)
        return Claim(kind, stripped, stripped) if named else None
    return _numbered(kind, stripped)


def _numbered(kind: Kind, value: str) -> Claim | None:
    if kind == "email":
        return claim_of_email(value, strict=False)
    if kind == "phone":
        norm = phone_norm(value) if re.fullmatch(r"[\d\s()+./extEXT#-]{7,30}", value) else None
        spelled = re.fullmatch(r"[+(]?(?:\d[ ()+.-]*){3,}[A-Z][\dA-Z ()+.-]*", value)  # 1-800-FLOWERS
        if norm is None and spelled is not None and len(re.findall(r"[A-Z0-9]", value)) >= 7:
            return Claim("custom", value, value)
        return None if norm is None else Claim(kind, norm, value)
    if kind == "card":
        fits = re.search(r"(?<!\d)\d(?:[ -]?\d){11,18}(?!\d)", value)
        return Claim(kind, digits_of(fits[0]), fits[0]) if fits else None
    if kind == "ssn":
        fits = re.search(r"(?<!\d)\d{3}[ -]?\d{2}[ -]?\d{4}(?!\d)", value)
        return Claim(kind, digits_of(fits[0]), fits[0]) if fits else None
    if kind == "iban":
        compact = re.sub(r"[ -]", "", value).upper()
        return Claim(kind, compact, value) if re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", compact) else None
    if kind == "national_id":
        is_id = re.fullmatch(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9 /.()-]{4,29}", value)
        return Claim(kind, value.upper(), value) if is_id else None
    if kind == "mac":
        return judge_mac("", value, "", "")
    if kind == "plate":
        return judge_plate("plate_said", value, "", "")
    return judge_ip("", value, "", "")


_Judge = Callable[[str, str, str, str], Claim | None]
_BY_KIND: dict[str, _Judge] = {
    "secret": judge_secret,
    "phone": judge_phone,
    "card": judge_card,
    "iban": judge_iban,
    "ssn": judge_ssn,
    "email": judge_email,
    "ip": judge_ip,
    "mac": judge_mac,
    "plate": judge_plate,
    "name": judge_name,
    "birth_date": judge_birth_date,
    "address": judge_address,
    "postcode": judge_postcode,
    "account": judge_account,
}
"""Gets the rule's name, the value, what stands before and what behind it."""
_BY_RULE: dict[str, _Judge] = {
    "id_said": judge_id_said,
    "id_said_zh": judge_id_said,
    **dict.fromkeys(("name_of_person", "name_after_verb", "name_before_contact", "name_given"), judge_name_of_two),
    "name_of_person_zh": judge_name,
    "name_home": judge_name_home,
    "account_named": judge_account_named,
}
