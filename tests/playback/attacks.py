"""What a hostile agent would try: each attack gives True when it got what it wanted; else it raises or gives False.

Everything is aimed at what the test owns: a listener on the loopback, files in a temporary folder, a sleeping process.
"""

from __future__ import annotations

import _posixsubprocess
import _socket
import asyncio
import contextlib
import ctypes
import encodings.idna  # noqa: F401 - before the fork: as another user, the interpreter's own library may be out of reach
import errno
import fcntl
import gc
import mmap
import os
import platform
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from evalkit.playback import guard
from evalkit.playback.sandbox import confine, landlock, seccomp
from evalkit.playback.sandbox.model import Policy

__all__ = ["ATTACKS", "Attack", "Lacking", "Place", "SECRET"]

SECRET = "sk-live-not-for-agents"
LIBC = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"


def _tracing() -> None:
    """Yama's ptrace_scope keeps an ordinary user's processes from each other by itself."""
    with contextlib.suppress(FileNotFoundError):
        if os.geteuid() != 0 and Path("/proc/sys/kernel/yama/ptrace_scope").read_text().strip() != "0":
            raise Lacking("Yama forbids tracing already")


class Lacking(Exception):
    """The machine lacks what the attack needs, with or without a sandbox."""


@dataclass(frozen=True, slots=True)
class Place:
    """What the attacks aim at.

    Attributes:
        outside: a folder with ``secret.txt``, ``.env`` and ``prey.txt``.
        tcp, udp: ports on the loopback.
        unix: path of a listening socket.
        abstract: name of a listening abstract socket.
        victim: process id of a sleeper of the same user, with the secret in its environment.
        address: where its stack begins.
        descriptor: open for writing on ``outside/open.txt``.
    """

    outside: Path
    tcp: int
    udp: int
    unix: str
    abstract: str
    victim: int
    address: int
    descriptor: int

    def file(self, name: str = "new.txt") -> str:
        """A path outside of the sandbox."""
        return str(self.outside / name)


Attack = Callable[[Place], bool]


def tcp_by_socket(place: Place) -> bool:
    socket.create_connection(("127.0.0.1", place.tcp), timeout=2).close()
    return True


def tcp_by_underscore_socket(place: Place) -> bool:
    _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM).connect(("127.0.0.1", place.tcp))
    return True


def tcp_by_asyncio(place: Place) -> bool:
    async def connect() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", place.tcp)
        writer.close()

    asyncio.run(connect())
    return True


def tcp_by_ctypes(place: Place) -> bool:
    address = (2).to_bytes(2, "little") + place.tcp.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
    descriptor = LIBC.socket(2, 1, 0)
    return descriptor >= 0 and int(LIBC.connect(descriptor, address, 16)) == 0


def socket_by_raw_call(place: Place) -> bool:
    return int(LIBC.syscall(198 if ARM else 41, 2, 2, 0)) >= 0


def udp(place: Place) -> bool:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", place.udp))
    return True


def unix_socket_with_a_path(place: Place) -> bool:
    socket.socket(socket.AF_UNIX).connect(place.unix)
    return True


def abstract_unix_socket(place: Place) -> bool:
    socket.socket(socket.AF_UNIX).connect("\0" + place.abstract)
    return True


def datagram_pair_sent_elsewhere(place: Place) -> bool:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        one.sendto(b"x", place.unix)
    except OSError as error:
        return error.errno == errno.EPROTOTYPE  # it came there, and found a stream's socket
    return True


def listening(place: Place) -> bool:
    socket.create_server(("127.0.0.1", 0)).close()
    return True


def subprocess_shell(place: Place) -> bool:
    return subprocess.run(["/bin/sh", "-c", f"echo x > {place.file()}"], check=False).returncode == 0


def fork_exec_under_the_audit_hook(place: Place) -> bool:
    ready, theirs = os.pipe()
    arguments: list[Any] = [[b"/bin/true"], [b"/bin/true"], True, (), None, None, -1, -1, -1, -1, -1, -1]
    arguments += [ready, theirs, False, False, 0 if sys.version_info >= (3, 11) else False, None, None, None, -1, None]
    if sys.version_info < (3, 14):
        arguments.append(False)
    child = _posixsubprocess.fork_exec(*arguments)
    os.waitpid(child, 0)
    return True


def os_system(place: Place) -> bool:
    return os.system("exit 0") == 0


def posix_spawn(place: Place) -> bool:
    return os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1] == 0


def a_fork(place: Place) -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def clone_by_raw_call(place: Place) -> bool:
    child = int(LIBC.syscall(220 if ARM else 56, signal.SIGCHLD, 0, 0, 0, 0))
    if child == 0:
        os._exit(0)
    return child > 0


def exec_in_place(place: Place) -> bool:
    os.execv("/bin/sh", ["sh", "-c", f"echo x > {place.file('breach.txt')}"])


