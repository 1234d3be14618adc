"""Whether a match is an e-mail address or an account's name after all."""

from __future__ import annotations

import re

from evalkit.sanitize.claim import Claim
from evalkit.sanitize.derived import named_by
from evalkit.sanitize.rules.given import GIVEN
from evalkit.sanitize.rules.issued import TOP_DOMAINS

__all__ = ["claim_of_email", "judge_account", "judge_account_named", "judge_email"]


def claim_of_email(value: str, *, strict: bool) -> Claim | None:
    """The claim for a whole e-mail address; `strict`: its domain must end as domains do."""
    plain = value.replace("%40", "@")
    local, _, domain = plain.partition("@")
    top = domain.rpartition(".")[2].lower()
    if not re.fullmatch(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+\.[^\s@<>,;:\".]{2,}", plain):
        return None
    known = len(top) <= 2 or top in TOP_DOMAINS or not top.isascii() or top.startswith("xn--")
    if strict and (local == "git" or local.startswith(".") or not known):
        return None  # n@pytest.mark is a decorator, git@host a remote
    return Claim("email", plain.lower(), value)


def judge_email(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be an e-mail address in a text; None when it is none."""
    if before.endswith("\\") and value[:2] in ("n@", "t@", "r@"):  # an escape in front of a decorator
        return None
    return claim_of_email(value, strict=True)


def judge_account(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for a match that may be an account name; None when it is none."""
    return Claim("account", value, value) if any(char.isdigit() for char in value) else None


def judge_account_named(rule: str, value: str, before: str, after: str) -> Claim | None:
    """The claim for an account name that is somebody's given name and more; None when it is none."""
    claim = Claim("account", value, value)
    if re.split(r"[._-]", value)[0].lower() not in GIVEN:
        return None
    return claim if named_by(claim) and not re.match(r"[._-]\w", after) else None
