"""The ranges that surrogates are drawn from: no real value lies in them, and anyone can tell without a key.

=========== ============================================================================================
secret      the known prefix, 12 hex digits, ``EXAMPLE``
email       ``u`` and 12 hex digits at example.com (RFC 2606)
phone       Chinese mobile: the prefixes 154 160 161 163 164 168 169 179 194; North America: area codes
            ``N9X`` (reserved for expansion of the plan); others: the number starts with 000
card        the test range 400000, valid check digit
iban        bank code of zeros or ``XXXX``, valid check digits
ssn         9xx with a group below 50 (above, such numbers are ITINs)
national_id Chinese: region 110000, the year of birth is kept, valid check digit; others as ids
mac         02:00:5e and three bytes: the locally administered twin of IANA's own prefix (RFC 7042)
plate       Chinese: 京I (I is never issued) and as many characters; others as ids
ip          198.18.0.0/15 (RFC 2544), 2001:db8::/32 (RFC 3849)
name        a made-up word of six syllables of which the last is a check; Chinese: 某 and three characters
account     words replaced as names, digits drawn; others as ids
ids         the prefix up to the first digit, then 9, digits, and four check digits, twelve at least; UUIDs
            start with eight f
address     a made-up street; ``Suite`` and its like keep the word, the number gets a leading zero
birth_date  a day from 1800 to 1899: nobody alive was born then
postcode    a ZIP+4 from 00100 to 00499 (unassigned), six digits from 99, others ``ZZ99``
=========== ============================================================================================
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache

from evalkit.sanitize.normal import EXTENSION, digits_of, find_date, phone_norm
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.rules.given import GIVEN
from evalkit.sanitize.rules.words import COMMON, GENERIC, ROLES

__all__ = [
    "CN_PREFIXES",
    "HAN",
    "NUMBER_DIGITS",
    "SECRET_PREFIX",
    "UUID",
    "begins_unit_surrogate",
    "check_number",
    "han_surrogates",
    "is_core",
    "is_name_surrogate",
    "is_surrogate",
    "is_surrogate_int",
    "syllable",
    "unit_number",
    "without_surrogates",
    "words_of_account",
]

NUMBER_DIGITS = 15
"""Digits of a surrogate that must be a JSON number: all floats hold them exactly."""

CN_PREFIXES = ("154", "160", "161", "163", "164", "168", "169", "179", "194")
HAN = (
    "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈剑号巨阙珠称夜光"
    "果珍李柰菜重芥姜海咸河淡鳞潜羽翔龙师火帝鸟官人皇始制文字乃服衣裳推位让国有虞陶唐吊民伐罪周发殷汤坐朝问道垂拱平章"
)
_CONSONANTS, _VOWELS = "bdfghjklmnprstvz", "aeio"
UUID = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
_UNIT_WORD = r"(?i)((?:suite|ste|apt|apartment|unit|floor|fl|room|rm|flat|no|p\.? ?o\.? ?box|box)\b\.? ?#? ?|# ?)"
_UNIT = re.compile(_UNIT_WORD + r"([\w-]+)")
_UNIT_SURROGATE = re.compile(_UNIT_WORD + r"0\d{6}(?!\w)")
_ANY_KIND = re.compile(
    r"u[0-9a-f]{12}(?:@|%40)example\.com|U[0-9A-F]{12}(?:@|%40)EXAMPLE\.COM"
    r"|某[" + HAN + r"]{4}(?:路\d{1,3}号)?"
    r"|ffffffff-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}"
    r"|9\d\d[ -](?:0[1-9]|[1-4]\d)[ -]\d{4}"
    r"|110000(?:18|19|20)\d{9}[\dXx]"
    r"|00[1-4]\d\d-\d{4}|ZZ99 [0-9A-F]{6}"
    r"|02([:-])00\1(?i:5e)(?:\1[0-9A-Fa-f]{2}){3}|0200\.(?i:5e)[0-9A-Fa-f]{2}\.[0-9A-Fa-f]{4}|0200(?i:5e)[0-9A-Fa-f]{6}"
    r"|京I[·• -]?[0-9A-Z]{5,6}"
    r"|\[[a-z_]+ (?:removed|[0-9a-f]{16})\]"
)
SECRET_PREFIX = re.compile(
    r"sk-(?:proj-|ant-)?|sk_(?:live|test)_|rk_live_|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|AIza|ya29\.|xox[abprs]-|"
    r"xapp-|hf_|npm_|pypi-|SG\.|dop_v1_|eyJ"
)
"""What a secret begins with that tells whose it is: its surrogate begins so too."""
_SECRET = re.compile(r"[0-9a-f]{12}EXAMPLE")
_SECRET_SPELLED = re.compile(
    f"(?:{SECRET_PREFIX.pattern})?{_SECRET.pattern}|:{_SECRET.pattern}@"
    f"|-----BEGIN [^-]+-----\\s*{_SECRET.pattern}(?:\\s*-----END [^-]+-----)?"
)
_SIGNS = re.compile(r"[\W_]+")
_BETWEEN_PARTS, _ACCOUNT_PART = re.compile(r"[._\s-]+"), re.compile(r"([^\W\d_]+)\d*|\d+")
_NUMBER = re.compile(r"[\d\s()+./-]{7,30}")
_ID = re.compile(r"(\D{0,24}9\d{7,19})(\d{4})")
_IBAN = re.compile(r"[A-Z]{2}\d{2}(?:0|X){4}[A-Z0-9]{7,26}", re.IGNORECASE)
_SSN = re.compile(r"9\d\d(?:0[1-9]|[1-4]\d)\d{4}")
_NAME = re.compile(f"(?:[{_CONSONANTS}][{_VOWELS}]){{6}}")
_HAN_NAME = re.compile(f"某[{HAN}]{{4}}")
_LONGEST = 200
_CORE: dict[str, re.Pattern[str]] = {
    "secret": _SECRET,
    "email": re.compile(r"u[0-9a-f]{12}@example\.com"),
    "phone": re.compile(r"[0-9]{7,18}"),
    "national_id": re.compile(r"110000(?:18|19|20)[0-9]{9}[0-9X]"),
    "plate": re.compile(r"京I[0-9A-Z]{5,6}"),
    "card": re.compile(r"400000[0-9]{6,13}"),
    "iban": re.compile(r"[A-Z]{2}[0-9]{2}(?:0|X){4}[A-Z0-9]{7,26}"),
    "ssn": re.compile(r"9[0-9]{8}"),
    "ip": re.compile(r"198\.1[89](?:\.[0-9]{1,3}){2}|2001:db8:[0-9a-f:]*"),
    "mac": re.compile(r"02005e[0-9a-f]{6}"),
    "birth_date": re.compile(r"18[0-9]{2}-[0-9]{2}-[0-9]{2}"),
    "name": re.compile(f"[a-z]{{12}}|某[{HAN}]{{4}}"),
    "address": re.compile(f"0[0-9]{{6}}|[0-9]{{3}} [A-Z][a-z]{{11}} Street|某[{HAN}]{{4}}路[0-9]{{1,3}}号"),
    "postcode": re.compile(r"99[0-9]{4}|00[1-4][0-9]{2}-[0-9]{4}|ZZ99 [0-9A-F]{6}"),
}
_OR_ID = frozenset({"national_id", "plate"})
_PREFIX = re.compile(r"(?:[^\s@\d]{0,24}|[^\s@\d]{1,5}\s)\d")
_UUID_SURROGATE = re.compile(r"ffffffff-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}")
_STREET = re.compile(r"\d{3} ([a-z]{12}) street", re.IGNORECASE)


@lru_cache(maxsize=65536)
def is_surrogate(kind: Kind, text: str) -> bool:
    """Whether `text`, taken for a value of `kind`, is a surrogate of that kind or of one that is never mistaken."""
    if ("EXAMPLE" in text and _SECRET_SPELLED.fullmatch(text)) or _ANY_KIND.fullmatch(text):
        return True
    if is_name_surrogate(text) or _is_id(text) or (kind != "ip" and _is_number(text)):
        return True
    if kind in ("account", "payment"):
        words = words_of_account(text)
        return bool(words) and all(is_name_surrogate(word) for word in words)
    if kind == "address":
        return _is_address(text)
    if kind == "birth_date":
        found = find_date(text)
        return found is not None and 1800 <= found.day.year <= 1899
    if kind == "postcode":
        return re.fullmatch(r"99\d{4}|[1-4]\d{6}", text) is not None
    compact = re.sub(r"[\s-]", "", text)
    return (kind == "iban" and _IBAN.fullmatch(compact) is not None) or (
        kind in ("ssn", "national_id") and _SSN.fullmatch(compact) is not None
    )


def is_core(kind: Kind, text: str) -> bool:
    """Whether `text` may be the surrogate of a value in its normal form, as `Mint.core` gives it."""
    if len(text) > _LONGEST:
        return False
    pattern = _CORE.get(kind)
    if pattern is None or (kind in _OR_ID and not pattern.fullmatch(text)):
        return _is_id_core(kind, text)
    if not pattern.fullmatch(text):
        return False
    if kind == "ip":  # what lies in a range that is nobody's needs no further sign
        return True
    if kind == "birth_date":
        return _is_day(text)
    written = f"Unit {text}" if kind == "address" and text.isdecimal() else text
    return is_surrogate(kind, written) or (kind == "phone" and is_surrogate(kind, f"+{text}"))


def _is_id_core(kind: Kind, text: str) -> bool:
    """Whether a text is an id's surrogate, and holds nothing but a short prefix besides."""
    words = words_of_account(text) if kind == "account" else ()
    if words:
        return all(map(is_name_surrogate, words)) and any(map(str.isdigit, text))
    return (_is_id(text) and _PREFIX.match(text) is not None) or _UUID_SURROGATE.fullmatch(text) is not None


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_surrogate_int(digits: str) -> bool:
    """Whether `digits` spell a JSON number that stands for one whose surrogate has leading zeros."""
    return len(digits) == NUMBER_DIGITS and _is_id(digits)


