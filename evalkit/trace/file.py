"""The native trace file: JSON Lines with a hash chain, safe to append to, readable after a kill.

Line types, by the key ``type``:

- ``header``: format, version, id, name, input, started_at, attributes. A header starts a trace; a file may hold many.
- ``start``: a step began (everything that is known then). A step that has no ``end`` was cut off: whether its effect
  happened is unknown, and the trace says so.
- ``end``: that step's output, error, times, usage.
- ``step``: a whole step in one line.
- ``finish``: the run's output, error, status.

Any line may have ``surrogates``: what a recorder that sanitizes says of those that it gave since the line before.

Each line carries ``seq`` (its number from 0 in this trace) and ends in ``,"prev":"...","hash":"..."}``: `prev` is the
line before's hash, empty for a header; `hash` is the hex SHA-256 over `prev` and all bytes of the line before
``,"prev"``. So not a byte can change unseen, and key order, which a prompt may show, is kept. Repeats are shared (see
`trace.sharing`). ``recorded_at`` is the recorder's clock, apart from the steps' logical times.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from evalkit.canonical import Json, canonical, exact_text
from evalkit.errors import IntegrityError, UnreadableTrace
from evalkit.trace.json_input import parse_json
from evalkit.trace.model import KINDS, Status, Step, StepError, Trace, Usage
from evalkit.trace.sharing import MAX_REFERENCES, Packer, unpack

__all__ = [
    "FORMAT_NAME",
    "FORMAT_VERSION",
    "SURROGATES",
    "LineChain",
    "encode_trace",
    "error_json",
    "finish_json",
    "header_json",
    "read_trace_lines",
    "step_from_json",
    "step_json",
]

FORMAT_NAME = "evalkit.trace"
FORMAT_VERSION = 1
SURROGATES = "surrogates"
"""The key of a line for what is told of surrogates."""

_LINE_END = re.compile(rb',"prev":"([0-9a-f]{64}|)","hash":"([0-9a-f]{64})"\}\r?\n\Z')
_STEP_DEFAULTS: dict[str, Any] = {
    "input": None,
    "output": None,
    "parent": None,
    "effect": None,
    "effect_source": None,
    "started_at": None,
    "ended_at": None,
    "model": None,
}


class LineChain:
    """Encodes the lines of one trace: shares repeats, numbers the lines, and chains their hashes.

    Args:
        seq: number of the first line; more than 0 continues a chain.
        prev: the hash of the line before it.
        settled: nothing changes the values between the lines (see `Packer`).
    """

    def __init__(self, seq: int = 0, prev: str = "", *, settled: bool = False) -> None:
        self._packer = Packer(settled=settled)
        self._seq = seq
        self._prev = prev

    def encode(self, body: dict[str, Any]) -> bytes:
        """`body` as the next line, newline included.

        Raises:
            InputError: a value is no JSON.
        """
        packed = self._packer.pack(self._seq, {**body, "seq": self._seq})
        canonical(packed)  # refuses what is no JSON, NaN among it
        text = exact_text(packed)[:-1]
        link = _link(self._prev, text)
        line = text + f',"prev":"{self._prev}","hash":"{link}"}}\n'.encode()
        self._prev = link
        self._seq += 1
        return line


def encode_trace(trace: Trace) -> Iterator[bytes]:
    """The lines of a whole trace."""
    chain = LineChain(settled=True)
    told = {SURROGATES: {kind: {**tags} for kind, tags in trace.surrogates.items()}} if trace.surrogates else {}
    yield chain.encode({**header_json(trace), **told})
    for step in trace.steps:
        yield chain.encode({"type": "step", **step_json(step)})
    yield chain.encode(finish_json(trace))


def header_json(trace: Trace, recorded_at: float | None = None) -> dict[str, Any]:
    """The header line of `trace`."""
    return {
        "type": "header",
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "id": trace.id,
        "name": trace.name,
        "dialect": trace.dialect,
        "input": trace.input,
        "started_at": trace.started_at,
        "recorded_at": recorded_at,
        "attributes": dict(trace.attributes),
        "gaps": list(trace.gaps),
    }


def finish_json(trace: Trace) -> dict[str, Any]:
    """The last line of `trace`."""
    return {
        "type": "finish",
        "output": trace.output,
        "error": error_json(trace.error),
        "status": trace.status,
        "ended_at": trace.ended_at,
    }


def step_json(step: Step) -> dict[str, Any]:
    """A step as plain JSON; fields that hold their default are left out."""
    found: dict[str, Any] = {"step": step.seq, "kind": step.kind, "name": step.name}
    for key, default in _STEP_DEFAULTS.items():
        value = getattr(step, key)
        if value is not default:
            found[key] = value
    if step.error is not None:
        found["error"] = error_json(step.error)
    if step.usage is not None:
        found["usage"] = _usage_json(step.usage)
    if step.attributes:
        found["attributes"] = dict(step.attributes)
    return found


def step_from_json(body: dict[str, Any]) -> Step:
    """The step of a ``step`` line, or of a ``start`` merged with its ``end``.

    Raises:
        KeyError, TypeError, ValueError: a field is missing or of the wrong kind.
    """
    kind = body["kind"]
    if kind not in KINDS:
        raise ValueError(f"unknown step kind {kind!r}")
    return Step(
        seq=int(body["step"]),
        kind=kind,
        name=str(body["name"]),
        error=_error_from(body.get("error")),
        usage=None if body.get("usage") is None else Usage(**body["usage"]),
        attributes=body.get("attributes") or {},
        **{key: body.get(key) for key in _STEP_DEFAULTS},
    )


def error_json(error: StepError | None) -> Json:
    """An error as plain JSON, None for none."""
    if error is None:
        return None
    fields = {"type": error.type, "message": error.message, "module": error.module, "stack": error.stack}
    return {key: value for key, value in fields.items() if value is not None}


def read_trace_lines(lines: Iterable[bytes], where: str) -> Iterator[Trace]:
    """The traces of a native file, checked against their hash chain.

    A torn last line (no newline, or cut in the middle) is left out and named in the trace's gaps.

    Raises:
        IntegrityError: a hash, a number or a shared value does not hold.
        UnreadableTrace: the content is not a native trace, or of a later version.
    """
    reader: _TraceReader | None = None
    numbered = enumerate(lines, 1)
    for number, raw in numbered:
        spot = f"{where}:{number}"
        parsed = _parse(raw)
        if parsed is None:
            if next(numbered, None) is None and reader is not None:
                reader.gaps.append("the last line is torn: the recorder was stopped while writing it")
                break
            raise IntegrityError("the line is not one of a trace file", spot, "restore the file from its source")
        body, link = parsed
        if body.get("type") == "header":
            if reader is not None:
                yield reader.trace()
            reader = _TraceReader(body, spot)
        elif reader is None:
            raise UnreadableTrace("the first line is no trace header", spot, "pass the whole file")
        reader.take(body, link, spot)
    if reader is not None:
        yield reader.trace()


class _TraceReader:
    """Gathers the lines of one trace."""

    def __init__(self, header: dict[str, Any], where: str) -> None:
        if header.get("format") != FORMAT_NAME:
            raise UnreadableTrace(f"the header's format is {header.get('format')!r}", where, "pass --format")
        if header.get("version") != FORMAT_VERSION:
            raise UnreadableTrace(
                f"version {header.get('version')!r} of the trace file is not known (this evalkit reads "
                f"{FORMAT_VERSION})",
                where,
                "upgrade evalkit",
            )
        self.gaps: list[str] = []
        self._where = where
        self._prev = ""
        self._lines: dict[int, dict[str, Any]] = {}
        self._steps: dict[int, dict[str, Any]] = {}
        self._open: set[int] = set()
        self._finish: dict[str, Any] | None = None
        self._references = 0
        self._surrogates: dict[str, dict[str, str]] = {}

    def take(self, body: dict[str, Any], link: _Link, where: str) -> None:
        seq = len(self._lines)
        self._check_link(body, link, seq, where)
        unpack(body, self._lines, where)
        self._refuse_too_long(body, where)
        self._lines[seq] = body
        if SURROGATES in body:
            self._told(body[SURROGATES], where)
        kind: Any = body.get("type")
        step: Any = body.get("step")
        if kind in ("start", "step", "end") and type(step) is not int:
            raise UnreadableTrace("a line of a step has no number of the step", where, "record it again")
        if kind == "start" or kind == "step":
            self._steps[step] = body
            if kind == "start":
                self._open.add(step)
        elif kind == "end":
            if step not in self._open:
                raise IntegrityError(f"step {step} ends without a start", where, "restore the file")
            self._open.discard(step)
            self._steps[step] = _ended(self._steps[step], body)
        elif kind == "finish":
            self._finish = body
        elif kind != "header":
            raise UnreadableTrace(f"unknown line type {kind!r}", where, "upgrade evalkit")

    def _told(self, surrogates: Any, where: str) -> None:
        try:
            for kind, tags in surrogates.items():
                self._surrogates.setdefault(kind, {}).update({one: str(tag) for one, tag in tags.items()})
        except AttributeError:
            raise UnreadableTrace(
                "what the line says of surrogates is of another form", where, "record it again"
            ) from None

    def _refuse_too_long(self, body: dict[str, Any], where: str) -> None:
        given = body.get("input")
        messages = given.get("messages") if isinstance(given, dict) else None
        self._references += len(messages) if isinstance(messages, list) else 0
        if self._references > MAX_REFERENCES:
            raise UnreadableTrace(
                f"too long: its model calls were given more than {MAX_REFERENCES} messages together",
                where,
                "split the run",
            )

    def trace(self) -> Trace:
        header = self._lines[0]
        finish = self._finish or {"status": "unfinished"}
        if self._finish is None:
            self.gaps.append("the run's end is missing: the recorder was stopped before it")
        try:
            steps = tuple(self._step(seq) for seq in sorted(self._steps))
            return Trace(
                id=str(header["id"]),
                name=str(header["name"]),
                dialect=str(header.get("dialect") or "evalkit"),
                steps=steps,
                input=header.get("input"),
                output=finish.get("output"),
                error=_error_from(finish.get("error")),
                status=cast(Status, finish["status"]),
                started_at=header.get("started_at"),
                ended_at=finish.get("ended_at"),
                attributes=header.get("attributes") or {},
                gaps=(*_gaps(header), *_gaps(finish), *self.gaps),
                surrogates=self._surrogates,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableTrace(
                f"a line lacks what its type needs ({type(error).__name__}: {error})", self._where, "record it again"
            ) from None

    def _step(self, seq: int) -> Step:
        step = step_from_json(self._steps[seq])
        if seq not in self._open:
            return step
        self.gaps.append(f"step {seq} ({step.name}) has no end: whether it took effect is unknown")
        return replace(step, attributes={**step.attributes, "unfinished": True})

    def _check_link(self, body: dict[str, Any], link: _Link, seq: int, where: str) -> None:
        del body["hash"], body["prev"]
        if body.get("seq") != seq:
            raise IntegrityError(f"line number {body.get('seq')!r}, wanted {seq}: lines are missing or moved", where,
                                 "restore the file from its source")  # fmt: skip
        if link.prev != self._prev or link.hash != _link(self._prev, link.text):
            raise IntegrityError("the hash chain breaks here: the line was changed", where,
                                 "restore the file from its source")  # fmt: skip
        self._prev = link.hash


@dataclass(frozen=True, slots=True)
class _Link:
    """A line's place in the chain: what it says of itself, and the bytes that its hash is of."""

    text: bytes
    prev: str
    hash: str


