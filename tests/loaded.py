"""A process that has everything loaded, and forks for each command that a test wants in a process of its own.

Such a process has one thread, as a command's has and a worker of pytest-xdist may not have, and does without the second
in which Python loads what most commands need. What is said of Python's start itself, or of a process's first
environment, wants a start of its own: `subprocess`.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import platform
import runpy
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

__all__ = ["Loaded", "Process"]

REPOSITORY = Path(__file__).parents[1]
_LEFT_OUT = ("evalkit.__main__", "evalkit.pytest_plugin", "evalkit.integrations")
"""Modules that run when they are loaded, that pytest loads in its own way, and that want packages of the extras."""
_LARGEST_MESSAGE = 1 << 20
_LINUX = platform.system() == "Linux"


@dataclass(frozen=True, slots=True)
class Process:
    """A process that was begun, and leads a group of its own.

    Attributes:
        pid: its number.
    """

    pid: int
    _channel: socket.socket
    _said: Path

    @property
    def goes_on(self) -> bool:
        """Whether it has not come to its end."""
        return not select.select([self._channel], [], [], 0)[0]

    def end(self, within_s: float | None = None) -> subprocess.CompletedProcess[str]:
        """Waits for its end.

        Raises:
            TimeoutError: it goes on.
        """
        self._channel.settimeout(within_s)
        code = int(self._channel.recv(_LARGEST_MESSAGE))
        out, err = ((self._said / name).read_text("utf-8") for name in ("out", "err"))
        shutil.rmtree(self._said)
        return subprocess.CompletedProcess([], code, out, err)


class Loaded:
    """Runs modules as ``python -m`` does, one after the other; started when it is first needed."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    def run(
        self, module: str, *arguments: str, cwd: Path, env: Mapping[str, str] = os.environ
    ) -> subprocess.CompletedProcess[str]:
        """``python -m module arguments`` in a folder; started anew where forking isn't for the system."""
        if _LINUX:
            return self.begin(module, *arguments, cwd=cwd, env=env).end()
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)

    def begin(self, module: str, *arguments: str, cwd: Path, env: Mapping[str, str] = os.environ) -> Process:
        """Begins it; the next one waits for its end."""
        if not _LINUX:
            pytest.skip("processes are forked on Linux only")
        channel = self._started()
        said = Path(tempfile.mkdtemp())
        for name in ("out", "err"):  # there even if it is killed at once
            (said / name).touch()
        order = {"module": module, "arguments": arguments, "cwd": str(cwd), "env": dict(env), "said": str(said)}
        channel.send(json.dumps(order).encode())
        channel.settimeout(None)
        return Process(int(channel.recv(_LARGEST_MESSAGE)), channel, said)

    def close(self) -> None:
        """Ends the process that forks."""
        if self._channel is not None and self._server is not None:
            self._channel.close()
            self._server.wait()

    def _started(self) -> socket.socket:
        if self._channel is None:
            self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            command = [sys.executable, "-m", "tests.loaded", str(theirs.fileno())]
            env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            env["PYTHONHASHSEED"] = "0"  # as the commands that replay would choose for themselves
            with theirs:
                self._server = subprocess.Popen(command, cwd=REPOSITORY, env=env, pass_fds=[theirs.fileno()])
        return self._channel


def serve(channel: socket.socket) -> None:
    """Forks for each order; says the number of the process, and at its end the exit code."""
    _load()
    while message := channel.recv(_LARGEST_MESSAGE):
        with warnings.catch_warnings():  # of the threads that NumPy's and Arrow's libraries keep, and make anew
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            channel.close()
            _become(json.loads(message))
        os.setpgid(child, child)
        channel.send(b"%d" % child)
        channel.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _load() -> None:
    for name in ("openai.resources.chat", "pyarrow.parquet", "scipy.special", "xdist.plugin"):
        import_module(name)
    import evalkit

    for module in pkgutil.walk_packages(evalkit.__path__, "evalkit.", onerror=lambda _: None):
        if not module.name.startswith(_LEFT_OUT):
            import_module(module.name)
    gc.freeze()


def _become(order: dict[str, Any]) -> NoReturn:
    for number, name in enumerate(("out", "err"), 1):
        target = os.open(Path(order["said"]) / name, os.O_WRONLY | os.O_CREAT)
        os.dup2(target, number)
        os.close(target)
    os.environ.clear()
    os.environ.update({"PYTHONHASHSEED": "0", **order["env"]})
    os.chdir(order["cwd"])
    sys.path[:0] = [order["cwd"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv[1:] = order["arguments"]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
