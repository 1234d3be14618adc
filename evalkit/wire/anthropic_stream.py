"""Streams of Anthropic's Messages API: events merged into one message, and how the events follow from a message.

Source: https://docs.anthropic.com/en/docs/build-with-claude/streaming and ``anthropic.types.RawMessageStreamEvent``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from evalkit.shapes import dict_at
from evalkit.wire.json_text import object_of, spell, spelling_of
from evalkit.wire.pieces import token_lengths
from evalkit.wire.script import Address
from evalkit.wire.sse import parse_objects

__all__ = ["MergedMessage", "MessageForm", "merge_message", "plain_script"]

_DELTA = "content_block_delta"
_CITATIONS = "citations_delta"
_INPUT = "input_json_delta"
_TEXTS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "compaction_delta": ("content", "content"),
    _INPUT: ("partial_json", "input"),
}
"""Deltas that carry a text: the delta's field and the block's."""
_AT_END = ("stop_reason", "stop_sequence")


@dataclass(slots=True)
class MergedMessage:
    """What a stream came to.

    Attributes:
        message: a Message as far as it came.
        events: all events.
        spellings: by block, how its input's JSON was written (see `wire.json_text`).
        done: whether the message's last event came.
        error: the event with which the server broke off.
    """

    message: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    spellings: dict[int, Any] = field(default_factory=dict)
    done: bool = False
    error: dict[str, Any] | None = None


def merge_message(chunks: Iterable[bytes]) -> MergedMessage:
    """Merges the events of a stream; what is no JSON object is passed over."""
    merged, merge = MergedMessage(), _Merge()
    for raw in parse_objects(chunks):
        merged.events.append(raw)
        if raw.get("type") == "error":
            merged.error = raw
        else:
            merge.take(raw)
    merged.message, merged.spellings, merged.done = merge.result(), merge.spellings, merge.done
    return merged


class _Merge:
    def __init__(self) -> None:
        self.done = False
        self.spellings: dict[int, Any] = {}
        self._top: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def take(self, event: dict[str, Any]) -> None:
        kind, at = event.get("type"), event.get("index")
        if kind == "message_start" and isinstance(event.get("message"), dict):
            self._take_top(event["message"], event["message"].get("usage"))
        elif kind == "content_block_start" and type(at) is int and isinstance(event.get("content_block"), dict):
            self._blocks[at] = dict(event["content_block"])
        elif kind == _DELTA and type(at) is int and at in self._blocks and isinstance(event.get("delta"), dict):
            self._take_delta(at, event["delta"])
        elif kind == "message_delta":
            rest = {key: value for key, value in event.items() if key not in ("type", "delta", "usage")}
            delta = event.get("delta")
            self._take_top({**rest, **delta} if isinstance(delta, dict) else rest, event.get("usage"))
        elif kind == "message_stop":
            self.done = True

    def _take_top(self, fields: dict[str, Any], usage: Any) -> None:
        self._top |= {key: value for key, value in fields.items() if key not in ("content", "usage")}
        if isinstance(usage, dict):  # counts are totals so far; those left out stand as they were
            self._usage |= {key: value for key, value in usage.items() if value is not None or key not in self._usage}

    def _take_delta(self, at: int, delta: dict[str, Any]) -> None:
        kind = str(delta.get("type"))
        if kind == _CITATIONS:
            held = self._blocks[at].get("citations")
            self._blocks[at]["citations"] = [*(held if isinstance(held, list) else ()), delta.get("citation")]
        elif kind in _TEXTS and isinstance(delta.get(_TEXTS[kind][0]), str):
            self._pieces.setdefault((at, kind), []).append(delta[_TEXTS[kind][0]])

    def result(self) -> dict[str, Any]:
        for (at, kind), pieces in self._pieces.items():
            text, name = "".join(pieces), _TEXTS[kind][1]
            if kind == _INPUT:
                self.spellings[at] = spelling_of(text) if text else {"text": ""}
                self._blocks[at][name] = object_of(text) if text else {}
            else:
                begun = self._blocks[at].get(name)
                self._blocks[at][name] = (begun if isinstance(begun, str) else "") + text
        usage = {"usage": self._usage} if self._usage else {}
        return {**self._top, **usage, "content": [self._blocks[at] for at in sorted(self._blocks)]}


class MessageForm:
    """`wire.script.EventForm` of this API: an address is the event's type, the block's index, and the delta's type.

    Args:
        spellings: by block, how its input's JSON is written.
    """

    def __init__(self, spellings: dict[int, Any]) -> None:
        self._spellings = spellings
        self._citations: dict[int, int] = {}

    def address(self, event: dict[str, Any]) -> Address | None:
        kind, at = str(event.get("type")), event.get("index")
        if kind in ("message_start", "message_delta"):
            return (kind,)
        if type(at) is not int or kind not in (_DELTA, "content_block_start", "content_block_stop"):
            return None
        if kind != _DELTA:
            return (kind, at)
        delta = event.get("delta")
        delta_kind = str(delta.get("type")) if isinstance(delta, dict) else ""
        if delta_kind == _CITATIONS:
            number = self._citations.get(at, 0)
            self._citations[at] = number + 1
            return (kind, at, delta_kind, number)
        return (kind, at, delta_kind) if delta_kind in _TEXTS else None

    def template(self, address: Address, whole: dict[str, Any]) -> dict[str, Any] | None:
        kind, *places = address
        if kind == "message_start":
            return {"type": kind, "message": whole}
        if kind == "message_delta":
            usage = whole.get("usage")
            usage = {"output_tokens": usage.get("output_tokens")} if isinstance(usage, dict) else {}
            return {"type": kind, "delta": {name: whole.get(name) for name in _AT_END}, "usage": usage}
        block = dict_at(whole.get("content"), places[0] if places else None)
        if block is None:
            return None
        event = {"type": kind, "index": places[0]}
        if kind == "content_block_start":
            return {**event, "content_block": _begun(block)}
        if kind == "content_block_stop":
            return event
        delta_kind = places[1] if len(places) > 1 else None
        if delta_kind == _CITATIONS:
            citation = dict_at(block.get("citations"), places[2] if len(places) > 2 else None)
            return None if citation is None else {**event, "delta": {"type": delta_kind, "citation": citation}}
        if self.text(address, whole) is None:
            return None
        return {**event, "delta": {"type": delta_kind, _TEXTS[str(delta_kind)][0]: ""}}

    def text(self, address: Address, whole: dict[str, Any]) -> str | None:
        if len(address) < 3 or address[0] != _DELTA or address[2] not in _TEXTS:
            return None
        at, name = address[1], _TEXTS[str(address[2])][1]
        block = dict_at(whole.get("content"), at)
        value = None if block is None else block.get(name)
        if name == "input" and isinstance(value, dict):
            return spell(value, self._spellings.get(int(at)))
        return value if isinstance(value, str) else None

    def may_be_kept(self, event: dict[str, Any]) -> bool:
        return "delta" not in event

    def piece(self, event: dict[str, Any]) -> Any:
        return event["delta"].get(_TEXTS[event["delta"]["type"]][0])

    def with_piece(self, event: dict[str, Any], piece: str) -> dict[str, Any]:
        delta = event.get("delta")
        field_name = _TEXTS.get(str(delta.get("type")), ("", ""))[0] if isinstance(delta, dict) else ""
        return {**event, "delta": {**delta, field_name: piece}} if isinstance(delta, dict) and field_name else event


def plain_script(message: dict[str, Any], *, ended: bool) -> list[dict[str, Any]]:
    """The script by which the API streams `message`; one that did not end has no last events."""
    begun: dict[str, Any] = {"set": {"content": [], **dict.fromkeys(_AT_END)}}
    if isinstance(message.get("usage"), dict):
        begun["in"] = {"usage": {"set": {"output_tokens": 1}}}
    script: list[dict[str, Any]] = [{"at": ["message_start"], "patch": {"in": {"message": begun}}}]
    form, last = MessageForm({}), len(message["content"]) - 1
    for at, block in enumerate(message["content"]):
        script.append({"at": ["content_block_start", at]})
        if at == 0:
            script.append({"event": {"type": "ping"}})
        for kind in _TEXTS:
            text = form.text((_DELTA, at, kind), message)
            if text:
                lengths = [len(text)] if kind == "signature_delta" else token_lengths(text)
                script.append({"at": [_DELTA, at, kind], "lengths": lengths})
        citations = block.get("citations")
        cited = len(citations) if isinstance(citations, list) else 0
        script += [{"at": [_DELTA, at, _CITATIONS, number]} for number in range(cited)]
        if ended or at < last:
            script.append({"at": ["content_block_stop", at]})
    return [*script, {"at": ["message_delta"]}, {"event": {"type": "message_stop"}}] if ended else script


def _begun(block: dict[str, Any]) -> dict[str, Any]:
    """A block before its first delta."""
    empty = {name: "" for name in ("text", "thinking", "signature") if isinstance(block.get(name), str)}
    nothing: dict[str, Any] = {"input": {}} if "input" in block else {}
    unsaid: dict[str, Any] = {"citations": []} if isinstance(block.get("citations"), list) else {}
    return {**block, **empty, **nothing, **unsaid}
