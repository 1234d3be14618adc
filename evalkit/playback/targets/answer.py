"""What an agent in another process said, as its answer."""

from __future__ import annotations

from typing import Literal

from evalkit.canonical import Json, parse_exact
from evalkit.capture.encodable import encodable

__all__ = ["answer_of"]


def answer_of(said: bytes, form: Literal["auto", "text", "json"]) -> Json:
    """The answer.

    Args:
        form: ``text``: as it is, without the newline at its end; ``json``: it must be JSON; ``auto``: JSON where it is.

    Raises:
        ValueError: it should be JSON, and is not.
    """
    text = said.decode("utf-8", "replace")
    if form != "text":
        try:
            return encodable(parse_exact(text))
        except ValueError as error:
            if form == "json":
                raise ValueError(f"the answer is not JSON: {error}") from None
    return text.removesuffix("\n").removesuffix("\r")
