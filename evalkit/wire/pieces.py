"""Texts cut into the pieces in which a stream sends them.

A recorded stream keeps how long its pieces were, in characters, and not the pieces themselves: the text stands once, in
the message, where a name that a model wrote in three pieces is found and replaced whole. A text that has another length
by then is cut at the same fractions of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

__all__ = ["cut", "token_lengths", "tokens"]

_PIECE = re.compile(r"\s*\S+|\s+")
_MAX_PIECES = 200


def tokens(text: str) -> list[str]:
    """`text` cut before its blanks, about a token a piece; a long one in larger pieces, at most 200 of them."""
    words = _PIECE.findall(text)
    size = -(-len(words) // _MAX_PIECES) or 1
    return ["".join(words[at : at + size]) for at in range(0, len(words), size)]


def token_lengths(text: str) -> list[int]:
    """The lengths of `tokens`, in characters."""
    return [len(piece) for piece in tokens(text)]


def cut(text: str, lengths: Sequence[int]) -> list[str]:
    """`text` in as many pieces as there are `lengths`, none of them negative; each piece has its share of the text.

    Where the lengths come to nothing, the last piece is the whole text.
    """
    ends = list(accumulate(lengths))
    if not ends:
        return []
    total = ends[-1]
    if total != len(text):
        ends = [end * len(text) // total for end in ends] if total else [0] * (len(ends) - 1) + [len(text)]
    return [text[start:end] for start, end in pairwise([0, *ends])]
