"""Values in a text that stand under a key: pairs, elements of XML, options of a command line, columns of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import unquote_plus

from evalkit.sanitize.pieces import Piece, percent_encoded

__all__ = ["KEYED", "keyed_pieces"]

_KEY = re.compile(r"(?:^|(?<=[?&;,\s({\[]))(?:[A-Za-z][A-Za-z0-9_.-]{1,40}|[\u3400-\u9fff]{2,8})\Z")
_LONGEST_KEY = 41
_VALUE = re.compile(r"\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|([^\s&;,\"'<>\\]{1,400})")
_EXPRESSION = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+)*[(\[]|(?:self|this|args|config|settings|os|process)\.[A-Za-z_]")
"""What a program works out: ``password=ask(user)``, ``api_key=os.environ["KEY"]``; as is ``user=user``."""
_CLOSING = {")": "(", "]": "[", "}": "{"}
_QUOTED = re.compile(
    r"[\"']([A-Za-z\u3400-\u9fff][\w .-]{0,40})[\"'] ?: ?(?:\"([^\"\\\n]{1,400})\"|'([^'\\\n]{1,400})')"
)
_ELEMENT = re.compile(r"<([A-Za-z_\u3400-\u9fff][\w:.-]{0,60})(?:\s[^<>]{0,300})?>([^<>]{1,400})</\1\s*>")
_LABELLED = re.compile(
    r"<[^<>]{0,200}?\b(?i:name|key|id)\s?=\s?[\"']([\w:.-]{1,60})[\"'][^<>]{0,200}?\bvalue\s?=\s?[\"']([^\"'<>]{1,400})[\"']"
)
_OPTION = re.compile(
    r"(?:^|(?<=[\s\"'\[,(]))--?([A-Za-z\u3400-\u9fff][\w-]{1,40})(?:[\"'],?(?=[ \t]+[\"']))?[ \t]+"
    r"(?:\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|([^\s\"'<>|;&$-][^\s\"'<>|;&]{0,399}))"
)
_WORDS = r"[\"']?[A-Za-z\u3400-\u9fff][\w .-]{0,40}[\"']?"
_HEADINGS = re.compile(rf"^[ |]*{_WORDS}(?: *[|,;\t] *{_WORDS})+[ |]*\r?$", re.MULTILINE)
_CELL = re.compile(r'\s*"((?:[^"]|"")*)"\s*')
_DATUM = re.compile(r"[\d@\"]")
"""What a row has that is no line of prose, where the headings might be one: ``name, email``."""
_RULE = re.compile(r"[\s|:+-]+")
_RULE_BELOW = re.compile(r"\n[ |:+-]*-[ |:+-]*$", re.MULTILINE)
"""Below headings: the rows after it are none, whatever they look like."""
_INSERT = re.compile(
    r"(?i:\binsert\s+into\s+[^\s(]{1,100}\s*)\(([^()]{1,2000})\)\s*(?i:values)\s*"
    r"((?:\((?:[^()']|'[^']*')*\)\s*(?:,\s*)?)+)"
)
_TUPLE = re.compile(r"\(((?:[^()']|'[^']*')*)\)")
_SQL_CELL = re.compile(r"\s*(?:'((?:[^']|'')*+)'|[^,]*+)")
KEYED = (
    r"[\w.\-\x{3400}-\x{9fff}]=[^\s&;,<>\\]|[\"'] ?: ?[\"']|>[^<>]+</[A-Za-z_\x{3400}-\x{9fff}]|\bvalue\s?=\s?[\"']"
    r"|(?:^|[\s\"'\[,(])--?[A-Za-z\x{3400}-\x{9fff}][\w\x{3400}-\x{9fff}-]+[\"']?,?[ \t]|(?i:\binsert\s+into\s)"
    r"|[\w\"'\x{3400}-\x{9fff}] ?[,;|\t] ?[\w\"'\x{3400}-\x{9fff}](?:[^\n]*[\w\"'|\x{3400}-\x{9fff}])?"
    r"\s*\n[^\n]*[,;|\t+-]"
)
"""A pattern (RE2) for what all texts have in which there are such pieces."""


def keyed_pieces(text: str, tells: Callable[[str], bool]) -> Iterator[Piece]:
    """All of them; some may lie in others.

    Args:
        tells: whether a key may say what its value is. Others have no pieces in tables.
    """
    if "=" in text:
        yield from _assigned(text)
    if "':" in text or '":' in text or "' :" in text:
        for match in _QUOTED.finditer(text):
            group = match.lastindex or 2
            yield Piece(*match.span(group), match[group], str, match[1])
    if "</" in text:
        for match in _ELEMENT.finditer(text):
            yield Piece(*match.span(2), match[2], str, match[1].rpartition(":")[2])
    if "<" in text and "value" in text:
        for match in _LABELLED.finditer(text):
            yield Piece(*match.span(2), match[2], str, match[1])
    if "-" in text:
        for match in _OPTION.finditer(text):
            group = match.lastindex or 2
            if not _is_placeholder(match[1], match[group]):
                yield Piece(*match.span(group), match[group], str, match[1])
    if "\n" in text:
        yield from _tables(text, tells)
    if "(" in text:
        for match in _INSERT.finditer(text):
            yield from _inserted(match)


def _assigned(text: str) -> Iterator[Piece]:
    """``key=value``: found by their signs, from which keys are read backwards."""
    at, sign = 0, text.find("=")
    while sign >= 0:
        key = _KEY.search(text, max(at, sign - _LONGEST_KEY), sign)
        match = None if key is None else _VALUE.match(text, sign + 1)
        at = sign + 1 if match is None else match.end()
        if key is not None and match is not None:
            group = match.lastindex or 1
            start = match.start(group)
            value = match[group] if group < 3 else _within_brackets(match[group])
            end = start + len(value)
            if group == 3 and (value == key[0] or _EXPRESSION.match(value)):
                sign = text.find("=", at)
                continue
            coded = group == 3 and "%" in value
            spell: Callable[[Any], str] = partial(percent_encoded, like=value) if coded else str
            yield Piece(start, end, unquote_plus(value) if coded else value, spell, key[0])
        sign = text.find("=", at)


def _within_brackets(value: str) -> str:
    """`value` without the brackets at its end that were opened before it: ``User(name=mia)``."""
    while value[-1:] in _CLOSING and value.count(value[-1]) > value.count(_CLOSING[value[-1]]):
        value = value[:-1]
    return value


def _is_placeholder(option: str, value: str) -> bool:
    """Whether a value stands for any, as in a program's help: ``--password PASS``."""
    return value.isupper() and option.replace("-", "").upper().startswith(value)


