"""A native trace file written while the agent runs: sanitized step by step, whole lines, never in the agent's way.

Each line is one write in append mode, so a recorder that is killed leaves whole lines and at most one torn at the end.
A step is written when it begins and again when it ends. Lines are written by one thread at a time, in the order of
happening; a call that comes from inside of a write (a finalizer, a signal handler) leaves its line to the write that
it interrupted. Nothing that goes wrong here reaches the agent: recording stops, says so once, and the file stays
readable.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from evalkit.canonical import Json, canonical
from evalkit.capture.encodable import encodable
from evalkit.errors import InputError
from evalkit.trace.file import SURROGATES, LineChain, finish_json, header_json, step_json
from evalkit.trace.model import Status, Step, StepError, Trace

__all__ = ["Sanitize", "Sanitizes", "TraceWriter"]

Sanitize: TypeAlias = Callable[[Step], Step]


class Sanitizes(Protocol):
    """A sanitizer that tells of its surrogates, such as `sanitize.sanitizer.Sanitizer`; one for each recording."""

    def step(self, step: Step) -> Step:
        """One step, sanitized."""

    def surrogates_after(self, number: int) -> Mapping[str, Mapping[str, str]]:
        """The surrogates that were given but for the first ones, so many."""


_ENVIRONMENT = "environment"
_RENDERED = "a value that no JSON file can hold is rendered as text"
_OF_A_STEP = ("start", "end", "step")
"""Lines whose gaps stand among their attributes; the run's own stand beside them."""
_KNOWN_AT_START = ("kind", "name", "input", "parent", "effect", "effect_source", "started_at")


class TraceWriter:
    """The observer that writes one run to one file.

    Args:
        path: a file that does not exist yet.
        header: the run without steps; what is known when it begins.
        sanitize: what every step goes through before it is written; the run's own input, output, error and attributes
            (but for ``environment``, which holds nothing of the run's) go through it as those of a step of kind
            `agent`. Called by one thread at a time. What a sanitizer tells of its surrogates stands in the lines.
        lazily: make the file only when the first step comes.

    Attributes:
        path: where the lines go: ``<path>.<pid>`` in a forked child.
        steps: steps begun in this file.

    Raises:
        InputError: the file exists or can't be made.
    """

    def __init__(self, path: Path, header: Trace, sanitize: Sanitize | Sanitizes, *, lazily: bool = False) -> None:
        self.path = path
        self.steps = 0
        self._header = header
        self._sanitize = sanitize if callable(sanitize) else sanitize.step
        self._sanitizer = None if callable(sanitize) else sanitize
        self._file: _LineFile | None = None
        self._reset()
        if not lazily:
            self._file = _LineFile(path)
            self._append(self._header_body)

    def started(self, step: Step) -> None:
        """Writes the step's beginning."""
        self._append(lambda: self._start_body(step))

    def ended(self, step: Step) -> None:
        """Writes the step's end."""
        self._append(lambda: self._end_body(step))

    def finish(
        self, *, output: Json, error: StepError | None, status: Status, ended_at: float, gaps: Sequence[str] = ()
    ) -> None:
        """Writes the run's end and closes the file; steps that come later are not recorded.

        `gaps` tell what the file lacks, as far as it is known by now only.
        A file that was to be made lazily and has no step is not made.
        """
        if self._pid != os.getpid():
            self._enter_child()
        if self._file is not None:
            run = replace(self._header, output=output, error=error, status=status, ended_at=ended_at)
            self._append(lambda: self._finish_body(run, gaps))
        self.close()

    def close(self) -> None:
        """Closes the file without an end, as if the recorder had been killed."""
        if self._pid != os.getpid():
            self._enter_child()
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._closed = True

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._chain = LineChain()
        self._file = None
        self._waiting: deque[Callable[[], dict[str, Any]]] = deque()
        self._open: set[int] = set()
        self._writing = False
        self._closed = False
        self._told = 0

    def _append(self, body: Callable[[], dict[str, Any]]) -> None:
        if self._pid != os.getpid():
            self._enter_child()
        self._waiting.append(body)
        with self._lock:
            if self._writing:
                return
            self._writing = True
            try:
                while self._waiting and not self._closed:
                    self._write(self._waiting.popleft())
            finally:
                self._writing = False

    def _enter_child(self) -> None:
        """A forked child has a file of its own: two processes can't share one chain of hashes."""
        parent, closed = self._pid, self._closed
        if self._file is not None:
            self._file.close()
        self._reset()
        self._closed = closed
        self.path = self.path.with_name(f"{self.path.name}.{self._pid}")
        gap = f"forked from process {parent} amid its run: numbers and parents of steps go on from there"
        self._header = replace(self._header, gaps=(*self._header.gaps, gap))

    def _write(self, body: Callable[[], dict[str, Any]]) -> None:
        """Writes one line, after the header where there is none yet."""
        kept = False
        try:
            if self._file is None:
                self._file = _LineFile(self.path)
                self._file.take(self._chain.encode(self._line(self._header_body())))
            checked = self._line(body())
            self._file.flush()
            self._file.take(self._chain.encode(checked))
            kept = True
            self._file.flush()
        except Exception as error:  # noqa: BLE001  # a recorder never breaks the agent that it watches
            self._stop(error)
        finally:
            if not kept:  # an interrupt came amid encoding: without this line the chain of hashes has a hole
                self._closed = True

    def _line(self, body: dict[str, Any]) -> dict[str, Any]:
        """A line that the file can hold, with what is new of surrogates."""
        checked = _checked(body)
        if self._sanitizer is None:
            return checked
        new = {kind: {**tags} for kind, tags in self._sanitizer.surrogates_after(self._told).items()}
        self._told += sum(map(len, new.values()))
        return {**checked, SURROGATES: new} if new else checked

    def _stop(self, error: Exception) -> None:
        self._closed = True
        reason = error.what if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        try:
            sys.stderr.write(f"evalkit: recording to {self.path} has stopped; the agent goes on ({reason})\n")
        except (OSError, ValueError, AttributeError):
            return  # no stderr either

    def _header_body(self) -> dict[str, Any]:
        run = self._header
        told = {name: value for name, value in run.attributes.items() if name != _ENVIRONMENT}
        shown = self._sanitized(Step(0, "agent", run.name, run.input, attributes=told))
        attributes = {name: run.attributes[name] for name in run.attributes if name == _ENVIRONMENT}
        attributes |= shown.get("attributes", {})
        header = header_json(run, time.time())
        gaps = [*header["gaps"], *attributes.pop("gaps", ())]
        return {**header, "name": shown["name"], "input": shown.get("input"), "attributes": attributes, "gaps": gaps}

    def _finish_body(self, run: Trace, gaps: Sequence[str]) -> dict[str, Any]:
        shown = self._sanitized(Step(0, "agent", run.name, output=run.output, error=run.error))
        told = {**finish_json(run), "output": shown.get("output"), "error": shown.get("error")}
        gaps = [*gaps, *(f"at the run's end {gap}" for gap in shown.get("attributes", {}).get("gaps", ()))]
        return {**told, "gaps": gaps} if gaps else told

    def _start_body(self, step: Step) -> dict[str, Any]:
        self.steps += 1
        self._open.add(step.seq)
        return {"type": "start", **self._sanitized(step, "input")}

    def _end_body(self, step: Step) -> dict[str, Any]:
        if step.seq not in self._open:  # it was substituted, or began before a fork
            self.steps += 1
            return {"type": "step", **self._sanitized(step, "input", "output")}
        self._open.discard(step.seq)
        body = self._sanitized(replace(step, input=None), "output")
        return {"type": "end", **{key: value for key, value in body.items() if key not in _KNOWN_AT_START}}

    def _sanitized(self, step: Step, *held: str) -> dict[str, Any]:
        """A step as it is written; `held`: what of it is missing in the file where it can't be sanitized."""
        try:
            return step_json(self._sanitize(step))
        except Exception as error:  # noqa: BLE001  # rather a step without its values than a value in the clear
            gap = f"input, output and error are withheld: sanitizing failed ({type(error).__name__})"
            error_left = None if step.error is None else StepError(step.error.type)
            told = {"gaps": [gap], "missing": [*held]} if held else {"gaps": [gap]}
            bare = replace(step, input=None, output=None, error=error_left, attributes=told)
            return step_json(bare)


