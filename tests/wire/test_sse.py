"""Server-sent events, however they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.wire.sse import Event, encode_event, parse_events


@pytest.mark.parametrize(
    ("content", "events"),
    [
        (b"data: a\n\ndata:b\n\n", [Event("a"), Event("b")]),
        (b"data: a\r\rdata: b\r\n\r\n", [Event("a"), Event("b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Event("a")]),
        (b": comment\nid: 1\nevent: e\ndata: a\ndata: b\n\n", [Event("a\nb", "e")]),
        (b"event: nothing\n\ndata: a\n\n", [Event("a")]),
        (b"data:  two blanks\n\n", [Event(" two blanks")]),
        (b"data\n\n", [Event("")]),
        (b"data: a\n\ndata: torn\n", [Event("a")]),
        (b"data: torn", []),
        (b"data: \xff\n\n", [Event("\ufffd")]),
        (b"", []),
    ],
)
def test_events_are_read_by_the_standard(content: bytes, events: list[Event]) -> None:
    """Line ends, comments, types, several data lines, marks and torn tails are read as browsers read them."""
    assert list(parse_events([content])) == events


LINES = st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8")), min_size=1, max_size=3)


@given(st.lists(st.tuples(LINES, st.sampled_from(["", "done"]))), st.integers(1, 9))
def test_events_survive_any_cut(given_events: list[tuple[list[str], str]], size: int) -> None:
    """What is encoded is parsed again, whatever the size of the pieces."""
    events = [Event("\n".join(lines), kind) for lines, kind in given_events]
    content = b"".join(encode_event(event.data.encode(), event.event) for event in events)
    assert list(parse_events(content[at : at + size] for at in range(0, len(content), size))) == events