def _tables(text: str, tells: Callable[[str], bool]) -> Iterator[Piece]:
    """Cells below a line of headings: CSV, TSV, Markdown."""
    done = 0
    for heading in _HEADINGS.finditer(text):
        if heading.start() < done:
            continue
        sign = next(sign for sign in "|,;\t" if sign in heading[0])
        keys = [cell[2] for cell in _cells(heading[0], sign, 0)]
        telling = [at for at, key in enumerate(keys) if tells(key)]
        ruled = sign == "|" and _RULE_BELOW.match(text, heading.end()) is not None
        if not (telling or ruled) or len(set(keys)) < len(keys):
            continue
        prose = sign in ",;" and f"{sign} " in heading[0] and "_" not in heading[0]
        done = heading.end() + 1
        while done < len(text):
            end = text.find("\n", done)
            end = len(text) if end < 0 else end
            line = text[done:end]
            if "-" not in line or not _RULE.fullmatch(line):
                cells = _cells(line, sign, done)
                if len(cells) != len(keys) or (prose and not _DATUM.search(line)):
                    break
                row = {key: cell[2] for key, cell in zip(keys, cells, strict=True)}
                for at in telling:
                    if cells[at][2]:
                        yield Piece(*cells[at], str, keys[at], row)
            done = end + 1


def _cells(line: str, sign: str, offset: int) -> list[tuple[int, int, str]]:
    """Start, end and text of the cells of a line, without quotation marks and the space around."""
    found: list[tuple[int, int, str]] = []
    bare = line.strip().strip("|") if sign == "|" else line.rstrip("\r")
    at = line.find(bare)
    end = at + len(bare)
    while at <= end:
        stop = end
        quoted = _CELL.match(line, at, end)
        if quoted is not None and (quoted.end() == end or line[quoted.end()] == sign):
            left, right, stop = quoted.start(1), quoted.end(1), quoted.end()
        else:
            stop = line.find(sign, at, end)
            stop = end if stop < 0 else stop
            body = line[at:stop]
            left = at + len(body) - len(body.lstrip())
            right = max(left, at + len(body.rstrip()))
        found.append((offset + left, offset + right, line[left:right]))
        at = stop + 1
    return found


def _inserted(match: re.Match[str]) -> Iterator[Piece]:
    """The values of an INSERT of SQL."""
    keys = [key.strip().strip('`"[]') for key in match[1].split(",")]
    for row in _TUPLE.finditer(match[2]):
        offset = match.start(2) + row.start(1)
        at, cells = 0, list[re.Match[str]]()
        while at <= len(row[1]) and (cell := _SQL_CELL.match(row[1], at)) is not None:
            cells.append(cell)
            at = cell.end() + 1
        if len(cells) != len(keys):
            continue
        values = {key: cell[1] for key, cell in zip(keys, cells, strict=True) if cell[1]}
        for key, cell in zip(keys, cells, strict=True):
            if cell[1]:
                yield Piece(offset + cell.start(1), offset + cell.end(1), cell[1], str, key, values)
