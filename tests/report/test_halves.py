"""Work that a fork does half of comes out as if one process had done all of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from evalkit.forks import can_fork
from evalkit.halves import beside, in_halves
from evalkit.report import compiled
from evalkit.report.compiled import CompiledTemplates

HERE = os.getpid()
ITEMS = range(500)


def told(item: int) -> bytes:
    """The item and who worked on it."""
    return b"%d %d" % (item, os.getpid())


def once_there(do: Callable[[], object]) -> Callable[[int], bytes]:
    """Work that does something else with item 301 in the fork."""

    def work(item: int) -> bytes:
        if item == 301 and os.getpid() != HERE:
            do()
        return told(item)

    return work


def test_results_come_in_order_from_two_processes() -> None:
    """Few items are not worth a fork."""
    found = [result.split() for result in in_halves(told, ITEMS)]
    assert [int(item) for item, _ in found] == [*ITEMS]
    assert len({worker for _, worker in found}) == (2 if can_fork() and len(os.sched_getaffinity(0)) > 1 else 1)
    assert {worker for _, worker in map(bytes.split, in_halves(told, range(50)))} == {b"%d" % os.getpid()}


@pytest.mark.parametrize("do", [lambda: os._exit(1), lambda: os.kill(os.getpid(), 9), lambda: 1 / 0])
def test_what_a_fork_leaves_is_done_here(do: Callable[[], object]) -> None:
    """However it ends."""
    assert [int(result.split()[0]) for result in in_halves(once_there(do), ITEMS)] == [*ITEMS]


def test_an_error_is_raised_where_it_is_asked_for() -> None:
    """An item that can't be worked on, in either process; what came before it was given."""
    for bad in (300, 301):
        results = in_halves(lambda item, bad=bad: _unless(item == bad), ITEMS)  # type: ignore[misc]  # a default
        assert len([*islice(results, bad)]) == bad
        with pytest.raises(ValueError, match="bad"):
            next(results)


def test_something_else_is_done_meanwhile(tmp_path: Path) -> None:
    """By another process, where it is worth that; it is there when the work inside is."""
    for items in (1, 500):
        with beside(lambda: (tmp_path / "who").write_text(str(os.getpid())), items):
            pass
        forked = items > 1 and can_fork() and len(os.sched_getaffinity(0)) > 1
        assert ((tmp_path / "who").read_text() != str(HERE)) is forked


@pytest.mark.parametrize("end", [lambda: os._exit(1), lambda: os.kill(os.getpid(), 9), lambda: 1 / 0])
def test_what_the_other_process_could_not_do_is_done_here(tmp_path: Path, end: Callable[[], object]) -> None:
    """However it ended."""

    def work() -> None:
        if os.getpid() != HERE:
            end()
        (tmp_path / "who").write_text(str(os.getpid()))

    with beside(work, 500):
        pass
    assert (tmp_path / "who").read_text() == str(HERE)


def test_errors_of_either_work_are_raised_here(tmp_path: Path) -> None:
    """Of what is inside at once, without waiting for the other process."""
    with pytest.raises(ValueError, match="bad"), beside(lambda: _unless(True), 500):
        pass
    began = time.monotonic()
    with pytest.raises(ValueError, match="bad"), beside(lambda: time.sleep(30), 500):
        _unless(True)
    assert time.monotonic() - began < 20


def _unless(bad: bool) -> bytes:
    if bad:
        raise ValueError("bad")
    return b""


def test_a_broken_compiled_template_is_compiled_anew(tmp_path: Path) -> None:
    """A file that was cut, or is another's, costs time and nothing else; so does a folder that can't be written."""
    from jinja2 import Environment, FileSystemLoader

    (tmp_path / "a.html").write_text("<b>{{ x }}</b>")

    def rendered(autoescape: bool, maker: str = compiled.__file__) -> str:
        cache = CompiledTemplates(tmp_path, maker)
        found = Environment(loader=FileSystemLoader(tmp_path), autoescape=autoescape, bytecode_cache=cache)
        return found.get_template("a.html").render(x="<i>")

    assert rendered(autoescape=True) == "<b>&lt;i&gt;</b>"
    (kept,) = (tmp_path / "__pycache__").iterdir()
    for content in (b"", b"j2", kept.read_bytes()[:40], b"\x80\x04."):
        kept.write_bytes(content)
        assert rendered(autoescape=True) == "<b>&lt;i&gt;</b>"
    other = tmp_path / "maker.py"
    other.write_text("another one")
    assert rendered(autoescape=False, maker=str(other)) == "<b><i></b>"
