"""OpenAI's chat streams: chunks merged into one completion, and a completion cut into realistic chunks.

Source: https://platform.openai.com/docs/api-reference/chat-streaming. Other servers differ in small ways that the
merge allows for: a tool call's ``index`` left out, its id or name repeated in every chunk, usage in the last choice's
chunk instead of one of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from evalkit.wire.body import dump_json, parse_json
from evalkit.wire.pieces import tokens
from evalkit.wire.sse import encode_event, parse_events

__all__ = ["MergedStream", "completion_chunks", "frames", "merge_stream"]

_DONE = "[DONE]"
_NOT_TOP = frozenset({"choices", "usage", "object", "obfuscation"})


@dataclass(slots=True)
class MergedStream:
    """What a stream came to.

    Attributes:
        completion: one chat completion, as a response without streaming would hold it.
        done: whether the stream came to its end: ``[DONE]``, or a finish reason where a server leaves that out.
        error: the error object that the server sent inside of the stream.
        chunks: the chunks, without their padding (``obfuscation``).
    """

    completion: dict[str, Any]
    done: bool
    error: Any = None
    chunks: list[dict[str, Any]] = field(default_factory=list)


def merge_stream(chunks: Iterable[bytes]) -> MergedStream:
    """Merges the chunks of a stream; events that are no JSON object are passed over, as are comments."""
    merge = _Merge()
    chunks_seen: list[dict[str, Any]] = []
    for event in parse_events(chunks):
        if event.data.startswith(_DONE):
            merge.done = True
            break
        try:
            chunk = parse_json(event.data)
        except ValueError:
            continue
        if isinstance(chunk, dict):
            chunks_seen.append({key: value for key, value in chunk.items() if key != "obfuscation"})
            merge.take(chunk)
    return merge.result(chunks_seen)


def completion_chunks(completion: dict[str, Any], *, include_usage: bool) -> list[dict[str, Any]]:
    """The chunks that `completion` streams as, without their framing.

    Args:
        include_usage: whether the request asked for usage: it then comes in a chunk of its own, without choices.
    """
    top = {key: value for key, value in completion.items() if key not in _NOT_TOP}
    top["object"] = "chat.completion.chunk"
    choice = completion["choices"][0]
    closing = {key: value for key, value in choice.items() if key not in ("message", "index")}
    logprobs = closing.pop("logprobs", None)
    bodies: list[dict[str, Any]] = [{"delta": delta, "finish_reason": None} for delta in _deltas(choice["message"])]
    if logprobs is not None:
        bodies[0]["logprobs"] = logprobs
    if closing.get("finish_reason") is not None:
        bodies.append({"delta": {}, **closing})
    usage = completion.get("usage") if include_usage else None
    chunks = [{**top, "choices": [{"index": 0, **body}]} for body in bodies]
    if usage is not None:
        chunks.append({**top, "choices": [], "usage": usage})
    return chunks


def frames(chunks: Iterable[dict[str, Any]], *, done: bool) -> list[bytes]:
    """Chunks as server-sent events, with the ``[DONE]`` mark if `done`."""
    found = [encode_event(dump_json(chunk)) for chunk in chunks]
    return [*found, encode_event(_DONE.encode())] if done else found


class _Merge:
    """Gathers the chunks of one stream."""

    def __init__(self) -> None:
        self.done = False
        self.error: Any = None
        self._top: dict[str, Any] = {}
        self._usage: Any = None
        self._choice: dict[str, Any] = {}
        self._message = _Value()
        self._calls = _Calls()
        self._others: set[int] = set()

    def take(self, chunk: dict[str, Any]) -> None:
        if chunk.get("error"):
            self.error = chunk["error"]
            return
        for key, value in chunk.items():
            if key not in _NOT_TOP and value is not None:
                self._top.setdefault(key, value)
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._take_choice(choice)

    def _take_choice(self, choice: dict[str, Any]) -> None:
        index = choice.get("index")
        if isinstance(index, int) and index != 0:
            self._others.add(index)
            return
        for key, value in choice.items():
            if key == "logprobs" and isinstance(value, dict):
                self._choice[key] = _joined(self._choice.get(key), value)
            elif key not in ("delta", "index", "logprobs") and value is not None:
                self._choice[key] = value
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._calls.take(delta.get("tool_calls"))
            self._message.take({key: value for key, value in delta.items() if key != "tool_calls"})

    def result(self, chunks: list[dict[str, Any]]) -> MergedStream:
        message = self._message.value()
        calls = self._calls.value()
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, **self._choice}
        others = [{"index": index} for index in sorted(self._others)]
        completion = {**self._top, "choices": [choice, *others], "usage": self._usage}
        done = self.done or (self.error is None and self._choice.get("finish_reason") is not None)
        return MergedStream(completion, done, self.error, chunks)


@dataclass(slots=True)
class _Value:
    """An object that grows by deltas: texts are joined once at the end, other values merged as they come."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    others: dict[str, Any] = field(default_factory=dict)

    def take(self, delta: dict[str, Any]) -> None:
        for key, value in delta.items():
            if key == "role":
                self.others[key] = value
            elif isinstance(value, str):
                self.texts.setdefault(key, []).append(value)
            elif value is not None:
                self.others[key] = _joined(self.others.get(key), value)

    def value(self) -> dict[str, Any]:
        return {**self.others, **{key: "".join(pieces) for key, pieces in self.texts.items()}}


