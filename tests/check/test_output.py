"""What the final answer holds."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.check.judge import judge_checks
from evalkit.check.model import Check, CheckResult
from evalkit.errors import InputError
from tests.build import a_trace, tool_step


def judged(output: Any, type_name: str, **params: Any) -> CheckResult:
    """The result of one check on a run with a final answer."""
    return judge_checks([Check(type_name, params)], a_trace(tool_step(0, "lookup"), output=output))[0]


ANSWER = {"severity": "P1", "team": {"name": "core", "size": 3.0}, "services": ["a", "b"]}


@pytest.mark.parametrize(
    "output",
    [
        ANSWER,
        '{"severity":"P1","team":{"name":"core","size":3},"services":["a","b"]}',
        '```json\n{"severity":"P1","team":{"name":"core","size":3},"services":["a","b"]}\n```',
        {"role": "assistant", "content": '{"severity":"P1","team":{"name":"core","size":3},"services":["a","b"]}'},
    ],
)
def test_stated_fields_hold_however_the_json_is_wrapped(output: Any) -> None:
    """An object, its text, a fenced text and a Message say the same."""
    assert judged(output, "output_fields", fields={"team": {"size": 3}, "services": ["a", "b"]}).passed


def test_each_differing_field_is_named_with_expected_and_got() -> None:
    """A person sees every difference at once."""
    result = judged(ANSWER, "output_fields", fields={"severity": "P0", "team": {"name": "core"}, "owner": "x"})
    assert result.reason == '/severity: expected "P0", got "P1"; /owner: expected "x", got nothing'
    assert result.steps == (0,)


@pytest.mark.parametrize("fields", [{"services": ["a"]}, {"services": []}, {"team": {}}, {"severity": None}])
def test_lists_and_empty_values_are_compared_as_a_whole(fields: dict[str, Any]) -> None:
    """A shorter list is another list; only an object is a subset. An empty object is contained in any object."""
    assert judged(ANSWER, "output_fields", fields=fields).passed is (fields == {"team": {}})


def test_a_plain_text_has_no_fields() -> None:
    """Text that is no JSON fails instead of raising."""
    assert not judged("all good", "output_fields", fields={"severity": "P1"}).passed


def test_text_is_found_without_regard_to_case() -> None:
    """Unless case is asked for."""
    assert judged("Refund DONE", "output_contains", text="done").passed
    assert not judged("Refund DONE", "output_contains", text="done", ignore_case=False).passed
    assert not judged(None, "output_contains", text="done").passed


def test_patterns_are_re2_and_can_not_run_away() -> None:
    """A pattern that takes other engines exponential time is judged at once."""
    assert judged("order 123 done", "output_matches", pattern=r"order \d+").passed
    assert not judged("a" * 5_000 + "!", "output_matches", pattern=r"^(a+)+$").passed


@pytest.mark.parametrize(
    ("type_name", "params"),
    [
        ("output_matches", {"pattern": "(a"}),
        ("output_matches", {"pattern": r"(a)\1"}),
        ("output_matches", {}),
        ("output_contains", {"text": ""}),
        ("output_fields", {"fields": "P1"}),
    ],
)
def test_wrong_parameters_are_refused(type_name: str, params: dict[str, Any]) -> None:
    """Back references are no RE2, and an empty text would hold for every answer."""
    with pytest.raises(InputError):
        judged("x", type_name, **params)
