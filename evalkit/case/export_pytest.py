"""A case as a test that a person could have written: a replay, and a function for each thing that must hold."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterator
from pathlib import PurePosixPath

from evalkit.canonical import Json
from evalkit.case.model import Case
from evalkit.check.judge import sentence_of
from evalkit.check.model import Check
from evalkit.trace.visible import visible

__all__ = ["render_pytest"]

_WIDTH = 88
_LONGEST_NAME = 70
_TO_ITS_END = Check("completed")
_HEAD = '''\
"""{title}

The incident {case_id} as a test: the agent runs again in the world of that day. Its model and
its tools answer from the recording, so the test needs no key and no network.
Written by: evalkit export {case_id} --pytest
"""

from pathlib import Path

import evalkit
import pytest
from evalkit.check.judge import judge_checks
from evalkit.check.model import Check

CASE = {path}
TARGET = {target}


@pytest.fixture(scope="module")
def replay():
    """What the agent does now, every call answered from the recording."""
    run = evalkit.replay(evalkit.read_case(CASE), TARGET)
    assert run.status in ("passed", "failed"), f"not measured: {{run.reason}}"
    return run


def holds(replay, check, **params):
    """Asserts one of evalkit's checks, see its docs/checks.md."""
    (result,) = judge_checks([Check(check, params)], replay.trace)
    assert result.passed, result.reason
'''


def render_pytest(case: Case, path: PurePosixPath, target: str) -> str:
    """The test's source.

    Args:
        path: the case's file, relative to the test's folder.
        target: what is run, see `playback.targets.reference`.
    """
    parts = [
        _HEAD.format(
            title=_docstring(_sentence(case.title)), case_id=case.id, path=_path(path), target=_literal(target, 0)
        )
    ]
    taken: set[str] = set()
    parts += [_test(check, taken) for check in _asserted(case)]
    return "\n\n".join(parts)


def _asserted(case: Case) -> Iterator[Check]:
    """What gates, and that the run ends well: an agent that breaks off repeats nothing, and calls nothing wrong."""
    yield from case.gating
    if not any(check.type == _TO_ITS_END.type for check in case.gating):
        yield _TO_ITS_END


def _test(check: Check, taken: set[str]) -> str:
    sentence = sentence_of(check)
    words = re.sub(r"[^a-z0-9]+", "_", sentence.lower()).strip("_")
    name = base = words[:_LONGEST_NAME].rstrip("_") or check.type
    number = 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    said = "" if words == base and sentence.isascii() else _docstring_lines(_sentence(sentence))
    note = f"    # {visible(check.note)}\n" if check.note else ""
    return f"def test_{name}(replay):\n{said}{note}{_call(check)}\n"


def _call(check: Check) -> str:
    arguments = ["replay", _literal(check.type, 8), *_params(check)]
    line = f"    holds({', '.join(arguments)})"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    return "\n".join(["    holds(", *(f"        {argument}," for argument in arguments), "    )"])


def _params(check: Check) -> Iterator[str]:
    if all(name.isidentifier() and not keyword.iskeyword(name) and name not in _TAKEN for name in check.params):
        for name, value in check.params.items():
            yield f"{name}={_literal(value, 8 + len(name) + 1)}"
    else:
        yield f"**{_literal(dict(check.params), 10)}"


_TAKEN = ("replay", "check")


def _literal(value: Json, column: int, indent: int = 8) -> str:
    """A value as Python source, over several lines where one is too long.

    Args:
        column: where it begins.
        indent: of its lines after the first.
    """
    line = _one_line(value)
    if column + len(line) < _WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner = " " * (indent + 4)
    if isinstance(value, dict):
        entries = [
            f"{_one_line(key)}: {_literal(entry, indent + 4 + len(_one_line(key)) + 2, indent + 4)}"
            for key, entry in value.items()
        ]
        opened, closed = "{", "}"
    else:
        entries = [_literal(entry, indent + 4, indent + 4) for entry in value]
        opened, closed = "[", "]"
    return "\n".join([opened, *(f"{inner}{entry}," for entry in entries), " " * indent + closed])


def _one_line(value: Json) -> str:
    if isinstance(value, str):
        plain = repr(value)
        return plain if '"' in value or plain.startswith('"') else f'"{plain[1:-1]}"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_one_line(key)}: {_one_line(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_one_line, value)) + "]"
    return repr(value)


def _path(path: PurePosixPath) -> str:
    ups = sum(part == ".." for part in path.parts)
    base = "Path(__file__).parent" if not ups else f"Path(__file__).parents[{ups}]"
    return " / ".join([base, *(_one_line(part) for part in path.parts[ups:])])


def _docstring_lines(text: str) -> str:
    """A function's docstring, over several lines where it is long."""
    first, *more = textwrap.wrap(_docstring(text), _WIDTH - 10)
    if not more:
        return f'    """{first}"""\n'
    return "\n".join([f'    """{first}', *(f"    {line}" for line in more), '    """', ""])


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _docstring(text: str) -> str:
    """Text of a case between three quotes: it can't end them, and nothing in it is an escape."""
    return visible(text).replace("\\", "\\\\").replace('"', "'")
