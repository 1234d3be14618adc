"""What a run may spend: model calls, tokens, dollars, seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from evalkit.canonical import Json
from evalkit.errors import ConfigError
from evalkit.figures import counted
from evalkit.playback.endpoint.prices import Price, price_of

__all__ = ["NO_LIMITS", "Budget", "Spent", "check_prices", "parse_budget", "spent_text"]

_FORM = "--budget calls=200,tokens=500000,cost_usd=5,seconds=3600"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run, over all its workers and continuations; None for no limit.

    Attributes:
        calls: of a live model. Never exceeded.
        tokens: in and out. Looked at before each call: those under way may exceed it.
        cost_usd: by the price table, likewise.
        seconds: of work, likewise; a replay that is under way when a limit is reached ends at its next model call, and
            is left for the run's continuation.
    """

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None

    def json(self) -> dict[str, Json]:
        """The limits that there are."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def with_limits(self, other: Budget) -> Budget:
        """This budget with the limits of another one, where that has any."""
        return Budget(**{**self.json(), **other.json()})  # type: ignore[arg-type]  # its own fields


NO_LIMITS = Budget()


@dataclass(slots=True)
class Spent:
    """What was spent.

    Attributes:
        calls: model calls, each once however often it was tried.
        retries: further tries.
        cached_tokens, reasoning_tokens: parts of the input and the output.
        cost_usd: of the calls that have a price.
        unpriced: calls without one.
        estimated: answers whose tokens the endpoint did not tell, or that broke off; they count as a token every four
            characters.
        seconds: of work.
    """

    calls: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    estimated: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.input_tokens + self.output_tokens

    def reached(self, budget: Budget) -> str:
        """Which limit is reached, in words; empty for none."""
        for name, noun in (("calls", "model calls"), ("tokens", "tokens"), ("seconds", "seconds")):
            most, now = getattr(budget, name), getattr(self, name)
            if most is not None and now >= most:
                return f"budget reached: {now:,.0f} of {most:,.0f} {noun}"
        if budget.cost_usd is not None and self.cost_usd >= budget.cost_usd:
            return f"budget reached: {dollars(self.cost_usd)} of {dollars(budget.cost_usd)}"
        return ""


def parse_budget(text: str) -> Budget:
    """The budget that a flag declares.

    Raises:
        ConfigError: an unknown key, one that is given twice, or no number above 0, whole for calls and tokens.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        key, _, raw = part.partition("=")
        key = {"cost": "cost_usd"}.get(key.strip(), key.strip())
        if key not in Budget.__dataclass_fields__:
            raise ConfigError(f"a budget has no {key!r}", f"budget {text!r}", _FORM)
        try:
            value = float(raw)
        except ValueError:
            value = math.nan
        whole = key in ("calls", "tokens")
        if not (math.isfinite(value) and value > 0 and (not whole or value.is_integer())):
            raise ConfigError(
                f"{key} is no {'whole ' if whole else ''}number above 0: {raw!r}", f"budget {text!r}", _FORM
            )
        if key in found:
            raise ConfigError(f"{key} is given twice", f"budget {text!r}", _FORM)
        found[key] = int(value) if whole else value
    return Budget(**found)  # type: ignore[arg-type]  # numbers of the fields' own types


def check_prices(budget: Budget, prices: Sequence[Price], models: Iterable[str | None]) -> None:
    """Refuses a limit of dollars that could not be kept.

    Args:
        models: that will be asked.

    Raises:
        ConfigError: one of them has no price.
    """
    if budget.cost_usd is None:
        return
    for model in models:
        if price_of(model, prices) is None:
            name = model or "the model"
            cure = f'add [prices."{name}"] input = ..., output = ... (dollars a million tokens) to evalkit.toml'
            raise ConfigError(f"a cost budget is set, and {name} has no price", "budget", cure)


def dollars(amount: float) -> str:
    """An amount for people: cents, and more places where there is less."""
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def spent_text(spent: Mapping[str, Json], limits: Mapping[str, Json]) -> str:
    """What was spent, in words; empty where no model was asked and there is no budget."""
    now = Spent(**spent)  # type: ignore[arg-type]  # what `asdict` made of one
    if not now.calls and not limits:
        return ""
    about = "about " if now.estimated else ""
    parts = [
        counted(now.calls, "model call"),
        f"{about}{now.tokens:,} tokens",
        f"{about if now.cost_usd else ''}{dollars(now.cost_usd)}",
    ]
    told = [f"{now.cached_tokens:,} cached"] if now.cached_tokens else []
    if now.estimated:
        told.append(f"{counted(now.estimated, 'answer')} estimated")
    if told:
        parts[1] += f" ({', '.join(told)})"
    if now.unpriced:
        parts[2] = (
            "cost unknown" if now.unpriced == now.calls else f"{parts[2]} and {now.unpriced:,} calls without a price"
        )
    if now.retries:
        parts.append(f"{now.retries:,} retries")
    most = ", ".join(f"{name} {value}" for name, value in limits.items())
    return ", ".join(parts) + (f"; budget: {most}" if most else "")
