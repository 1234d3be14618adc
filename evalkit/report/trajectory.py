"""The incident and its replays side by side: what is shown of each step, and where they first part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalkit.canonical import Json
from evalkit.figures import counted
from evalkit.playback.fixtures import ReplayHalt
from evalkit.report.align import Line, align, step_key
from evalkit.report.text import cut, json_text
from evalkit.trace.message import calls_in
from evalkit.trace.model import USER_MESSAGE, Step, Trace

__all__ = ["Cell", "Ending", "Text", "Trajectory", "TrajectoryLine", "build_trajectory", "step_texts"]

MAX_STEPS = 400
"""Steps of one run that are aligned: alignment is quadratic at worst, and nobody reads more."""
MAX_LINES = 60
_HEAD, _BEFORE = 4, 12
_SHORT = 140


@dataclass(frozen=True, slots=True)
class Text:
    """A value as text: `short` is always shown, `more` on demand; `more` is empty where `short` says it all."""

    short: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One step in one column.

    Attributes:
        same: equal to the step in the first column: only that is said.
        effect: ``write`` is worth a mark; empty for steps that have none.
        given, gave: input and output; for a model step the last message it was given and what it decided.
        error: what the step failed with.
    """

    seq: int
    kind: str
    name: str
    same: bool = False
    effect: str = ""
    given: Text | None = None
    gave: Text | None = None
    error: Text | None = None


@dataclass(frozen=True, slots=True)
class TrajectoryLine:
    """One line: a cell or None for each column, or a gap of lines that are left out.

    Attributes:
        first: here the compared runs part.
        gap: how many lines are left out here; the line has no cells then.
    """

    cells: tuple[Cell | None, ...] = ()
    first: bool = False
    gap: int = 0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: `label` says in what, `text` is None where there is nothing to tell."""

    label: str
    text: Text | None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The whole table.

    Attributes:
        columns: headings.
        kind: what differs first, such as ``argument`` (see `trace.diff.Difference`); empty where nothing does.
        divergence: one sentence: where the failing replay parts from the passing one, or else from the incident.
        endings: how each run ended; empty where none tells.
    """

    columns: tuple[str, ...]
    lines: tuple[TrajectoryLine, ...]
    kind: str
    divergence: str
    endings: tuple[Ending, ...] = ()

    @property
    def parts(self) -> bool:
        """Whether the runs part at all."""
        return bool(self.kind)


def build_trajectory(runs: Sequence[tuple[str, Trace]], text_limit: int) -> Trajectory:
    """The table of the incident, the failing replay and the passing replay, as far as there are any.

    Args:
        runs: (heading, trace), the incident first, then the replay under examination.
        text_limit: characters of a value beyond which even the text on demand is cut.
    """
    lines = align([trace.steps[:MAX_STEPS] for _, trace in runs])
    columns = tuple(heading for heading, _ in runs)
    at, kind, sentence = _divergence(lines, columns)
    if at is None and len(runs) > 1:
        kind, sentence = _ended(runs) or (kind, sentence)
    shown = tuple(_shown(lines, at, text_limit))
    left_out = sum(max(len(trace.steps) - MAX_STEPS, 0) for _, trace in runs)
    if left_out:
        shown = (*shown, TrajectoryLine(gap=left_out))
    return Trajectory(columns, shown, kind, sentence, _endings(runs, text_limit))


def step_texts(step: Step) -> tuple[str, str]:
    """What a step was given and what it gave, as text."""
    if step.kind == "model":
        return _last_message(step.input), _answer(step.output)
    if step.name == USER_MESSAGE:
        return json_text(step.input), _answer(step.output)
    return json_text(step.input), json_text(step.output)


def _divergence(lines: Sequence[Line], columns: Sequence[str]) -> tuple[int | None, str, str]:
    """Where the compared runs part first, in what, and a sentence."""
    if len(columns) < 2:
        return None, "", "no replay's steps were kept"
    other = _other(columns)
    for at, line in enumerate(lines):
        ours, theirs = line[1], line[other]
        if ours is None and theirs is None:
            continue
        if ours is None or theirs is None or not _equal(ours, theirs):
            kind, how = _how(ours, theirs)
            return at, kind, f"{columns[1]} parts from the {columns[other]} here: {how}"
    return None, "", f"the {columns[1]} takes the same steps as the {columns[other]}"


def _other(columns: Sequence[object]) -> int:
    """What the replay under examination is compared with: the passing replay, or else the incident."""
    return 2 if len(columns) > 2 else 0


def _ended(runs: Sequence[tuple[str, Trace]]) -> tuple[str, str] | None:
    """Equal steps, and another end."""
    (heading, ours), (reference, theirs) = runs[1], runs[_other(runs)]
    if _end(ours) == _end(theirs):
        return None
    return "outcome", f"the {heading} takes the same steps as the {reference}, and ends otherwise"


