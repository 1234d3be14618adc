"""A stream's events, told by the whole answer that they come to.

Nearly all of a stream can be made of its answer: a delta is a piece of a text of it, a "done" event repeats a part of
it. So a recorded stream is kept as a script: a list of entries ``{"at": address, "lengths": [...], "patch": {...}}``.
An address names an event and the place in the answer that it speaks of, ``lengths`` the sizes in characters of
successive deltas there, ``patch`` what differs from the event that is made of the answer (see `wire.patch`). An event
that no answer says, such as a ping, stands whole: ``{"event": {...}}``. Played on the answer, a script gives the events
as they were, in their order and in their pieces, up to where they ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeAlias

from evalkit.shapes import dicts
from evalkit.wire.patch import difference, patched
from evalkit.wire.pieces import cut

__all__ = ["Address", "EventForm", "play_script", "write_script"]

Address: TypeAlias = "tuple[str | int, ...]"


class EventForm(Protocol):
    """How the events of one API follow from a whole answer."""

    def address(self, event: dict[str, Any]) -> Address | None:
        """The event's name and place; None for a kind that is not known."""
        ...

    def template(self, address: Address, whole: dict[str, Any]) -> dict[str, Any] | None:
        """The event that `whole` makes there, a delta without its piece; None where `whole` has no such place."""
        ...

    def text(self, address: Address, whole: dict[str, Any]) -> str | None:
        """The text that the deltas there are pieces of; None when the event is no delta."""
        ...

    def may_be_kept(self, event: dict[str, Any]) -> bool:
        """Whether an event that has no place in the answer holds no piece of a text either."""
        ...

    def piece(self, event: dict[str, Any]) -> Any:
        """A delta's piece."""
        ...

    def with_piece(self, event: dict[str, Any], piece: str) -> dict[str, Any]:
        """A delta with `piece`."""
        ...


def write_script(
    events: Iterable[dict[str, Any]], whole: dict[str, Any], form: EventForm
) -> tuple[list[dict[str, Any]], int]:
    """The script of a stream, and how many of its events it leaves out: deltas of unknown kinds.

    A piece of a text is never kept by itself, for nobody could tell any more what it is a piece of.
    """
    script: list[dict[str, Any]] = []
    dropped = 0
    for event in events:
        address = form.address(event)
        template = None if address is None else form.template(address, whole)
        if address is None or template is None:
            if form.may_be_kept(event):
                script.append({"event": event})
            else:
                dropped += 1
            continue
        entry: dict[str, Any] = {"at": list(address)}
        if form.text(address, whole) is not None:
            piece = form.piece(event)
            entry["lengths"] = [len(piece) if isinstance(piece, str) else 0]
            event = form.with_piece(event, "")
        patch = difference(template, event)
        if patch:
            entry["patch"] = patch
        if script and "lengths" in entry and _alike(script[-1], entry):
            script[-1]["lengths"] += entry["lengths"]
        else:
            script.append(entry)
    return script, dropped


def play_script(script: Any, whole: dict[str, Any], form: EventForm) -> list[dict[str, Any]]:
    """The events of a script; an entry that does not fit `whole` is passed over, for scripts come from files."""
    entries = dicts(script)
    pieces = _Pieces(entries, whole, form)
    events: list[dict[str, Any]] = []
    for entry in entries:
        if isinstance(entry.get("event"), dict):
            events.append(entry["event"])
            continue
        address = _address(entry)
        template = None if address is None else form.template(address, whole)
        if address is None or template is None:
            continue
        event = patched(template, entry.get("patch"))
        if form.text(address, whole) is None:
            events.append(event)
        else:
            events += [form.with_piece(event, piece) for piece in pieces.take(address, len(_lengths(entry)))]
    return events


class _Pieces:
    """The pieces of every text that a script sends, to be taken in order."""

    def __init__(self, entries: list[dict[str, Any]], whole: dict[str, Any], form: EventForm) -> None:
        lengths: dict[Address, list[int]] = {}
        for entry in entries:
            address = _address(entry)
            if address is not None:
                lengths.setdefault(address, []).extend(_lengths(entry))
        self._pieces: dict[Address, Iterator[str]] = {}
        for address, each in lengths.items():
            text = form.text(address, whole)
            if text is not None:
                self._pieces[address] = iter(cut(text, each))

    def take(self, address: Address, count: int) -> list[str]:
        return [piece for _, piece in zip(range(count), self._pieces.get(address, iter(())), strict=False)]


def _alike(last: dict[str, Any], entry: dict[str, Any]) -> bool:
    return "lengths" in last and last["at"] == entry["at"] and last.get("patch") == entry.get("patch")


def _address(entry: dict[str, Any]) -> Address | None:
    at = entry.get("at")
    return tuple(at) if isinstance(at, list) and all(type(part) in (str, int) for part in at) else None


def _lengths(entry: dict[str, Any]) -> list[int]:
    lengths = entry.get("lengths")
    return [size for size in lengths if type(size) is int and size >= 0] if isinstance(lengths, list) else []
