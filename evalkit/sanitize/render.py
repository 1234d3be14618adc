"""A surrogate in the spelling of the original: its grouping, its case, its order of day and month."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from evalkit.sanitize.normal import EXTENSION, date_spellings, find_date, is_cjk
from evalkit.sanitize.policy import Kind
from evalkit.sanitize.ranges import SECRET_PREFIX, unit_number

__all__ = ["cased", "render"]

_PEM = re.compile(r"(-----BEGIN [^-]+-----)[\s\S]*?(-----END [^-]+-----)?$")


def render(kind: Kind, core: str, like: str) -> str:
    """The surrogate `core` as `like` is written; as it is where nothing is known about the kind's spellings."""
    spell = _RENDER.get(kind)
    return core if spell is None else spell(core, like)


def cased(lower: str, like: str) -> str:
    """The word `lower` in the case of the word `like`: upper, lower, else with a capital."""
    if like.isupper() and len(like) > 1:
        return lower.upper()
    return lower if like.islower() else lower.title()


def _fill(core: str, like: str) -> str:
    """`core` in the grouping of `like`: its letters and digits from the right, signs and a country code kept."""
    taken, fits = list(core), str.isdecimal if core.isdecimal() else str.isalnum
    found = [taken.pop() if fits(char) and taken else char for char in reversed(like)]
    text = "".join([*taken, *reversed(found)])
    return text.lower() if like.islower() else text


def _phone(core: str, like: str) -> str:
    extension = EXTENSION.search(like)
    return _fill(core, like) if extension is None else _fill(core, like[: extension.start()]) + extension[0]


def _mac(core: str, like: str) -> str:
    text = _fill(core, like)
    return text.upper() if like.isupper() else text


def _plate(core: str, like: str) -> str:
    """With the sign that stands behind the second character of a Chinese plate."""
    sign = like[2] if len(like) > 2 and not like[2].isalnum() and is_cjk(like[0]) else ""
    return core[:2] + sign + core[2:] if sign else core


def _ssn(core: str, like: str) -> str:
    """Always with its hyphens where the original has no signs: nine bare digits could be a phone number."""
    return f"{core[:3]}-{core[3:5]}-{core[5:]}" if like.isdecimal() else _fill(core, like)


def _email(core: str, like: str) -> str:
    text = core.replace("@", "%40") if "%40" in like else core
    return text.upper() if like.isupper() else text


def _secret(core: str, like: str) -> str:
    if like.startswith(":") and like.endswith("@"):  # a password in a URL, with its frame
        return f":{core}@"
    pem = _PEM.match(like)
    if pem is not None:
        return "\n".join(part for part in (pem[1], core, pem[2]) if part)
    prefix = SECRET_PREFIX.match(like)
    return (prefix[0] if prefix else "") + core


def _address(core: str, like: str) -> str:
    unit = unit_number(like)
    text = unit[1] + core if unit is not None else core
    return text.upper() if like.isupper() else text.lower() if like.islower() else text


def _date(core: str, like: str) -> str:
    """The day `core` in the spelling of `like`: found by asking which spelling of its own day `like` is."""
    own, new = find_date(like), date.fromisoformat(core)
    return core if own is None else _spelled_like(new, own.day, like)


def _spelled_like(new: date, own: date, like: str) -> str:
    """The day `new` spelled as `like` spells the day `own`."""
    pairs = zip(date_spellings(own), date_spellings(new), strict=True)
    return next((there for here, there in pairs if here == like), new.isoformat())


_RENDER: dict[Kind, Callable[[str, str], str]] = {
    "secret": _secret,
    "national_id": lambda core, like: core.lower() if like.endswith("x") else core,
    "card": _fill,
    "iban": _fill,
    "ssn": _ssn,
    "email": _email,
    "phone": _phone,
    "mac": _mac,
    "plate": _plate,
    "address": _address,
    "birth_date": _date,
}