def _is_number(text: str) -> bool:
    text = EXTENSION.sub("", text)
    if not _NUMBER.fullmatch(text):
        return False
    digits = digits_of(text)
    if len(digits) >= 13 and digits.startswith("400000"):
        return True
    family, _, rest = (phone_norm(text) or "").partition(":")
    if family == "nanp":
        return rest[1] == "9"
    if family == "cn":
        return rest[:3] in CN_PREFIXES
    return rest.rpartition(":")[2].startswith("000")


def without_surrogates(secret: str) -> str:
    """A secret without the surrogates of secrets in it; they hold the word that tells examples."""
    return _SECRET.sub("", secret) if "EXAMPLE" in secret else secret


def han_surrogates(text: str) -> list[tuple[int, int]]:
    """Where the surrogates of Chinese names stand in a text: no blank parts them from what stands beside them."""
    return [match.span() for match in _HAN_NAME.finditer(text)] if "某" in text else []


@lru_cache(maxsize=65536)
def is_name_surrogate(word: str) -> bool:
    """Whether `word` is the surrogate of one word of a name."""
    low = word.lower()
    if _NAME.fullmatch(low) is None:
        return _HAN_NAME.fullmatch(word) is not None
    return low[10:] == syllable(check_number(low[:10], 64))


def unit_number(address: str) -> re.Match[str] | None:
    """An address that is only a flat, suite or box: the word and its number as groups."""
    return _UNIT.fullmatch(address.strip())


