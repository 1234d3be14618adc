"""The attacks on the sandbox: each works in a plain fork, and none in the sandbox, as root and as an ordinary user."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("the kernel's layers are Linux's", allow_module_level=True)

from evalkit.playback.sandbox import confine, landlock
from evalkit.playback.sandbox.model import Ended
from evalkit.playback.sandbox.run import probe_layers, run_sandboxed
from tests.playback.attacks import ATTACKS, SECRET, Attack, Lacking, Place

NOBODY = 65534
USERS = ["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"]
LAYERS = probe_layers()

pytestmark = pytest.mark.skipif(not LAYERS.safe, reason=f"this kernel lacks layers: {LAYERS.missing}")


@contextmanager
def a_place(user: str) -> Iterator[Place]:
    """Fresh targets, owned by the user who attacks."""
    owner = NOBODY if user == "ordinary" and os.geteuid() == 0 else os.geteuid()
    with ExitStack() as stack:
        outside = Path(tempfile.mkdtemp(prefix="evalkit-outside-"))
        stack.callback(shutil.rmtree, outside, ignore_errors=True)
        for name, text in (("secret.txt", SECRET), (".env", SECRET), ("prey.txt", "as it was"), ("open.txt", "")):
            (outside / name).write_text(text)
            os.chmod(outside / name, 0o600)
            os.chown(outside / name, owner, -1)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(outside / "socket"))
        unix.listen()
        os.chmod(outside / "socket", 0o666)
        os.chown(outside, owner, -1)
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{outside.name}")
        abstract.listen()
        victim = subprocess.Popen(["/bin/sleep", "60"], env={"SECRET": SECRET}, user=owner, **_groups(owner))
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        file = stack.enter_context(open(outside / "open.txt", "wb"))
        ports = tcp.getsockname()[1], udp.getsockname()[1]
        stack_at = _stack_of(victim.pid)
        yield Place(outside, *ports, str(outside / "socket"), outside.name, victim.pid, stack_at, file.fileno())


def _groups(owner: int) -> dict[str, Any]:
    """No other rights than that user's: tracing wants the groups to be equal."""
    return {"group": owner, "extra_groups": []} if os.geteuid() == 0 else {}


def _stack_of(pid: int) -> int:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith("[stack]"):
            return int(line.split()[0].partition("-")[2], 16) - 64
    raise AssertionError("a process without a stack")


def becoming(user: str) -> Callable[[], None]:
    """Makes the fork that user's."""

    def change() -> None:
        if user == "ordinary" and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            ctypes.CDLL(None).prctl(
                4, 1, 0, 0, 0
            )  # PR_SET_DUMPABLE: as any process that was this user's from its start

    return change


@contextmanager
def a_folder(user: str) -> Iterator[Path]:
    """A working copy of that user's."""
    folder = Path(tempfile.mkdtemp(prefix="evalkit-inside-"))
    if user == "ordinary" and os.geteuid() == 0:
        os.chown(folder, NOBODY, -1)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unsandboxed(function: Callable[[bytes], bytes], folder: Path, user: str) -> str:
    """What the function gives in a plain fork of that user, or its error."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            becoming(user)()
            os.chdir(folder)
            os.environ["EVALKIT_TEST_SECRET"] = SECRET
            os.write(theirs, function(b""))
        except BaseException as error:
            os.write(theirs, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


def got_through(said: str, place: Place) -> bool:
    """Whether the attack says so, or its traces do."""
    return said == "through" or (place.outside / "breach.txt").exists()


def changed(place: Place) -> list[str]:
    """What is other than it was outside, looked at from outside."""
    names = {path.name for path in place.outside.iterdir()} ^ {"secret.txt", ".env", "prey.txt", "open.txt", "socket"}
    prey = place.outside / "prey.txt"
    as_it_was = prey.read_text() == "as it was" and prey.stat().st_mode & 0o777 == 0o600 and prey.stat().st_mtime > 1
    alive = Path(f"/proc/{place.victim}/stat").read_text().rpartition(")")[2].split()[0] in "SRD"
    written = (place.outside / "open.txt").stat().st_size > 0
    return [*names, *["prey"] * (not as_it_was), *["victim"] * (not alive), *["open"] * written]


def sandboxed(attack: Attack, place: Place, user: str, monkeypatch: pytest.MonkeyPatch) -> Ended:
    monkeypatch.setenv("EVALKIT_TEST_SECRET", SECRET)
    with a_folder(user) as folder:
        return run_sandboxed(
            lambda _: b"through" if attack(place) else b"no", b"", folder=folder, before=becoming(user), timeout_s=30
        )


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_no_attack_gets_through(attack: Attack, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It works without the sandbox, and in it neither the attack nor the world outside says that it did."""
    with a_place(user) as place, a_folder(user) as folder:
        said = unsandboxed(lambda _: b"through" if attack(place) else b"no", folder, user)
        proven = got_through(said, place)
    with a_place(user) as place:
        ended = sandboxed(attack, place, user, monkeypatch)
        assert ended.status in ("done", "raised", "died"), ended
        assert not got_through(ended.value.decode(), place), ended
        assert changed(place) == []
    if not proven:
        if said.startswith(Lacking.__name__):
            pytest.skip(said)
        pytest.fail(f"the attack proves nothing here: without the sandbox it came to {said!r}")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_nor_with_the_first_landlock(attack: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux 5.13's governs no truncation, TCP, devices or signals; and no network namespace is allowed."""
    monkeypatch.setattr(landlock, "_version", lambda: 1)
    monkeypatch.setattr(confine, "leave_network", lambda: None)
    with a_place(USERS[0]) as place:
        ended = sandboxed(attack, place, USERS[0], monkeypatch)
        assert ended.layers.landlock in (0, 1)  # 0: died before it could say
        assert ended.status in ("done", "raised", "died"), ended
        assert not got_through(ended.value.decode(), place), ended
        assert changed(place) == []


def test_there_are_thirty_attacks_at_least() -> None:
    """The research's list had thirty; none was lost."""
    assert len(set(ATTACKS)) >= 30
