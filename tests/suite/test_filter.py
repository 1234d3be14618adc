"""Filters: which cases a line means."""

from __future__ import annotations

import pytest

from evalkit.errors import ConfigError
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.filter import parse_filter

CASES = [
    CaseRef("", "refund-1", 1, "", "permanent", "", "SIDE_EFFECT_REPEATED:refund", "", ("money", "eu")),
    CaseRef("", "refund-2", 1, "", "reviewed", "", "RETRIEVAL_EMPTY:search", "", ("money",)),
    CaseRef("", "gate", 1, "", "proposed", "", "RETRIEVAL_FAILED:search", "", ()),
]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("refund-*", ["refund-1", "refund-2"]),
        ("refund-2", ["refund-2"]),
        ("tag:money tag:eu", ["refund-1"]),
        ("tag:eu,state:proposed", ["refund-1", "gate"]),
        ("gate", ["refund-1"]),
        ("!gate", ["refund-2", "gate"]),
        ("id:gate", ["gate"]),
        ("signature:RETRIEVAL_*", ["refund-2", "gate"]),
        ("!signature:*refund,RETRIEVAL refund-*", ["refund-2"]),
        ("tag:nothing", []),
    ],
)
def test_a_filter_means_its_cases(text: str, meant: list[str]) -> None:
    """Words must all hold, one alternative of each; an exclamation mark turns a word round."""
    assert [case.id for case in CASES if parse_filter(text)(case)] == meant


@pytest.mark.parametrize("text", ["", "  ", "colour:red", "tag:", "refund-1,", "!", "!!", "!!refund-1"])
def test_what_is_no_filter_is_refused(text: str) -> None:
    """Nothing is taken for a case's id that nobody would call one."""
    with pytest.raises(ConfigError):
        parse_filter(text)