@dataclass(slots=True)
class _Calls:
    """The tool calls of a stream, by their index."""

    heads: dict[int, dict[str, Any]] = field(default_factory=dict)
    texts: dict[int, list[str]] = field(default_factory=dict)

    def take(self, deltas: Any) -> None:
        for delta in deltas if isinstance(deltas, list) else ():
            if isinstance(delta, dict):
                self._take(delta, self._slot(delta))

    def _slot(self, delta: dict[str, Any]) -> int:
        index, given_id = delta.get("index"), delta.get("id")
        if isinstance(index, int):
            return index
        starts = not self.heads or (given_id and all(head.get("id") != given_id for head in self.heads.values()))
        return max(self.heads, default=-1) + 1 if starts else next(reversed(self.heads))

    def _take(self, delta: dict[str, Any], slot: int) -> None:
        head = self.heads.setdefault(slot, {})
        for key in ("id", "type"):
            if delta.get(key):
                head.setdefault(key, delta[key])
        for envelope, text_key in (("function", "arguments"), ("custom", "input")):
            body = delta.get(envelope)
            if isinstance(body, dict):
                inner = head.setdefault(envelope, {"name": ""})
                name = body.get("name")
                if isinstance(name, str) and name != inner["name"]:  # repeated by some servers, cut in two by others
                    inner["name"] += name
                text = body.get(text_key)
                if text is not None:
                    self.texts.setdefault(slot, []).append(text if isinstance(text, str) else dump_json(text).decode())

    def value(self) -> list[dict[str, Any]]:
        calls = []
        for slot, head in self.heads.items():
            text = "".join(self.texts.get(slot, ()))
            if "custom" in head:
                calls.append({**head, "custom": {**head["custom"], "input": text}})
            else:
                calls.append({**head, "function": {**head.get("function", {"name": ""}), "arguments": text}})
        return calls


def _joined(old: Any, new: Any) -> Any:
    """An object's fields are joined one level deep: no field of the API is deeper."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _appended(old.get(key), value) for key, value in new.items() if value is not None}}
    return _appended(old, new)


def _appended(old: Any, new: Any) -> Any:
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    return [*old, *new] if isinstance(old, list) and isinstance(new, list) else new


def _deltas(message: dict[str, Any]) -> list[dict[str, Any]]:
    """A message in the order in which models write: role, reasoning, content or refusal, tool calls."""
    plain = {key: value for key, value in message.items() if key not in ("tool_calls", "function_call")}
    texts = [key for key, value in plain.items() if isinstance(value, str) and key != "role"]
    texts.sort(key=lambda key: not key.startswith("reasoning"))
    first = {key: value for key, value in plain.items() if key not in texts}
    first["content"] = "" if isinstance(plain.get("content"), str) else plain.get("content")
    deltas = [first]
    for key in texts:
        deltas += [{key: piece} for piece in tokens(plain[key])]
    legacy = message.get("function_call")
    if legacy is not None:
        deltas.append({"function_call": {**legacy, "arguments": ""}})
        deltas += [{"function_call": {"arguments": piece}} for piece in tokens(legacy["arguments"])]
    for index, call in enumerate(message.get("tool_calls") or ()):
        deltas += [{"tool_calls": [{"index": index, **delta}]} for delta in _call_deltas(call)]
    return deltas


def _call_deltas(call: dict[str, Any]) -> list[dict[str, Any]]:
    envelope, key = ("custom", "input") if "custom" in call else ("function", "arguments")
    head = {**call, envelope: {**call[envelope], key: ""}}
    return [head, *({envelope: {key: piece}} for piece in tokens(call[envelope][key]))]
