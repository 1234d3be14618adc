"""A case as people read it: Markdown in a pull request, plain in a terminal."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from evalkit.case.view import plain_view, render_view
from evalkit.trace.visible import visible
from tests.build import a_case

ANY = st.text(st.one_of(st.sampled_from("`*_{}[]<>#+!|~\\ ()"), st.characters()), min_size=1, max_size=40)


@given(title=ANY, owner=ANY)
def test_a_terminal_shows_text_as_it_is(title: str, owner: str) -> None:
    """No backslash that only Markdown needs, and none lost that stood there; control characters are shown as codes."""
    lines = plain_view(replace(a_case(), title=title, owner=owner)).splitlines()
    assert lines[0] == f"# {visible(title)}"
    assert f"- owner: {visible(owner)}" in lines


def test_the_marks_of_markdown_are_left_out() -> None:
    """The file in the pull request has them."""
    case = a_case()
    assert f"- case: `{case.id}` version {case.version}" in render_view(case)
    assert f"- case: {case.id} version {case.version}" in plain_view(case)
    assert f"- state: {case.state}" in plain_view(case)
