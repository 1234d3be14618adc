"""Only a sanitizer makes a sanitized trace."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from evalkit.canonical import Json
from evalkit.errors import SanitizationFailed
from evalkit.sanitize.digests import trace_digest
from evalkit.sanitize.model import SanitizationRecord, SanitizedTrace
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Step, Trace

TRACE = Trace("t1", "agent", "evalkit", (Step(0, "tool", "find", {"email": "mia@acme.com"}, "ok"),))


def sanitized() -> SanitizedTrace:
    """One trace through a sanitizer."""
    return Sanitizer(Policy(), b"k" * 32).sanitize([TRACE])[0]


def test_nobody_else_makes_one() -> None:
    """The constructor refuses a raw trace, whatever record comes with it."""
    with pytest.raises(SanitizationFailed):
        SanitizedTrace(TRACE, sanitized().record)


def test_its_trace_cannot_be_exchanged() -> None:
    """`dataclasses.replace` is no way around it."""
    with pytest.raises((ValueError, SanitizationFailed)):
        dataclasses.replace(sanitized(), trace=TRACE)


def test_it_crosses_a_process() -> None:
    """It pickles, trace and record included."""
    made = sanitized()
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_record_survives_its_file() -> None:
    """What `as_json` gives, `from_json` reads."""
    record = sanitized().record
    assert SanitizationRecord.from_json(record.as_json()) == record
    assert record.counts == {"email": 1}


def test_a_stored_trace_is_admitted_again() -> None:
    """A trace read back from a case file is a sanitized one."""
    made = sanitized()
    assert SanitizedTrace.admitted(made.trace, made.record) == made


def test_the_raw_hash_needs_the_key() -> None:
    """Two keys give two raw hashes: a plain digest would confirm a guess."""
    other = Sanitizer(Policy(), b"q" * 32).sanitize([TRACE])[0].record
    record = sanitized().record
    assert record.raw_hash != other.raw_hash
    assert record.key_id != other.key_id
    assert record.rules_digest == other.rules_digest


def test_the_hashes_tell_traces_apart() -> None:
    """A change in the raw trace changes the raw hash; equal traces have equal records."""
    changed = dataclasses.replace(TRACE, status="failed")
    record, again, other = (Sanitizer(Policy(), b"k" * 32).sanitize([t])[0].record for t in (TRACE, TRACE, changed))
    assert record == again
    assert record.raw_hash != other.raw_hash
    assert record.sanitized_hash != other.sanitized_hash


def test_a_word_anywhere_in_a_chat_changes_both_hashes() -> None:
    """In a request that goes on from another, in an answer, in the order of the steps."""
    messages: list[Json] = [{"role": "user", "content": f"turn {n}"} for n in range(6)]

    def chat(first: int, word: str, answer: str) -> Trace:
        said: list[Json] = [*messages[:3], {"role": "user", "content": word}, *messages[4:]]
        steps = [Step(n, "model", "chat", {"messages": said[: n + 1]}, {"content": answer}) for n in range(6)]
        return dataclasses.replace(TRACE, steps=(*steps[first:], *steps[:first]))

    traces = [chat(0, "one", "yes"), chat(0, "two", "yes"), chat(0, "one", "no"), chat(1, "one", "yes")]
    records = [Sanitizer(Policy(), b"k" * 32).sanitize([trace])[0].record for trace in traces]
    assert len({record.raw_hash for record in records}) == len({record.sanitized_hash for record in records}) == 4
    assert trace_digest(traces[0]) == records[0].sanitized_hash
