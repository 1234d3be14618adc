"""The sandbox as its users see it: what works inside, what comes back, which layers held, and when it refuses."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import pickle
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

if sys.platform != "linux":
    pytest.skip("the kernel's layers are Linux's", allow_module_level=True)

from evalkit.playback.sandbox import confine, seccomp
from evalkit.playback.sandbox.run import default_policy, probe_layers, run_sandboxed

LAYERS = probe_layers()

pytestmark = pytest.mark.skipif(not LAYERS.safe, reason=f"this kernel lacks layers: {LAYERS.missing}")


def test_what_it_returns_comes_back_with_the_layers() -> None:
    """The payload goes in, bytes come out, and the layers that held are data."""
    ended = run_sandboxed(lambda payload: payload[::-1], b"abc")
    assert (ended.status, ended.value) == ("done", b"cba")
    assert ended.layers.safe
    assert "seccomp" in ended.layers.names


def test_a_big_result_comes_back_whole() -> None:
    """More than a pipe holds, with line breaks in it."""
    assert run_sandboxed(lambda _: b"\n\0" * 1_000_000, b"").value == b"\n\0" * 1_000_000


def test_what_agents_do_works_inside() -> None:
    """Event loops, threads, data frames, Parquet, temporary files and copies: in the working copy."""

    async def wait() -> int:
        await asyncio.sleep(0.001)
        return await asyncio.to_thread(lambda: 3)

    def work(_: bytes) -> bytes:
        frame = pd.DataFrame({"a": np.arange(3)})
        frame.to_parquet("frame.parquet")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("x")
        shutil.copy("frame.parquet", "copy.parquet")
        return f"{asyncio.run(wait())} {pq.read_table('copy.parquet').num_rows} {Path.home() == Path.cwd()}".encode()

    ended = run_sandboxed(work, b"")
    assert ended.value == b"3 3 True", ended


def test_keys_are_dummies_and_the_rest_of_the_environment_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client starts, with a key that opens nothing; what the policy keeps stays."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live")
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    monkeypatch.setenv("FLAVOUR", "mint")

    def look(_: bytes) -> bytes:
        return ",".join(os.environ.get(name, "-") for name in ("OPENAI_API_KEY", "DATABASE_URL", "FLAVOUR")).encode()

    ended = run_sandboxed(look, b"", policy=replace(default_policy(), keep=("FLAVOUR",)))
    assert ended.value == b"evalkit-replay,-,mint"
    assert os.environ["DATABASE_URL"] == "postgres://secret"


def test_an_exception_a_death_and_an_endless_loop_are_values() -> None:
    """Nothing of it reaches the parent but a status and a sentence."""
    raised = run_sandboxed(lambda _: bytes(1 // 0), b"")
    assert (raised.status, raised.reason) == ("raised", "ZeroDivisionError: integer division or modulo by zero")
    died = run_sandboxed(lambda _: os.kill(os.getpid(), 9) or b"", b"")  # type: ignore[func-returns-value]
    assert (died.status, "SIGKILL" in died.reason) == ("died", True)
    started = time.monotonic()
    assert run_sandboxed(lambda _: time.sleep(60) or b"", b"", timeout_s=0.2).status == "late"  # type: ignore[func-returns-value]
    assert time.monotonic() - started < 10


def test_leaving_early_is_no_result() -> None:
    """An agent that ends its process, whatever it printed, gave nothing."""
    assert run_sandboxed(lambda _: os._exit(0), b"").status == "died"


def test_threads_that_start_at_the_fork_are_refused(tmp_path: Path) -> None:
    """Layers hold only what starts after them: a thread that a library starts in each fork would stay free."""
    armed = [True]

    def start() -> None:
        if armed:
            threading.Thread(target=lambda: time.sleep(0.5) or (tmp_path / "breach").touch()).start()  # type: ignore[func-returns-value]

    os.register_at_fork(after_in_child=start)
    try:
        ended = run_sandboxed(lambda _: time.sleep(1) or b"", b"")  # type: ignore[func-returns-value]
    finally:
        armed.clear()
    assert ended.status == "refused"
    assert "threads" in ended.reason
    time.sleep(0.6)
    assert not (tmp_path / "breach").exists()


def test_a_result_is_never_unpickled(tmp_path: Path) -> None:
    """A pickle that would run code where it is read comes back as bytes, unread."""

    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "breach"),)

    ended = run_sandboxed(lambda _: pickle.dumps(Bomb()), b"")
    assert ended.status == "done"
    assert not (tmp_path / "breach").exists()
    pickle.loads(ended.value)
    assert (tmp_path / "breach").exists()  # it was live


def _no_seccomp() -> None:
    raise OSError(errno.ENOSYS, "no such call")


def test_fewer_layers_are_refused_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without seccomp nothing runs; with `unsafe` it runs, and says what is missing."""
    monkeypatch.setattr(confine, "restrict_calls", _no_seccomp)
    refused = run_sandboxed(lambda _: b"ran", b"")
    assert (refused.status, refused.value) == ("refused", b"")
    assert "seccomp" in refused.reason
    assert "--unsafe-replay" in refused.reason
    ran = run_sandboxed(lambda _: b"ran", b"", policy=default_policy(unsafe=True))
    assert ran.value == b"ran"
    assert not ran.layers.safe
    assert "seccomp" in ran.layers.missing


def test_unknown_calls_are_answered_as_missing() -> None:
    """Calls newer than the table, and x32's, give ENOSYS: libraries fall back, attackers get nothing."""

    def ask(_: bytes) -> bytes:
        libc = ctypes.CDLL(None, use_errno=True)
        codes = []
        for number in (463, 0x40000000 | 41):
            libc.syscall(number, 2, 1, 0)
            codes.append(ctypes.get_errno())
        return repr(codes).encode()

    assert run_sandboxed(ask, b"").value == repr([errno.ENOSYS, errno.ENOSYS]).encode()


def test_the_filter_is_valid_for_the_kernel() -> None:
    """Whole instructions, fewer than the kernel's 4096, each jump within the program."""
    program = seccomp.filter_program(1)
    lines = [program[at : at + 8] for at in range(0, len(program), 8)]
    assert len(program) % 8 == 0
    assert len(lines) < 4096
    assert all(at + 1 + max(line[2], line[3]) < len(lines) for at, line in enumerate(lines) if line[0] & 7 == 5)
