"""Names that other values give away: the user id ``yusuf_rossi_9620`` and the mailbox ``mia.li`` name somebody."""

from __future__ import annotations

from evalkit.sanitize.claim import Claim
from evalkit.sanitize.ranges import is_name_surrogate, words_of_account
from evalkit.sanitize.rules.words import COMMON, GENERIC, PLACEHOLDERS, ROLES, TITLES

__all__ = ["named_by"]

_NOBODY = GENERIC | PLACEHOLDERS | TITLES | ROLES
_SIGNS = "._-"


def named_by(claim: Claim) -> str:
    """The full name in an account name or e-mail address of two or three words; empty when there is none."""
    if claim.kind == "account":
        text = claim.text.strip()
    elif claim.kind == "email":
        text = claim.norm.partition("@")[0]
    else:
        return ""
    if not any(sign in text for sign in _SIGNS):
        return ""
    words = [word for word in words_of_account(text) if word]
    whole = [part for part in text.replace("-", "_").replace(".", "_").split("_") if not part[:1].isdigit()]
    if not 2 <= len(words) <= 3 or len(words) != len(whole):
        return ""
    low = [word.lower() for word in words]
    if any(word in _NOBODY or is_name_surrogate(word) for word in low) or all(word in COMMON for word in low):
        return ""
    return " ".join(word.title() for word in words)
