"""The surface that people rely on: public names, commands, and a start that loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

import evalkit
from evalkit.cli.main import COMMANDS, cli

REPOSITORY = Path(__file__).parents[2]
HEAVY = ("pandas", "scipy", "pyarrow", "openai", "numpy", "pydantic", "jinja2", "pytest", "re2")


def loaded_by(code: str) -> set[str]:
    """The heavy packages that a fresh interpreter loads by running `code`."""
    report = f"import sys\n{code}\nprint('\\n'.join(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", report], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return set(done.stdout.split()) & set(HEAVY)


def test_the_public_names_are_these() -> None:
    """A name is added or removed on purpose."""
    assert evalkit.__all__ == [
        "ab",
        "action_hash",
        "approval",
        "compare",
        "ingest",
        "judge",
        "load_traces",
        "policy",
        "read_case",
        "record",
        "replay",
        "retrieval",
        "run_suite",
        "side_effect",
        "state",
        "tool",
        "write_case",
    ]


@pytest.mark.parametrize("name", evalkit.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    """Each loads, and says what it does."""
    found = getattr(evalkit, name)
    assert callable(found)
    assert found.__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    """The lazy surface does not swallow typing errors."""
    with pytest.raises(AttributeError, match="has no attribute 'recrod'"):
        _ = evalkit.recrod


@pytest.mark.parametrize(
    "code",
    [
        "import evalkit",
        "from evalkit.cli.main import cli\ntry:\n    cli(['--help'])\nexcept SystemExit:\n    pass",
        "from evalkit.capture.tools import tool",
        "import evalkit\nfor name in ('retrieval', 'policy', 'approval', 'state', 'side_effect'):\n"
        "    getattr(evalkit, name)",
    ],
    ids=["import", "help", "tool", "steps"],
)
def test_starting_loads_nothing_heavy(code: str) -> None:
    """Neither the help nor an agent that marks its tools waits for packages that it does not use."""
    quietly = f"import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()):\n    exec({code!r})"
    assert loaded_by(quietly) == set()


def test_the_check_sees_a_heavy_package() -> None:
    """The guard itself works."""
    assert "numpy" in loaded_by("import numpy")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_loads_and_has_help(name: str) -> None:
    """The table of commands holds no dead entry, and each explains itself."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help or command.get_short_help_str()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    """docs/commands.md tells of each."""
    assert f"evalkit {name}" in (REPOSITORY / "docs" / "commands.md").read_text("utf-8")


def test_files_name_no_registry_host() -> None:
    """Installing uses whatever registry the machine is set up for."""
    hosts = ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org")
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for name in tracked.split():
        path = REPOSITORY / name
        content = path.read_bytes() if path.is_file() else b""
        assert not any(host.encode() in content for host in hosts), name
