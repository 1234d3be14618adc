"""The native trace file: what goes in comes out, and nothing can be changed unseen."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.canonical import canonical
from evalkit.errors import EvalkitError, IntegrityError, UnreadableTrace
from evalkit.trace.file import LineChain, encode_trace, header_json, read_trace_lines
from evalkit.trace.model import Json, Step, Trace
from tests.strategies import traces


def lines_of(trace: Trace) -> list[bytes]:
    """The file's lines."""
    return list(encode_trace(trace))


def read(lines: list[bytes]) -> Trace:
    """The one trace of some lines."""
    (found,) = read_trace_lines(iter(lines), "test.trace")
    return found


def as_text(trace: Trace) -> bytes:
    """A trace as one canonical text: equal but for the difference of 1 and 1.0."""
    return canonical([header_json(trace), *(line.decode() for line in encode_trace(trace))])


@given(traces())
def test_a_trace_survives_the_file(trace: Trace) -> None:
    """Every field of every step is read as it was written."""
    assert as_text(read(lines_of(trace))) == as_text(trace)


@given(st.lists(traces(max_steps=2), min_size=1, max_size=4))
def test_a_file_may_hold_many_traces(several: list[Trace]) -> None:
    """Each header starts a trace."""
    lines = [line for trace in several for line in encode_trace(trace)]
    assert [as_text(trace) for trace in read_trace_lines(iter(lines), "t")] == [as_text(trace) for trace in several]


@settings(max_examples=60)
@given(traces(), st.data())
def test_no_byte_can_be_changed_unseen(trace: Trace, data: st.DataObject) -> None:
    """A changed byte is an error, or leaves the same values (white space that JSON ignores)."""
    lines = lines_of(trace)
    at = data.draw(st.integers(0, len(lines) - 1))
    line = bytearray(lines[at])
    spot = data.draw(st.integers(0, len(line) - 1))
    line[spot] = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[spot]))
    lines[at] = bytes(line)
    try:
        found = list(read_trace_lines(iter(lines), "t"))
    except EvalkitError:
        return
    if at == len(lines) - 1:  # the last line may be torn; that is said
        assert any("torn" in gap or "missing" in gap for gap in found[0].gaps) or as_text(found[0]) == as_text(trace)
    else:
        assert [as_text(one) for one in found] == [as_text(trace)]


@pytest.mark.parametrize("change", ["drop", "swap", "twice"])
def test_lines_can_not_be_moved(change: str) -> None:
    """A missing, swapped or repeated line breaks the chain."""
    trace = Trace("t", "a", "evalkit", tuple(Step(seq, "tool", f"t{seq}") for seq in range(4)))
    lines = lines_of(trace)
    if change == "drop":
        del lines[2]
    elif change == "swap":
        lines[2], lines[3] = lines[3], lines[2]
    else:
        lines.insert(2, lines[2])
    with pytest.raises(IntegrityError):
        read(lines)


def test_a_torn_last_line_is_left_out_and_named() -> None:
    """A recorder killed while writing loses that line and nothing else."""
    trace = Trace("t", "a", "evalkit", tuple(Step(seq, "tool", f"t{seq}", output=seq) for seq in range(3)))
    lines = lines_of(trace)[:-1]
    lines[-1] = lines[-1][:-20]
    found = read(lines)
    assert [step.output for step in found.steps] == [0, 1]
    assert found.status == "unfinished"
    assert any("torn" in gap for gap in found.gaps)


def test_a_step_without_its_end_is_said_to_be_unknown() -> None:
    """A write that was under way when the recorder died may or may not have happened."""
    chain = LineChain()
    trace = Trace("t", "a", "evalkit", ())
    start = {"type": "start", "step": 0, "kind": "tool", "name": "refund", "input": {"id": 1}, "effect": "write"}
    found = read([chain.encode(header_json(trace)), chain.encode(start)])
    assert found.steps[0].attributes["unfinished"] is True
    assert any("refund" in gap and "unknown" in gap for gap in found.gaps)


def test_a_later_version_is_refused_with_a_cure() -> None:
    """An old evalkit does not guess at a new file."""
    body = header_json(Trace("t", "a", "evalkit", ())) | {"version": 99}
    with pytest.raises(UnreadableTrace, match="upgrade evalkit"):
        read([LineChain().encode(body)])


def test_a_long_chat_stays_linear_in_size() -> None:
    """Each message stands in the file once, however often it was sent."""

    def size(turns: int) -> int:
        messages: list[Json] = [{"role": "user", "content": f"message {turn} " + "x" * 200} for turn in range(turns)]
        steps = tuple(
            Step(turn, "model", "chat", {"messages": messages[: turn + 1], "tools": [], "params": {}}, {"role": "a"})
            for turn in range(turns)
        )
        trace = Trace("t", "a", "evalkit", steps)
        assert read(lines_of(trace)).steps == steps
        return sum(map(len, lines_of(trace)))

    assert size(80) < 2.3 * size(40)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=8))
def test_long_texts_in_a_growing_chat_come_back_where_they_were(turns: list[tuple[bool, int, int]]) -> None:
    """A result that was said before, in a list that an earlier step began: the same trace comes out of the file."""
    texts = [mark * length for mark in "ab" for length in (10, 5000)]
    messages: list[Json] = [{"role": "user", "content": "q"}]
    steps: list[Step] = []
    for asks, said, told in turns:
        kept: list[Json] = messages[: len(messages) - told] if told else [*messages]
        answer: Json = {"role": "assistant", "content": texts[said], "tool_calls": [{"name": "f", "id": texts[told]}]}
        steps.append(Step(len(steps), "model", "chat", {"messages": kept, "params": {}}, answer))
        if asks:
            steps.append(Step(len(steps), "tool", "f", {"a": [texts[said]]}, texts[said]))
        messages = [*kept, answer, {"role": "tool", "content": texts[said], "tool_call_id": "c"}]
    trace = Trace("t", "a", "evalkit", tuple(steps))
    assert read(lines_of(trace)) == trace


def test_a_shared_value_that_changes_type_is_not_shared() -> None:
    """1, 1.0 and true are told apart where prefixes are compared."""
    first: list[object] = [{"role": "user", "content": "x", "n": True}]
    second: list[object] = [{"role": "user", "content": "x", "n": 1}, {"role": "user", "content": "y"}]
    steps = tuple(
        Step(seq, "model", "chat", {"messages": messages})  # type: ignore[dict-item]  # list is invariant
        for seq, messages in enumerate([first, second])
    )
    back = read(lines_of(Trace("t", "a", "evalkit", steps)))
    assert json.dumps([step.input for step in back.steps]) == json.dumps([{"messages": first}, {"messages": second}])


def test_content_can_not_pose_as_a_pointer() -> None:
    """What a trace says under the name of our own keys stays what it is."""
    hostile: dict[str, Json] = {
        "refs": [[["input"], 0, ["attributes"]]],
        "prefix": [[["x"], 0, ["y"], 3]],
        "type": "header",
    }
    step = Step(0, "tool", "t", {"messages": [hostile], "deep": hostile}, hostile)
    assert read(lines_of(Trace("t", "a", "evalkit", (step,)))).steps == (step,)


def test_big_integers_survive() -> None:
    """Order ids beyond 64 bits are read exactly."""
    step = Step(0, "tool", "t", {"order": 2**70 + 1}, [2**64, -(2**80)])
    assert read(lines_of(Trace("t", "a", "evalkit", (step,)))).steps == (step,)
