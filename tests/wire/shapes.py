"""What the tests of the wires are fed with: sound messages, and anything at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from evalkit.wire.body import parse_json
from evalkit.wire.json_text import object_of
from evalkit.wire.sse import parse_events

ARGUMENTS: Any = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)
NAMES: Any = st.text(min_size=1, max_size=8)
CALLS: Any = st.fixed_dictionaries({"id": NAMES, "name": NAMES, "arguments": ARGUMENTS | st.text(max_size=5)})
OUTPUTS: Any = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.none() | st.text()},
    optional={
        "tool_calls": st.lists(CALLS, min_size=1, max_size=3, unique_by=lambda call: call["id"]),
        "reasoning": st.text(min_size=1),
        "refusal": st.text(min_size=1),
    },
)
"""Assistant messages in normal form."""

_FIELDS = (
    "role content type text input output item part id call_id name arguments tool_calls reasoning refusal usage error "
    "delta index output_index content_index summary annotations citations thinking signature partial_json message "
    "content_block response status code at lengths patch event set in gone input_tokens messages choices function "
    "custom logprobs finish_reason function_call prompt_tokens model tools"
).split()
_WORDS = (
    "message reasoning function_call custom_tool_call output_text refusal text thinking tool_use tool_result "
    "text_delta input_json_delta content_block_delta content_block_start output_item.added output_text.delta created"
).split()
ANY: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.text(max_size=3)
    | st.sampled_from(_WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=4),
    max_leaves=14,
)
"""Any JSON, of fields and words that mean something."""


def events_in(chunks: Iterable[bytes]) -> list[Any]:
    """The events of a stream as data."""
    return [(event.event, parse_json(event.data)) for event in parse_events(chunks)]


def parsed(output: Any) -> Any:
    """A message whose textual arguments are read where they happen to be JSON objects, as any reader will."""
    calls = [{**call, "arguments": object_of(call["arguments"])} for call in output.get("tool_calls", ())]
    return {**output, "tool_calls": calls}
