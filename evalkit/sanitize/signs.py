"""What a text may hold, told by one look at all of it: which codecs are worth trying, whether it is to be folded.

One RE2 set has a pattern for each of them that all texts have which the codec can read (others may have it too). Most
texts have none of these signs, and so are what they seem.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from evalkit.sanitize.byte_escapes import FORMS
from evalkit.sanitize.folding import ODD
from evalkit.sanitize.keyed_text import KEYED
from evalkit.sanitize.pieces import (
    Codec,
    blob_pieces,
    byte_pieces,
    entity_pieces,
    escape_pieces,
    json_pieces,
    percent_pieces,
)

__all__ = ["PLAIN", "Signs", "signs_of"]

_CODECS: tuple[tuple[Codec, str], ...] = (
    (json_pieces, r'\{[ \t\n\r]*"|\[[ \t\n\r]*[\[{"]'),
    (escape_pieces, r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])'),
    (byte_pieces, "|".join(form.telling for form in FORMS)),
    (percent_pieces, r"%[0-9A-Fa-f]{2}|[=?&][^\s\"'<>&=?/#;+]+\+"),
    (entity_pieces, r"&(?:#[xX]?[\p{Nd}a-fA-F]+|[A-Za-z]{2,8}\p{Nd}?);"),
    (blob_pieces, r"[A-Za-z0-9+/_-]{16}"),
)
_FOLDED = ODD + r"|\p{Nd}(?:[ -]\p{Nd}){6}"


class Signs(NamedTuple):
    """What may be in a text.

    Attributes:
        codecs: those of `pieces.CODECS` that may read something in it, in their order.
        pairs: whether `keyed_text.keyed_pieces` may.
        folds: whether `folding.fold` may change it.
    """

    codecs: tuple[Codec, ...] = ()
    pairs: bool = False
    folds: bool = False


PLAIN = Signs()
"""Nothing lies in the text."""


def signs_of(data: bytes) -> Signs:
    """The signs in a text, given as UTF-8."""
    found = _matcher()(data)
    return _signs(tuple(sorted(found))) if found else PLAIN


@lru_cache(maxsize=1024)
def _signs(found: tuple[int, ...]) -> Signs:
    codecs = tuple(_CODECS[at][0] for at in found if at < len(_CODECS))
    return Signs(codecs, len(_CODECS) in found, len(_CODECS) + 1 in found)


@lru_cache(maxsize=1)
def _matcher() -> Callable[[bytes], list[int] | None]:
    import re2  # lazy: a C++ library that only sanitizing needs

    made = re2.Set.SearchSet()
    for pattern in (*(pattern for _, pattern in _CODECS), KEYED, _FOLDED):
        made.Add(pattern)
    made.Compile()
    match: Callable[[bytes], list[int] | None] = made.Match
    return match
