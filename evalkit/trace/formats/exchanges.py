"""Records of model calls as traces: the calls of one conversation are one trace.

An agent sends its whole conversation with every call. A request goes on with an earlier one when its messages start
with that one's messages and answer; instructions of the developer don't count, since many agents change them on the
way. A call that failed is gone on with by the same request. What a later request adds (a tool's result, a user's turn)
became known between the two calls.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import orjson

from evalkit.shapes import dicts
from evalkit.trace.formats.chat import text_of
from evalkit.trace.formats.conversation import Turn, conversation_steps
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.formats.provider import Asked
from evalkit.trace.formats.provider_records import Record
from evalkit.trace.model import Status, Step, StepError, Trace

__all__ = ["record_traces"]

_INFERRED = "the messages of a later model call"
_UNSEEN = "{} model calls are known only from the messages of a later one"
_NO_REQUEST = "the request of {} model calls is not in the source"
_NO_CALLS = "the source holds messages only: neither times nor the parameters of the model calls"


def record_traces(records: Iterable[Record], dialect: str, report: ReadReport) -> Iterator[Trace]:
    """The traces of a log, in the order in which they begin."""
    gathered = _Conversations()
    for record in _paired(records):
        gathered.take(record)
    ids: Counter[str] = Counter()
    for at, conversation in enumerate(gathered.all):
        base = next((record.id for record in conversation.records if record.id), None) or f"conversation-{at}"
        ids[base] += 1
        trace_id = base if ids[base] == 1 else f"{base}/{ids[base]}"
        yield _trace(trace_id, conversation, dialect, report)


@dataclass(slots=True)
class _Conversation:
    """The calls of one conversation, and for each where its request's news begins."""

    records: list[Record] = field(default_factory=list)
    known: list[int] = field(default_factory=list)


def _paired(records: Iterable[Record]) -> Iterator[Record]:
    """The records, with a response that stands apart from its request (a batch's two files) put to it."""
    held = list(records)
    answers = {each.id: each for each in held if each.asked is None and each.id}
    asks = {each.id for each in held if each.asked is not None and each.answered is None and each.id}
    for record in held:
        if record.asked is None and record.id in asks:
            continue
        if record.answered is None and record.error is None and not record.is_whole and record.id in answers:
            other = answers[record.id]
            record = replace(other, asked=record.asked, model=other.model or record.model)
        yield record


class _Conversations:
    """All conversations so far, and by which messages each would be gone on with."""

    def __init__(self) -> None:
        self.all: list[_Conversation] = []
        self._ends: defaultdict[bytes, list[_Conversation]] = defaultdict(list)
        self._failed: defaultdict[bytes, list[_Conversation]] = defaultdict(list)
        self._by_response: dict[str, _Conversation] = {}
        self._marks: dict[int, tuple[dict[str, Any], bytes]] = {}

    def take(self, record: Record) -> None:
        asked = record.asked
        if asked is None or record.is_whole:
            self.all.append(_Conversation([record], [0]))
            return
        former = self._by_response.get(asked.follows or "")
        if former is not None:
            history = _history(former.records[-1])
            asked = replace(asked, messages=[*history, *asked.messages])
            self._put(replace(record, asked=asked), former, len(history), _Said(asked.messages, self._mark))
            return
        said = _Said(asked.messages, self._mark)
        conversation, known = self._place(asked.messages, said)
        if conversation.records:
            record = replace(record, asked=_sharing(asked, _history(conversation.records[-1])))
        self._put(record, conversation, known, said)

    def _place(self, messages: list[dict[str, Any]], said: _Said) -> tuple[_Conversation, int]:
        """The conversation that a request goes on with, and how many of its messages are known there."""
        failed = self._failed_mark(messages) if self._failed else b""
        if self._failed.get(failed):
            return self._failed[failed].pop(), len(messages)
        for count in range(len(messages), 0, -1):
            mark = said.marks[count - 1]
            if self._ends.get(mark) and messages[count - 1]["role"] != "system":
                return self._ends[mark].pop(), count
        fresh = _Conversation()
        self.all.append(fresh)
        return fresh, 0

    def _put(self, record: Record, conversation: _Conversation, known: int, said: _Said) -> None:
        """Add a record to a conversation, and note by which messages it would be gone on with."""
        conversation.records.append(record)
        conversation.known.append(known)
        if record.answered is None:
            self._failed[self._failed_mark(record.asked.messages if record.asked else [])].append(conversation)
            return
        self._ends[said.with_answer(record.answered.message)].append(conversation)
        if record.answered.id:
            self._by_response[record.answered.id] = conversation

    def _failed_mark(self, messages: list[dict[str, Any]]) -> bytes:
        """A digest of a whole request, instructions and all: what repeats a failed call is the very same."""
        return blake2b(b"".join(map(self._mark, messages)), digest_size=16).digest()

    def _mark(self, message: dict[str, Any]) -> bytes:
        """A digest of a message. Those that later calls repeat are the same objects, and are looked at once."""
        known = self._marks.get(id(message))
        if known is None:
            mark = blake2b(_essence(message), digest_size=16).digest()
            known = self._marks[id(message)] = (message, mark)  # held, so that no other gets its id
        return known[1]