class _LineFile:
    """A file in append mode that is written a line at a time, also when a write is interrupted or falls short."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._fd = os.open(path, flags, 0o666)
        except FileExistsError:
            raise InputError(
                "the file exists, and a recording is never written over",
                str(path),
                "remove it, or record to another path",
            ) from None
        except OSError as error:
            raise InputError(
                f"the trace file can't be made: {error.strerror}", str(path), "record to a folder that may be written"
            ) from None
        self._size = 0
        self._line = b""

    def take(self, line: bytes) -> None:
        """Holds a line for `flush`; the one before it must be flushed."""
        self._line = line

    def flush(self) -> None:
        """Writes what is held, or what an interrupt left of it: the file's size tells how much that is.

        Raises:
            OSError: the disk is full, or the file is gone.
        """
        while self._line:
            written = os.fstat(self._fd).st_size - self._size
            if written >= len(self._line):
                self._size += len(self._line)
                self._line = b""
            else:
                os.write(self._fd, self._line[written:])

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _checked(body: dict[str, Any]) -> dict[str, Any]:
    """`body`, or a rendering of it that the file can hold; the chain must not see a line that it can't encode."""
    try:
        canonical(body)
    except (InputError, RecursionError):
        rendered = {key: encodable(value) for key, value in body.items()}
        if body["type"] in _OF_A_STEP:
            attributes = rendered.get("attributes")
            return {**rendered, "attributes": _with_gap(attributes if isinstance(attributes, dict) else {})}
        return _with_gap(rendered)
    return body


def _with_gap(told: dict[str, Any]) -> dict[str, Any]:
    before = told.get("gaps")
    return {**told, "gaps": [*(before if isinstance(before, list) else ()), _RENDERED]}
