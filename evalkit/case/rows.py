"""Steps as Arrow rows and back: the one tabular form of cases and of kept replays.

Columns (design: "Files"): ``seq, parent, kind, name, effect, effect_source, kept, input, output, error, request_key,
started_at, ended_at, model, input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost_usd, attributes, hash``.
``input``, ``output``, ``error`` and ``attributes`` are JSON text; times are UTC timestamps in microseconds; strings are
plain, because a row taken out of a dictionary-encoded column stays in the dictionary page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalkit.canonical import Json, canonical, exact_text, parse_exact
from evalkit.case.begun import BegunHashes
from evalkit.trace.file import error_json
from evalkit.trace.model import KINDS, Step, StepError, Usage
from evalkit.trace.repeats import Repeats

__all__ = ["STEP_SCHEMA", "Chain", "steps_from_rows", "steps_to_columns"]

_TIME = pa.timestamp("us", tz="UTC")
STEP_SCHEMA = pa.schema(
    [
        ("seq", pa.int32()),
        ("parent", pa.int32()),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("effect", pa.string()),
        ("effect_source", pa.string()),
        ("kept", pa.bool_()),
        ("input", pa.string()),
        ("output", pa.string()),
        ("error", pa.string()),
        ("request_key", pa.string()),
        ("started_at", _TIME),
        ("ended_at", _TIME),
        ("model", pa.string()),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("reasoning_tokens", pa.int64()),
        ("cost_usd", pa.float64()),
        ("attributes", pa.string()),
        ("hash", pa.string()),
    ]
)
_HASHED = tuple(name for name in STEP_SCHEMA.names if name != "hash")
_INPUT = _HASHED.index("input")
_USAGE = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_usd")  # as in `Usage`
_NO_USAGE = [None] * len(_USAGE)
_TEXT = ("kind", "name", "effect", "effect_source", "model")


def steps_to_columns(
    steps: Sequence[Step], kept: Iterable[int] | None = None, *, beside: Repeats | None = None
) -> dict[str, list[Any]]:
    """The columns of some steps, in order, with their hash chain.

    Args:
        kept: `seq` of the steps on the path to the failure; None for all.
        beside: has written messages of these steps already.

    Raises:
        InputError: a value is no JSON.
    """
    on_path = None if kept is None else set(kept)
    columns: dict[str, list[Any]] = {name: [] for name in STEP_SCHEMA.names}
    exact, keys, chain = Repeats(exact=True), Repeats(beside=beside), Chain()
    for step in steps:
        row = _row(step, exact, keys)
        row["kept"] = on_path is None or step.seq in on_path
        row["hash"] = chain.next(row)
        for name, column in columns.items():
            column.append(row[name])
    return columns


def steps_from_rows(rows: Iterable[dict[str, Any]]) -> list[tuple[Step, bool]]:
    """The steps of some rows, each with whether it is kept.

    Raises:
        KeyError, TypeError, ValueError: a row is not of the schema's form.
    """
    return [(_step(row), bool(row["kept"])) for row in rows]


class Chain:
    """The hashes of rows, each over the one before and the row's values.

    Args:
        whole: over the text of ``input`` itself, as in files of format 1.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole
        self._inputs = BegunHashes()
        self.last = ""

    def next(self, row: Mapping[str, Any]) -> str:
        """The hash of the next row: SHA-256 over the one before and the JSON list of its values in the schema's order.

        In the place of ``input`` stands the SHA-256 of its text: a chat's requests repeat all messages before.
        """
        given = row["input"]
        values = [row[name] for name in _HASHED]
        if given is not None and not self._whole:
            values[_INPUT] = self._inputs.sha256(given)
        hasher = hashlib.sha256(self.last.encode())
        hasher.update(exact_text(values))
        self.last = hasher.hexdigest()
        return self.last


def _request_key(step: Step, keys: Repeats) -> str | None:
    """Digest of capability and canonical arguments, for looking up in SQL; None for a step that is no dependency."""
    if not step.is_dependency:
        return None
    return keys.sha256(b"[%b,%b," % (canonical(step.kind), canonical(step.name)), step.input, b"]")[:32]


def _row(step: Step, exact: Repeats, keys: Repeats) -> dict[str, Any]:
    usage = step.usage or Usage()
    row: dict[str, Any] = {name: getattr(step, name) for name in _TEXT}
    row |= {name: getattr(usage, name) for name in _USAGE}
    row |= {
        "seq": step.seq,
        "parent": step.parent,
        "input": None if step.input is None else exact.text(step.input).decode(),
        "output": _text(step.output),
        "error": _text(error_json(step.error)),
        "attributes": _text(dict(step.attributes)) if step.attributes else None,
        "request_key": _request_key(step, keys),
        "started_at": _micros(step.started_at),
        "ended_at": _micros(step.ended_at),
    }
    return row


def _step(row: dict[str, Any]) -> Step:
    if row["kind"] not in KINDS:
        raise ValueError(f"unknown step kind {row['kind']!r}")
    usage = [row[name] for name in _USAGE]
    error = _value(row["error"])
    return Step(
        seq=row["seq"],
        kind=row["kind"],
        name=row["name"],
        input=_value(row["input"]),
        output=_value(row["output"]),
        error=None if error is None else StepError(**error),
        parent=row["parent"],
        effect=row["effect"],
        effect_source=row["effect_source"],
        started_at=_seconds(row["started_at"]),
        ended_at=_seconds(row["ended_at"]),
        model=row["model"],
        usage=None if usage == _NO_USAGE else Usage(*usage),
        attributes=_value(row["attributes"]) or {},
    )


def _text(value: Json) -> str | None:
    return None if value is None else exact_text(value).decode()


def _value(text: str | None) -> Any:
    return None if text is None else parse_exact(text)


def _micros(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e6)


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6
