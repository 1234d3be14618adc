"""Tokens in an issuer's form that no issuer gave out.

An issuer draws its tokens, so what is plainly not drawn was written by somebody who had none at hand. Only the forms
of issuers are judged so: a password or a key that a person chose may count on and open a door all the same.
"""

from __future__ import annotations

import re

__all__ = ["is_made_up"]

_COUNTING = "1234567890" * 3
_DRAWN = re.compile(r"dapi[0-9a-z-]{32,40}")
"""A token of Databricks; its own form ends in 32 hex digits."""
_RUN = re.compile(r"\d{16,}")
_SAME_IDS = re.compile(r"xox[a-z]-(\d+)-\1-\1-.*")
"""A token of Slack names a workspace, a user and an app, and no two of these have the same number."""


def is_made_up(token: str) -> bool:
    """Whether a token has an issuer's form, and counts on through sixteen digits or has one number for all ids."""
    if _SAME_IDS.fullmatch(token):
        return True
    return _DRAWN.fullmatch(token) is not None and any(run in _COUNTING for run in _RUN.findall(token))
