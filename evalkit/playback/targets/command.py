"""A program in any language: started for each replay, led to the gateway by its environment.

It gets the case's input on its standard input (a text as it is, anything else as JSON), and prints its answer (JSON, or
text). Arguments and variables may hold ``{input}``, ``{input_file}``, ``{output_file}``, ``{openai_base_url}``,
``{anthropic_base_url}`` and ``{mcp_url}``. An exit code other than 0 is the agent's failure.

Its clock, chance, files and network are the machine's own: only its environment is made. It ends with all that it
started in its own process group.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalkit.canonical import Json, exact_text
from evalkit.errors import ConfigError
from evalkit.playback.environment import NO_TELEMETRY
from evalkit.playback.sandbox.environment import DUMMY_KEY, DUMMY_KEYS, HARMLESS
from evalkit.playback.targets.answer import answer_of
from evalkit.playback.targets.places import filled, places_in
from evalkit.playback.targets.protocol import Surroundings, TargetKilled
from evalkit.playback.targets.tables import CommandTable, read_table
from evalkit.playback.targets.waiting import MOST_SAID, wait_for

__all__ = ["CommandFailed", "CommandTarget"]

_LAST_WORDS = 2000
_SHELLS = 128
"""Shells tell of a signal by an exit code that is so much higher."""


class CommandFailed(Exception):
    """The program ended with another exit code than 0, said too much, or gave no answer."""


class CommandTarget:
    """The program that a command line or a table names.

    Raises:
        ConfigError: the table is wrong, or there is no such program.
    """

    place = (0, "")

    def __init__(self, reference: str | Callable[..., Any] | Mapping[str, Json]) -> None:
        if isinstance(reference, str):
            try:
                reference = {"argv": list(shlex.split(reference))}
            except ValueError as error:
                raise ConfigError(f"the command line can't be split: {error}", f"target {reference}") from None
        self._table = read_table(CommandTable, reference, "command")
        self._places = places_in([*self._table.argv, *self._table.env.values()])
        folder = self._table.cwd or os.curdir
        program = self._table.argv[0]
        if not os.path.isdir(folder):
            raise ConfigError(f"there is no folder {folder!r}", "target of type command", "correct cwd")
        if shutil.which(os.path.join(folder, program) if os.path.dirname(program) else program) is None:
            raise ConfigError(f"there is no program {program!r}", "target of type command", "install it, correct argv")

    def run_outside(self, given: Json, around: Surroundings) -> Json:
        """Runs the program to its end.

        Raises:
            ConfigError: it can't be started.
            CommandFailed: by its exit code.
            TargetKilled: a signal ended it.
            ReplayTimeout, ReplayHalt: it was stopped.
        """
        with tempfile.TemporaryDirectory(prefix="evalkit-command-", ignore_cleanup_errors=True) as name:
            return self._run(Path(name), given, around)

    def _run(self, folder: Path, given: Json, around: Surroundings) -> Json:
        text = given if isinstance(given, str) else exact_text(given).decode()
        home, input_file, output_file = folder / "home", folder / "input", folder / "output"
        home.mkdir()
        input_file.write_bytes(text.encode("utf-8", "surrogatepass"))
        values = {
            "input": text,
            "input_file": str(input_file),
            "output_file": str(output_file),
            "openai_base_url": around.address.openai,
            "anthropic_base_url": around.address.url,
            "mcp_url": around.address.mcp,
        }
        by_place = self._places & {"input", "input_file"}
        stdout, stderr = folder / "stdout", folder / "stderr"
        with (
            open(os.devnull if by_place else input_file, "rb") as fed,
            open(stdout, "wb") as said,
            open(stderr, "wb") as complained,
        ):
            argv = [filled(part, values) for part in self._table.argv]
            env = self._environment(around, home, values)
            try:
                process = subprocess.Popen(
                    argv, stdin=fed, stdout=said, stderr=complained,
                    cwd=self._table.cwd or None, env=env, start_new_session=True,
                )  # fmt: skip
            except (OSError, ValueError) as error:  # no interpreter, arguments that are too long, a null byte in one
                raise ConfigError(f"{argv[0]!r} can't be started: {error}", "target of type command") from None
            stopped = _wait(process, around, (stdout, stderr))
        if stopped is not None:
            raise stopped
        if name := _signal_of(process.returncode):
            raise TargetKilled(f"{name} ended it; it said last: {_last_words(stderr)}")
        if process.returncode:
            raise CommandFailed(f"exit code {process.returncode}; it said last: {_last_words(stderr)}")
        answer = output_file if "output_file" in self._places else stdout
        if not answer.exists():
            raise CommandFailed("it wrote no {output_file}")
        return answer_of(answer.read_bytes(), self._table.output)

    def _environment(self, around: Surroundings, home: Path, values: Mapping[str, str]) -> dict[str, str]:
        """Harmless variables, keys that open nothing, the gateway's place, and what the table adds."""
        return {
            **{name: os.environ[name] for name in (*HARMLESS, "SYSTEMROOT") if name in os.environ},
            **dict.fromkeys(DUMMY_KEYS, DUMMY_KEY),
            **NO_TELEMETRY,
            "HOME": str(home),
            "TMPDIR": str(home),
            "PYTHONHASHSEED": str(around.seed % 2**32),
            "EVALKIT_TIME": datetime.fromtimestamp(around.started_at, UTC).isoformat(),
            "EVALKIT_SEED": str(around.seed),
            **around.address.environment(),
            **{name: os.environ[name] for name in self._table.passed if name in os.environ},
            **{name: filled(value, values) for name, value in self._table.env.items()},
        }


def _signal_of(code: int) -> str:
    """The signal that ended a program, or what its shell ran; empty for an end of its own."""
    with contextlib.suppress(ValueError):
        return signal.Signals(-code if code < 0 else code - _SHELLS).name
    return ""


def _wait(process: subprocess.Popen[bytes], around: Surroundings, said: tuple[Path, ...]) -> BaseException | None:
    """Waits for the end of a program, and ends what is left of its group; why it was stopped, if it was."""

    def told() -> None:
        process.wait()
        around.gateway.stirred.set()

    def too_much() -> bool:
        return any(path.stat().st_size > MOST_SAID for path in said)

    waiter = threading.Thread(target=told, daemon=True)
    waiter.start()
    heir = _heir(process)
    try:
        stopped = wait_for(lambda: process.returncode is not None or too_much(), around)
    finally:
        _end_group(process)
        waiter.join()
        if heir is not None:
            heir.kill()
            heir.communicate()
    return CommandFailed(f"it said more than {MOST_SAID >> 20} MiB") if too_much() else stopped


def _heir(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes] | None:
    """Ends the program's group when this process is killed: it waits for the end of a pipe that only this one holds."""
    if not hasattr(os, "killpg"):
        return None
    script = 'read -r _; kill -s KILL -- "-$0"'
    with contextlib.suppress(OSError):  # a system without a shell
        return subprocess.Popen(
            ["/bin/sh", "-c", script, str(process.pid)], stdin=subprocess.PIPE, start_new_session=True
        )
    return None


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and everything in its group, also what it left running behind."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:  # Windows has no groups to kill: the program's own children go on
        process.kill()


def _last_words(path: Path) -> str:
    text = path.read_bytes()[-4 * _LAST_WORDS :].decode("utf-8", "replace").strip()
    return text[-_LAST_WORDS:] or "nothing"
