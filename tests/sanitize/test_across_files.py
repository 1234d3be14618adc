"""Two files of one project, sanitized at different times: one value has one surrogate, and two values have two."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evalkit.sanitize.normal import luhn_digit
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Step, Trace

KEY = b"two files of one project, 32 by."


def digits(count: int) -> st.SearchStrategy[str]:
    """That many decimal digits."""
    return st.text("0123456789", min_size=count, max_size=count)


WORD = st.text("abcdefghijklmnoprstuvwyz", min_size=2, max_size=9)
EMAIL = st.builds("{}{}@{}.com".format, WORD, digits(3), WORD)
OF_ONE_PERSON: dict[str, st.SearchStrategy[str]] = {
    "email": EMAIL,
    "phone": st.builds("1{}{}".format, st.sampled_from("3578"), digits(9)),
    "card_number": digits(14).map(lambda body: f"4{body}{luhn_digit('4' + body)}"),
    "user_id": st.uuids(version=4).map(str),
    "passport": st.builds("{}{}".format, st.sampled_from("EGX"), digits(8)),
}
KIND = st.sampled_from(sorted(OF_ONE_PERSON))


def written(key: str, value: str, others: list[str]) -> tuple[Any, Any]:
    """What a file about some people says in place of a value: under its key, and in a text."""
    given: Any = {"asked": {key: value}, "text": f"({value})", "others": [{"email": other} for other in others]}
    made = Sanitizer(Policy(), KEY).sanitize([Trace("t", "a", "evalkit", (Step(0, "tool", "get", {}, given),))])
    output: Any = made[0].trace.steps[0].output
    return output["asked"][key], output["text"]


@settings(max_examples=80, deadline=None)
@given(KIND.flatmap(lambda key: st.tuples(st.just(key), OF_ONE_PERSON[key])), st.lists(EMAIL), st.lists(EMAIL))
def test_a_value_has_the_same_surrogate_in_all_files(told: tuple[str, str], here: list[str], there: list[str]) -> None:
    """Whoever else is in a file, and wherever in it the value stands."""
    first, second = written(*told, here), written(*told, there)
    assert first == second
    assert first[1] == f"({first[0]})"


@settings(max_examples=80, deadline=None)
@given(
    KIND.flatmap(lambda key: st.tuples(st.just(key), OF_ONE_PERSON[key], OF_ONE_PERSON[key])),
    st.lists(EMAIL),
    st.lists(EMAIL),
)
def test_two_values_have_two_surrogates_in_two_files(
    told: tuple[str, str, str], here: list[str], there: list[str]
) -> None:
    """Two people never become one, though neither file knows of the other."""
    key, left, right = told
    assume(left != right)
    first, second = written(key, left, here), written(key, right, there)
    assert first[0] != second[0]
    assert first[1] != second[1]
