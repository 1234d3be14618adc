"""The house stands only while imports go downwards: read from the source, hidden imports included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "evalkit"

FLOORS: list[set[str]] = [
    {"errors", "canonical", "figures", "validation", "forks", "halves", "percent", "project", "registry", "shapes"},
    {"stats", "wire"},
    {"trace"},
    {"check", "sanitize"},
    {"capture", "case", "vault"},
    {"distil", "integrations", "playback"},
    {"suite"},
    {"verdict"},
    {"report"},
    {"app"},
    {"web", "pytest_plugin"},
    {"cli"},
    {"__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
MAX_LINES = 600


def room_of(path: Path) -> str:
    """The room of a source file: its folder, or the file itself at the top of the package."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else path.stem


def imported_rooms(path: Path) -> Iterator[tuple[str, int]]:
    """Every room that a file imports, anywhere in it: in functions and under TYPE_CHECKING too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.stmt | ast.expr):
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide where they lead"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("evalkit."):
            names = [node.value.partition(":")[0]]  # a registry's "module:attribute"
        for name in names:
            if name.startswith("evalkit.") and name.split(".")[1] in LEVEL:
                yield name.split(".")[1], node.lineno


def source_files() -> list[Path]:
    """Every source file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def test_every_room_has_a_floor() -> None:
    """A new folder must be given its floor before it is used."""
    rooms = {room_of(path) for path in source_files()} - {"__init__"}
    assert rooms <= set(LEVEL), f"no floor for {sorted(rooms - set(LEVEL))}"


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_downwards_only(path: Path) -> None:
    """A file imports from floors above its own in the list, or from its own room; never up, never sideways."""
    room = room_of(path)
    if room == "__init__":  # the lazy public surface names every floor
        return
    for target, line in imported_rooms(path):
        assert target == room or LEVEL[target] < LEVEL[room] or LEVEL[room] == LEVEL[target] == 0, (
            f"{path.relative_to(PACKAGE)}:{line}: {room} (floor {LEVEL[room]}) imports {target} (floor {LEVEL[target]})"
        )


def test_the_test_sees_a_hidden_import(tmp_path: Path) -> None:
    """The guard itself: a function-local and a TYPE_CHECKING import are both found."""
    source = tmp_path / "sneaky.py"
    source.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from evalkit.report import html\n"
        "def f():\n    import evalkit.cli.main\n",
        "utf-8",
    )
    assert {room for room, _ in imported_rooms(source)} == {"report", "cli"}


def test_files_hold_one_idea() -> None:
    """No source file grows past the size at which it must be split."""
    long = {str(path.relative_to(PACKAGE)): len(path.read_text("utf-8").splitlines()) for path in source_files()}
    assert not {name: lines for name, lines in long.items() if lines > MAX_LINES}
