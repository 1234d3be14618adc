"""Errors carry what, where and cure, and survive a process pool."""

from __future__ import annotations

import pickle

import pytest

from evalkit import errors
from evalkit.errors import EvalkitError, ExitCode


def tree(kind: type[EvalkitError]) -> list[type[EvalkitError]]:
    """A class and all below it."""
    return [kind, *(found for child in kind.__subclasses__() for found in tree(child))]


@pytest.mark.parametrize("kind", tree(EvalkitError), ids=lambda kind: kind.__name__)
def test_an_error_pickles_with_all_its_fields(kind: type[EvalkitError]) -> None:
    """What a worker raises arrives whole at its controller."""
    back = pickle.loads(pickle.dumps(kind("what", "where", "cure")))
    assert (type(back), back.what, back.where, back.cure) == (kind, "what", "where", "cure")


@pytest.mark.parametrize("kind", tree(EvalkitError), ids=lambda kind: kind.__name__)
def test_the_tree_in_the_docstring_names_every_error(kind: type[EvalkitError]) -> None:
    """The drawn tree and the classes are the same, exit codes included."""
    if kind.__module__ != errors.__name__:
        pytest.skip("an error of a higher floor")
    line = next(line for line in (errors.__doc__ or "").splitlines() if kind.__name__ + " " in line + " ")
    if kind is not EvalkitError and kind.__name__ != "InputError":
        assert str(int(kind.exit_code)) in line


def test_a_message_reads_where_what_cure() -> None:
    """People see the place first and the cure last."""
    assert str(EvalkitError("it broke", "a.trace:3", "mend it")) == "a.trace:3: it broke\n  cure: mend it"


def test_exit_codes_keep_their_meaning() -> None:
    """CI scripts rely on these numbers."""
    assert {code.name: int(code) for code in ExitCode} == {
        "DONE": 0,
        "BLOCKED": 1,
        "WRONG_INPUT": 2,
        "INCONCLUSIVE": 3,
        "INTEGRITY": 4,
        "INTERRUPTED": 130,
    }
