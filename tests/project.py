"""A project in a temporary folder, and the command line run inside of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalkit.app.message import error_text
from evalkit.cli.main import cli
from evalkit.errors import EvalkitError
from evalkit.trace.file import encode_trace
from evalkit.trace.model import Trace
from tests.build import a_trace, tool_step
from tests.loaded import Loaded

__all__ = ["Project", "healthy", "incident"]

REPOSITORY = Path(__file__).parents[1]


def incident(order: int = 7, **fields: Any) -> Trace:
    """A run that refunds twice."""
    fields.setdefault("id", f"incident-{order}")
    return a_trace(
        tool_step(0, "lookup", {"order": order}, {"amount": 5.0, "email": "lena.vogt@posteo-mail.de"}),
        tool_step(1, "refund", {"order": order}, {"ok": True}, effect="write"),
        tool_step(2, "refund", {"order": order}, {"ok": True}, effect="write"),
        input={"order": order},
        output={"done": {"ok": True}},
        **fields,
    )


def healthy(order: int = 7, **fields: Any) -> Trace:
    """A run that refunds once."""
    fields.setdefault("id", f"healthy-{order}")
    return a_trace(*incident(order).steps[:2], input={"order": order}, output={"done": {"ok": True}}, **fields)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command came to."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The data on stdout."""
        return json.loads(self.out)


class Project:
    """A project's folder; made current, with a pseudonym key and a user of its own."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, loaded: Loaded) -> None:
        self.root = root
        self._loaded = loaded
        monkeypatch.chdir(root)
        monkeypatch.syspath_prepend(str(REPOSITORY))
        monkeypatch.setenv("EVALKIT_PSEUDONYM_KEY", "11" * 32)
        monkeypatch.setenv("EVALKIT_ACTOR", "ann")
        for name in ("EVALKIT_CASES", "EVALKIT_TARGET", "EVALKIT_REPORTS", "EVALKIT_SUITES"):
            monkeypatch.delenv(name, raising=False)

    def run(self, *arguments: str) -> Outcome:
        """A command in this process; an error that evalkit raises on purpose becomes its exit code, as in `main`."""
        result: Result = CliRunner().invoke(cli, list(arguments))
        if isinstance(result.exception, EvalkitError):
            return Outcome(int(result.exception.exit_code), result.stdout, result.stderr + error_text(result.exception))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    def spawn(self, *arguments: str) -> Outcome:
        """A command in a process of its own, which has one thread; see `tests.loaded`."""
        return self.python("evalkit", *arguments)

    def started(self, *arguments: str) -> Outcome:
        """A command in a process of its own, from the start of Python on."""
        command = [sys.executable, "-m", "evalkit", *arguments]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        return Outcome(done.returncode, done.stdout, done.stderr)

    def python(self, module: str, *arguments: str, env: Mapping[str, str] = os.environ) -> Outcome:
        """``python -m module`` in a process of its own."""
        done = self._loaded.run(module, *arguments, cwd=self.root, env=env)
        return Outcome(done.returncode, done.stdout, done.stderr)

    def interrupted(
        self,
        journal: str,
        *arguments: str,
        by: signal.Signals = signal.SIGINT,
        times: int = 1,
        env: Mapping[str, str] = os.environ,
    ) -> Outcome:
        """A command in a process of its own that gets Ctrl-C as soon as a journal holds something."""
        child = self._loaded.begin("evalkit", *arguments, cwd=self.root, env=env)
        path = self.root / journal
        while not path.exists() or not path.stat().st_size:
            assert child.goes_on, child.end()
            time.sleep(0.02)
        for _ in range(times):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, by)
            time.sleep(0.01)
        done = child.end(within_s=60)
        return Outcome(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, content: str | bytes | dict[str, Any] | list[Any] | Trace) -> Path:
        """A file: text, bytes, JSON, or a native trace."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Trace):
            path.write_bytes(b"".join(encode_trace(content)))
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    def ingested(self, case_id: str = "refund-twice", *options: str, order: int = 7) -> str:
        """A case of the incident."""
        self.write(f"{case_id}.trace", incident(order))
        done = self.run("ingest", f"{case_id}.trace", "--id", case_id, *options)
        assert done.code == 0, done.err
        return case_id

    def promoted(self, case_id: str = "refund-twice", *options: str, order: int = 7) -> str:
        """A permanent case of the incident; its third version."""
        self.ingested(case_id, *options, order=order)
        self.write("passing.trace", healthy(order))
        done = self.run("review", case_id, "--accept-all", "--reason", "read them")
        assert done.code == 0, done.err
        done = self.run("promote", case_id, "--reason", "money was paid twice", "--passing", "passing.trace")
        assert done.code == 0, done.err
        return case_id

    def suite(self, target: str, name: str = "release", **keys: Any) -> str:
        """A suite on an agent of `tests.suite.agents`."""
        lines = [f'target = "tests.suite.agents:{target}"', *(f"{key} = {value}" for key, value in keys.items())]
        self.write(f"suites/{name}.toml", "\n".join([*lines, "[select]", "gate = true", ""]))
        return f"suites/{name}.toml"