def write_by_open(place: Place) -> bool:
    Path(place.file()).write_text("x")
    return True


def write_by_dir_fd(place: Place) -> bool:
    folder = os.open(place.outside, os.O_PATH)
    os.write(os.open("new.txt", os.O_CREAT | os.O_WRONLY, dir_fd=folder), b"x")
    return True


def write_by_arrow(place: Place) -> bool:
    pq.write_table(pa.table({"a": [1]}), place.file("new.parquet"))
    return True


def write_by_sqlite(place: Place) -> bool:
    with sqlite3.connect(place.file("new.db")) as database:
        database.execute("create table t (a)")
    return True


def write_by_ctypes(place: Place) -> bool:
    return int(LIBC.open(place.file().encode(), os.O_CREAT | os.O_WRONLY, 0o600)) >= 0


def write_by_symlink(place: Place) -> bool:
    os.symlink(place.file("prey.txt"), "way-out")
    Path("way-out").write_text("x")
    return True


def write_by_hardlink(place: Place) -> bool:
    os.link(place.file("prey.txt"), "way-out")
    Path("way-out").write_text("x")
    return True


def rename_to_the_outside(place: Place) -> bool:
    Path("inner.txt").write_text("x")
    os.rename("inner.txt", place.file())
    return True


def write_by_inherited_descriptor(place: Place) -> bool:
    os.write(place.descriptor, b"x")
    return True


def write_from_a_thread(place: Place) -> bool:
    thread = threading.Thread(target=lambda: Path(place.file("breach.txt")).write_text("x"))
    thread.start()
    thread.join()
    return False  # the file tells


def delete(place: Place) -> bool:
    os.unlink(place.file("prey.txt"))
    return True


def truncate(place: Place) -> bool:
    os.truncate(place.file("prey.txt"), 0)
    return True


def truncate_while_reading(place: Place) -> bool:
    os.open(place.file("prey.txt"), os.O_RDONLY | os.O_TRUNC)
    return True


def signal_by_ownership(place: Place) -> bool:
    """Whoever owns a descriptor is signalled when it becomes readable."""
    one, other = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, place.victim)
    fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC)
    other.send(b"x")
    return True


def make_folder(place: Place) -> bool:
    os.mkdir(place.file("folder"))
    return True


def remove_tree(place: Place) -> bool:
    shutil.rmtree(place.outside)
    return True


def change_mode(place: Place) -> bool:
    os.chmod(place.file("prey.txt"), 0o777)
    return os.stat(place.file("prey.txt")).st_mode & 0o777 == 0o777


def change_time(place: Place) -> bool:
    os.utime(place.file("prey.txt"), (1, 1))
    return os.stat(place.file("prey.txt")).st_mtime == 1


def change_attribute(place: Place) -> bool:
    try:
        os.setxattr(place.file("prey.txt"), "user.x", b"1")
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            raise Lacking("the file system has no extended attributes") from None
        raise
    return True


def change_owner(place: Place) -> bool:
    os.chown(place.file("prey.txt"), os.getuid(), os.getgid())
    return True


def read_a_secret_file(place: Place) -> bool:
    return Path(place.file("secret.txt")).read_text() == SECRET


def read_dot_env_by_arrow(place: Place) -> bool:
    return bytes(pa.fs.LocalFileSystem().open_input_file(place.file(".env")).read()) == SECRET.encode()


def read_by_mmap(place: Place) -> bool:
    descriptor = os.open(place.file("secret.txt"), os.O_RDONLY)
    return mmap.mmap(descriptor, 0, prot=mmap.PROT_READ).read() == SECRET.encode()


def list_a_folder(place: Place) -> bool:
    return "secret.txt" in os.listdir(place.outside)


def read_environ_of_another_process(place: Place) -> bool:
    return SECRET.encode() in Path(f"/proc/{place.victim}/environ").read_bytes()


def read_memory_by_proc(place: Place) -> bool:
    _tracing()
    with open(f"/proc/{place.victim}/mem", "rb") as memory:
        memory.seek(place.address)
        return bool(memory.read(8))


def open_a_descriptor_of_another_process(place: Place) -> bool:
    return bool(os.listdir(f"/proc/{place.victim}/fd"))


