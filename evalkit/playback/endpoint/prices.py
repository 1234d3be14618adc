"""The price table: what a model's tokens cost, and what a call came to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from evalkit.trace.model import Usage

__all__ = ["Price", "cost_of", "price_of"]

_A_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars a million tokens.

    Attributes:
        models: glob pattern of model names.
        cached_input: of input read from a cache; as `input` where it is None.
        reasoning: of hidden reasoning, a part of the output; as `output` where it is None.
    """

    models: str
    input: float
    output: float
    cached_input: float | None = None
    reasoning: float | None = None


def price_of(model: str | None, prices: Iterable[Price]) -> Price | None:
    """The price of a model: of the first pattern that it matches, its very name before all."""
    if model is None:
        return None
    listed = list(prices)
    exact = next((price for price in listed if price.models == model), None)
    return exact or next((price for price in listed if fnmatchcase(model, price.models)), None)


def cost_of(usage: Usage, price: Price) -> float:
    """US dollars of a call; counts that the provider does not tell are 0."""
    cached, reasoning = usage.cached_tokens or 0, usage.reasoning_tokens or 0
    fresh = max((usage.input_tokens or 0) - cached, 0)
    said = max((usage.output_tokens or 0) - reasoning, 0)
    cached_price = price.input if price.cached_input is None else price.cached_input
    reasoning_price = price.output if price.reasoning is None else price.reasoning
    dollars = fresh * price.input + cached * cached_price + said * price.output + reasoning * reasoning_price
    return dollars / _A_MILLION
