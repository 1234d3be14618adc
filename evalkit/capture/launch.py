"""`evalkit record -- python agent.py`: a command's Python recorded without a change to it.

A folder with a `sitecustomize` of ours is put in front of the child's ``PYTHONPATH``, so recording starts in each
Python that the command starts, before that Python's own code. The first one writes the file asked for; each further
one that makes a step writes ``<file>.<pid>`` next to it. An exception that nobody handled is written by the process
itself. How else the first process ended is told by the command's exit code, so this side writes that end; a killed
one gets none.
"""

from __future__ import annotations

import atexit
import glob
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

import orjson

from evalkit.capture.recording import Recording, default_sanitizer
from evalkit.capture.seam import error_of
from evalkit.capture.writer import Sanitizes
from evalkit.errors import ConfigError, EvalkitError, InputError, UsageError
from evalkit.sanitize.policy import Policy
from evalkit.trace.file import LineChain, finish_json, read_trace_lines
from evalkit.trace.model import Status, StepError

__all__ = ["launch", "start_from_environment"]

_OUT = "EVALKIT_RECORD_OUT"
_NAME = "EVALKIT_RECORD_NAME"
_POLICY = "EVALKIT_RECORD_POLICY"
_KEY_FILE = "EVALKIT_KEY_FILE"
_HASH_SEED = "PYTHONHASHSEED"
"""Replays fix it too: an agent that goes through a set asks the same in both."""
_LAST_EXIT_CODE = 128
"""Higher codes are a shell's way to say that a signal ended the command."""
_ELSEWHERE = "the run had further processes: what they called stands in {}"
_INJECT = Path(__file__).parent / "inject"


def launch(
    command: Sequence[str],
    out: Path,
    name: str | None,
    env: Mapping[str, str],
    *,
    policy: Policy | None = None,
    key_file: Path | None = None,
) -> int:
    """Runs a command and records the Python that it starts.

    Says on stderr when no step was recorded.

    Args:
        command: program and arguments.
        out: the trace file, which must not exist.
        name: the agent's name; None for the file's name.
        env: the environment that the command gets, apart from what recording needs.
        policy: the project's sanitization rules; None for the built-in ones alone.
        key_file: the project's pseudonym key; None for the user's. ``EVALKIT_PSEUDONYM_KEY`` in `env` wins over both.

    Returns:
        The command's exit code; 128 + N when signal N ended it.

    Raises:
        InputError: the file exists.
        UsageError: the command can't be started.
    """
    out = out.absolute()
    if out.exists():
        raise InputError(
            "the file exists, and a recording is never written over", str(out), "remove it, or pass another --out"
        )
    before = _others(out)
    try:
        child = subprocess.Popen(command, env=_child_environment(env, out, name, policy, key_file))
    except OSError as error:
        shown = command[0] if command else ""
        cure = "evalkit record -- python agent.py"
        raise UsageError(f"{shown!r} can't be started: {error.strerror}", cure=cure) from None
    except IndexError:
        raise UsageError("there is no command to record", cure="evalkit record -- python agent.py") from None
    code = _wait(child)
    try:
        _finish(out, code, before)
    except (EvalkitError, OSError) as error:  # the command's exit code counts for more
        sys.stderr.write(f"evalkit: the trace could not be finished: {error}\n")
    return code if code >= 0 else 128 - code


def start_from_environment(env: Mapping[str, str]) -> None:
    """Starts recording this process where `launch` asked for it; to the end of the process.

    What goes wrong is said on stderr, and the process goes on unrecorded.
    """
    if not env.get(_OUT):
        return
    try:
        recording, is_first = _start(Path(env[_OUT]), env)
    except EvalkitError as error:
        sys.stderr.write(f"evalkit: not recorded: {error}\n")
        return
    atexit.register(_end, recording, os.getpid() if is_first else 0)


