"""What any Python program must be able to read: the interpreter, its packages, the system's libraries."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

__all__ = ["packages", "system_files"]

_SYSTEM = (
    "/usr/lib", "/usr/lib64", "/usr/share", "/usr/local/lib", "/usr/local/share", "/lib", "/lib64",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs", "/etc/ca-certificates", "/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo",
)  # fmt: skip
_PACKAGE_FOLDERS = ("site-packages", "dist-packages", "lib-dynload")


def system_files() -> tuple[Path, ...]:
    """Libraries, certificates and time zones; nothing of ``/etc``, ``/proc`` or a home beyond those."""
    return tuple(map(Path, _SYSTEM))


def packages() -> tuple[Path, ...]:
    """The interpreter's library, installed packages and evalkit itself; no project root, which may hold secrets."""
    found = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {Path(entry) for entry in sys.path if Path(entry).name in _PACKAGE_FOLDERS or entry.endswith(".zip")}
    found.add(Path(sys.prefix) / "pyvenv.cfg")
    found.add(Path(__file__).parents[2])
    return tuple(sorted(found))