def read_memory_by_call(place: Place) -> bool:
    _tracing()

    class Span(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    held = ctypes.create_string_buffer(8)
    here, there = Span(ctypes.addressof(held), 8), Span(place.address, 8)
    return int(LIBC.process_vm_readv(place.victim, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)) == 8


def trace_another_process(place: Place) -> bool:
    _tracing()
    return int(LIBC.ptrace(16, place.victim, None, None)) == 0


def kill_another_process(place: Place) -> bool:
    os.kill(place.victim, signal.SIGKILL)
    return True


def kill_by_descriptor(place: Place) -> bool:
    signal.pidfd_send_signal(os.pidfd_open(place.victim), signal.SIGKILL)  # type: ignore[attr-defined,unused-ignore]
    return True


def limit_another_process(place: Place) -> bool:
    resource.prlimit(place.victim, resource.RLIMIT_CORE, (0, 0))
    return True


def read_own_environment(place: Place) -> bool:
    return os.environ.get("EVALKIT_TEST_SECRET") == SECRET


def read_own_environment_by_libc(place: Place) -> bool:
    LIBC.getenv.restype = ctypes.c_char_p
    found: bytes | None = LIBC.getenv(b"EVALKIT_TEST_SECRET")
    return found == SECRET.encode()


def read_own_environment_by_proc(place: Place) -> bool:
    return b"PATH=" in Path("/proc/self/environ").read_bytes()


def patch_the_guard_by_gc(place: Place) -> bool:
    for found in gc.get_objects():
        if isinstance(found, guard.Guard):
            found.host, found.port = "127.0.0.1", place.tcp
    guard.Guard.check = lambda *_: None  # type: ignore[method-assign]
    guard._ACTIVE.clear()
    return tcp_by_socket(place)


def confine_anew_with_more_rights(place: Place) -> bool:
    try:
        landlock.restrict_files([Path("/")], Path("/"))
        seccomp.restrict_calls()
    except OSError:
        pass
    return write_by_open(place)


def replace_the_sandbox_module(place: Place) -> bool:
    confine.confine = lambda *_: None  # type: ignore[assignment]
    Policy.__init__ = lambda *_: None  # type: ignore[method-assign]
    return read_a_secret_file(place)


def raise_the_limits(place: Place) -> bool:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    return hard == resource.RLIM_INFINITY


def io_uring(place: Place) -> bool:
    parameters = ctypes.create_string_buffer(120)
    done = int(LIBC.syscall(425, 4, parameters))
    if done < 0 and ctypes.get_errno() in (errno.ENOSYS, errno.EPERM):
        raise Lacking("the kernel has no io_uring here")
    return done >= 0


def calls_of_32_bit_programs(place: Place) -> bool:
    """``int 0x80`` has other numbers, which a filter for x86-64 alone would misread: 20 is getpid there."""
    if ARM:
        raise Lacking("arm64 has no such door")
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(address)()) == os.getpid()


def new_user_namespace(place: Place) -> bool:
    return int(LIBC.unshare(0x10000000)) == 0


def shared_memory(place: Place) -> bool:
    return int(LIBC.shmget(0, 4096, 0o1600)) >= 0


def all_of_the_disk(place: Place) -> bool:
    with open("big", "wb") as file:
        file.truncate(2 << 30)  # a hole: takes no room without a sandbox either
    return True


def all_of_the_memory(place: Place) -> bool:
    return len(mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)) > 0


def kernel_keyring(place: Place) -> bool:
    done = int(LIBC.syscall(219 if ARM else 250, 0, -3, 1))
    if done < 0 and ctypes.get_errno() == errno.ENOSYS:
        raise Lacking("the kernel has no keyrings")
    return done >= 0


def swallow_and_sleep(place: Place) -> bool:
    """Catches everything, over and over: what is refused once stays refused."""
    until = time.monotonic() + 0.05
    while time.monotonic() < until:
        for attack in (tcp_by_socket, write_by_open, read_a_secret_file):
            try:
                return attack(place)
            except BaseException:
                continue
    return False


ATTACKS: tuple[Attack, ...] = (
    tcp_by_socket, tcp_by_underscore_socket, tcp_by_asyncio, tcp_by_ctypes, socket_by_raw_call, udp,
    unix_socket_with_a_path, abstract_unix_socket, datagram_pair_sent_elsewhere, listening,
    subprocess_shell, fork_exec_under_the_audit_hook, os_system, posix_spawn, a_fork, clone_by_raw_call, exec_in_place,
    write_by_open, write_by_dir_fd, write_by_arrow, write_by_sqlite, write_by_ctypes, write_by_symlink,
    write_by_hardlink, rename_to_the_outside, write_by_inherited_descriptor, write_from_a_thread, delete, truncate,
    truncate_while_reading, signal_by_ownership, make_folder, remove_tree, change_mode, change_time,
    change_attribute, change_owner,
    read_a_secret_file, read_dot_env_by_arrow, read_by_mmap, list_a_folder,
    read_environ_of_another_process, read_memory_by_proc, open_a_descriptor_of_another_process, read_memory_by_call,
    trace_another_process, kill_another_process, kill_by_descriptor, limit_another_process,
    read_own_environment, read_own_environment_by_libc, read_own_environment_by_proc,
    patch_the_guard_by_gc, confine_anew_with_more_rights, replace_the_sandbox_module, raise_the_limits,
    io_uring, calls_of_32_bit_programs, new_user_namespace, shared_memory, all_of_the_disk, all_of_the_memory,
    kernel_keyring, swallow_and_sleep,
)  # fmt: skip
