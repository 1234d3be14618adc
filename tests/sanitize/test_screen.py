"""Many texts are looked at together: none is passed over for that."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InputError
from evalkit.sanitize.detect import Detector
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer

KEY = bytes(32)
HOLDING = st.sampled_from(
    [
        "call (212) 555-7788", "mia@acme.org", "4111111111111111", "Dear Ottoline,", "出生于1984年7月19日",
        "1984年7月19日生",
        "https://a:s3cr3t-pw@x.io/", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "我叫张伟", "lives at 12 Oak Row.",
        "手机13912345678", "key: AKIAQ3EGRSTUVWXYZ234",
    ]
)  # fmt: skip
IDLE = st.text("abcxyzAZ019 .:-_#=/\n张伟的", max_size=40)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(HOLDING, IDLE), max_size=60, unique=True))
def test_every_text_that_holds_a_value_is_looked_at(texts: list[str]) -> None:
    """Those left out are those in which nothing is found when they are looked at alone."""
    detector = Detector(Policy())
    worth = {one.text for one in detector.worth_looking(texts)}
    assert {text for text in texts if detector.spans(text)} <= worth


def test_most_texts_without_a_value_are_not_looked_at() -> None:
    """That is what it is for."""
    texts = [hashlib.sha1(bytes([number % 256, number // 256])).hexdigest() for number in range(500)]
    assert len(list(Detector(Policy()).worth_looking([*texts, "call (212) 555-7788"]))) < 200


def test_after_an_error_nothing_passes_for_read() -> None:
    """The texts of a value that was refused are looked at when they come again."""
    sanitizer = Sanitizer(Policy(), KEY)
    with pytest.raises(InputError):
        sanitizer.value(["write to mia@acme.org", "\ud800"])
    assert "mia@acme.org" not in sanitizer.text("write to mia@acme.org")


def test_a_pattern_over_the_whole_text_is_looked_for_in_each() -> None:
    """Of a project's own rules."""
    sanitizer = Sanitizer(Policy(patterns=(("custom", r"\AEMP-[0-9]{6}\z"),)), KEY)
    clean = sanitizer.value([f"EMP-{number:06}" for number in range(40)])
    assert isinstance(clean, list)
    assert not any(str(text).startswith("EMP-0") for text in clean)