def _history(record: Record) -> list[dict[str, Any]]:
    given = record.asked.messages if record.asked else []
    return [*given, record.answered.message] if record.answered else given


def _sharing(asked: Asked, history: list[dict[str, Any]]) -> Asked:
    """The request with the message objects of its history, so that a long chat is held once."""
    count = len(history)
    shared = [history[at] if at < count and history[at] == new else new for at, new in enumerate(asked.messages)]
    return replace(asked, messages=shared)


class _Said:
    """What messages say, as digests: of the first, of the first two, and so on."""

    def __init__(self, messages: list[dict[str, Any]], mark: Callable[[dict[str, Any]], bytes]) -> None:
        self.marks: list[bytes] = []
        self._mark = mark
        self._state = blake2b(digest_size=16)
        for message in messages:
            if message["role"] != "system":
                self._state.update(mark(message))
            self.marks.append(self._state.digest())

    def with_answer(self, message: dict[str, Any]) -> bytes:
        """The digest of all the messages and their answer."""
        state = self._state.copy()
        state.update(self._mark(message))
        return state.digest()


def _essence(message: dict[str, Any]) -> bytes:
    """What makes a message the same when an agent sends back what it was answered."""
    content = message.get("content")
    content = content.strip() if isinstance(content, str) else content
    calls = [[call["id"], call["name"], call["arguments"]] for call in dicts(message.get("tool_calls"))]
    said = [message["role"], content or None, calls, message.get("tool_call_id")]
    try:
        return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return repr(said).encode("utf-8", "replace")


def _trace(trace_id: str, conversation: _Conversation, dialect: str, report: ReadReport) -> Trace:
    records = conversation.records
    turns: list[Turn] = []
    for record, known in zip(records, conversation.known, strict=True):
        turns += _turns(record, known)
    first = next((record.asked for record in records if record.asked), Asked())
    steps = conversation_steps(turns, report, tools=first.tools, params=first.params)
    times = [at for record in records for at in (record.began, record.ended) if at is not None]
    users = [text for turn in turns if turn.message["role"] == "user" and (text := text_of(turn.message))]
    spoken = [text for turn in turns if turn.message["role"] == "assistant" and (text := text_of(turn.message))]
    error = records[-1].error
    return Trace(
        id=trace_id,
        name=dialect,
        dialect=dialect,
        steps=steps,
        input=users[0] if users else None,
        output=spoken[-1] if spoken else None,
        error=error,
        status=_status(error, turns, steps),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        attributes=records[0].attributes,
        gaps=_gaps(records, turns),
    )


def _turns(record: Record, known: int) -> list[Turn]:
    """The turns that a record tells of: what its request adds to the conversation, and the answer."""
    asked = record.asked or Asked()
    turns: list[Turn] = []
    for at, message in enumerate(asked.messages):
        if at < known:
            continue
        failed = message.get("is_error")
        plain = {key: value for key, value in message.items() if key != "is_error"}
        inferred = message["role"] == "assistant" and not record.is_whole
        turns.append(
            Turn(
                at,
                plain,
                at=record.began,
                failed=failed if isinstance(failed, bool) else None,
                model=record.model if message["role"] == "assistant" else None,
                attributes=(("read_from", _INFERRED),) if inferred else (),
            )
        )
    if record.is_whole:
        return turns
    given = [{key: value for key, value in each.items() if key != "is_error"} if "is_error" in each else each
             for each in asked.messages]  # fmt: skip
    answered = record.answered
    attributes: dict[str, Any] = dict(answered.attributes) if answered else {}
    if record.id:
        attributes["request_id"] = record.id
    if answered is None and record.error is None:
        attributes["unfinished"] = True
    if record.asked is None:
        attributes["missing"] = ["input"]
    turns.append(
        Turn(
            len(asked.messages),
            answered.message if answered else {"role": "assistant", "content": None},
            at=record.ended,
            began=record.began,
            usage=record.usage,
            model=record.model,
            error=record.error,
            asked={"messages": [*given], "tools": asked.tools, "params": asked.params},
            attributes=tuple(attributes.items()),
        )
    )
    return turns


def _status(error: StepError | None, turns: list[Turn], steps: tuple[Step, ...]) -> Status:
    """How the record ends. The user may have the last word ("thanks"), if the agent had answered before."""
    if error is not None:
        return "failed"
    pending = any(step.attributes.get("unfinished") for step in steps)
    roles = [turn.message["role"] for turn in turns]
    unanswered = roles[-1:] == ["tool"] or (roles[-1:] == ["user"] and roles[-2:-1] != ["assistant"])
    return "unfinished" if pending or unanswered else "completed"


def _gaps(records: list[Record], turns: list[Turn]) -> tuple[str, ...]:
    if records[0].is_whole:
        return (_NO_CALLS,)
    gaps: list[str] = []
    unseen = sum(("read_from", _INFERRED) in turn.attributes for turn in turns)
    hollow = sum(record.asked is None for record in records)
    return (*gaps, *([_UNSEEN.format(unseen)] if unseen else []), *([_NO_REQUEST.format(hollow)] if hollow else []))