def _child_environment(
    env: Mapping[str, str], out: Path, name: str | None, policy: Policy | None, key_file: Path | None
) -> dict[str, str]:
    path = os.pathsep.join(part for part in (str(_INJECT), env.get("PYTHONPATH", "")) if part)
    child = {_HASH_SEED: "0", **env, "PYTHONPATH": path, _OUT: str(out)}
    if name is not None:
        child[_NAME] = name
    if policy is not None:
        child[_POLICY] = orjson.dumps(policy.as_json()).decode()
    if key_file is not None:
        child[_KEY_FILE] = str(key_file.absolute())  # the agent may work in another folder
    return child


def _wait(child: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:  # the terminal sent it to the child too, which decides
            continue


def _start(out: Path, env: Mapping[str, str]) -> tuple[Recording, bool]:
    """The recording of this process, and whether it is the first one."""
    if not out.exists():
        try:
            return _recording(out, out, env, lazily=False), True
        except InputError:
            if not out.exists():  # it can't be made; else a sibling was faster
                raise
    return _recording(out.with_name(f"{out.name}.{os.getpid()}"), out, env, lazily=True), False


def _recording(path: Path, out: Path, env: Mapping[str, str], *, lazily: bool) -> Recording:
    recording = Recording(
        path,
        name=env.get(_NAME) or out.name.partition(".")[0],
        input={"argv": list(sys.orig_argv)},
        sanitizer=_sanitizer(env),
        clock=time.time,
        lazily=lazily,
        alone=True,
    )
    return recording.__enter__()


def _sanitizer(env: Mapping[str, str]) -> Sanitizes:
    """The sanitizer that `launch` was given.

    Raises:
        ConfigError: key or rules are none.
    """
    try:
        policy = Policy.from_json(orjson.loads(env[_POLICY])) if env.get(_POLICY) else Policy()
    except orjson.JSONDecodeError:
        raise ConfigError(f"{_POLICY} is no JSON", "environment", "start the agent by evalkit record") from None
    key_file = env.get(_KEY_FILE)
    return default_sanitizer(policy, Path(key_file) if key_file else None)


def _end(recording: Recording, first_pid: int) -> None:
    """Runs when this process ends by itself, and when a forked child of it does."""
    error = getattr(sys, "last_value", None)  # the interpreter keeps there what nobody handled
    if error is not None:
        recording.end(error_of(error))
    elif os.getpid() == first_pid:
        recording.abandon()  # `launch` sees the exit code and writes the end
    else:
        recording.end(None)


def _others(out: Path) -> set[str]:
    """The files of further processes."""
    beside = (one.name for one in out.parent.glob(f"{glob.escape(out.name)}.*"))
    return {name for name in beside if name.removeprefix(out.name).replace(".", "").isdecimal()}


def _finish(out: Path, code: int, before: AbstractSet[str]) -> None:
    """Writes the end of the first process's trace where it is missing, unless a signal ended that process.

    Args:
        before: files of other processes, of an earlier run.
    """
    if not out.exists():
        sys.stderr.write("evalkit: nothing was recorded: the command started no Python that reads PYTHONPATH\n")
        return
    others = sorted(_others(out) - before)
    if others:
        sys.stderr.write(f"evalkit: what other processes called stands in {', '.join(others)}, not in {out.name}\n")
    lines = out.read_bytes().splitlines(keepends=True)
    trace = next(read_trace_lines(lines, str(out)), None)
    if trace is None or not trace.steps:
        sys.stderr.write(f"evalkit: no step was recorded in {out}\n")
    if (
        trace is not None
        and trace.status == "unfinished"
        and 0 <= code <= _LAST_EXIT_CODE
        and lines[-1].endswith(b"\n")
    ):
        error = None if code == 0 else StepError("SystemExit", str(code), "builtins")
        status: Status = "failed" if error else "completed"
        ended = replace(trace, error=error, status=status, ended_at=time.time())
        last = orjson.loads(lines[-1])
        with out.open("ab") as file:
            gaps = [_ELSEWHERE.format(", ".join(others))] if others else []
            end = {**finish_json(ended), "gaps": gaps} if gaps else finish_json(ended)
            file.write(LineChain(last["seq"] + 1, last["hash"]).encode(end))