def _end(trace: Trace) -> tuple[str, str]:
    return ("", f"{trace.error.type}: {trace.error.message}") if trace.error else (json_text(trace.output), "")


def _endings(runs: Sequence[tuple[str, Trace]], text_limit: int) -> tuple[Ending, ...]:
    endings = tuple(_ending(trace, text_limit) for _, trace in runs)
    return endings if any(ending.text for ending in endings) else ()


def _ending(trace: Trace, text_limit: int) -> Ending:
    answer, error = _end(trace)
    if trace.error is None:
        return Ending("final answer", _text(answer, text_limit))
    if trace.error.type == ReplayHalt.__name__:
        return Ending("the replay was stopped", _text(trace.error.message, text_limit))
    return Ending("ended with an error", _text(error, text_limit))


def _how(ours: Step | None, theirs: Step | None) -> tuple[str, str]:
    """The kind of the difference and how it shows."""
    present = ours or theirs
    assert present is not None
    kind = _KINDS.get(present.kind, "tool")
    if theirs is None and ours is not None:
        return kind, f"a step more, {ours.kind} {ours.name}"
    if ours is None and theirs is not None:
        return kind, f"a step less, {theirs.kind} {theirs.name}"
    assert ours is not None
    assert theirs is not None
    if (ours.kind, ours.name) != (theirs.kind, theirs.name):
        return kind, f"{ours.kind} {ours.name} instead of {theirs.kind} {theirs.name}"
    if step_key(ours) == step_key(theirs):
        told = f"{ours.kind} {ours.name} had another outcome"
        return (kind if kind in ("policy", "citation") else "result"), told
    if ours.kind != "model":
        return "argument", f"{ours.kind} {ours.name} got other arguments"
    now, then = _called(ours), _called(theirs)
    if now == then:
        return kind, f"the model calls {now} with other arguments" if now else "the model answers otherwise"
    if now and then:
        return kind, f"the model calls {now} instead of {then}"
    return (
        kind,
        f"the model calls {now} instead of answering" if now else f"the model answers instead of calling {then}",
    )


_KINDS = {"model": "model decision", "policy": "policy", "approval": "policy", "retrieval": "citation"}


def _called(step: Step) -> str:
    return cut(", ".join(str(call.get("name")) for call in calls_in(step.output)), _SHORT)


def _equal(left: Step, right: Step) -> bool:
    return step_key(left) == step_key(right) and _outcome(left) == _outcome(right)


def _outcome(step: Step) -> tuple[str, str, str]:
    if step.error is not None:
        return "", step.error.type, step.error.message
    return ("" if step.kind == "model" else json_text(step.output)), "", ""


def _shown(lines: Sequence[Line], first: int | None, text_limit: int) -> Iterator[TrajectoryLine]:
    head = len(lines) if len(lines) <= MAX_LINES else _HEAD
    start = max((first or 0) - _BEFORE, head)
    stop = start + MAX_LINES - head
    for at, line in enumerate(lines):
        if at < head or start <= at < stop:
            yield TrajectoryLine(tuple(_cells(line, text_limit)), first=at == first)
        elif at == head:
            yield TrajectoryLine(gap=start - head)
        elif at == stop:
            yield TrajectoryLine(gap=len(lines) - stop)


def _cells(line: Line, text_limit: int) -> Iterator[Cell | None]:
    reference = line[0]
    for at, step in enumerate(line):
        if step is None:
            yield None
        elif at and reference is not None and _equal(step, reference):
            yield Cell(step.seq, step.kind, cut(step.name, _SHORT), same=True)
        else:
            yield _cell(step, text_limit)


def _cell(step: Step, limit: int) -> Cell:
    given, gave = step_texts(step)
    error = None
    if step.error is not None:
        error = _text(f"{step.error.type}: {step.error.message}" if step.error.message else step.error.type, limit)
    return Cell(
        seq=step.seq,
        kind=step.kind,
        name=cut(step.name, _SHORT),
        effect=step.effect or "",
        given=_text(given, limit),
        gave=_text(gave, limit),
        error=error,
    )


def _text(text: str, limit: int) -> Text | None:
    if not text:
        return None
    return Text(text) if len(text) <= _SHORT else Text(f"{text[:_SHORT]}…", cut(text, limit))


def _last_message(given: Json) -> str:
    messages = given.get("messages") if isinstance(given, dict) else None
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(messages, list) or not isinstance(last, dict):
        return json_text(given)
    before = f" (after {counted(len(messages) - 1, 'message')})" if len(messages) > 1 else ""
    return f"{last.get('role')}{before}: {json_text(last.get('content'))}"


def _answer(message: Json) -> str:
    if not isinstance(message, dict):
        return json_text(message)
    parts = [json_text(message[key]) for key in ("content", "refusal") if message.get(key)]
    parts += [f"calls {call.get('name')}({json_text(call.get('arguments'))})" for call in calls_in(message)]
    return "; ".join(parts)