@lru_cache(maxsize=4096)
def begins_unit_surrogate(text: str, start: int) -> bool:
    """Whether the surrogate of a flat, suite or box begins there: its word is nobody's name, whoever is called so."""
    return _UNIT_SURROGATE.match(text, start) is not None


def words_of_account(text: str) -> tuple[str, ...]:
    """The words of an account name that may name a person; none when it is a mere id.

    Where other things than words and numbers stand in it (`lena-vogt-7f3a9c`, `github:lenavogt7`), only if one of its
    words plainly is somebody's: an id's own prefix is nobody's name.
    """
    if UUID.fullmatch(text):
        return ()
    plain = _BETWEEN_PARTS.split(text.strip("._- "))
    if all(map(_ACCOUNT_PART.fullmatch, plain)):
        return tuple(_telling_words(plain))
    words = [word for word in _telling_words(_SIGNS.split(text)) if word.lower() not in ROLES]
    return tuple(words) if any(map(_is_somebody, words)) else ()


def _telling_words(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        found = _ACCOUNT_PART.fullmatch(part)
        if found and found[1] and len(found[1]) > 1 and found[1].lower() not in GENERIC:
            yield found[1]


def _is_somebody(word: str) -> bool:
    low = word.lower()
    return low in GIVEN or (len(low) > 4 and low not in COMMON) or is_name_surrogate(word)


def syllable(number: int) -> str:
    """A consonant and a vowel for a number from 0 to 63."""
    return _CONSONANTS[number >> 2] + _VOWELS[number & 3]


def check_number(text: str, modulus: int) -> int:
    """A number that anyone can compute from `text`: what tells a surrogate from a real value of the same form."""
    return int.from_bytes(hashlib.sha256(b"evalkit surrogate\0" + text.encode()).digest()[:8], "big") % modulus


def _is_id(text: str) -> bool:
    match = _ID.fullmatch(text)
    return match is not None and int(match[2]) == check_number(match[1], 10_000)


def _is_address(text: str) -> bool:
    unit = unit_number(text)
    if unit is not None:
        return re.fullmatch(r"0\d{6}", unit[2]) is not None
    match = _STREET.fullmatch(text)
    return match is not None and is_name_surrogate(match[1])
