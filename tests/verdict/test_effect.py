"""What is said of a whole suite against its baseline."""

from __future__ import annotations

from evalkit.verdict.effect import OPPOSED, effect_sentence
from evalkit.verdict.model import SuiteEffect
from evalkit.verdict.ruling import points


def effect(difference: float, p_worse: float) -> SuiteEffect:
    """An effect over some cases."""
    return SuiteEffect(250, difference, (difference - 0.005, difference + 0.005), (-0.02, 0.03), p_worse)


def test_a_test_against_the_mean_shows_nothing() -> None:
    """Bad cases with more samples than the others weigh more in the test than in the mean."""
    assert effect_sentence(effect(0.008, 1e-7)).endswith(OPPOSED)
    assert OPPOSED not in effect_sentence(effect(-0.008, 1e-7))
    assert OPPOSED not in effect_sentence(effect(0.008, 0.9))


def test_zero_has_no_sign() -> None:
    """A difference that rounds to nothing is none, from either side."""
    assert points(-0.0001) == points(0.0001) == "0 points"