def _parse(raw: bytes) -> tuple[dict[str, Any], _Link] | None:
    end = _LINE_END.search(raw)
    if end is None:
        return None
    try:
        body = parse_json(raw, "")
    except UnreadableTrace:
        return None
    return (body, _Link(raw[: end.start()], end[1].decode(), end[2].decode())) if isinstance(body, dict) else None


def _ended(start: dict[str, Any], end: dict[str, Any]) -> dict[str, Any]:
    """A step from both its lines; what either of them lacks is lacking."""
    before, after = start.get("attributes"), end.get("attributes")
    if not isinstance(before, dict) or not isinstance(after, dict):
        return {**start, **end}
    lacks = {key: [*before[key], *_listed(after, key)] for key in ("gaps", "missing") if _listed(before, key)}
    return {**start, **end, "attributes": {**after, **lacks}}


def _listed(attributes: dict[str, Any], key: str) -> list[Any]:
    found = attributes.get(key)
    return found if isinstance(found, list) else []


def _gaps(header: dict[str, Any]) -> list[Any]:
    gaps = header.get("gaps", [])
    if not isinstance(gaps, list):
        raise TypeError("gaps is no list")
    return gaps


def _link(prev: str, text: bytes) -> str:
    return hashlib.sha256(prev.encode() + text).hexdigest()


def _usage_json(usage: Usage) -> dict[str, Json]:
    fields = {key: getattr(usage, key) for key in Usage.__slots__}
    return {key: value for key, value in fields.items() if value is not None}


def _error_from(body: Any) -> StepError | None:
    if body is None:
        return None
    return StepError(body["type"], body.get("message", ""), body.get("module"), body.get("stack"))
