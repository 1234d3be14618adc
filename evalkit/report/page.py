"""What all pages are made with: one HTML file without network, whose content can neither run nor style anything.

Three walls stand between a trace's text and the reader: Jinja2's autoescape; `finalize`, which cuts every expression
and turns its control, bidi and invisible characters into visible escapes; and a content security policy that allows
only the page's own script and style, by digest.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from evalkit.halves import in_halves
from evalkit.report.compiled import CompiledTemplates
from evalkit.report.history import CHART_HEIGHT, CHART_WIDTH
from evalkit.report.packed import STATIC_DETAILS, STATIC_ROWS, both, pack
from evalkit.report.picture import TRACK
from evalkit.report.text import MAX_TEXT, cut
from evalkit.report.trend import TREND_HEIGHT, TREND_WIDTH
from evalkit.trace.visible import visible

__all__ = ["load_templates", "render_page", "shown"]

_TEMPLATES = Path(__file__).parent / "templates"
_PACKED = "\0"
"""Stands where what is packed comes: no page holds it otherwise."""
_REMEMBERED = 1_000
_UNUSUAL = re.compile(r"[^\x20-\x7e]")


class Row(Protocol):
    """One case on a page."""

    @property
    def anchor(self) -> str:
        """Its id in the document."""


def render_page(
    template: str, macros: str, rows: Sequence[Row], entries: Iterable[dict[str, Any]], **content: Any
) -> Iterator[str]:
    """The file's text, in parts: it may be large.

    Args:
        macros: the template with the macros ``row`` and ``below``.
        rows: the most urgent first; the first ones stand in the document.
        entries: what `packed.entry` makes of each row.
        content: what the template shows besides.
    """
    anchors = [row.anchor for row in rows[:STATIC_ROWS]]
    static, told = frozenset(anchors), frozenset(anchors[:STATIC_DETAILS])
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    text = _environment().get_template(template).render(
        policy=policy,
        style=Markup(style),  # our own files, no part of any trace
        script=Markup(script),
        packed=Markup(_PACKED),
        static=static,
        told=told,
        **content,
    )  # fmt: skip
    before, _, after = text.partition(_PACKED)
    yield before
    yield from pack(entries, _drawn(macros, rows, static, told))
    yield after


def load_templates() -> None:
    """Compiles the templates of a run's page, which would be compiled with the first page."""
    macros = (f"macros/{name}" for name in ("row", "alike", "detail", "pictures", "list", "sections"))
    for name in ("page", "frame", *macros):
        _environment().get_template(f"{name}.html")


def shown(text: str) -> Markup:
    """A trace's text as HTML: cut, escaped, and each hidden character as a marked code such as ``U+202E``.

    For element content; in attributes `visible` text is written by `finalize`.
    """
    if _is_plain(text):
        return escape(text)
    text = cut(text, MAX_TEXT)
    if visible(text) == text:
        return escape(text)
    return Markup(_UNUSUAL.sub(_marked, str(escape(text))))


def _drawn(macros: str, rows: Sequence[Row], static: frozenset[str], told: frozenset[str]) -> Iterator[bytes]:
    """For every row its HTML and that of what is below it, as the page would write it; empty where it stands there."""
    module: Any = _environment().get_template(macros).module

    def drawn(row: Row) -> bytes:
        own = "" if row.anchor in static else str(module.row(row, False))  # with an empty place for what is below it
        return both(own, "" if row.anchor in told else str(module.below(row)))

    return in_halves(drawn, rows)


def _marked(match: re.Match[str]) -> str:
    character = match[0]
    if visible(character) == character:
        return character
    return f'<span class="u">{_CODES.get(character) or f"U+{ord(character):04X}"}</span>'


_CODES = {"\n": "⏎", "\t": "⇥"}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_final,
        bytecode_cache=CompiledTemplates(_TEMPLATES, __file__),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    environment.filters |= {name: _Alike(environment, name) for name in ("came", "found")}
    environment.globals |= {
        "track": TRACK,
        "trend_size": (TREND_WIDTH, TREND_HEIGHT),
        "chart": (CHART_WIDTH, CHART_HEIGHT),
    }
    return environment


class _Alike:
    """A part of a row's HTML that very many rows have alike; drawn once for all of them.

    Args:
        name: of its macro, and of what tells of a row which part it has.
    """

    def __init__(self, environment: Environment, name: str) -> None:
        self._environment = environment
        self._name = name
        self._drawn: dict[Hashable, Markup] = {}

    def __call__(self, row: Row) -> Markup:
        key = getattr(row, self._name)
        found = self._drawn.get(key)
        if found is None:
            if len(self._drawn) >= _REMEMBERED:
                self._drawn.clear()
            macro = getattr(self._environment.get_template("macros/alike.html").module, self._name)
            found = self._drawn[key] = Markup(macro(row))
        return found


def _final(value: object) -> object:
    if type(value) is not str or _is_plain(value):
        return value
    return visible(cut(value, MAX_TEXT))


def _is_plain(text: str) -> bool:
    """Whether a text is short and holds nothing that would have to be made visible: most are, and this is quick."""
    return len(text) <= MAX_TEXT and text.isascii() and text.isprintable()


@cache
def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
